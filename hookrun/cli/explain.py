"""`hookrun explain`: predict which hooks would run for an event and why the others would not; run them with `--run`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from hookrun import context as contexts
from hookrun.agents.base import native_event
from hookrun.agents.formats import Reply, reply_from_verdict
from hookrun.agents.reply import ARGUMENTS, DEGRADATIONS, NO_WORDS, build_response, degrade
from hookrun.cli.common import (
    FAILED,
    INTERRUPTED,
    agents_named,
    command,
    config_options,
    resolve_home,
    unknown_hook,
    working_directory,
)
from hookrun.cli.event_query import ConfigSources, EventQuery
from hookrun.cli.printing import BOLD, DIM, ERROR, OK, WARNING, print_json, print_lines
from hookrun.config.discovery import claude_directory
from hookrun.dry_run import DEPENDS, ENDED, FAILS, NOT, OFF, RUNS, DryRun
from hookrun.edit.file_change import FileError
from hookrun.events import resolve_event
from hookrun.fire.explanation import attributes
from hookrun.model import HookResult, Outcome
from hookrun.process.prepare import HookEnvironment
from hookrun.trust.approvals import Approvals, UserDecisions
from hookrun.trust.notices import combine_failures
from hookrun.verdicts import apply_policies, combine
from hookrun.wiring import plan
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import SCOPES, InstallLocation
from hookrun.wiring.wired_command import this_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookrun.agents.types import Agent
    from hookrun.cli.printing import Line
    from hookrun.dry_run import Prediction
    from hookrun.model import Hook
    from hookrun.wiring.targets import WiredEvent

STATES = {
    RUNS: ("would run", OK),
    DEPENDS: ("may run", WARNING),
    FAILS: ("would fail", ERROR),
    OFF: ("is switched off", WARNING),
    ENDED: ("would not be reached", WARNING),
    NOT: ("does not apply", DIM),
}
"""State of a prediction -> how it is worded, and its style."""

MAX_NAMED = 3
"""Hooks of one state that the first line names with their cause."""
ACTIONS = ("allow", "ask", "modify", "block", "skip", "stop")


@command(
    "explain",
    "explain pre_tool_use",
    'explain pre_tool_use --tool bash --arg "command=git push --force"',
    "explain PreToolUse --agent claude --ctx message.json --run",
    "explain stop --hook run-tests --json",
    note="Nothing is run without --run. Exit status: 0 explained, 1 it cannot be explained.",
)
@click.argument("event")
@click.option("--ctx", "source", metavar="FILE", help="The context as JSON; - is stdin.")
@click.option("--tool", metavar="NAME", help="The tool that is called.")
@click.option("--arg", "args", multiple=True, metavar="K=V", help="One of its arguments; K:=V for V as JSON.")
@click.option("--agent", metavar="NAME", help="Explain it as this agent fires it; --ctx may be its own message.")
@click.option("--hook", "name", metavar="NAME", help="Make the first line about this hook.")
@click.option("--run", "running", is_flag=True, help="Run the hooks and show their results.")
@config_options
@click.pass_context
def explain_command(
    ctx: click.Context,
    event: str,
    *,
    agent: str | None,
    config: str | None,
    home: str | None,
    name: str | None,
    source: str | None,
    tool: str | None,
    args: tuple[str, ...],
    running: bool,
    as_json: bool,
) -> None:
    """Show which hooks would run for EVENT, and why the others would not. The first line is the answer.

    What you do not give is unknown, and hooks may depend on it. The explanation is for an agent's event, for which a
    project's hooks need your approval; with --run and without --agent it is for your own, as with `hookrun fire`.
    """
    if source is not None and (tool is not None or args):
        raise click.UsageError("--ctx holds the whole context: leave --tool and --arg out")
    own_home = resolve_home(home)
    by = agents_named([agent])[0] if agent is not None else None
    declared = ConfigSources(working_directory(), own_home, config).declarations.events
    query = EventQuery(resolve_event(event, declared, by.EVENTS if by is not None else None), by)
    if source is not None:
        query.read_context(source)
    else:
        query.build_context(tool, args)
    explanation = Explanation(query, own_home, config, name, running=running)
    report = explanation.json()
    lines = explanation.lines()
    status = FAILED if explanation.sources.declarations.problems else 0
    if running:
        from hookrun.cli.explain_run import run  # only where hooks are run

        result = run(explanation)
        report["answer"], report["run"] = result.summary_line() or report["answer"], result.json()
        lines = result.insert_into(lines)
        status = INTERRUPTED if result.interrupted else status
    if as_json:
        print_json(report)
    else:
        print_lines(lines)
    ctx.exit(status)


class Explanation:
    """The predictions for each hook of the event in each of the query's contexts.

    With `running` the hooks are run afterwards; without an agent this is `for_user`, which needs no approvals.
    """

    def __init__(self, query: EventQuery, home: str, config: str | None, hook: str | None, *, running: bool) -> None:
        self.query = query
        self.home = home
        self.config = config
        self.running = running
        self.for_user = running and query.agent is None
        claude = claude_directory(home) if self.for_user else None
        self.sources = ConfigSources(query.directory or working_directory(), home, config, claude=claude)
        self.hooks = [each for each in self.sources.declarations.hooks if query.event in each.events]
        self.hook = hook
        if hook is not None and hook not in [each.name for each in self.sources.declarations.hooks]:
            raise unknown_hook(hook, self.sources.declarations.hooks)
        self.predictions = [self._predict(fields) for fields in query.contexts]

    def _predict(self, fields: dict[str, object]) -> list[Prediction]:
        context = contexts.with_defaults(fields, self.query.event, "", self.sources.cwd)
        settings = self.sources.declarations.settings
        around = HookEnvironment(
            context,
            project=self.sources.project,
            request_id="",
            settings=settings,
            home=self.home,
        )
        kind = UserDecisions if self.for_user else Approvals
        trust = kind(self.home, self.sources.project, around, settings)
        return DryRun(trust, around, self._skipped).predict(self.hooks, context, self.query.known)

    def _skipped(self, hook: Hook) -> str | None:
        names = os.environ.get("HOOKRUN_SKIP", "") if self.query.agent is None else ""
        if hook.name in {each.strip() for each in names.split(",")}:
            return "HOOKRUN_SKIP names it (which counts for `hookrun fire`, not for an agent)"
        return None

    # --- as text

    def lines(self) -> list[Line]:
        """Return the explanation for a reader, the answer first."""
        lines = [(self.summary_line(), BOLD)]
        lines += [(f"  note: {note}", WARNING) for note in (*self.query.notes, *self._notes())]
        lines += [(f"  {layer} declarations: {path}", DIM) for layer, path in self.sources.files]
        for number, predictions in enumerate(self.predictions):
            if len(self.predictions) > 1:
                fields = self.query.contexts[number]
                about = fields.get("file_path") or fields.get("tool_name")
                lines.append((f"  call {number + 1} of {len(self.predictions)}, {about}:", BOLD))
            lines += _hook_lines(predictions)
        return [*lines, *self._other_lines()]

    def _notes(self) -> Iterator[str]:
        yield from (f"trouble: {each}" for each in self.sources.declarations.problems)
        if self.hooks and "session_id" not in self.query.known:
            yield "no whole context was given (--ctx): what depends on the rest of it is named"
        if self.for_user:
            yield "this is your own run: an agent's runs a project's hooks only if they are approved"

    def summary_line(self) -> str:
        """Return the answer in one line: which hooks would run, or why none would."""
        before = "".join(f"{each}; " for each in self._obstacles())
        answers = [self._call_answer(predictions) for predictions in self.predictions]
        problems = self.sources.declarations.problems
        problem = f"; {problems[0]}" if problems and all(problems[0] not in each for each in answers) else ""
        if len(answers) > 1:
            answers = [f"call {number} of {len(answers)}: {each}" for number, each in enumerate(answers, 1)]
        more = f"; {len(answers) - MAX_NAMED} more calls" if len(answers) > MAX_NAMED else ""
        return f"{self.query.event}: {before}{'; '.join(answers[:MAX_NAMED])}{more}{problem}"

    def _call_answer(self, predictions: Sequence[Prediction]) -> str:
        if self.hook is None:
            if not predictions:
                return f"no hook would run: {self.sources.why_no_hooks(self.query.event)}"
            return _answer_for_all(predictions)
        mine = [each for each in predictions if each.hook.name == self.hook]
        if not mine:
            events = next(each.events for each in self.sources.declarations.hooks if each.name == self.hook)
            return f"{self.hook} is not declared for it, but for {', '.join(events)}"
        return "; ".join(text for each in mine for text, _ in _by_cause([each]))

    def _obstacles(self) -> Iterator[str]:
        """Yield what keeps every hook from running, independent of the declarations."""
        agent = self.query.agent
        if agent is None:
            if os.environ.get("HOOKRUN") == "0":
                yield "HOOKRUN=0 is set, with which `hookrun fire` runs no hook (agents ignore it)"
            return
        if plan.unsupported_events(agent, [self.query.event]):
            yield f"{agent.DISPLAY_NAME} has no such event: hooks of it never run there"
            return
        if plan.unsent_events(agent, [self.query.event]):
            version = plan.newest_measured(agent)
            yield f"{agent.DISPLAY_NAME} never sends this event (seen up to {version}): hooks of it do not run there"
            return
        wanted = plan.events_for(agent, [self.query.event])
        wired = self._installed(agent, wanted)
        remedy = f"run `hookrun install {agent.NAME}`"
        if wanted and not wired:
            yield f"{agent.DISPLAY_NAME} fires no hook: hookrun is not wired for {', '.join(wanted)}: {remedy}"
        elif wired and all(each.only for each in wired):
            only = wired[0]
            where = f"{only.path}:{only.line}"
            yield f"{agent.DISPLAY_NAME} fires hooks of {only.event} only where {only.only} fits ({where}): {remedy}"

    def _installed(self, agent: Agent, wanted: Sequence[str]) -> list[WiredEvent]:
        found: list[WiredEvent] = []
        location = InstallLocation(self.home, self.sources.project, dict(os.environ))
        for scope in SCOPES:
            try:
                found += plan.wired_events(InstallRequest(agent, scope, location, this_program()))
            except FileError:
                continue
        return [each for each in found if each.event in wanted]

    def _other_lines(self) -> Iterator[Line]:
        """Yield the hooks of other events, and what the agent does not support at this one."""
        others = self.sources.other_hooks(self.query.event)
        if others:
            listed = "; ".join(f"{event}: {', '.join(names)}" for event, names in others.items())
            yield f"  declared for other events: {listed}", DIM
        agent = self.query.agent
        if agent is None or self.running or plan.unsupported_events(agent, [self.query.event]):
            return
        known = self._known_answer(agent)
        if known is not None:
            yield f"  {agent.DISPLAY_NAME} would be told, with exit status 0: {known or 'nothing'}", BOLD
        for action, name in self._unsupported(agent):
            yield f"  {agent.DISPLAY_NAME} cannot be told {action}: {name}: {DEGRADATIONS[name]}", DIM

    # --- what an agent would get

    def _known_answer(self, agent: Agent) -> str | None:
        """Return the agent's answer where it is known in advance, because hooks can only fail; else None."""
        message = self.query.message
        every = [each for predictions in self.predictions for each in predictions]
        if message is None or any(each.state in (RUNS, DEPENDS) or each.depends for each in every):
            return None
        replies = []
        for predictions in self.predictions:
            failed = [(each.hook, each.failure) for each in predictions if each.state == FAILS]
            runs = [
                HookResult(hook, apply_policies(hook, why), outcome=Outcome(why), failure=why)
                for hook, why in failed
                if why
            ]
            behind = [
                (each.hook, each.failure)
                for each in predictions
                if each.state == ENDED and each.never_approved and each.failure is not None
            ]
            combine_failures(runs, behind, self.sources.project)
            replies.append(reply_from_verdict(combine(runs, {}, changed=False), runs))
        return build_response(agent, message, replies).stdout().decode().strip()

    def _unsupported(self, agent: Agent) -> Iterator[tuple[str, str]]:
        """Yield each action that the agent's event does not support, and the name of what it falls back to."""
        message = self.query.message
        native = message.native if message is not None else native_event(agent, self.query.event)
        form = agent.RESPONSE_FORMATS.get(native)
        able = form.capabilities if form is not None else NO_WORDS
        if message is not None and message.tool is not None and message.to_native_args([{}]) is None:
            able -= ARGUMENTS
        for action in ACTIONS:
            reason = None if action in ("allow", "modify") else "no"
            wanted = Reply(action, reason, args={} if action == "modify" else None)
            for name in degrade(wanted, able, self.query.event)[1]:
                yield action, name

    # --- as JSON

    def json(self) -> dict[str, object]:
        """Return the explanation as a JSON object."""
        agent = self.query.agent
        report: dict[str, object] = {
            "event": self.query.event,
            "agent": agent.NAME if agent is not None else None,
            "answer": self.summary_line(),
            "files": [path for _, path in self.sources.files],
            "problems": self.sources.declarations.problems,
            "calls": [[_to_json(n, each) for n, each in enumerate(call, 1)] for call in self.predictions],
            "others": self.sources.other_hooks(self.query.event),
        }
        if agent is not None:
            report |= {"told": self._known_answer(agent), "degraded": dict(self._unsupported(agent))}
        return report


def _to_json(order: int, prediction: Prediction) -> dict[str, object]:
    hook = prediction.hook
    return {
        "order": order,
        "name": hook.name,
        "state": prediction.state,
        "why": prediction.why or None,
        "depends": prediction.depends,
        "failure": prediction.failure.kind if prediction.failure is not None else None,
        "on_failure": hook.on_failure,
        "layer": hook.layer,
        "priority": hook.priority,
        "trust": prediction.trust or None,
        "source": hook.source,
        "line": hook.line,
    }


def _by_cause(predictions: Iterable[Prediction]) -> list[tuple[str, int]]:
    """Return a phrase for the hooks of each cause, and their number; all are of one state."""
    names_by_cause: dict[str, list[str]] = {}
    state = ""
    for each in predictions:
        state = STATES[each.state][0]
        depends = f"depends on {', '.join(each.depends)}" if each.depends and not each.why else ""
        names_by_cause.setdefault(each.why or depends, []).append(each.hook.name)
    return [
        (f"{', '.join(names)} {state}{f': {cause}' if cause else ''}", len(names))
        for cause, names in names_by_cause.items()
    ]


def _answer_for_all(predictions: Sequence[Prediction]) -> str:
    by_state = {state: [each for each in predictions if each.state == state] for state in STATES}
    running = by_state[RUNS]
    parts = []
    if running:
        names = ", ".join(each.hook.name for each in running)
        parts.append(f"{len(running)} of {len(predictions)} hook{'s' * (len(predictions) > 1)} would run: {names}")
    elif not by_state[DEPENDS]:
        parts.append("no hook would run")
    for state in (DEPENDS, FAILS, OFF, ENDED, *(() if running else (NOT,))):
        causes = _by_cause(by_state[state])
        parts += [text for text, _ in causes[:MAX_NAMED]]
        if len(causes) > MAX_NAMED:
            parts.append(f"{sum(count for _, count in causes[MAX_NAMED:])} more {STATES[state][0]}")
    if running or by_state[DEPENDS]:
        return "; ".join(parts)
    return f"{parts[0]}: {'; '.join(parts[1:])}"


def _hook_lines(predictions: Sequence[Prediction]) -> Iterator[Line]:
    """Yield each hook in running order, with its state and why."""
    enforcing: list[str] = []
    for number, each in enumerate(predictions, 1):
        word, style = STATES[each.state]
        trust = f", {each.trust}" if each.trust else ""
        yield f"  {number}. {each.hook.name} {word} ({attributes(each.hook)}{trust}; {each.hook.location()})", style
        if each.why:
            yield f"      {each.why}", ""
        if each.depends:
            yield f"      {'if it applies, which ' if each.state != DEPENDS else ''}depends on:", ""
            yield from ((f"        {one}", "") for one in each.depends)
        if each.failure is not None and each.state == FAILS:
            blocks = each.hook.on_failure == "block" and each.hook.enforcing
            yield f"      its failure {'blocks the call' if blocks else 'is a warning; the call continues'}", ""
        if each.state in (RUNS, DEPENDS):
            if enforcing and not each.hook.always:
                yield f"      unless {' or '.join(enforcing)} before it ends the chain", DIM
            if each.hook.enforcing:
                enforcing.append(each.hook.name)
