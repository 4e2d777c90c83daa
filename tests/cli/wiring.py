"""Helpers for tests of installed settings: where each agent's files are, and how they are shown to users."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.core.state import account_home
from tests.conftest import ROOT

if TYPE_CHECKING:
    from tests.conftest import Project

ALL = ("claude", "codex", "gemini", "qwen", "copilot", "cline", "opencode", "kilo", "pi", "vibe", "grok")
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
    ("kilo", "user"): ".config/kilo/plugin/hookrun.js",
    ("kilo", "project"): ".kilo/plugin/hookrun.js",
    ("pi", "user"): ".pi/agent/extensions/hookrun.js",
    ("pi", "project"): ".pi/extensions/hookrun.js",
    ("vibe", "user"): ".vibe/hooks.toml",
    ("vibe", "project"): ".vibe/hooks.toml",
    ("grok", "user"): ".grok/hooks/hookrun.json",
    ("grok", "project"): ".grok/hooks/hookrun.json",
}
"""Agent and scope -> the settings file for its tool calls, from the home or the project."""

BEFORE_TOOL = {
    "claude": "PreToolUse",
    "codex": "PreToolUse",
    "gemini": "BeforeTool",
    "qwen": "PreToolUse",
    "copilot": "PreToolUse",
    "cline": "PreToolUse",
    "opencode": "tool.execute.before",
    "kilo": "tool.execute.before",
    "pi": "tool_call",
    "vibe": "pre_tool",
    "grok": "PreToolUse",
}
"""Agent -> its event before a tool call."""

TOOL_CALLS = {"claude": ["PreToolUse", "PreSkillShellCommand"]}
"""Agent -> its events before a tool call, if there are several."""


def settings_file(project: Project, agent: str, scope: str = "user") -> Path:
    """Return the settings file for an agent's tool calls."""
    return (project.home if scope == "user" else project.root) / SETTINGS[agent, scope]


def launcher(project: Project, agent: str) -> Path:
    """Return the launcher of an agent, which the user's settings name."""
    return project.home / ".local" / "share" / "hookrun" / agent


def launcher_conf(project: Project) -> Path:
    """Return the file that names the program that launchers start."""
    return launcher(project, "launcher.conf")


def tree(*directories: Path) -> dict[str, bytes | str | None]:
    """Return every path below the directories: a file's bytes, where a link leads to, None for a directory.

    What hookrun keeps for itself is left out.
    """
    found: dict[str, bytes | str | None] = {}
    for directory in directories:
        for path in sorted(directory.rglob("*")):
            if {".local", ".cache"} & {*path.relative_to(directory).parts}:
                continue
            if path.is_symlink():
                found[str(path)] = str(path.readlink())
            else:
                found[str(path)] = None if path.is_dir() else path.read_bytes()
    return found


def wired_line(project: Project, agent: str, event: str, scope: str = "user") -> str:
    """Return the command line that is installed for an event, as the agent runs it."""
    path = settings_file(project, agent, scope)
    if agent == "cline":
        return path.with_name(event).read_text()
    if agent == "vibe":
        return next(str(each["command"]) for each in tomllib.loads(path.read_text())["hooks"] if each["type"] == event)
    entry = json.loads(path.read_bytes())["hooks"][event][-1]
    handler = entry if agent == "copilot" else entry["hooks"][-1]
    return str(handler["bash" if agent == "copilot" else "command"])


def on_path(project: Project) -> str:
    """Return a PATH with a hookrun outside the project, which uses the test's home as the account's.

    If the account has a hookrun of its own, a project's line would run that: such a test is skipped.
    """
    if Path(account_home(), ".local", "bin", "hookrun").exists():
        pytest.skip("this account has a hookrun in ~/.local/bin, which a project's line finds first")
    program = project.home.parent / "bin" / "hookrun"
    program.parent.mkdir(exist_ok=True)
    main = shlex.join([sys.executable, "-I", str(ROOT / "hookrun" / "__main__.py")])
    program.write_text(f'#!/bin/sh\nexec {main} "$@" --home {shlex.quote(str(project.home))}\n')
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


def run_line(project: Project, line: str, payload: object, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run an installed command line with a message on stdin, as an agent does."""
    line = line.replace('"${0%/*}"/../../', "")  # of a file that the agent starts
    return subprocess.run(
        ["/bin/sh", "-c", line],
        input=json.dumps(payload).encode(),
        capture_output=True,
        cwd=project.root,
        env=project.environment(**{"PATH": on_path(project), "CI": "1", **env}),
        check=False,
    )


def before_tool(project: Project, agent: str, command: str = "ls") -> dict[str, object]:
    """Return a message of an agent that is about to run a shell command, as small as one can be."""
    cwd = str(project.root)
    if agent == "cline":
        call = {"id": "c1", "name": "run_commands", "input": {"commands": [command]}}
        return {"hookName": "tool_call", "taskId": "s1", "workspaceRoots": [cwd], "tool_call": call}
    tool = "run_shell_command" if agent in ("gemini", "qwen") else "Bash"
    return {
        "session_id": "s1",
        "cwd": cwd,
        "hook_event_name": BEFORE_TOOL[agent],
        "tool_name": tool,
        "tool_input": {"command": command},
    }
