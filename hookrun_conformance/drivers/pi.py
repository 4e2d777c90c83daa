"""Pi, headless."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hookrun_conformance.driver import put
from hookrun_conformance.model import Json, Turn, use

_EXTENSION = """\
import {{ spawnSync }} from "node:child_process"
export default (pi) => {{
  for (const [event, command] of Object.entries({commands})) {{
    pi.on(event, () => void spawnSync("/bin/sh", ["-c", command], {{ input: "{{}}" }}))
  }}
}}
"""


class Pi:
    """`pi -p`, with chat completions."""

    name = "pi"
    before_a_tool = "tool_call"
    lacks: tuple[str, ...] = ("block an MCP tool", "block a subagent", "block a terminal")

    def environment(self, url: str) -> Mapping[str, str]:
        """Keep it from everybody but the model."""
        return {"PI_OFFLINE": "1"}

    def settle(self, home: Path, url: str) -> None:
        """Name the model's address."""
        scripted: Json = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "none"}
        scripted["models"] = [{"id": "scripted"}]
        put(home / ".pi" / "agent" / "models.json", {"providers": {"scripted": scripted}})

    def arguments(self, prompt: str) -> list[str]:
        """One prompt."""
        return ["--provider", "scripted", "--model", "scripted", "-p", prompt]

    def allowing(self) -> list[str]:
        """It never asks about tools."""
        return []

    def shell(self, command: str) -> Turn:
        """Ask for bash."""
        return use("bash", command=command)

    def write(self, path: Path, content: str) -> tuple[Turn, ...]:
        """Ask for write."""
        return (use("write", path=str(path), content=content),)

    def edit(self, path: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Ask for edit."""
        return (use("edit", path=str(path), edits=[{"oldText": old, "newText": new}]),)

    def wire(self, home: Path, commands: Mapping[str, str]) -> None:
        """Write an extension that runs the commands and obeys nothing."""
        text = _EXTENSION.format(commands=json.dumps(commands))
        put(home / ".pi" / "agent" / "extensions" / "wired.js", text)
