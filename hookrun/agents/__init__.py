"""Register the coding agents: one module each, loaded only when that agent calls."""

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
"""The name of an agent -> the module with everything specific to it."""

OTHERS = {"cursor": (".cursor/hooks.json",)}
"""Agents that a hook's `agents` may name but that have no module here -> their SETTINGS_GLOBS."""


class UnknownAgentError(LookupError):
    """No agent has the given name; the message lists the known ones."""


def load(name: str) -> Agent:
    """Return the module of the agent. Raises UnknownAgentError."""
    path = AGENTS.get(name)
    if path is None:
        raise UnknownAgentError(f"unknown agent {name!r}: expected one of {', '.join(AGENTS)}; see docs/agents.md")
    __import__(path)
    from sys import modules

    module: object = modules[path]
    return module  # type: ignore[return-value]  # tests check what a module must have


def env_markers() -> tuple[str, ...]:
    """Return the environment variables that agents set for the commands they run."""
    return tuple(each for name in AGENTS for each in load(name).ENV_MARKERS)


def settings_globs() -> tuple[str, ...]:
    """Return the files with agents' hooks and the settings that disable them, as globs in a project or the home."""
    known = (each for name in AGENTS for each in load(name).SETTINGS_GLOBS)
    return (*known, *(each for globs in OTHERS.values() for each in globs))
