"""A case as an agent would have it: the event by its names, and of the verdict what that agent is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.agents.answer import answer
from hookrun.agents.message import Call, Message, one
from hookrun.agents.said import said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrun.agents.agent import Agent
    from hookrun.agents.answer import Answer
    from hookrun.model import Run, Verdict


class NoEventError(LookupError):
    """The agent has no such event; the message says which it has."""


def message_of(agent: Agent, event: str, context: Mapping[str, object]) -> Message:
    """Return the message that an agent would have sent of an event. Raises NoEventError.

    Arguments go through the agent's own names and back, as they would on their way through the agent.
    """
    native = _native(agent, event)
    fields: dict[str, object] = {"agent": agent.NAME, "agent_event": native, **context}
    tool, args = context.get("tool_name"), context.get("tool_args")
    if not isinstance(tool, str):
        return Message(native, [Call(event, fields)])
    own_tool = next((own for own, name in agent.TOOLS.items() if name == tool), tool)
    fields.setdefault("agent_tool_name", own_tool)
    if not isinstance(args, dict):
        return Message(native, [Call(event, fields)], tool=own_tool)
    own_args = agent.NAMES.own_arguments(own_tool, args)
    fields["tool_args"] = agent.NAMES.arguments(own_tool, own_args)
    return Message(native, [Call(event, fields)], tool=own_tool, own=one(agent.NAMES, own_tool, own_args))


def _native(agent: Agent, event: str) -> str:
    for native, name in agent.EVENTS.items():
        if name == event:
            return native
    if event in agent.MADE_FROM:
        return agent.MADE_FROM[event][0]
    known = ", ".join(sorted({*agent.EVENTS.values(), *agent.MADE_FROM}))
    raise NoEventError(f"{agent.TITLE} has no event {event}: it has {known}")


def told(agent: Agent, message: Message, verdict: Verdict, runs: Sequence[Run]) -> Answer:
    """Return what the agent is told of a verdict."""
    return answer(agent, message, [said(verdict, runs)])
