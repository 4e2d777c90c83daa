"""Copilot CLI, headless."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hookrun_conformance.driver import begin_and_end, put
from hookrun_conformance.model import Call, Json, Turn, use


class Copilot:
    """`copilot -p --allow-all-tools`, with chat completions. It unpacks 100 MB of itself into XDG_CACHE_HOME."""

    name = "copilot"
    before_a_tool = "PreToolUse"
    lacks: tuple[str, ...] = ("block a terminal",)

    def __init__(self, model: str = "claude-sonnet-4.5") -> None:
        """To a model with this name it offers `create` and `edit`, to a GPT `apply_patch`."""
        self.model = model

    def environment(self, url: str) -> Mapping[str, str]:
        """Lead it to the model."""
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_MODEL": self.model,
            "COPILOT_OFFLINE": "true",
        }

    def settle(self, home: Path, url: str) -> None:
        """Nothing is needed."""

    def arguments(self, prompt: str) -> list[str]:
        """One prompt."""
        return ["-p", prompt]

    def allowing(self) -> list[str]:
        """Every tool and path."""
        return ["--allow-all-tools", "--allow-all-paths"]

    def shell(self, command: str) -> Turn:
        """Ask for bash."""
        return use("bash", command=command, description="run it", mode="sync", initial_wait=10)

    def write(self, path: Path, content: str) -> tuple[Turn, ...]:
        """Ask for create."""
        return (use("create", path=str(path), file_text=content),)

    def edit(self, path: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Ask for edit."""
        return (use("edit", path=str(path), old_str=old, new_str=new),)

    def patch(self, files: str) -> Turn:
        """Ask for apply_patch, a tool that takes a text."""
        return Turn("", (Call("apply_patch", begin_and_end(files)),))

    def serve(self, home: Path, server: list[str], arguments: Json) -> tuple[Turn, ...]:
        """Use the user's servers."""
        entry = {"type": "local", "tools": ["*"], "command": server[0], "args": server[1:]}
        put(home / ".copilot" / "mcp-config.json", {"mcpServers": {"my_files": entry}})
        return (use("my_files-make_it", **arguments),)

    def subagent(self, prompt: str) -> Turn:
        """Ask for task."""
        asked = {"description": "look", "agent_type": "general-purpose", "name": "looker", "mode": "sync"}
        return Turn("", (Call("task", {**asked, "prompt": prompt}),))

    def wire(self, home: Path, commands: Mapping[str, str]) -> None:
        """Use a file of the user's hooks."""
        hooks = {event: [{"type": "command", "bash": command, "timeoutSec": 30}] for event, command in commands.items()}
        put(home / ".copilot" / "hooks" / "wired.json", {"version": 1, "hooks": hooks})
