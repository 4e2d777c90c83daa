"""A scripted model on loopback: for agents that are run for real, without a model."""

from __future__ import annotations

from hookrun_conformance.model.script import Call, Json, Turn, say, use
from hookrun_conformance.model.server import ScriptedModel

__all__ = ["Call", "Json", "ScriptedModel", "Turn", "say", "use"]
