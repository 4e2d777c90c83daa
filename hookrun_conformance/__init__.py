"""The conformance kit: real agents against a scripted model, and what they do with hooks.

`hookrun conformance AGENT` runs it, and `hookrun doctor AGENT --measure`. It is beside hookrun, not in it: it starts
hookrun, or another hook runner, as a user does.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent

HOOKS = HERE / "hooks.json"
"""The hooks of the scenarios, in hookrun's terms, the same for every agent."""

MCP_SERVER = HERE / "mcp_server.py"
"""A server for agents, as a program."""
