"""A hook's refusal of a call: the digest by which the user can let it through once, and the use of that permission.

A permission is used up when the answer is known: not if another hook refuses the call anyway, so that the user can
permit both. What hookrun could not judge uses none, and is not let through by one.
"""

from __future__ import annotations

from hookrun.core.context import is_cut
from hookrun.core.model import BINDING_ACTIONS, TERMINAL_ACTIONS, HookResult, Verdict
from hookrun.core.state import report_bug
from hookrun.trust.allowed_calls import SHORT_ID, call_digest, is_permitted
from hookrun.trust.store import owners_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrun.fire.agent import AgentFire
    from hookrun.fire.invocation import EventFire

    Fired = tuple[EventFire, Verdict]


def consider(fire: EventFire, run: HookResult, context: dict[str, object]) -> None:
    """Give a refusal its digest; let the call past the hook if the user permits it, or have the agent ask.

    Failures keep refusing, and so do managed hooks, unless they are `overridable`.
    """
    hook, verdict, invocation = run.hook, run.verdict, fire.invocation
    is_fixed = hook.layer == "managed" and not getattr(hook, "overridable", False)
    changes = verdict.modified_args is not None or verdict.args_patch is not None
    if run.failure is not None or is_fixed or changes or is_cut(context) or context.get("tool_name") is None:
        return
    if invocation.proof is not None:  # the guard itself is asked, and no tool runs
        return
    run.call = call_digest(hook, context, invocation.project_root())
    if is_permitted(invocation.home, run.call, owners_in(invocation.settings)):
        run.verdict, run.allowed = Verdict(), True
        fire.let_through.append((run, verdict))
    elif verdict.action == "block" and invocation.can_ask and getattr(hook, "on_block", "") == "ask":
        run.verdict = verdict.replace(action="ask")


def settle_message(message: AgentFire) -> list[Fired]:
    """Return the fires of an agent's message, settled by the action that the agent will get."""
    decided = "continue"
    try:
        from hookrun.agents.reply import build_response, replies_to

        runs = [(verdict, fire.runs) for fire, verdict in message.fires]
        replies = replies_to(message.agent, message.message, runs)
        decided = build_response(message.agent, message.message, replies).reply.action
    except Exception as error:  # then the hooks' refusals count
        message.errors.append(report_bug(error, message.invocation.home))
    return settle(message.fires, decided, judged=not message.errors)


def settle(fires: Iterable[Fired], action: str, *, judged: bool = True) -> list[Fired]:
    """Use up the permissions by which calls were let through, unless the answer is a refusal; return the verdicts.

    Where one is gone, or not everything could be judged, the hook's refusal counts.
    """
    settled = []
    for fire, verdict in fires:
        judged = judged and not (fire.failed or fire.invocation.problems or fire.invocation.interrupted)
        through = fire.let_through if action not in TERMINAL_ACTIONS else []
        home, owners = fire.invocation.home, owners_in(fire.invocation.settings)
        calls = dict.fromkeys(run.call for run, _ in through)  # a hook may have judged one twice
        used = {call for call in calls if judged and is_permitted(home, call, owners, use=True)}
        for run, refusal in through:
            if run.call not in used:
                run.verdict, run.allowed = refusal, False
        settled.append((fire, fire.chain.combine() if fire.chain is not None and len(used) < len(calls) else verdict))
    return settled


def permission_command(fires: Sequence[Fired]) -> str:
    """Return the command that lets a refused message's calls through, "" if a refusal is not the user's to lift."""
    calls: dict[str, None] = {}
    for fire, verdict in fires:
        runs = [run for run in fire.runs if run.verdict.action in BINDING_ACTIONS]
        if verdict.action in BINDING_ACTIONS and not (runs and all(run.call for run in runs)):
            return ""
        calls |= dict.fromkeys(run.call[:SHORT_ID] for run in runs)
    return f"hookrun allow {' '.join(calls)}" if calls else ""
