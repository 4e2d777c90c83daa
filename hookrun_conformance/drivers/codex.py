"""Codex, headless."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from hookrun_conformance.driver import begin_and_end, groups, put
from hookrun_conformance.model import Call, Json, Turn, use

_CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""

_EVENTS = {
    "PreToolUse": "pre_tool_use",
    "PostToolUse": "post_tool_use",
    "UserPromptSubmit": "user_prompt_submit",
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "Stop": "stop",
}
"""Events as hooks.json and as the state of trust name them."""


class Codex:
    """`codex exec`, with the Responses API. It keeps its helpers in no home below TMPDIR."""

    name = "codex"
    before_a_tool = "PreToolUse"
    lacks: tuple[str, ...] = ()

    def environment(self, url: str) -> Mapping[str, str]:
        """Give the key that the settings name."""
        return {"SCRIPTED_KEY": "none"}

    def settle(self, home: Path, url: str) -> None:
        """Name the model's address; the sandbox is off, for it may not work where these tests run."""
        put(home / ".codex" / "config.toml", _CONFIG.format(url=url))

    def arguments(self, prompt: str) -> list[str]:
        """One prompt, wherever."""
        return ["exec", "--skip-git-repo-check", prompt]

    def allowing(self) -> list[str]:
        """Without a user it never asks."""
        return []

    def shell(self, command: str) -> Turn:
        """Ask for the shell tool by the name that only the model knows."""
        return use("exec_command", cmd=command)

    def write(self, path: Path, content: str) -> tuple[Turn, ...]:
        """Ask for a patch that adds a file."""
        added = "".join(f"+{line}\n" for line in content.splitlines())
        return (self.patch(f"*** Add File: {path}\n{added}"),)

    def edit(self, path: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Ask for a patch that replaces a line."""
        return (self.patch(f"*** Update File: {path}\n@@\n-{old}\n+{new}\n"),)

    def patch(self, files: str) -> Turn:
        """Ask for apply_patch, a tool that takes a text."""
        return Turn("", (Call("apply_patch", begin_and_end(files)),))

    def serve(self, home: Path, server: list[str], arguments: Json) -> tuple[Turn, ...]:
        """Use the user's servers."""
        with (home / ".codex" / "config.toml").open("a") as config:
            command, args = json.dumps(server[0]), json.dumps(server[1:])
            config.write(f"\n[mcp_servers.my_files]\ncommand = {command}\nargs = {args}\n")
        return (use("mcp__my_files.make_it", **arguments),)

    def subagent(self, prompt: str) -> Turn:
        """Ask for spawn_agent: with `features.multi_agent_v2` Codex does not fire PreToolUse for it."""
        return use("multi_agent_v1.spawn_agent", message=prompt)

    def terminal(self, command: str) -> Turn:
        """Ask for the shell tool with a terminal."""
        return use("exec_command", cmd=command, tty=True)

    def wire(self, home: Path, commands: Mapping[str, str]) -> None:
        """Use the user's hooks.json, and trust its entries: Codex silently skips untrusted ones."""
        hooks = home / ".codex" / "hooks.json"
        put(hooks, {"hooks": groups(commands)})
        with (home / ".codex" / "config.toml").open("a") as config:
            for event, command in commands.items():
                name = _EVENTS[event]
                config.write(f'\n[hooks.state."{hooks}:{name}:0:0"]\ntrusted_hash = "{_trusted(name, command)}"\n')


def _trusted(event: str, command: str) -> str:
    """Return the hash by which Codex knows a hook that the user has trusted (measured with 0.169.0)."""
    timeout = 1 if event == "session_end" else 600
    handler = {"async": False, "command": command, "timeout": timeout, "type": "command"}
    definition = json.dumps({"event_name": event, "hooks": [handler]}, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(definition.encode()).hexdigest()
