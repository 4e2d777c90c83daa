"""A case as an agent would have it: the event by its names, and of the verdict what that agent is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.agents.base import message_from_context
from hookrun.agents.formats import reply_from_verdict
from hookrun.agents.reply import build_response

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrun.agents.base import Message
    from hookrun.agents.reply import AgentResponse
    from hookrun.agents.types import Agent
    from hookrun.model import HookResult, Verdict


class NoEventError(LookupError):
    """The agent has no such event; the message says which it has."""


def message_of(agent: Agent, event: str, context: Mapping[str, object]) -> Message:
    """Return the message that an agent would have sent of an event. Raises NoEventError."""
    known = {*agent.EVENTS.values(), *agent.SYNTHESIZED_FROM}
    if event not in known:
        raise NoEventError(f"{agent.DISPLAY_NAME} has no event {event}: it has {', '.join(sorted(known))}")
    return message_from_context(agent, event, context)


def told(agent: Agent, message: Message, verdict: Verdict, runs: Sequence[HookResult]) -> AgentResponse:
    """Return what the agent is told of a verdict."""
    return build_response(agent, message, [reply_from_verdict(verdict, runs)])
