"""What the tests of the wiring share: where each agent's files are, and how they look to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

ALL = ("claude", "codex", "gemini", "qwen", "copilot", "cline", "opencode")
SETTINGS = {
    ("claude", "user"): ".claude/settings.json",
    ("claude", "project"): ".claude/settings.json",
    ("codex", "user"): ".codex/hooks.json",
    ("codex", "project"): ".codex/hooks.json",
    ("gemini", "user"): ".gemini/settings.json",
    ("gemini", "project"): ".gemini/settings.json",
    ("qwen", "user"): ".qwen/settings.json",
    ("qwen", "project"): ".qwen/settings.json",
    ("copilot", "user"): ".copilot/hooks/hookrun.json",
    ("copilot", "project"): ".github/hooks/hookrun.json",
    ("cline", "user"): ".cline/hooks/PreToolUse",
    ("cline", "project"): ".cline/hooks/PreToolUse",
    ("opencode", "user"): ".config/opencode/plugin/hookrun.js",
    ("opencode", "project"): ".opencode/plugin/hookrun.js",
}
"""Agent and scope -> the file that wires its tool calls, from the home or the project."""

BEFORE_TOOL = {
    "claude": "PreToolUse",
    "codex": "PreToolUse",
    "gemini": "BeforeTool",
    "qwen": "PreToolUse",
    "copilot": "PreToolUse",
    "cline": "PreToolUse",
    "opencode": "tool.execute.before",
}
"""Agent -> its event before a tool call."""


def settings_file(project: Project, agent: str, scope: str = "user") -> Path:
    """Return the file that wires an agent's tool calls."""
    return (project.home if scope == "user" else project.root) / SETTINGS[agent, scope]


def tree(*directories: Path) -> dict[str, bytes | str | None]:
    """Return every path below the directories: a file's bytes, where a link leads to, None for a directory.

    What hookrun keeps for itself is left out.
    """
    found: dict[str, bytes | str | None] = {}
    for directory in directories:
        for path in sorted(directory.rglob("*")):
            if ".local" in path.relative_to(directory).parts:
                continue
            if path.is_symlink():
                found[str(path)] = str(path.readlink())
            else:
                found[str(path)] = None if path.is_dir() else path.read_bytes()
    return found
