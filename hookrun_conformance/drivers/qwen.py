"""Qwen Code, headless."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hookrun_conformance.driver import change, groups
from hookrun_conformance.model import Json, Turn, use


class Qwen:
    """`qwen -p --yolo`, with chat completions."""

    name = "qwen"
    before_a_tool = "PreToolUse"
    lacks: tuple[str, ...] = ("block a terminal",)

    def environment(self, url: str) -> Mapping[str, str]:
        """Lead it to the model."""
        return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "scripted"}

    def settle(self, home: Path, url: str) -> None:
        """Choose a way to log in."""
        change(home / ".qwen" / "settings.json", security={"auth": {"selectedType": "openai"}})

    def arguments(self, prompt: str) -> list[str]:
        """One prompt."""
        return ["-p", prompt]

    def allowing(self) -> list[str]:
        """Every tool."""
        return ["--yolo"]

    def shell(self, command: str) -> Turn:
        """Ask for run_shell_command."""
        return use("run_shell_command", command=command, description="run it", is_background=False)

    def write(self, path: Path, content: str) -> tuple[Turn, ...]:
        """Ask for write_file."""
        return (use("write_file", file_path=str(path), content=content),)

    def edit(self, path: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Ask for edit, after read_file."""
        return (
            use("read_file", file_path=str(path)),
            use("edit", file_path=str(path), old_string=old, new_string=new),
        )

    def serve(self, home: Path, server: list[str], arguments: Json) -> tuple[Turn, ...]:
        """Use the user's settings."""
        change(home / ".qwen" / "settings.json", mcpServers={"my_files": {"command": server[0], "args": server[1:]}})
        return (use("mcp__my_files__make_it", **arguments),)

    def subagent(self, prompt: str) -> Turn:
        """Ask for agent."""
        return use("agent", description="look", prompt=prompt, subagent_type="general-purpose")

    def wire(self, home: Path, commands: Mapping[str, str]) -> None:
        """Use the user's settings."""
        change(home / ".qwen" / "settings.json", hooks=groups(commands))
