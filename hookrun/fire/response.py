"""The response to an agent's message: the verdicts of its fires, hookrun's own problems, and texts kept for it.

A cold run loads it only where there is something to say: most calls have no answer.
"""

from __future__ import annotations

import os

from hookrun.agents.base import able_to
from hookrun.agents.formats import STOP_EVENTS, Reply
from hookrun.agents.reply import DEGRADATIONS, REFUSED, build_response, replies_to
from hookrun.config.discovery import USERS_GUARDS
from hookrun.core.events import GATES
from hookrun.core.model import PRECEDENCE
from hookrun.core.session import keep_texts, take_text
from hookrun.core.state import KEPT_TEXTS_DIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrun.agents.reply import AgentResponse, Fire
    from hookrun.core.model import HookResult, Verdict
    from hookrun.fire.agent import AgentFire


def response_to(message: AgentFire) -> AgentResponse:
    """Return the response to a message whose hooks have run; keep the texts that a later event is to show."""
    home, session = message.invocation.home, message.message.session_id
    notices = [each for each in (message.notice, *message.invocation.gone) if each and message.first_time(each)]
    if not set(message.invocation.gone).isdisjoint(notices):
        try:
            os.unlink(home + USERS_GUARDS)  # what is gone from the user's config is said once
        except OSError:  # another run has, or said once more
            pass
    others = [_kept_texts(message), message.own_failure(), Reply(user_message="\n".join(notices) or None)]
    fires = [_with_news(message, verdict, fire.runs) for fire, verdict in message.fires]
    replies = replies_to(message.agent, message.message, fires, others)
    for index, (fire, _) in enumerate(message.fires):
        if fire.event in STOP_EVENTS:
            from hookrun.fire.stop_blocks import limited

            replies[index] = limited(replies[index], home, session, fire.event, fire.context)
    answer = build_response(
        message.agent,
        message.message,
        replies,
        lambda names: _notice_of(message, names),
        lambda: _refused_by(message),
    )
    if session and (answer.deferred.context or answer.deferred.user_message):
        texts = (("context", answer.deferred.context), ("user_message", answer.deferred.user_message))
        keep_texts(home, session, texts)
    if message.invocation.worker is not None and message.message.event in GATES:
        from hookrun.fire.lost import reason

        # From now on part of the answer may be out: then the exit status must be enough.
        lost = f"{reason(message.message.event)}\n".encode()
        message.invocation.worker.answer_if_lost(REFUSED, b"", lost)
    return answer


def _with_news(message: AgentFire, verdict: Verdict, runs: Sequence[HookResult]) -> Fire:
    """Return a verdict without what its hooks' failures said to the user before in this session, and its runs."""
    for run in runs:
        told = run.verdict.system_message
        if run.failure is None or not told or run.verdict.action != "continue":
            continue
        if not message.is_news(run.failure.line(f"hook {run.hook.name}")):
            before, _, after = (verdict.system_message or "").partition(told)
            rest = "\n".join(filter(None, (before.removesuffix("\n"), after.removeprefix("\n"))))
            verdict = verdict.replace(system_message=rest or None)
    return verdict, runs


def _kept_texts(message: AgentFire) -> Reply:
    """Return texts of the session's earlier events that this one can show."""
    home, session = message.invocation.home, message.message.session_id
    if session is None or not os.path.exists(home + KEPT_TEXTS_DIR):
        return Reply()
    able = able_to(message.agent, message.message)
    return Reply(
        context=take_text(home, session, "context") if "context" in able else None,
        user_message=take_text(home, session, "user_message") if "user_message" in able else None,
    )


def _notice_of(message: AgentFire, names: list[str]) -> str | None:
    """Return the notice about degradations not yet shown in this session, or None."""
    native = message.message.native
    new = [name for name in dict.fromkeys(names) if message.first_time(f"{native}: {name}")]
    if not new:
        return None
    effects = "; ".join(f"{name} ({DEGRADATIONS[name]})" for name in new)
    return f"hookrun: {message.agent.DISPLAY_NAME} does not support all of this at {native}: {effects}"


def _refused_by(message: AgentFire) -> tuple[list[str], str, str]:
    """Return the hooks behind a refusal, and the commands that show why and let the calls through once.

    Nothing where no hook refused, or where a command could do nothing.
    """
    fire, verdict = message.strongest() or (None, None)
    if fire is None or verdict is None or PRECEDENCE[verdict.action] < PRECEDENCE["ask"] or message.options.probe:
        return [], "", ""
    names = fire.decided_by(verdict)
    if message.invocation.settings.get("audit") is False:
        return names, "", ""
    from hookrun.fire.refused_call import permission_command

    judged = not (message.errors or message.invocation.problems)
    once = permission_command(message.fires) if names and judged else ""
    return names, f"hookrun why {fire.request_id[:8]}", once
