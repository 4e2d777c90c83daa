"""Cline CLI, headless."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hookrun_conformance.driver import begin_and_end, put
from hookrun_conformance.model import Json, Turn, use


class Cline:
    """`cline PROMPT`, with chat completions, without the daemon that it otherwise leaves running."""

    name = "cline"
    before_a_tool = "PreToolUse"
    lacks: tuple[str, ...] = ("block a terminal",)

    def __init__(self, model: str = "scripted") -> None:
        """To a model with this name it offers `editor`, to a GPT `apply_patch`."""
        self.model = model

    def environment(self, url: str) -> Mapping[str, str]:
        """Keep it to one process."""
        return {"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1"}

    def settle(self, home: Path, url: str) -> None:
        """Name the model's address, as `cline auth` writes it."""
        provider = "openai-compatible"
        settings = {"provider": provider, "apiKey": "none", "model": self.model, "baseUrl": f"{url}/v1"}
        written = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
        providers = {"version": 1, "lastUsedProvider": provider, "modes": {}, "providers": {provider: written}}
        put(home / ".cline" / "data" / "settings" / "providers.json", providers)

    def arguments(self, prompt: str) -> list[str]:
        """One prompt, and a run that does not end at the third call in a row that is refused."""
        return ["--retries", "100", prompt]

    def allowing(self) -> list[str]:
        """It never asks."""
        return []

    def shell(self, command: str) -> Turn:
        """Ask for run_commands."""
        return use("run_commands", commands=[command])

    def write(self, path: Path, content: str) -> tuple[Turn, ...]:
        """Ask for the editor, with a new file."""
        return (use("editor", path=str(path), new_text=content),)

    def edit(self, path: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Ask for the editor, with a text to replace."""
        return (use("editor", path=str(path), old_text=old, new_text=new),)

    def patch(self, files: str) -> Turn:
        """Ask for apply_patch."""
        return use("apply_patch", input=begin_and_end(files))

    def serve(self, home: Path, server: list[str], arguments: Json) -> tuple[Turn, ...]:
        """Use the user's servers."""
        settings = home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
        put(settings, {"mcpServers": {"my_files": {"command": server[0], "args": server[1:]}}})
        return (use("my_files__make_it", **arguments),)

    def subagent(self, prompt: str) -> Turn:
        """Ask for spawn_agent."""
        return use("spawn_agent", task=prompt, systemPrompt="You look.")

    def wire(self, home: Path, commands: Mapping[str, str]) -> None:
        """Write a program for each event."""
        for event, command in commands.items():
            put(home / ".cline" / "hooks" / event, f"#!/bin/sh\n{command}\n", 0o755)
