"""A case as an agent would have it: the event by its names, and of the verdict what that agent is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.agents.answer import answer
from hookrun.agents.message import message_from_context
from hookrun.agents.said import said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrun.agents.agent import Agent
    from hookrun.agents.answer import Answer
    from hookrun.agents.message import Message
    from hookrun.model import HookResult, Verdict


class NoEventError(LookupError):
    """The agent has no such event; the message says which it has."""


def message_of(agent: Agent, event: str, context: Mapping[str, object]) -> Message:
    """Return the message that an agent would have sent of an event. Raises NoEventError."""
    known = {*agent.EVENTS.values(), *agent.MADE_FROM}
    if event not in known:
        raise NoEventError(f"{agent.TITLE} has no event {event}: it has {', '.join(sorted(known))}")
    return message_from_context(agent, event, context)


def told(agent: Agent, message: Message, verdict: Verdict, runs: Sequence[HookResult]) -> Answer:
    """Return what the agent is told of a verdict."""
    return answer(agent, message, [said(verdict, runs)])
