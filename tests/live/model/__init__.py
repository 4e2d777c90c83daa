"""A scripted model on loopback: for agents that are run for real, without a model."""

from __future__ import annotations

from tests.live.model.script import Call, Json, Turn, say, use
from tests.live.model.server import ScriptedModel

__all__ = ["Call", "Json", "ScriptedModel", "Turn", "say", "use"]
