"""The answer for a run that is lost: the server, or its worker, ends with the request in hand.

At a gate the agent is refused, in its own form: whether the call may run is not known.
"""

from __future__ import annotations

from hookrun.agents.formats import Reply
from hookrun.agents.reply import build_response
from hookrun.core.events import GATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.base import Message
    from hookrun.agents.types import Agent

CAUSE = "hookrun: its server ended before it answered"
# Gate -> what that means there, if not NO_CALL.
NOT_RUN = {"user_prompt_submit": "the prompt was not sent; send it again"}
NO_CALL = "the call was not run; try again"
# The exit status for a caller without a form of its own.
REFUSED = 2


def refusal(agent: Agent, message: Message) -> tuple[int, bytes, bytes]:
    """Return the exit status, stdout and stderr that refuse an agent's message at one of GATES."""
    text = reason(message.event)
    answer = build_response(agent, message, [Reply("block", text)])
    if answer.needs_status or not answer.data:
        return REFUSED, answer.stdout(), f"{text}\n".encode()
    return 0, answer.stdout(), b""


def reason(event: str) -> str:
    """Return the reason that the agent gets."""
    return f"{CAUSE}, so {NOT_RUN.get(event, NO_CALL)}" if event in GATES else f"{CAUSE}: no hook ran"
