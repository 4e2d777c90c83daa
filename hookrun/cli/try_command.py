"""`hookrun try`: run an event's hooks for a made-up or given call, and show each hook's verdict."""

from __future__ import annotations

import json
import os
import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from time import perf_counter

import click

from hookrun.agents.reply import DEGRADATIONS, build_response, replies_to
from hookrun.cli.commands import (
    FAILED,
    INTERRUPTED,
    Workspace,
    command,
    config_options,
    explain_call,
    hooks_named,
)
from hookrun.cli.event_query import EventQuery
from hookrun.cli.printing import (
    CONFIG_ERRORS,
    DIFF_STYLES,
    Line,
    count,
    json_text,
    percentile,
    print_json,
    print_line,
    print_message,
    print_paragraphs,
    print_problems,
    print_table,
    print_wrapped,
    shortened,
    warn,
)
from hookrun.core.events import REPLACEABLE, what_changes
from hookrun.core.files import read_or_none, relative_path
from hookrun.core.gate import with_end
from hookrun.core.model import AnyHook, Hook, HookResult, Outcome, Verdict, as_object
from hookrun.core.text import diff
from hookrun.fire.dry_run import is_unapproved, runs_here
from hookrun.fire.explanation import (
    before_and_after,
    not_run,
    runs_in_background,
    shown_lines,
    unapproved,
    was_started,
)
from hookrun.fire.invocation import REFUSED, EventFire, FireInvocation
from hookrun.trust.notices import unapproved_behind

PROMPT_EVENT, TOOL_EVENT = "user_prompt_submit", "pre_tool_use"
STYLES = {
    **dict.fromkeys(("block", "stop", "skip"), "error"),
    **dict.fromkeys(("ask", "modify", "failed", "skipped"), "warning"),
    **dict.fromkeys(("allow", "continue"), "ok"),
}
RESULTS = {"block": "blocked", "stop": "stopped", "skip": "skipped", "ask": "asks the user", "allow": "allowed"}
# Limit on the runs of `--repeat`.
MAX_REPEAT = 1000
# Limit on the characters shown of a reason.
MAX_TEXT = 300
# Limit on the bytes of an existing file given to a hook as the content to write.
MAX_FILE = 1 << 20


@command(
    "try",
    'try "rm -rf build"',
    'try "git push --force" --agent claude',
    "try --file .env --tool read",
    'try --prompt "deploy to production" --json',
    'try "npm install" --hook package-manager --repeat 20',
    "try --event PreToolUse --agent claude --ctx message.json --long",
    "try --event stop",
    note="Exit status: 0 the hooks ran, whatever their verdict; 1 they could not be run.",
)
@click.argument("words", metavar="[COMMAND_LINE]", nargs=-1)
@click.option("--file", metavar="PATH", help="Try writing this file instead of running a command.")
@click.option("--prompt", metavar="TEXT", help="Try a prompt of the user.")
@click.option("--tool", metavar="NAME", help="The tool; default bash, with --file write.")
@click.option("--event", metavar="EVENT", help="The event; default pre_tool_use, with --prompt user_prompt_submit.")
@click.option("--arg", "args", multiple=True, metavar="K=V", help="An argument of the tool; K:=V for V as JSON.")
@click.option("--ctx", "source", metavar="FILE", help="The context as JSON, or the agent's own message; - is stdin.")
@click.option("--agent", metavar="NAME", help="Try it as this agent would send it, and show what the agent gets.")
@click.option("--hook", "hooks", metavar="NAME", multiple=True, help="Run only this hook; repeatable.")
@click.option("--repeat", type=click.IntRange(1, MAX_REPEAT), metavar="N", help="Run N times and show the times.")
@click.option("--long", "is_long", is_flag=True, help="Also show what each hook read, wrote and changed.")
@config_options
def try_command(
    *,
    words: tuple[str, ...],
    file: str | None,
    prompt: str | None,
    tool: str | None,
    event: str | None,
    args: tuple[str, ...],
    source: str | None,
    agent: str | None,
    hooks: tuple[str, ...],
    repeat: int | None,
    is_long: bool,
    at: Workspace,
    as_json: bool,
) -> int:
    """Show what each hook says to a command line, a file, a prompt or any other call.

    The matching hooks really run, the command does not. With --agent, hooks that you have not approved do not run, and
    those with `on_failure: block` block the call. Nothing is logged.
    """
    _check_call(words, (file, prompt, source, args or None), tool, event)
    command_line = words[0] if words else None
    query = EventQuery(event or (PROMPT_EVENT if prompt is not None else TOOL_EVENT), at, agent)
    if source is not None:
        query.read_context(source)
    elif command_line is file is prompt is None:
        query.build_context(tool, args)
    else:
        query.set_context(_fields(command_line, file, prompt, tool, query.event))
    trial = Trial(query, hooks, repeated=repeat is not None)
    for _ in range(repeat or 1):
        trial.run()
        if trial.interrupted:
            break
    if as_json:
        print_json(trial.json())
    else:
        trial.show(is_long=is_long)
    return INTERRUPTED if trial.interrupted else FAILED if trial.problems else 0


def _check_call(words: Sequence[str], others: tuple[object, ...], tool: str | None, event: str | None) -> None:
    """Raise click.UsageError unless a call is given in one way; `others` are --file, --prompt, --ctx and --arg."""
    if len(words) > 1:
        quoted = shlex.quote(" ".join(words))
        raise click.UsageError(f"more than one command line\nhint: quote it: `hookrun try {quoted}`")
    given = len(words) + sum(each is not None for each in others)
    if given > 1:
        raise click.UsageError("a command line, --file, --prompt, --ctx and --arg cannot be combined")
    if not given and event is None:
        raise click.UsageError('nothing to try\nhint: for example `hookrun try "rm -rf build"`')
    if tool is not None and others[2] is not None:
        raise click.UsageError("--ctx holds the whole context: leave --tool out")


def _fields(
    command_line: str | None, file: str | None, prompt: str | None, tool: str | None, event: str
) -> dict[str, object]:
    if prompt is not None or event == PROMPT_EVENT:
        return {"user_prompt": prompt if prompt is not None else command_line}
    if file is not None:
        path = os.path.abspath(file)
        args: dict[str, object] = {"file_path": path}
        if tool in (None, "write"):
            now = read_or_none(path, MAX_FILE)  # a missing file is written empty
            args["content"] = "" if now is None else now.decode("utf-8", "replace")
        return {"tool_name": tool or "write", "tool_args": args, "file_path": path}
    return {"tool_name": tool or "bash", "tool_args": {"command": command_line}}


class Trial:
    """The hooks' runs on one context; `fires` are of the last, one per call in an agent's message.

    `inputs` is what each hook of the last run read, by the id of its outcome.
    """

    def __init__(self, query: EventQuery, names: Sequence[str], *, repeated: bool) -> None:
        """Raises click.ClickException for a name that no hook has."""
        self._query = query
        self._agent = query.agent
        self._sources = query.sources
        self._repeated = repeated
        hooks = self._sources.hooks
        for name in names:
            hooks_named(name, hooks, self._sources.problems)
        self._skip = ",".join(hook.name for hook in hooks if names and hook.name not in names)
        self._together: list[float] = []
        self._times: defaultdict[tuple[str, str], list[float]] = defaultdict(list)  # of each hook that ran
        self.fires: list[tuple[EventFire, Verdict]] = []
        self.inputs: dict[int, bytes] = {}
        self.problems: list[str] = []
        self.interrupted = 0

    def run(self) -> None:
        """Run the hooks once."""
        invocation = FireInvocation(self._sources.home, agent=self._agent.NAME if self._agent is not None else None)
        invocation.skip = self._skip
        invocation.load(self._sources.cwd, self._sources.config)
        invocation.settings = {**invocation.settings, "audit": False}
        invocation.on_outcomes = self._watch
        self.fires, self.inputs = [], {}
        began = perf_counter()
        for fields in self._query.contexts:
            fire = EventFire(invocation, self._query.event)
            self.fires.append((fire, fire.run(dict(fields))))
            for run in filter(was_started, fire.runs):
                self._times[_identity(run.hook)].append(run.ms)
            if invocation.interrupted:
                break
        self._together.append((perf_counter() - began) * 1000)
        self.problems, self.interrupted = [*invocation.problems, *invocation.kept], invocation.interrupted

    def _watch(self, jobs: list[tuple[Hook, bytes]], outcomes: list[Outcome]) -> None:
        for (_, stdin), outcome in zip(jobs, outcomes, strict=True):
            self.inputs[id(outcome)] = stdin

    def _all_runs(self) -> list[HookResult]:
        return [run for fire, _ in self.fires for run in fire.runs]

    def _not_run(self) -> list[tuple[str, str]]:
        """Return the matching hooks that did not run and why, except those that `--hook` left out."""
        left_out = set(self._skip.split(","))
        return [each for fire, _ in self.fires for each in not_run(fire) if each[0] not in left_out]

    def _unapproved(self) -> list[str]:
        found = [run.name for run in self._all_runs() if is_unapproved(run.failure)]
        for fire, _ in self.fires:
            found += unapproved(fire) if self._agent is None else ()
            if fire.chain is not None and fire.candidates is not None and fire.trust is not None:
                found += [hook.name for hook, _ in unapproved_behind(fire.chain, fire.candidates, fire.trust)]
        return list(dict.fromkeys(found))

    # --- as text

    def show(self, *, is_long: bool) -> None:
        """Print a table of the hooks, with `is_long` what they read and wrote, and the result."""
        print_problems(self.problems)
        if self.interrupted:
            warn(f"interrupted by signal {self.interrupted}: every hook was ended")
        for note in self._query.notes:
            print_message(note, "note")
        columns = ("HOOK", "VERDICT", *(("MEDIAN", "P95") if self._repeated else ("TIME",)), "REASON")
        rows = [self._row(run) for run in self._all_runs()]
        empty = [""] * (2 if self._repeated else 1)
        rows += [[name, "skipped", *empty, why] for name, why in self._not_run()]
        if rows:
            print_table(columns, rows, styles=STYLES, wrap=True)
            if is_long:
                for text, style in self._transcript():
                    print_wrapped(text, " " * len("  input   "), style)
            print_line("")
        print_paragraphs(self._result_lines(has_rows=bool(rows)))
        unapproved = self._unapproved()
        if unapproved:
            print_message(runs_here(unapproved), "note")

    def _transcript(self) -> Iterator[Line]:
        """Yield what each hook that was started read and wrote, and what was changed; an equal input only once."""
        last: object = None
        for fire, _ in self.fires:
            for run in fire.runs:
                if not (was_started(run) or runs_in_background(run)):
                    continue
                yield from (("", ""), (run.name, "bold"))
                current, stdin = _parse_input(self.inputs.get(id(run.outcome), b""))
                if current == last:
                    stdin = []
                    yield "  input   as above", "dim"
                last = current
                output, errors = shown_lines(run.outcome.stdout), shown_lines(run.outcome.stderr)
                for title, texts in (("input", stdin), ("output", output), ("stderr", errors)):
                    for number, text in enumerate(texts):
                        yield f"  {'' if number else title:<7} {text}", ""
                if run.outcome.exit_code:
                    yield f"  exit status {run.outcome.exit_code}", ""
            before, after = before_and_after(fire, REPLACEABLE.get(fire.event, ("", "tool_args"))[1])
            if before != after:
                yield from (("", ""), (f"{what_changes(fire.event)} (- before, + after)", "bold"))
                texts = [each if isinstance(each, str) else json_text(each, 2) for each in (before, after)]
                for line in diff(*texts):
                    yield f"  {line}", DIFF_STYLES.get(line[:1], "")

    def _row(self, run: HookResult) -> list[str]:
        word = run.action
        if run.failure is not None and run.action == "continue":
            word = "skipped" if is_unapproved(run.failure) else "failed"
        elif runs_in_background(run):
            word = "background"
        times = self._times.get(_identity(run.hook), [])
        is_unique = [name for name, _ in self._times].count(run.hook.name) <= 1
        shown = [run.ms if times else None]
        if self._repeated:
            shown = [percentile(times, 0.5), percentile(times, 0.95)]
        cells = [f"{each:.0f} ms" if each is not None else "" for each in shown]
        return [
            run.hook.name if is_unique else f"{run.hook.name} ({relative_path(run.hook.location())})",
            word,
            *cells,
            "; ".join(shortened(each, MAX_TEXT) for each in _reasons(run)),
        ]

    def _result_lines(self, *, has_rows: bool) -> Iterator[Line]:
        for number, (fire, verdict) in enumerate(self.fires, 1):
            which = f" of call {number}" if len(self.fires) > 1 else ""
            if not has_rows:
                yield f"result{which}: continue: {self._why_nothing_runs(fire)}", "bold"
                continue
            by = fire.chain.ended_by if fire.chain is not None else None
            word = RESULTS.get(verdict.action, verdict.action)
            yield f"result{which}: {word}{f' by {by}' if by is not None else ''}", "bold"
        if self._repeated and self._times:
            half, most = (percentile(self._together, share) for share in (0.5, 0.95))
            figures = f"min {min(self._together):.1f}, median {half:.1f}, p95 {most:.1f} ms"
            yield f"times of {count(len(self._together), 'run')}, all hooks together: {figures}", "dim"
        if self._agent is not None:
            answer, status, degraded = self._answer()
            with_status = f", with exit status {status}" if status else ""
            yield f"{self._agent.DISPLAY_NAME} gets{with_status}: {answer or 'nothing, and continues'}", ""
            for name in degraded:
                yield f"note: {name}: {DEGRADATIONS[name]}", "warning"

    def _why_nothing_runs(self, fire: EventFire) -> str:
        hooks = fire.candidates.count if fire.candidates is not None else 0
        if self.problems and not hooks:
            return CONFIG_ERRORS
        if not self._sources.hooks:
            return f"no hooks are configured here; `hookrun init` adds some{self._sources.overlooked()}"
        if not hooks:
            return f"no hook is configured for {self._query.event}"
        event, fields = self._query.event, self._query.contexts[0]
        agent = self._agent.NAME if self._agent is not None else None
        args = {name: as_object(fields.get("tool_args")).get(name) for name in ("command", "file_path")}
        explained = explain_call(event, tool=fields.get("tool_name"), agent=agent, **args)
        return f"none of the {count(hooks, 'hook')} for {event} matches; `{explained}` shows why"

    def _answer(self) -> tuple[str | None, int | None, list[str]]:
        """Return the agent's answer, its exit status and its fallbacks; None and None without an agent."""
        agent, message = self._agent, self._query.message
        if agent is None or message is None:
            return None, None, []
        fires = [(verdict, fire.runs) for fire, verdict in self.fires]
        answer = build_response(agent, message, replies_to(agent, message, fires))
        status = REFUSED if answer.needs_status else 0
        return answer.stdout().decode().strip(), status, list(dict.fromkeys(answer.degraded))

    # --- as JSON

    def json(self) -> dict[str, object]:
        """Return the results as a JSON object."""
        answer, status, degraded = self._answer()
        return {
            "event": self._query.event,
            "agent": self._agent.NAME if self._agent is not None else None,
            "calls": [
                {
                    "context": fire.context,
                    "hooks": [self._run_to_json(run) for run in fire.runs],
                    "arguments": dict(zip(("before", "after"), before_and_after(fire), strict=True)),
                    "verdict": verdict.to_dict(),
                    "ended_by": fire.chain.ended_by if fire.chain is not None else None,
                }
                for fire, verdict in self.fires
            ],
            "not_run": [{"name": name, "why": why} for name, why in self._not_run()],
            "not_approved": self._unapproved(),
            "told": answer,
            "exit": status,
            "degraded": degraded,
            "problems": self.problems,
        }

    def _run_to_json(self, run: HookResult) -> dict[str, object]:
        data = {
            **run.summary(),
            "detail": run.failure.detail if run.failure is not None else None,
            "verdict": run.verdict.to_dict(),
            "changed": run.changed,
            "notes": run.notes,
            "background": runs_in_background(run),
            "input": self.inputs.get(id(run.outcome), b"").decode("utf-8", "replace"),
            "output": run.outcome.stdout.decode("utf-8", "replace"),
            "stderr": run.outcome.stderr.decode("utf-8", "replace"),
            "exit": run.outcome.exit_code,
        }
        times = self._times.get(_identity(run.hook), [])
        if self._repeated:
            figures = {"median_ms": percentile(times, 0.5), "p95_ms": percentile(times, 0.95)}
            data |= {key: round(value, 1) if value is not None else None for key, value in figures.items()}
            data["runs"] = len(times)
        return data


def _identity(hook: AnyHook) -> tuple[str, str]:
    return hook.name, hook.location()


def _reasons(run: HookResult) -> Iterator[str]:
    if run.failure is not None:
        said = "not approved" if is_unapproved(run.failure) else f"{run.failure.kind}: {run.failure.detail}"
        yield with_end(said, run.consequence)
        return
    verdict = run.verdict
    if verdict.message:
        yield verdict.message
    new = verdict.modified_output if verdict.modified_output is not None else verdict.modified_prompt
    for path in run.changed:
        value = run.args.get(path, new) if isinstance(run.args, dict) else None
        yield f"{path}: {json_text(value)}" if value is not None else f"changes {path}"
    for name, text in (("context", verdict.additional_context), ("notice", verdict.system_message)):
        if text and text != verdict.message:
            yield f"{name}: {text}"


def _parse_input(stdin: bytes) -> tuple[object, list[str]]:
    """Return a hook's input without its name, to compare, and its lines, which can wrap."""
    try:
        data = json.loads(stdin)
    except ValueError:
        return stdin, shown_lines(stdin)
    spaced = json_text(data).encode("utf-8", "backslashreplace")
    return {**data, "hook": None} if isinstance(data, dict) else data, shown_lines(spaced)
