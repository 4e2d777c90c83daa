"""Gemini CLI, headless."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hookrun_conformance.driver import change, groups
from hookrun_conformance.model import Json, Turn, use


class Gemini:
    """`gemini -p --yolo`, with streamGenerateContent."""

    name = "gemini"
    before_a_tool = "BeforeTool"
    lacks: tuple[str, ...] = ("block a terminal",)

    def environment(self, url: str) -> Mapping[str, str]:
        """Lead it to the model."""
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url}

    def settle(self, home: Path, url: str) -> None:
        """Choose a way to log in, and trust every folder: it does not start without either."""
        security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
        change(home / ".gemini" / "settings.json", security=security)

    def arguments(self, prompt: str) -> list[str]:
        """One prompt, and a model that is not chosen by another."""
        return ["-p", prompt, "-m", "gemini-2.5-flash"]

    def allowing(self) -> list[str]:
        """Every tool."""
        return ["--yolo"]

    def shell(self, command: str) -> Turn:
        """Ask for run_shell_command."""
        return use("run_shell_command", command=command, description="run it")

    def write(self, path: Path, content: str) -> tuple[Turn, ...]:
        """Ask for write_file."""
        return (use("write_file", file_path=str(path), content=content),)

    def edit(self, path: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Ask for replace."""
        call = use("replace", file_path=str(path), instruction="change it", old_string=old, new_string=new)
        return (call,)

    def serve(self, home: Path, server: list[str], arguments: Json) -> tuple[Turn, ...]:
        """Use the user's settings."""
        change(home / ".gemini" / "settings.json", mcpServers={"my_files": {"command": server[0], "args": server[1:]}})
        return (use("mcp_my_files_make_it", **arguments),)

    def subagent(self, prompt: str) -> Turn:
        """Ask for invoke_agent."""
        return use("invoke_agent", agent_name="generalist", prompt=prompt)

    def wire(self, home: Path, commands: Mapping[str, str]) -> None:
        """Use the user's settings."""
        change(home / ".gemini" / "settings.json", hooks=groups(commands, name="wired"))
