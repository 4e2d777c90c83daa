"""Grok Build, headless."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hookrun_conformance.driver import groups, put
from hookrun_conformance.model import Json, Turn, use

_CONFIG = """\
[models]
default = "scripted"

[model.scripted]
model = "scripted"
base_url = "{url}/v1"
api_key = "none"
api_backend = "chat_completions"
"""


class Grok:
    """`grok -p`, with the Chat Completions API."""

    name = "grok"
    before_a_tool = "PreToolUse"
    lacks: tuple[str, ...] = ("block a terminal",)

    def environment(self, url: str) -> Mapping[str, str]:
        """Keep it from everybody but the model."""
        return {"GROK_DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "XAI_API_KEY": "none"}

    def settle(self, home: Path, url: str) -> None:
        """Name the model's address."""
        put(home / ".grok" / "config.toml", _CONFIG.format(url=url))

    def arguments(self, prompt: str) -> list[str]:
        """One prompt in a trusted folder, where a project's hooks run, too."""
        return ["--trust", "-p", prompt]

    def allowing(self) -> list[str]:
        """Every tool: without a user it refuses what it would ask about."""
        return ["--always-approve"]

    def shell(self, command: str) -> Turn:
        """Ask for the terminal."""
        return use("run_terminal_command", command=command, description="w")

    def write(self, path: Path, content: str) -> tuple[Turn, ...]:
        """Ask for the replacement of nothing, which makes a file."""
        return (use("search_replace", file_path=str(path), old_string="", new_string=content),)

    def edit(self, path: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Ask for a replacement, after a look at the file."""
        return (
            use("read_file", target_file=str(path)),
            use("search_replace", file_path=str(path), old_string=old, new_string=new),
        )

    def serve(self, home: Path, server: list[str], arguments: Json) -> tuple[Turn, ...]:
        """Use Claude Code's servers, which it reads; it finds a server's tool by a search."""
        put(home / ".claude.json", {"mcpServers": {"my_files": {"command": server[0], "args": server[1:]}}})
        found = use("use_tool", tool_name="my_files__make_it", tool_input=arguments)
        return (use("search_tool", query="make"), found)

    def subagent(self, prompt: str) -> Turn:
        """Ask for spawn_subagent."""
        return use("spawn_subagent", description="look", prompt=prompt, background=False)

    def wire(self, home: Path, commands: Mapping[str, str]) -> None:
        """Use a file of the user's hooks."""
        put(home / ".grok" / "hooks" / "wired.json", {"hooks": groups(commands)})
