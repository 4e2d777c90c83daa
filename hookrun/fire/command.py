"""`hookrun fire`, the hot path: parse the command line and answer the user or a program.

Each tool call pays for every import here: what a run without a matching hook does not need is imported where it is
used. agent.py answers agents (`--agent`).
"""

from __future__ import annotations

import os

from hookrun.core import context as contexts
from hookrun.core.events import EVENTS, GATES, TOOLS, UnknownEventError, resolve_event
from hookrun.core.fastjson import dumps
from hookrun.core.model import PRECEDENCE, Verdict
from hookrun.core.state import CurrentRun, NoHomeError, home_directory, named_home, report_bug
from hookrun.core.text import did_you_mean, escape, one_line, print_message, quote, write_all, write_stderr
from hookrun.fire.invocation import CONTINUE, FAILED, REFUSED, EventFire, FireError, FireInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun.fire.invocation import HostWorker

# Characters of a line with agents' names in it.
MAX_AGENTS = 56

HELP = """\
Usage: hookrun fire EVENT [OPTIONS]
       hookrun fire --agent NAME [EVENT] [OPTIONS]

Run the hooks configured for EVENT on a JSON context and print the combined
verdict as one line of JSON. With --agent, read the agent's own message and
answer in the agent's own format.

Options:
  --ctx FILE          the context; - or none: stdin
  --config FILE       a config file to use instead of the project's
  --deadline SECONDS  time limit for all hooks together
  --agent NAME        {agents}
  --trust DIGEST,...  project hooks to treat as approved; only --agent
                      requires approval
  --explain           on stderr: every hook, why it ran or not, its answer and
                      its time
  -h, --help          show this help

Exit status: 0 for continue, allow and modify; 2 for block, skip, ask and stop
(the reason is on stderr too); 1 if hookrun failed (the reason is on stderr).
With --agent it is 0, and the answer is on stdout.

Environment: HOOKRUN=0 disables all hooks, HOOKRUN_SKIP=NAME,NAME these. Both
are ignored with --agent.

Examples:
  hookrun fire pre_tool_use --ctx ctx.json
  echo '{"tool_name": "bash"}' | hookrun fire pre_tool_use --explain
"""


def help_text() -> str:
    """Return what `hookrun fire --help` prints."""
    from hookrun.agents import AGENTS
    from hookrun.core.terminal import wrap

    *first, last = AGENTS
    lines = wrap(f"{', '.join(first)} or {last}", MAX_AGENTS)
    return HELP.replace("{agents}", f"\n{' ' * 22}".join(lines))


class FireOptions:
    """The parsed command line."""

    def __init__(self) -> None:
        self.event = ""
        self.agent: str | None = None
        self.ctx = "-"
        self.cold: str | None = None
        self.config: str | None = None
        self.deadline: float | None = None
        self.home: str | None = None
        self.probe: str | None = None
        self.proof: str | None = None
        self.scope: str | None = None
        self.explain = False
        self.answered = 0
        self.trust: list[str] = []


# Why a launcher starts this process after the server ended with its request in hand.
LOST = "lost"
# Options for the lines and launchers that hookrun writes, and for `doctor --prove`; no help shows them.
WIRED = frozenset({"--answered", "--cold", "--home", "--probe", "--proof", "--scope"})
TAKE_VALUE = frozenset({"--agent", "--ctx", "--config", "--deadline", "--trust", *WIRED})


def parse_arguments(argv: list[str]) -> FireOptions:
    """Return the parsed arguments after `fire`. Raises FireError if they are invalid."""
    options = FireOptions()
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in TAKE_VALUE:
            if not equals:
                if not rest:
                    raise FireError(f"{name} needs a value\nhint: see `hookrun fire --help`")
                value = rest.pop(0)
            if name == "--trust":
                options.trust += _digests(value)
            else:
                setattr(options, name[2:], CONVERTERS[name](value) if name in CONVERTERS else value)
        elif word == "--explain":
            options.explain = True
        elif word.startswith("-") and word != "-":
            raise _unknown_option(name)
        elif options.event:
            raise FireError(f"unexpected argument `{escape(word)}`: the event is {options.event}\nhint: give one event")
        else:
            options.event = word
    if not options.event and options.agent is None:
        raise FireError("no event given\nhint: for example `hookrun fire pre_tool_use --ctx ctx.json`")
    return options


def _unknown_option(name: str) -> FireError:
    known = (*TAKE_VALUE, "--explain", "--help")
    hint = did_you_mean(name, known, "see `hookrun fire --help`", "`{}`".format)
    if name == "--repeat":
        hint = "did you mean `hookrun try COMMAND --repeat N`?"
    return FireError(f"unknown option {quote(name)}\nhint: {hint}")


def _digests(text: str) -> list[str]:
    digests = [each.strip() for each in text.split(",") if each.strip()]
    for digest in digests:
        if not digest.startswith("sha256:"):
            raise FireError(
                f"invalid digest {quote(digest)} in --trust\nhint: `hookrun trust --digest` prints the digests"
            )
    return digests


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        msg = f"--deadline must be a number of seconds greater than 0, not {quote(text)}"
        raise FireError(f"{msg}\nhint: write a number without a unit")
    return seconds


# Options whose value is not a string -> their parser.
CONVERTERS: dict[str, Callable[[str], object]] = {"--deadline": _seconds, "--answered": int}


def agent_named(argv: list[str]) -> str | None:
    """Return the agent in the arguments, even if they are otherwise invalid."""
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name == "--agent":
            return value if equals else (argv[index + 1] if index + 1 < len(argv) else "")
    return None


class ProgramFire:
    """One run for the user or a program, from the command line to the exit status."""

    def __init__(self, options: FireOptions, worker: HostWorker | None = None) -> None:
        self.options = options
        home = home_directory() if options.home is None else named_home(options.home)
        CurrentRun.home = home
        self.invocation = FireInvocation(home, deadline=options.deadline, worker=worker)
        self.invocation.cold = options.cold
        self.fire = EventFire(self.invocation, options.event)

    def run(self) -> int:
        """Run the hooks, print and record the result, and return the exit status."""
        invocation = self.invocation
        try:
            verdict = self._verdict()
        except (FireError, UnknownEventError, contexts.ContextError) as error:
            return self._fail(str(error))
        except RecursionError:
            return self._fail("the context is nested too deeply")
        except Exception as error:
            return self._fail(report_bug(error, invocation.home))
        refused = PRECEDENCE[verdict.action] >= PRECEDENCE["ask"]
        status = REFUSED if refused else FAILED if invocation.problems else CONTINUE
        if invocation.interrupted:
            print_message(f"interrupted by signal {invocation.interrupted}: every hook was ended")
            # A refusal survives the signal: the verdict is printed and the status stays 2.
            status = status if refused else 128 + invocation.interrupted
        if status in (CONTINUE, REFUSED):
            status = self._answer(verdict, status)
        self._report()
        if os.isatty(1) and os.isatty(2):
            from hookrun.core.terminal import terminal_width, wrap
            from hookrun.fire.dry_run import runs_here
            from hookrun.fire.explanation import sentence, unapproved  # only for a terminal

            write_stderr("\n".join(wrap(sentence(self.fire, verdict), terminal_width(2) or 80, "  ")))
            if waiting := unapproved(self.fire):
                print_message(runs_here(waiting), "note")
        elif refused and verdict.message:
            write_stderr(verdict.message)
        if self.options.explain:
            from hookrun.fire.explanation import explain

            write_stderr("\n".join(text for text, _ in explain(self.fire, verdict)))
        self._audit(status, verdict)
        return status

    def _verdict(self) -> Verdict:
        if self.invocation.disabled:
            contexts.drain_stdin()
            print_message("HOOKRUN=0: every hook is switched off", "warning")
            return Verdict()
        invocation, fire = self.invocation, self.fire
        try:
            cwd = os.getcwd()
        except OSError:
            cwd = None
        invocation.load(cwd, self.options.config)
        fire.event = EVENTS.get(fire.event) or resolve_event(fire.event, invocation.events)
        data: Mapping[str, object] = invocation.read_context(self.options.ctx, fire.event)
        if data.get("tool_name") is not None and data["tool_name"] not in TOOLS:
            from hookrun.agents.known_tools import message_of_program, with_given_names  # of all agents

            if (message := message_of_program(data)) is not None:
                return with_given_names(message, fire.run(message.calls[0].fields))
        return fire.run(data)

    def _answer(self, verdict: Verdict, status: int) -> int:
        """Print the verdict; return the exit status, FAILED if one other than `continue` was not written."""
        chain = self.fire.chain
        data = contexts.answer(verdict, self.fire.request_id, chain.runs if chain is not None else ())
        error = write_all(1, dumps(data).encode("ascii") + b"\n")
        if error is None:
            return status
        print_message(f"the verdict ({verdict.action}) could not be written to stdout: {error}")
        return FAILED if status == CONTINUE and verdict.action != "continue" else status

    def _report(self) -> None:
        if self.invocation.problems:
            from hookrun.config.document import problem_message

            for problem in self.invocation.problems:
                print_message(problem_message(problem))
        for each in (*self.invocation.kept, *self.invocation.gone):
            print_message(each, "warning")
        for each in self.fire.trust.switched_off() if self.fire.trust is not None else ():
            print_message(f"hook {each}", "warning")
        for run in self.fire.chain.runs if self.fire.chain is not None else ():
            if run.failure is not None:
                print_message(run.verdict.system_message or run.verdict.message or "", "warning")
            for note in run.notes:
                print_message(f"hook {run.hook.name}: {note}", "warning")

    def _fail(self, message: str) -> int:
        if self.options.ctx == "-":
            contexts.drain_stdin()
        self._report()
        print_message(message)
        status = FAILED
        if self.fire.event in GATES:
            from hookrun.core import gate
            from hookrun.fire.unread import guards_of_message, refusal_of

            if gate.refuses(self.invocation.settings.get("on_error"), lambda: bool(guards_of_message(self.fire))):
                status = REFUSED
                print_message(refusal_of(self.invocation, "a guard could not judge this, so it is refused"))
        self._audit(status, None, error=one_line(message))
        return status

    def _audit(self, status: int, verdict: Verdict | None, error: str | None = None) -> None:
        """Write the audit records; failing does not change the answer."""
        try:
            self.invocation.close([(self.fire, verdict, {"error": error, "exit": status})])
        except Exception as failed:
            print_message(f"the audit could not be written: {report_bug(failed, self.invocation.home)}")
        for warning in self.invocation.warnings:
            print_message(warning, "warning")


def _open_standard_streams() -> None:
    """Open closed standard streams, so that no file of ours takes their number.

    Stdout is opened for reading, so that writing the verdict fails visibly.
    """
    for fd, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, mode)


def main(argv: list[str], worker: HostWorker | None = None) -> int:
    """Run `hookrun fire` with the arguments after `fire` and return the exit status; raises nothing.

    `worker` is the server's that calls this.
    """
    _open_standard_streams()
    agent = agent_named(argv)
    CurrentRun.home, CurrentRun.for_agent = "", agent is not None
    if "-h" in argv or "--help" in argv:
        return FAILED if write_all(1, help_text().encode()) else CONTINUE
    options: FireOptions | None = None
    try:
        options = parse_arguments(argv)
        if options.agent is None:
            return ProgramFire(options, worker).run()
        error_text = ""
    except (FireError, NoHomeError) as error:
        error_text = str(error)
    except Exception as error:  # no traceback may reach an agent
        error_text = report_bug(error)
    if agent is not None:
        from hookrun.fire.agent import AgentFire, run

        kind = AgentFire
        if options is not None and options.cold == LOST:
            from hookrun.fire.lost_run import LostFire

            kind = LostFire
        return run(agent, options or FireOptions(), error_text, worker, kind)
    contexts.drain_stdin()
    print_message(error_text)
    return FAILED
