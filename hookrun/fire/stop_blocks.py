"""Count the blocks of a stop, and limit them, so that a hook cannot keep an agent running forever."""

from __future__ import annotations

from hookrun.agents.base import able_to
from hookrun.agents.formats import Reply, join_paragraphs
from hookrun.core import session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.agents.base import CanonicalCall, Message
    from hookrun.agents.types import Agent


def was_blocked_before(agent: Agent, message: Message, home: str, event: str, call: CanonicalCall) -> bool:
    """Return whether a hook has blocked the end of this turn, for agents that do not report it."""
    if "block" not in able_to(agent, message):
        return False
    return session.stop_was_blocked(home, message.session_id, _which(event, call.fields))


def limited(reply: Reply, home: str, session_id: str | None, event: str, context: Mapping[str, object]) -> Reply:
    """Return the reply to a stop: without its block after MAX_STOP_BLOCKS in a row."""
    which = _which(event, context)
    if reply.action != "block":
        session.reset_stop_blocks(home, session_id, which)
        return reply
    if session.count_stop_block(home, session_id, which):
        return reply
    times = session.MAX_STOP_BLOCKS
    text = f"the turn may end now, after being blocked {times} times in a row: {reply.reason}"
    return Reply(user_message=join_paragraphs(text, reply.user_message), context=reply.context)


def _which(event: str, context: Mapping[str, object]) -> str:
    """Return the key of this stop: the turn's, or that of one subagent."""
    return f"{event} {context.get('agent_id') or ''}"
