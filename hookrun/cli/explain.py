"""`hookrun explain`: predict which hooks run for an event and why others do not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import click

from hookrun.agents.grades import measured
from hookrun.agents.types import Agent
from hookrun.cli.commands import FAILED, MAX_ANSWER, Workspace, command, hooks_named, json_options
from hookrun.cli.event_query import EventQuery
from hookrun.cli.printing import Line, count, print_json, print_paragraphs, print_problems, print_table, print_wrapped
from hookrun.config.load import Declarations
from hookrun.config.shapes import texts
from hookrun.core import context as contexts
from hookrun.core.model import Hook
from hookrun.core.text import shell_quoted, truncate
from hookrun.doctor.agent_state import wiring
from hookrun.fire.dry_run import (
    DEPENDS,
    ENDED,
    FAILS,
    NOT,
    OFF,
    RUNS,
    RUNS_HERE,
    UNAPPROVED,
    DryRun,
    Prediction,
    is_unapproved,
)
from hookrun.process.prepare import HookEnvironment
from hookrun.trust.approvals import UserDecisions
from hookrun.wiring import plan
from hookrun.wiring.targets import InstallLocation

# State of a prediction -> its name in the table, its style, and the answer's verb.
STATES = {
    RUNS: ("runs", "ok", "would run"),
    DEPENDS: ("may run", "warning", "may run"),
    FAILS: ("fails", "error", "would fail"),
    OFF: ("off", "warning", "is off"),
    ENDED: ("not reached", "warning", "would not be reached"),
    NOT: ("no match", "dim", ""),
}
# Limit on the hooks that do not run for the answer to name them.
MAX_NAMED = 3
STATE_STYLES = {**{name: style for name, style, _ in STATES.values()}, UNAPPROVED: "warning"}


@command(
    "explain",
    "explain pre_tool_use",
    'explain pre_tool_use --tool bash --arg "command=git push --force"',
    "explain PreToolUse --agent claude --ctx message.json",
    "explain stop --hook run-tests --json",
    note="Nothing is run. Exit status: 0 explained, 1 it cannot be explained.",
)
@click.argument("event")
@click.option("--ctx", "source", metavar="FILE", help="The context as JSON; - is stdin.")
@click.option("--tool", metavar="NAME", help="The tool that is called.")
@click.option("--arg", "args", multiple=True, metavar="K=V", help="One of its arguments; K:=V for V as JSON.")
@click.option("--agent", metavar="NAME", help="Explain it as this agent fires it; --ctx may be its own message.")
@click.option("--hook", metavar="NAME", help="Explain only this hook.")
@json_options
def explain_command(
    event: str,
    *,
    agent: str | None,
    at: Workspace,
    hook: str | None,
    source: str | None,
    tool: str | None,
    args: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show which hooks would run for EVENT, and why the others would not. The first line is the answer.

    What you do not give is unknown, and hooks may depend on it. The explanation is for an agent's event, for which a
    project's hooks need your approval; `hookrun try` runs them.
    """
    if source is not None and (tool is not None or args):
        raise click.UsageError("--ctx holds the whole context: leave --tool and --arg out")
    query = EventQuery(event, at, agent)
    if source is not None:
        query.read_context(source)
    else:
        query.build_context(tool, args)
    explanation = Explanation(query, hook)
    if as_json:
        print_json(explanation.json())
    else:
        explanation.show()
        query.sources.warn_not_run()
        print_problems(query.sources.problems)
    return FAILED if query.sources.problems else 0


class Explanation:
    """The predictions for each of the event's hooks in each of the query's contexts."""

    def __init__(self, query: EventQuery, hook: str | None) -> None:
        self.query = query
        self.sources = query.sources
        self.hooks = [each for each in self.sources.hooks if query.event in each.events]
        self.hook = hook
        if hook is not None:
            hooks_named(hook, self.sources.hooks, self.sources.problems)
        self.predictions = [self._predict(fields) for fields in query.contexts]

    def _predict(self, fields: dict[str, object]) -> list[Prediction]:
        context = contexts.with_defaults(fields, self.query.event, "", self.sources.cwd)
        project, settings, home = self.sources.project, self.sources.settings, self.sources.home
        environment = HookEnvironment(context, project=project, request_id="", settings=settings, home=home)
        trust = UserDecisions(home, project, environment, settings, need_approval=True)
        return DryRun(trust, environment, self._skipped).predict(self.hooks, context, self.query.known)

    def _skipped(self, hook: Hook) -> str | None:
        names = os.environ.get("HOOKRUN_SKIP", "") if self.query.agent is None else ""
        if hook.name in {each.strip() for each in names.split(",")}:
            return "HOOKRUN_SKIP names it (for `hookrun fire`, not for agents)"
        return None

    # --- as text

    def show(self) -> None:
        """Print the explanation, the answer first."""
        line = self._answer()
        print_wrapped(truncate(line, MAX_ANSWER), style="bold")
        if len(line) > MAX_ANSWER and not self.hooks:
            print_wrapped(f"note: {self.localize(self.sources.why_no_hooks())}")
        for number, predictions in enumerate(self.predictions):
            rows = self._rows(predictions)
            if rows:
                click.echo()
                columns = ("#", "HOOK", "STATE", "WHY")
                print_table(columns, rows, title=self._call_title(number), styles=STATE_STYLES, wrap=True)
        lines = list(self._lines_below())
        if lines:
            click.echo()
        print_paragraphs(lines)

    def _call_title(self, number: int) -> str | None:
        """Return a call's title in a message with several."""
        if len(self.predictions) == 1:
            return None
        fields = self.query.contexts[number]
        about = contexts.file_path({"working_dir": self.sources.cwd, **fields}) or fields.get("tool_name")
        return self.localize(f"call {number + 1} of {len(self.predictions)}{f': {about}' if about else ''}")

    def _lines_below(self) -> Iterator[Line]:
        """Yield the notes, further directories of programs, and other events' hooks."""
        yield from ((f"note: {note}", "") for note in self.query.notes)
        if "path" in self.sources.settings:
            path = texts(self.sources.settings, "path")
            yield f"hooks also look for programs in {', '.join(path)}", "dim"
        others = self.sources.other_hooks(self.query.event) if self.hook is None else {}
        if others:
            listed = ", ".join(f"{event} ({', '.join(names)})" for event, names in others.items())
            yield f"hooks of other events: {listed}", "dim"

    def _rows(self, predictions: Sequence[Prediction]) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        blocking = False
        for number, each in enumerate(predictions, 1):
            if self.hook in (None, each.hook.name):
                cause = why_not(each) or ("unless an earlier hook blocks" if blocking and not each.hook.always else "")
                rows.append((str(number), each.hook.name, state(each), self.localize(cause)))
            blocking = blocking or (each.state in (RUNS, DEPENDS) and each.hook.enforcing)
        return rows

    def _answer(self) -> str:
        """Return which hooks would run, or why none would."""
        obstacle = None
        if self.query.agent is not None:
            obstacle = agent_obstacle(self.query.agent, self.query)
        elif os.environ.get("HOOKRUN") == "0":
            obstacle = "HOOKRUN=0 is set: `hookrun fire` runs no hooks (agents ignore it)"
        answers = [self._call_answer(predictions) for predictions in self.predictions]
        if len(answers) > 1:
            answers = [f"call {number} of {len(answers)}: {each}" for number, each in enumerate(answers, 1)]
        answers = [obstacle, *answers] if obstacle else answers
        errors = len(self.sources.problems)
        if errors and self.hooks:
            answers.insert(0, count(errors, "config error"))
        return self.localize(f"{self.query.event}: {'; '.join(answers)}")

    def localize(self, text: str) -> str:
        """Shorten paths in the working directory and commands for this project."""
        trust_here = f"trust {shell_quoted(self.sources.project)}`"
        return text.replace(trust_here, "trust`").replace(f"{self.sources.cwd}/", "")

    def _call_answer(self, predictions: Sequence[Prediction]) -> str:
        if self.hook is None:
            if not predictions:
                return f"no hook would run: {self.sources.why_no_hooks()}"
            return answer(predictions)
        mine = [each for each in predictions if each.hook.name == self.hook]
        if not mine:
            events = next(each.events for each in self.sources.hooks if each.name == self.hook)
            return f"{self.hook} runs for other events: {', '.join(events)}"
        return "; ".join(map(phrase, mine))

    # --- as JSON

    def json(self) -> dict[str, object]:
        """Return the explanation as a JSON object."""
        agent = self.query.agent
        return {
            "event": self.query.event,
            "agent": agent.NAME if agent is not None else None,
            "answer": truncate(self._answer(), MAX_ANSWER),
            "files": self.sources.files,
            "problems": self.sources.problems,
            "calls": [
                [_to_json(n, each) for n, each in enumerate(call, 1) if self.hook in (None, each.hook.name)]
                for call in self.predictions
            ],
            "others": self.sources.other_hooks(self.query.event),
        }


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


# --- the words for predictions


def state(prediction: Prediction) -> str:
    """Return the table's word for a prediction's state."""
    return UNAPPROVED if is_unapproved(prediction.failure) else STATES[prediction.state][0]


def why_not(prediction: Prediction) -> str:
    """Return why a hook does not run, or what that depends on."""
    why, failure = prediction.why, prediction.failure
    if failure is not None and is_unapproved(failure):
        change, to_review, _ = failure.detail.partition(": review with")
        new = f"{change}; {RUNS_HERE}" if change != UNAPPROVED else RUNS_HERE
        why = new if to_review else failure.detail
    if failure is not None and prediction.state == FAILS:
        why += f" ({'blocks the call' if _blocks(prediction) else 'the call continues'})"
    return "; ".join(filter(None, (why, _depends(prediction))))


def _blocks(prediction: Prediction) -> bool:
    return prediction.hook.on_failure == "block" and prediction.hook.enforcing


def _depends(prediction: Prediction) -> str:
    return f"depends on {', '.join(prediction.depends)}" if prediction.depends else ""


def phrase(prediction: Prediction) -> str:
    """Return one hook's prediction as part of a sentence."""
    name, why = prediction.hook.name, prediction.why
    if prediction.failure is not None and is_unapproved(prediction.failure):
        why = why_not(prediction)
        return f"{name} {why}" if why.startswith(RUNS_HERE) else f"{name}: {why}"
    if why.startswith("disabled"):
        return f"{name} is {why}"
    cause = why or _depends(prediction)
    if prediction.state == NOT:
        return f"{name}: {cause}"
    return f"{name} {STATES[prediction.state][2]}{f': {cause}' if cause else ''}"


def answer(predictions: Sequence[Prediction]) -> str:
    """Return which hooks would run and how many would not, or why a single one would not."""
    blocked = any(each.state == FAILS and not each.depends and _blocks(each) for each in predictions)
    if len(predictions) == 1 and predictions[0].state != RUNS:
        return f"{'blocked: ' if blocked and not is_unapproved(predictions[0].failure) else ''}{phrase(predictions[0])}"
    by_state: dict[str, list[str]] = {}
    for each in predictions:
        by_state.setdefault(state(each), []).append(each.hook.name)
    running = by_state.pop(STATES[RUNS][0], [])
    named = not running and sum(map(len, by_state.values())) <= MAX_NAMED
    others = [
        f"{len(names)} {shown}" + (f" ({', '.join(names)})" if named else "") for shown, names in by_state.items()
    ]
    if running:
        return "; ".join(
            [f"{len(running)} of {count(len(predictions), 'hook')} would run: {', '.join(running)}", *others]
        )
    if blocked:
        return f"blocked: {', '.join(others)}"
    return f"{'' if STATES[DEPENDS][0] in by_state else 'no hook would run: '}{', '.join(others)}"


# --- what an agent adds: whether it sends the event


def agent_obstacle(agent: Agent, query: EventQuery) -> str | None:
    """Return what keeps every hook from running in the agent, or None."""
    if plan.unsupported_events(agent, [query.event]):
        return f"{agent.DISPLAY_NAME} has no such event: its hooks never run there"
    if plan.unsent_events(agent, [query.event]):
        version = measured(agent)["version"]
        return f"{agent.DISPLAY_NAME} never sends this event (seen up to {version}): its hooks never run there"
    wanted = plan.events_for(agent, [query.event])
    location = InstallLocation(query.sources.home, query.sources.project, dict(os.environ))
    wired = [each for each in wiring(agent, location, Declarations()).all_wired if each.event in wanted]
    remedy = f"run `hookrun install {agent.NAME}`"
    if wanted and not wired:
        return f"{agent.DISPLAY_NAME} runs no hooks: hookrun is not installed for {wanted[0]}: {remedy}"
    if wired and all(each.only for each in wired):
        first = wired[0]
        where = f"only where {first.only} matches ({first.path}:{first.line})"
        return f"{agent.DISPLAY_NAME} runs hooks for {first.event} {where}: {remedy}"
    return None
