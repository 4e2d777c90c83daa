"""What `fire --explain` tells: every hook considered, why it ran or did not, what it answered, how long it took."""

from __future__ import annotations

from hookrun.agents.reply import DEGRADATIONS
from hookrun.conditions import format_value
from hookrun.foresee import why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrun.agents.base import Message
    from hookrun.agents.reply import AgentResponse
    from hookrun.agents.types import Agent
    from hookrun.fire.invocation import EventFire
    from hookrun.model import Hook, HookResult, Verdict


def explain(fire: EventFire, verdict: Verdict) -> Iterator[str]:
    """Yield the lines of the explanation of a fire that is over."""
    yield f"{fire.event}: request {fire.request_id}"
    yield from _files(fire)
    chain, candidates = fire.chain, fire.candidates
    count = len(candidates) if candidates is not None else 0
    if candidates is None or not count:
        yield "  no hook is declared for this event"
    else:
        context = chain.context if chain is not None else fire.context
        for index in range(count):
            hook = candidates.hook(index)
            step = chain.became.get(index) if chain is not None else None
            runs = [run for run in chain.runs if run.hook is hook] if chain is not None else []
            yield _headline(index, hook)
            if not runs:
                cause = (
                    why(hook, context) or "its conditions did not hold at its turn, before a later hook changed things"
                )
                yield f"      {step or f'does not apply: {cause}'}"
            for run in runs:
                yield from _run(run)
    yield f"  verdict: {said(verdict)}"


def explain_answer(
    agent: Agent,
    message: Message,
    fires: Sequence[tuple[EventFire, Verdict]],
    answer: AgentResponse | None,
    stdout: bytes,
) -> Iterator[str]:
    """Yield the lines of the explanation of an agent's message that has been answered."""
    yield f"{agent.DISPLAY_NAME}, {message.native}: {len(message.calls)} call(s)"
    for fire, verdict in fires:
        yield from explain(fire, verdict)
    for name in answer.degraded if answer is not None else ():
        yield f"  degraded: {name}: {DEGRADATIONS[name]}"
    yield f"  told to {agent.DISPLAY_NAME}: {stdout.decode().strip() or 'nothing'}"


def _files(fire: EventFire) -> Iterator[str]:
    found = fire.invocation.config_files
    files = found.files if found is not None else []
    if not files:
        where = found.cwd if found is not None else None
        root = found.repository if found is not None else None
        yield f"  no declaration file for {where}" + (f" or above it up to {root}" if root else " (no repository)")
    for layer, path, _ in files:
        yield f"  {layer} declarations: {path}"


def _headline(index: int, hook: Hook) -> str:
    return f"  {index + 1}. {hook.name} ({marks(hook)}; {hook.location()})"


def marks(hook: Hook) -> str:
    """Return a hook's layer, priority, and what is not usual about it."""
    said = [hook.layer, f"priority {hook.priority}"]
    said += [name for name in ("parallel", "always", "exclusive", "background") if getattr(hook, name)]
    if hook.mode != "enforce":
        said.append(f"mode {hook.mode}")
    return ", ".join(said)


def _run(run: HookResult) -> Iterator[str]:
    again = " once more, on the changed arguments" if run.recheck else ""
    failed = f", failed ({run.failure.kind}: {run.failure.detail})" if run.failure else ""
    yield f"      ran{again} in {run.outcome.ms:.1f} ms: {said(run.verdict)}{failed}"
    if run.changed:
        yield f"      changed: {', '.join(run.changed)}"
    for note in run.notes:
        yield f"      note: {note}"


def said(verdict: Verdict) -> str:
    """Return a verdict on one line: its action, and every other field that is set."""
    fields = [f", {name} {format_value(value, 200)}" for name, value in verdict.to_dict().items() if name != "action"]
    return verdict.action + "".join(fields)
