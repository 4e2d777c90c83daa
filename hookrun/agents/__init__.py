"""The coding agents that hookrun answers in their own words: one module each, loaded when it is the one that calls."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.types import Agent

AGENTS = {
    "claude": "hookrun.agents.claude",
    "codex": "hookrun.agents.codex",
    "gemini": "hookrun.agents.gemini",
    "qwen": "hookrun.agents.qwen",
    "copilot": "hookrun.agents.copilot",
    "cline": "hookrun.agents.cline",
    "opencode": "hookrun.agents.opencode",
}
"""What an agent is called here -> the module that speaks its language."""


class UnknownAgentError(LookupError):
    """No agent goes by that name; the message says which there are."""


def load(name: str) -> Agent:
    """Return an agent's module. Raises UnknownAgentError."""
    path = AGENTS.get(name)
    if path is None:
        raise UnknownAgentError(f"unknown agent {name!r}: expected one of {', '.join(AGENTS)}; see docs/agents.md")
    __import__(path)
    from sys import modules

    module: object = modules[path]
    return module  # type: ignore[return-value]  # what a module must have is held by a test
