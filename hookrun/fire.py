"""The hot path, `hookrun fire`: read the context, load the declarations, run what applies, answer, audit.

Every import here is paid on each tool call: what a fire without a matching hook does not need is imported further down.
"""

from __future__ import annotations

import os
import sys
from time import monotonic

from hookrun import audit
from hookrun import context as contexts
from hookrun.config import cache
from hookrun.config.find import NoHomeError, find, home_directory
from hookrun.events import EVENTS, canonical
from hookrun.fastjson import dumps
from hookrun.model import STRENGTH, Interrupted, Verdict
from hookrun.trust import directory as trust_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.config.cache import Compiled, Declared
    from hookrun.config.find import Found
    from hookrun.engine import Chain
    from hookrun.model import Hook, Outcome
    from hookrun.run.prepare import Surroundings
    from hookrun.trust.switches import Switches

GO_ON, TROUBLE, REFUSED = 0, 1, 2
"""Exit statuses: go on; hookrun itself could not work; do not."""

HELP = """\
Usage: hookrun fire EVENT [OPTIONS]

Run the hooks declared for EVENT on a JSON context and print the combined verdict as one line of JSON.

Options:
  --ctx FILE          the context; - or none: stdin
  --config FILE       a declaration file in the place of the project's own
  --deadline SECONDS  what has not answered by then is a timeout
  --home DIR          whose user hooks, cache and audit: default HOME
  --explain           on stderr: every hook considered, why it ran or not, its answer, its time
  -h, --help          this text

Exit status: 0 go on (continue, allow, modify), 2 do not (block, skip, ask, stop; why is on stderr too),
1 hookrun itself could not work (one line on stderr says why).

Environment: HOOKRUN=0 switches every hook off, HOOKRUN_SKIP=NAME,NAME these.

Examples:
  hookrun fire pre_tool_use --ctx ctx.json
  echo '{"tool_name": "bash", "tool_args": {"command": "ls"}}' | hookrun fire pre_tool_use --explain
"""


class TroubleError(Exception):
    """hookrun itself cannot work; the message says why and what to do."""


class Options:
    """What the command line says."""

    __slots__ = ("config", "ctx", "deadline", "event", "explain", "home")

    def __init__(self) -> None:
        self.event = ""
        self.ctx = "-"
        self.config: str | None = None
        self.deadline: float | None = None
        self.home: str | None = None
        self.explain = False


TAKE_VALUE = frozenset({"--ctx", "--config", "--deadline", "--home"})


def parse_arguments(argv: list[str]) -> Options:
    """Return what the arguments after `fire` say. Raises TroubleError for what they cannot say."""
    options = Options()
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in TAKE_VALUE:
            if not equals:
                if not rest:
                    msg = f"fire: {name} needs a value; see hookrun fire --help"
                    raise TroubleError(msg)
                value = rest.pop(0)
            setattr(options, name[2:], _seconds(value) if name == "--deadline" else value)
        elif word == "--explain":
            options.explain = True
        elif word.startswith("-") and word != "-":
            msg = f"fire: unknown option {word}; known: {', '.join(sorted(TAKE_VALUE))}, --explain, --help"
            raise TroubleError(msg)
        elif options.event:
            msg = f"fire: unexpected argument {word}: the event is {options.event} already"
            raise TroubleError(msg)
        else:
            options.event = word
    if not options.event:
        msg = "fire: no event given, expected for example: hookrun fire pre_tool_use --ctx ctx.json"
        raise TroubleError(msg)
    return options


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        msg = f"fire: --deadline is {text!r}, expected seconds greater than 0"
        raise TroubleError(msg)
    return seconds


class Fire:
    """One fire from the command line to the exit status."""

    def __init__(self, options: Options) -> None:
        self.started = monotonic()
        self.options = options
        self.deadline = self.started + options.deadline if options.deadline else float("inf")
        self.home = named_home(options.home) if options.home else home_directory()
        self.request_id = os.urandom(8).hex()
        self.event = options.event
        self.context: dict[str, object] = {"event": options.event, "request_id": self.request_id}
        self.settings: dict[str, object] = {}
        self.problems: list[str] = []
        self.chain: Chain | None = None
        self.trust: Switches | None = None
        self.found: Found | None = None
        self.compiled: Compiled | None = None
        self.candidates: Declared | None = None
        self.elsewhere = 0.0
        self.interrupted = 0

    def run(self) -> int:
        """Do it all and return the exit status."""
        try:
            verdict = self._verdict()
        except (TroubleError, contexts.ContextError) as error:
            return self._trouble(str(error))
        except RecursionError:
            return self._trouble("the context is nested too deeply to be worked on")
        refused = STRENGTH[verdict.action] >= STRENGTH["ask"]
        status = REFUSED if refused else TROUBLE if self.problems else GO_ON
        if self.interrupted and not refused:
            status = 128 + self.interrupted
        if status in (GO_ON, REFUSED):
            status = self._answer(verdict, status)
        for problem in self.problems:
            say(problem)
        for switched in self._switched_off():
            say(f"hook {switched}")
        if self.chain is not None:
            self._tell_failures(self.chain)
        if refused and verdict.message:
            say_plain(verdict.message)
        if self.options.explain:
            self._explain(verdict)
        self._audit(status, verdict, interrupted=self.interrupted or None)
        return status

    def _verdict(self) -> Verdict:
        if os.environ.get("HOOKRUN") == "0":
            contexts.drain_stdin()
            say("HOOKRUN=0: every hook is switched off")
            return Verdict()
        self._load()
        self.event = self._event()
        data = self._read_context()
        cwd = self.found.cwd if self.found is not None else None
        self.context = contexts.complete(data, self.event, self.request_id, cwd)
        for doubt in contexts.doubts(data, self.event):
            say(doubt)
        if self.compiled is None:
            return Verdict()
        self.candidates = self.compiled.candidates(self.event)
        if not any(self.candidates.selects(i, self.context) for i in range(len(self.candidates))):
            return Verdict()
        return self._run_hooks(self.candidates)

    def _load(self) -> None:
        try:
            cwd: str | None = os.getcwd()
        except OSError:
            cwd = None
            self.problems.append(
                "the working directory does not exist any more: the project's hooks are unknown; fire from another"
            )
        config = self.options.config
        if config is not None:
            config = os.path.normpath(os.path.join(cwd or "/", config))
        self.found = find(cwd, self.home, config=config)
        self.compiled = cache.load(self.found)
        if self.compiled is not None:
            self.problems += self.compiled.problems
            self.settings = self.compiled.settings

    def _read_context(self) -> dict[str, object]:
        if self.options.ctx == "-":
            begun = monotonic()
            try:
                return contexts.from_stdin(self.deadline)
            finally:
                self.elsewhere += monotonic() - begun
        return contexts.from_file(self.options.ctx, self.deadline)

    def _event(self) -> str:
        """Return the canonical name of the event that was given by any of its names, or by a declared one."""
        given = self.options.event
        own = self.compiled.events if self.compiled is not None else []
        event = canonical(given) or (given if given in own else None)
        if event is not None:
            return event
        from difflib import get_close_matches

        near = get_close_matches(given, [*EVENTS, *own], 1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(sorted(set(EVENTS.values())))}."
        msg = f"unknown event {given!r}: {hint} A program's own events are declared under hookrun.events"
        raise TroubleError(msg)

    def _run_hooks(self, candidates: Declared) -> Verdict:
        from hookrun.engine import Chain
        from hookrun.run.prepare import DEEPEST, Surroundings, depth
        from hookrun.run.process import SLOW, Loop
        from hookrun.run.runner import Runner
        from hookrun.run.signals import catch, release
        from hookrun.run.start import keep_to_ourselves

        if depth() >= DEEPEST:
            msg = f"hooks run within hooks {DEEPEST} deep: a hook starts what fires it again; no further hook is run"
            raise TroubleError(msg)
        keep_to_ourselves()
        around = Surroundings(
            self.context,
            project=self._project(),
            request_id=self.request_id,
            project_env_policy=self.settings.get("project_env_policy"),
        )
        self.trust = trust = self._trust(around)
        loop = Loop(
            deadline=self.deadline,
            wake=catch(),
            on_slow=self._record_start,
            slow_at=self.started + SLOW,
        )
        runner = Runner(
            around,
            loop,
            locks=audit.directory(self.home) + "/locks",
            on_background_end=self._record_background,
            trust=trust,
        )

        def timed(jobs: list[tuple[Hook, bytes]]) -> list[Outcome]:
            begun = monotonic()
            try:
                return runner(jobs)
            finally:
                self.elsewhere += monotonic() - begun

        skipped = {name.strip() for name in os.environ.get("HOOKRUN_SKIP", "").split(",")}

        def off(hook: Hook) -> str | None:
            if hook.name in skipped:
                return "HOOKRUN_SKIP names it"
            return trust.why_off(hook) if trust is not None else None

        self.chain = Chain(
            self.event,
            self.context,
            candidates,
            off=off,
        )
        try:
            return self.chain.run(timed)
        except Interrupted as interrupted:
            say(f"interrupted by signal {interrupted.signal}: every hook was ended")
            self.interrupted = interrupted.signal
        except ValueError as error:
            self.problems.append(f"the context cannot be given to a hook: {error}")
        except Exception as error:
            self.problems.append(internal_error(error))
        finally:
            release()
            if trust is not None:
                trust.keep()
        return self.chain.combined()  # what has been refused so far stays refused

    def _trust(self, around: Surroundings) -> Switches | None:
        """Return who is asked about each hook: a person who fires in their own project has only switched some off."""
        if not os.path.lexists(trust_directory(self.home)):
            return None
        from hookrun.trust.switches import Switches

        return Switches(self.home, self._project(), around, self.settings)

    def _switched_off(self) -> list[str]:
        return [f"{name}: {why}" for name, why in self.trust.off.items()] if self.trust is not None else []

    def _project(self) -> str:
        if self.compiled is not None and self.compiled.root is not None:
            return self.compiled.root
        if self.found is not None:
            return self.found.repository or self.found.cwd or "/"
        return "/"

    # --- what is told to whom

    def _answer(self, verdict: Verdict, status: int) -> int:
        """Print the verdict; return the exit status, which is TROUBLE when a word that matters could not be said."""
        data = verdict.to_dict()
        data["request_id"] = self.request_id
        data["hooks"] = [run.summary() for run in self.chain.runs] if self.chain is not None else []
        error = write(1, dumps(data).encode("ascii") + b"\n")
        if error is None:
            return status
        say(f"the verdict ({verdict.action}) could not be written to stdout: {error}")
        return TROUBLE if status == GO_ON and verdict.action != "continue" else status

    @staticmethod
    def _tell_failures(chain: Chain) -> None:
        for run in chain.runs:
            if run.failure is not None:
                say(f"hook {run.hook.name} failed ({run.failure.kind}): {run.failure.detail}")
            for note in run.notes:
                say(f"hook {run.hook.name}: {note}")

    def _explain(self, verdict: Verdict) -> None:
        from hookrun.explain import explain

        say_plain("\n".join(explain(self, verdict)))

    def _trouble(self, message: str) -> int:
        if self.options.ctx == "-":
            contexts.drain_stdin()
        for problem in self.problems:
            say(problem)
        say(message)
        self._audit(TROUBLE, None, error=audit.safe(message))
        return TROUBLE

    # --- what is kept

    def _audit(self, status: int, verdict: Verdict | None, **more: object) -> None:
        """Keep a record of it all. Nothing that goes wrong here changes the answer."""
        try:
            self._write_audit(self._records(status, verdict, **more))
        except Exception as error:
            say(f"the audit could not be written: {internal_error(error)}")

    def _records(self, status: int, verdict: Verdict | None, **more: object) -> list[dict[str, object]]:
        total = monotonic() - self.started
        return audit.of_fire(
            self.chain.runs if self.chain is not None else [],
            self.context,
            action=verdict.action if verdict is not None else None,
            exit=status,
            declared=len(self.candidates) if self.candidates is not None else 0,
            ms=total * 1000,
            own_ms=round((total - self.elsewhere) * 1000, 1),
            problems=self.problems,
            off=os.environ.get("HOOKRUN") == "0",
            skipped=os.environ.get("HOOKRUN_SKIP"),
            switched_off=self._switched_off(),
            keep_context=self.settings.get("record_context"),
            **more,
        )

    def _record_start(self) -> None:
        """Keep, of a fire that lasts, that it has begun. Nothing that goes wrong here changes anything."""
        self._write_audit([audit.record("start", self.context, pid=os.getpid())])

    def _record_background(self, hook: Hook, outcome: Outcome) -> None:
        self._write_audit([audit.of_background(hook, outcome, self.context)])

    def _write_audit(self, records: list[dict[str, object]]) -> None:
        error = audit.write(self.home, records, self.settings.get("audit"))
        if error is not None:
            say(f"the audit could not be written: {error}")


def named_home(path: str) -> str:
    """Return the absolute path of the directory that --home names. Raises TroubleError when there is none."""
    try:
        path = os.path.abspath(path)
    except OSError:
        msg = f"{path}: the working directory does not exist any more: give an absolute path"
        raise TroubleError(msg) from None
    if not os.path.isdir(path):
        msg = f"--home {path} is no directory: name the directory that holds .config/hookrun"
        raise TroubleError(msg)
    return path


def write(fd: int, data: bytes) -> str | None:
    """Write all of the data; return what went wrong, if anything did."""
    view = memoryview(data)
    try:
        while view:
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                import select

                poll = select.poll()
                poll.register(fd, select.POLLOUT)
                poll.poll(1000)
    except OSError as error:
        return error.strerror
    return None


def say(text: str) -> None:
    """Tell the person, on stderr, as `hookrun: ...`, control characters made visible."""
    say_plain(f"hookrun: {text}")


def say_plain(text: str) -> None:
    """Write a text to stderr with every control character but the newline made visible."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.isprintable():
            lines[number] = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    text = "\n".join(lines)
    write(2, text.encode("utf-8", "backslashreplace") + b"\n")


def ensure_standard_streams() -> None:
    """Open what is closed of stdin, stdout and stderr, so that no file of ours takes their place.

    Stdout is opened for reading: that the verdict cannot be written must be seen.
    """
    for fd, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, mode)


def main(argv: list[str]) -> int:
    """Run `hookrun fire` with the arguments after `fire` and return the exit status; raises nothing."""
    ensure_standard_streams()
    if "-h" in argv or "--help" in argv:
        return TROUBLE if write(1, HELP.encode()) else GO_ON
    try:
        return Fire(parse_arguments(argv)).run()
    except (TroubleError, NoHomeError) as error:
        contexts.drain_stdin()
        say(str(error))
    except Exception as error:  # no traceback ever reaches an agent
        say(internal_error(error))
    return TROUBLE


def internal_error(error: Exception) -> str:
    """Return what to say of a mistake of ours; HOOKRUN_DEBUG shows where it was made."""
    if os.environ.get("HOOKRUN_DEBUG"):
        sys.excepthook(type(error), error, error.__traceback__)
    return f"internal error, please report it: {type(error).__name__}: {error}"
