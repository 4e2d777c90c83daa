"""Explain an event for an agent; with `--run`, run its hooks as `hookrun fire` does."""

from __future__ import annotations

import os
from contextlib import suppress
from json import loads
from typing import TYPE_CHECKING

from hookrun.agents.base import native_event
from hookrun.agents.formats import Reply, reply_from_verdict
from hookrun.agents.reply import ARGUMENTS, DEGRADATIONS, NO_WORDS, build_response, degrade
from hookrun.cli.commands import MAX_ANSWER
from hookrun.cli.printing import json_text, print_line, print_lines, print_table, print_wrapped
from hookrun.dry_run import DEPENDS, ENDED, FAILS, RUNS, UNAPPROVED, explain_mismatch, is_unapproved
from hookrun.edit.file_change import FileError
from hookrun.engine import combine
from hookrun.fastjson import format_value
from hookrun.fire.agent import AgentFire
from hookrun.fire.command import FireOptions
from hookrun.fire.explanation import arguments, not_run, runs_in_background, runs_of, shown_lines, was_started
from hookrun.fire.invocation import EventFire, FireInvocation
from hookrun.model import HookResult, Outcome
from hookrun.text import diff, truncate
from hookrun.trust.notices import combine_failures
from hookrun.verdicts import apply_policies
from hookrun.wiring import plan
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import SCOPES, InstallLocation, WiredEvent
from hookrun.wiring.wired_command import this_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrun.agents.base import Message
    from hookrun.agents.types import Agent
    from hookrun.cli.explain import Explanation
    from hookrun.cli.printing import Line
    from hookrun.model import Hook, Verdict

ACTIONS = ("allow", "ask", "modify", "block", "skip", "stop")

# Limit on the characters of a value in the table.
MAX_VALUE = 60
RESULT_STYLES = {
    **dict.fromkeys(("continue", "allow", "modify", "started"), "ok"),
    **dict.fromkeys(("block", "stop", "failed"), "error"),
    **dict.fromkeys(("ask", "skip", UNAPPROVED), "warning"),
    **dict.fromkeys(("not run", "no match"), "dim"),
}


# --- the agent


class AgentSide:
    """Whether the agent sends the event, its answer, and what it cannot do."""

    def __init__(self, agent: Agent, explanation: Explanation) -> None:
        self.agent = agent
        self._event, self._message = explanation.query.event, explanation.query.message
        self._explanation = explanation

    def obstacle(self) -> str | None:
        """Return what keeps every hook from running in the agent, or None."""
        agent = self.agent
        if plan.unsupported_events(agent, [self._event]):
            return f"{agent.DISPLAY_NAME} has no such event: its hooks never run there"
        if plan.unsent_events(agent, [self._event]):
            version = plan.newest_measured(agent)
            return f"{agent.DISPLAY_NAME} never sends this event (seen up to {version}): its hooks never run there"
        wanted = plan.events_for(agent, [self._event])
        wired = self._installed(wanted)
        remedy = f"run `hookrun install {agent.NAME}`"
        if wanted and not wired:
            return f"{agent.DISPLAY_NAME} runs no hooks: hookrun is not installed for {wanted[0]}: {remedy}"
        if wired and all(each.only for each in wired):
            first = wired[0]
            where = f"only where {first.only} matches ({first.path}:{first.line})"
            return f"{agent.DISPLAY_NAME} runs hooks for {first.event} {where}: {remedy}"
        return None

    def _installed(self, wanted: Sequence[str]) -> list[WiredEvent]:
        found: list[WiredEvent] = []
        location = InstallLocation(self._explanation.sources.home, self._explanation.sources.project, dict(os.environ))
        for scope in SCOPES:
            with suppress(FileError):
                found += plan.wired_events(InstallRequest(self.agent, scope, location, this_program()))
        return [each for each in found if each.event in wanted]

    def lines(self) -> Iterator[Line]:
        """Yield the agent's answer, and what it does not support at this event."""
        if plan.unsupported_events(self.agent, [self._event]):
            return
        known = self.known_answer()
        if known is not None:
            yield f"{self.agent.DISPLAY_NAME} would get, with exit status 0: {known or 'nothing'}", "bold"
        fallbacks = ", ".join(dict.fromkeys(name for _, name in self.unsupported()))
        if fallbacks:
            yield f"unsupported by {self.agent.DISPLAY_NAME}, with what it falls back to: {fallbacks}", "dim"

    def known_answer(self) -> str | None:
        """Return the agent's answer if known in advance, as hooks can only fail; else None."""
        message = self._message
        every = [each for predictions in self._explanation.predictions for each in predictions]
        if message is None or any(each.state in (RUNS, DEPENDS) or each.depends for each in every):
            return None
        replies = []
        for predictions in self._explanation.predictions:
            runs = [
                HookResult(each.hook, apply_policies(each.hook, why), outcome=Outcome(why), failure=why)
                for each in predictions
                if each.state == FAILS and (why := each.failure) is not None
            ]
            behind = [
                (each.hook, each.failure)
                for each in predictions
                if each.state == ENDED and each.never_approved and each.failure is not None
            ]
            combine_failures(runs, behind, self._explanation.sources.project)
            replies.append(reply_from_verdict(combine(runs), runs))
        return build_response(self.agent, message, replies).stdout().decode().strip()

    def unsupported(self) -> Iterator[tuple[str, str]]:
        """Yield each unsupported action of the event, and its fallback."""
        message = self._message
        native = message.native if message is not None else native_event(self.agent, self._event)
        form = self.agent.RESPONSE_FORMATS.get(native)
        able = form.capabilities if form is not None else NO_WORDS
        if message is not None and message.tool is not None and message.to_native_args([{}]) is None:
            able -= ARGUMENTS
        for action in ACTIONS:
            reason = None if action in ("allow", "modify") else "no"
            wanted = Reply(action, reason, args={} if action == "modify" else None)
            for name in degrade(wanted, able, self._event)[1]:
                yield action, name


# --- results of runs


class ExplainRun:
    """The results of the runs, one per call; `inputs` is what each hook read, by the id of its outcome.

    `stdout` and `status` are what the agent got, `degraded` the names of what it does not support. `interrupted` is the
    signal that ended the runs, or 0.
    """

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation
        self.fires: list[tuple[EventFire, Verdict]] = []
        self.inputs: dict[int, bytes] = {}
        self.stdout = b""
        self.status = 0
        self.degraded: list[str] = []
        self.problems: list[str] = []
        self.interrupted = 0
        self._last_input: object = None

    def watch(self, jobs: list[tuple[Hook, bytes]], outcomes: list[Outcome]) -> None:
        """Record what each hook read."""
        for (_, stdin), outcome in zip(jobs, outcomes, strict=True):
            self.inputs[id(outcome)] = stdin

    def add_problems(self, invocation: FireInvocation) -> None:
        """Add the problems that concern no single hook."""
        self.problems += [*invocation.problems, *invocation.warnings]
        self.interrupted = invocation.interrupted
        if self.interrupted:
            self.problems.append(f"interrupted by signal {self.interrupted}: every hook was ended")

    def summary_line(self) -> str | None:
        """Return the results in one line, or None if no hook ran."""
        if not any(runs_of(fire) for fire, _ in self.fires):
            return None
        text = "; ".join(_summary(fire, verdict) for fire, verdict in self.fires)
        return truncate(self.explanation.localize(text), MAX_ANSWER)

    def show(self) -> None:
        """Print the results or, if no hook ran, the explanation."""
        first = self.summary_line()
        if first is None:
            self.explanation.show()
        else:
            print_wrapped(first, style="bold")
            for number, (fire, verdict) in enumerate(self.fires):
                print_line("")
                print_table(
                    ("#", "HOOK", "RESULT", "TIME", "DETAILS"),
                    list(self._rows(fire)),
                    title=self.explanation.call_title(number),
                    styles=RESULT_STYLES,
                    wrap=True,
                )
                for text, style in self._transcript(fire):
                    print_wrapped(text, " " * len("  input   "), style)
                print_lines(_changed_arguments(fire, verdict))
            self.explanation.show_notes()
        for each in self.problems:
            print_wrapped(f"note: {each}", style="warning")
        print_lines(self._answer_lines())

    def _rows(self, fire: EventFire) -> Iterator[tuple[str, ...]]:
        chain, candidates = fire.chain, fire.candidates
        if chain is None or candidates is None:
            return
        for index in range(candidates.count):
            hook = candidates.hook(index)
            if self.explanation.hook not in (None, hook.name):
                continue
            runs = [run for run in chain.runs if run.hook is hook]
            for run in runs:
                *result, details = _result(run)
                yield str(index + 1), hook.name, *result, self.explanation.localize(details)
            if not runs:
                step = chain.statuses.get(index)
                cause = explain_mismatch(hook, chain.context) or "it did not match before a later hook made changes"
                why_not = ("not run", "-", step.removeprefix("not run: ")) if step else ("no match", "-", cause)
                yield str(index + 1), hook.name, *why_not

    def _transcript(self, fire: EventFire) -> Iterator[Line]:
        """Yield what the hooks read and wrote, omitting an input equal to the last."""
        for run in runs_of(fire):
            if self.explanation.hook not in (None, run.name) or not (was_started(run) or runs_in_background(run)):
                continue
            yield from (("", ""), (run.name, "bold"))
            current, stdin = _parse_input(self.inputs.get(id(run.outcome), b""))
            if current == self._last_input:
                stdin = []
                yield "  input   as above", "dim"
            self._last_input = current
            output, errors = shown_lines(run.outcome.stdout), shown_lines(run.outcome.stderr)
            for title, texts in (("input", stdin), ("output", output), ("stderr", errors)):
                for number, text in enumerate(texts):
                    yield f"  {'' if number else title:<7} {text}", ""
            if run.outcome.exit_code:
                yield f"  exit status {run.outcome.exit_code}", ""
            if runs_in_background(run):
                yield f"  `hookrun why {fire.request_id}` shows how it ends", "dim"

    def _answer_lines(self) -> Iterator[Line]:
        agent = self.explanation.query.agent
        if agent is None:
            return
        yield "", ""
        yield f"{agent.DISPLAY_NAME} gets, with exit status {self.status}:", "bold"
        for line in shown_lines(self.stdout) or ["nothing"]:
            yield f"  {line}", ""
        for name in self.degraded:
            yield f"{name}: {DEGRADATIONS[name]}", "warning"

    def json(self) -> dict[str, object]:
        """Return the explanation with the results as a JSON object."""
        for_agent = self.explanation.query.agent is not None
        report = self.explanation.json()
        run = {
            "fires": [self._fire_to_json(fire, verdict) for fire, verdict in self.fires],
            "told": self.stdout.decode() if for_agent else None,
            "exit": self.status if for_agent else None,
            "degraded": self.degraded,
            "problems": self.problems,
        }
        return {**report, "answer": self.summary_line() or report["answer"], "run": run}

    def _fire_to_json(self, fire: EventFire, verdict: Verdict) -> dict[str, object]:
        before, after = arguments(fire)
        return {
            "event": fire.event,
            "request_id": fire.request_id,
            "verdict": verdict.to_dict(),
            "arguments": {"before": before, "after": after},
            "hooks": [self._run_to_json(run) for run in runs_of(fire)],
        }

    def _run_to_json(self, run: HookResult) -> dict[str, object]:
        return {
            **run.summary(),
            "background": runs_in_background(run),
            "input": self.inputs.get(id(run.outcome), b"").decode("utf-8", "replace"),
            "output": run.outcome.stdout.decode("utf-8", "replace"),
            "stderr": run.outcome.stderr.decode("utf-8", "replace"),
            "exit": run.outcome.exit_code,
            "detail": run.failure.detail if run.failure is not None else None,
            "verdict": run.verdict.to_dict(),
            "changed": run.changed,
            "notes": run.notes,
        }


def run(explanation: Explanation) -> ExplainRun:
    """Run the matching hooks and return the results. Raises FireError."""
    result, query = ExplainRun(explanation), explanation.query
    if query.agent is not None and query.message is not None:
        _RecordedAgentFire(result, query.agent, query.message).run()
    else:
        _run_for_user(result)
    return result


def _run_for_user(result: ExplainRun) -> None:
    explanation = result.explanation
    invocation = FireInvocation(explanation.sources.home)
    if invocation.disabled:
        result.problems.append("HOOKRUN=0: every hook is switched off")
        return
    invocation.on_outcomes = result.watch
    invocation.load(explanation.sources.cwd, explanation.sources.config)
    for fields in explanation.query.contexts:
        fire = EventFire(invocation, explanation.query.event)
        verdict = fire.run(fields)
        result.fires.append((fire, verdict))
        invocation.write_audit(fire.records(verdict))
        if invocation.interrupted:
            break
    result.add_problems(invocation)


class _RecordedAgentFire(AgentFire):
    """Does what `hookrun fire --agent` does, but records the answer."""

    def __init__(self, result: ExplainRun, agent: Agent, message: Message) -> None:
        sources, options = result.explanation.sources, FireOptions()
        options.event, options.agent = result.explanation.query.event, agent.NAME
        options.config, options.home = sources.config, sources.home
        super().__init__(agent, options, "")
        self._result = result
        self._query_message = message

    def run(self) -> int:
        result = self._result
        result.status = super().run()
        result.fires = self.fires
        result.degraded = list(dict.fromkeys(self.answer.degraded)) if self.answer is not None else []
        result.problems += self.errors
        result.add_problems(self.invocation)
        return result.status

    def _read(self) -> Message:
        self.invocation.on_outcomes = self._result.watch
        return self._query_message

    def _print(self, stdout: bytes) -> str | None:
        self._result.stdout = stdout
        return None

    def _start(self) -> str | None:
        return self._result.explanation.sources.cwd


def _summary(fire: EventFire, verdict: Verdict) -> str:
    chain = fire.chain
    if chain is None:
        return f"{fire.event}: {verdict.action}; no hook ran"
    if fire.invocation.interrupted:
        return f"{fire.event}: interrupted by signal {fire.invocation.interrupted}: every hook was ended"
    by = f" by {chain.ended_by}" if chain.ended_by is not None else ""
    parts = [f"{verdict.action}{by}{f' ({verdict.message})' if verdict.message else ''}"]
    started = list(dict.fromkeys(run.name for run in chain.runs if was_started(run)))
    background = list(dict.fromkeys(run.name for run in chain.runs if runs_in_background(run)))
    if started or not background:
        parts.append(f"ran: {', '.join(started)}" if started else "no hook ran")
    if background:
        parts.append(f"started in the background: {', '.join(background)}")
    parts += [
        f"{run.name} failed ({run.failure.kind}: {run.failure.detail})"
        for run in chain.runs
        if run.failure is not None and run.failure.detail not in (verdict.message or "")
    ]
    parts += [f"{name} not run: {why}" for name, why in not_run(fire)]
    return f"{fire.event}: {'; '.join(parts)}"


def _result(run: HookResult) -> tuple[str, str, str]:
    """Return a hook's action, its time and the rest of its answer, or its failure."""
    took = f"{run.outcome.ms:.0f} ms" if was_started(run) else "-"
    notes = ["again, on the changed arguments"] if run.recheck else []
    notes += [f"changed {', '.join(run.changed)}"] if run.changed else []
    if run.failure is not None:
        unapproved = is_unapproved(run.failure)
        detail = run.failure.detail.removeprefix(f"{UNAPPROVED}: ")
        action = UNAPPROVED if unapproved else "failed"
        return action, took, "; ".join([detail if unapproved else f"{run.failure.kind}: {detail}", *notes, *run.notes])
    fields = {name: value for name, value in run.verdict.to_dict().items() if name not in ("action", "message")}
    answer = [run.verdict.message] if run.verdict.message else []
    answer += [f"{name} {format_value(value, MAX_VALUE)}" for name, value in fields.items()]
    return "started" if runs_in_background(run) else run.verdict.action, took, "; ".join([*answer, *notes, *run.notes])


def _parse_input(stdin: bytes) -> tuple[object, list[str]]:
    """Return a hook's input without its name, to compare, and its lines, which can wrap."""
    try:
        data = loads(stdin)
    except ValueError:
        return stdin, shown_lines(stdin)
    spaced = json_text(data).encode("utf-8", "backslashreplace")
    return {**data, "hook": None} if isinstance(data, dict) else data, shown_lines(spaced)


def _changed_arguments(fire: EventFire, verdict: Verdict) -> Iterator[Line]:
    if verdict.modified_args is None:
        return
    styles = {"+": "ok", "-": "error", "@": "dim"}
    yield "", ""
    yield "arguments (- before, + after)", "bold"
    for line in diff(*(json_text(each, 2) for each in arguments(fire))):
        yield f"  {line}", styles.get(line[:1], "")
