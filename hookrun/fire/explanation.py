"""Explain a finished run of `hookrun fire` or `try`: each hook, why it ran or not, and its result."""

from __future__ import annotations

from hookrun.agents.reply import DEGRADATIONS
from hookrun.core.fastjson import format_value
from hookrun.core.gate import with_end
from hookrun.fire.dry_run import explain_mismatch, is_unapproved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.agents.reply import AgentResponse
    from hookrun.core.model import Hook, HookResult, Verdict
    from hookrun.fire.agent import AgentFire
    from hookrun.fire.invocation import EventFire

    Line = tuple[str, str]
    """A line and its rich style on a terminal."""

# Characters shown of a hook's input or output.
MAX_SHOWN = 2000


def explain(fire: EventFire, verdict: Verdict) -> Iterator[Line]:
    """Yield the explanation of a finished run."""
    yield f"{fire.event}: request {fire.request_id}", "bold"
    yield from _config_files(fire)
    chain, candidates = fire.chain, fire.candidates
    if candidates is None or not candidates.count:
        yield "  no hook is configured for this event", ""
    else:
        context = chain.context if chain is not None else fire.context
        for index in range(candidates.count):
            hook = candidates.hook(index)
            step = chain.statuses.get(index) if chain is not None else None
            runs = [run for run in fire.runs if run.hook is hook]
            yield f"  {index + 1}. {hook.name} ({attributes(hook)}; {hook.location()})", ""
            if not runs:
                cause = (
                    explain_mismatch(hook, context) or "its conditions did not match before a later hook made changes"
                )
                yield f"      {step or f'does not apply: {cause}'}", "dim"
            for run in runs:
                yield from _result(run)
    yield f"  verdict: {summary(verdict)}", "bold"


def explain_answer(message: AgentFire, answer: AgentResponse | None, stdout: bytes) -> Iterator[str]:
    """Yield the explanation of the answer to an agent's message."""
    agent = message.agent.DISPLAY_NAME
    yield f"{agent}, {message.message.native}: {len(message.message.calls)} call(s)"
    for fire, verdict in message.fires:
        yield from (text for text, _ in explain(fire, verdict))
    for name in answer.degraded if answer is not None else ():
        yield f"  degraded: {name}: {DEGRADATIONS[name]}"
    yield f"  answer to {agent}: {stdout.decode().strip() or 'none'}"
    for each in (*message.errors, *message.invocation.problems):
        yield f"  problem: {each}"
    if message.skipped:
        yield f"  not run here: {message.skipped}"


def sentence(fire: EventFire, verdict: Verdict) -> str:
    """Return the result of a run in one sentence, for a terminal."""
    ran = list(dict.fromkeys(run.name for run in fire.runs if was_started(run) or runs_in_background(run)))
    if not ran:
        return f"{fire.event}: {verdict.action}: no hook ran; `hookrun explain {fire.event}` shows why"
    by = f" by {fire.chain.ended_by}" if fire.chain is not None and fire.chain.ended_by is not None else ""
    message = f": {verdict.message}" if verdict.message else ""
    return f"{fire.event}: {verdict.action}{by}{message} (ran: {', '.join(ran)})"


def unapproved(fire: EventFire) -> list[str]:
    """Return the hooks that ran here, in no agent, but that agents run only once you have approved them."""
    fire.invocation.asks_approval, fire.trust = True, None
    trust = fire.decisions()
    if trust is None or fire.candidates is None:
        return []
    ran, hooks = {run.name for run in fire.runs}, map(fire.candidates.hook, range(fire.candidates.count))
    return [hook.name for hook in hooks if hook.name in ran and is_unapproved(trust.check_before(hook))]


def attributes(hook: Hook) -> str:
    """Return a hook's layer, priority and non-default settings."""
    found = [hook.layer, f"priority {hook.priority}"]
    found += [name for name in ("parallel", "always", "exclusive", "serve", "background") if getattr(hook, name)]
    if hook.mode != "enforce":
        found.append(f"mode {hook.mode}")
    return ", ".join(found)


def summary(verdict: Verdict) -> str:
    """Return a verdict on one line: its action and all other fields that are set."""
    fields = [f", {name} {format_value(value, 200)}" for name, value in verdict.to_dict().items() if name != "action"]
    return verdict.action + "".join(fields)


def not_run(fire: EventFire) -> list[tuple[str, str]]:
    """Return the matching hooks that did not run: name and reason."""
    if fire.chain is None or fire.candidates is None:
        return []
    steps = [(fire.candidates.hook(index).name, step) for index, step in sorted(fire.chain.statuses.items())]
    return [(name, step.removeprefix("not run: ")) for name, step in steps if step.startswith("not run: ")]


def was_started(run: HookResult) -> bool:
    """Return whether the hook's program was started and awaited."""
    return run.outcome.exit_code is not None or run.outcome.ms > 0


def runs_in_background(run: HookResult) -> bool:
    """Return whether the hook runs in the background."""
    background = getattr(run.hook, "background", False) or run.outcome.runs_on
    return background and run.failure is None and not run.interrupted


def before_and_after(fire: EventFire, field: str = "tool_args") -> tuple[object, object]:
    """Return a field of the context before and after the run."""
    before = fire.context.get(field)
    return before, fire.chain.context.get(field) if fire.chain is not None else before


def _config_files(fire: EventFire) -> Iterator[Line]:
    found = fire.invocation.config_files
    files = found.files if found is not None else []
    if not files:
        where = found.cwd if found is not None else None
        root = found.repository if found is not None else None
        yield f"  no declaration file for {where}" + (f" or above it up to {root}" if root else " (no repository)"), ""
    for layer, path, _ in files:
        yield f"  {layer} declarations: {path}", "dim"


def _result(run: HookResult) -> Iterator[Line]:
    failed = f"failed ({run.failure.kind}: {with_end(run.failure.detail, run.consequence)})" if run.failure else ""
    again = " again, on what was changed" if run.recheck else ""
    if runs_in_background(run):
        yield "      was started in the background, and has no influence", "green"
    elif failed and not was_started(run):
        yield f"      {failed}: {summary(run.verdict)}", "red"
    else:
        text = f"ran{again} in {run.outcome.ms:.1f} ms: {summary(run.verdict)}"
        yield f"      {text}{f', {failed}' if failed else ''}", "red" if failed else "green"
    if run.changed:
        yield f"      changed: {', '.join(run.changed)}", "yellow"
    yield from ((f"      note: {note}", "yellow") for note in run.notes)


def shown_lines(data: bytes) -> list[str]:
    """Return the lines of a text, limited to MAX_SHOWN characters."""
    text = data.decode("utf-8", "replace").rstrip("\n")
    if len(text) > MAX_SHOWN:
        text = f"{text[:MAX_SHOWN]}... ({len(text)} characters)"
    return text.split("\n") if text else []
