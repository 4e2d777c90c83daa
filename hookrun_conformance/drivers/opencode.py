"""OpenCode, headless."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hookrun_conformance.driver import begin_and_end, change, put
from hookrun_conformance.model import Json, Turn, use

_PLUGIN = """\
import {{ spawnSync }} from "node:child_process"
const wired = (command) => async () => {{ spawnSync("/bin/sh", ["-c", command], {{ input: "{{}}" }}) }}
const commands = {commands}
export const Wired = async () => Object.fromEntries(Object.entries(commands).map(([on, run]) => [on, wired(run)]))
"""


class OpenCode:
    """`opencode run`, with chat completions."""

    name = "opencode"
    before_a_tool = "tool.execute.before"
    lacks: tuple[str, ...] = ("block a terminal",)
    directory = ".config/opencode"
    project = ".opencode"
    settings = "opencode.json"

    def __init__(self, model: str = "scripted") -> None:
        """To a model with this name it offers `write` and `edit`, to a GPT `apply_patch`."""
        self.model = model

    def environment(self, url: str) -> Mapping[str, str]:
        """Keep it from fetching anything."""
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }

    def settle(self, home: Path, url: str) -> None:
        """Configure the model's address."""
        directory = home / self.directory
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
            "models": {self.model: {"name": self.model}},
        }
        model = f"scripted/{self.model}"
        chosen = {"model": model, "small_model": model, "provider": {"scripted": provider}}
        chosen["permission"] = {"external_directory": "allow"}
        put(directory / self.settings, {"share": "disabled", **chosen})

    def arguments(self, prompt: str) -> list[str]:
        """One prompt."""
        return ["run", prompt]

    def allowing(self) -> list[str]:
        """It never asks about these tools."""
        return []

    def shell(self, command: str) -> Turn:
        """Ask for bash."""
        return use("bash", command=command, description="run it")

    def write(self, path: Path, content: str) -> tuple[Turn, ...]:
        """Ask for write."""
        return (use("write", filePath=str(path), content=content),)

    def edit(self, path: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Ask for edit, after read."""
        return (
            use("read", filePath=str(path)),
            use("edit", filePath=str(path), oldString=old, newString=new),
        )

    def patch(self, files: str) -> Turn:
        """Ask for apply_patch."""
        return use("apply_patch", patchText=begin_and_end(files))

    def serve(self, home: Path, server: list[str], arguments: Json) -> tuple[Turn, ...]:
        """Use the user's settings."""
        entry = {"type": "local", "enabled": True, "command": server}
        change(home / self.directory / self.settings, mcp={"my_files": entry})
        return (use("my_files_make_it", **arguments),)

    def subagent(self, prompt: str) -> Turn:
        """Ask for task."""
        return use("task", description="look", prompt=prompt, subagent_type="general")

    def wire(self, home: Path, commands: Mapping[str, str]) -> None:
        """Write a plugin that runs the commands and obeys nothing."""
        put(home / self.directory / "plugin" / "wired.js", _PLUGIN.format(commands=json.dumps(commands)))
