"""Who sent a message: an agent, or another one that also runs its hooks."""

from __future__ import annotations

from hookrun.agents.types import Agent


def detect(agent: Agent, payload: dict[str, object]) -> str:
    """Return the sender's name."""
    read_by = agent.INSTALL.get("read_by")
    return (read_by(payload) if read_by is not None else None) or agent.NAME
