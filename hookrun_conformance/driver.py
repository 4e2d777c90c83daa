"""Facts that are needed to run one real agent without a user, a network or a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from hookrun_conformance.model import Json, Turn


class Driver(Protocol):
    """One agent: what it needs to run headless against a scripted model, and how that model calls its tools.

    `name` is hookrun's for it, `before_a_tool` its own for the event before a tool. `lacks` names the scenarios of
    which the agent has nothing of the kind: others that its driver has no turns for are the driver's gap.
    """

    name: str
    before_a_tool: str
    lacks: tuple[str, ...]

    def environment(self, url: str) -> Mapping[str, str]:
        """Return the variables that lead it to the model, beside HOME, TMPDIR and PATH."""

    def settle(self, home: Path, url: str) -> None:
        """Write the settings into an empty home that it needs to run without asking anybody anything."""

    def arguments(self, prompt: str) -> list[str]:
        """Return its arguments for one prompt."""

    def allowing(self) -> list[str]:
        """Return its arguments that allow the tools of the scenarios, so that no approval is asked for."""

    def shell(self, command: str) -> Turn:
        """Return the turn that runs a command."""

    def write(self, path: Path, content: str) -> tuple[Turn, ...]:
        """Return the turns that make a file."""

    def edit(self, path: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Return the turns that change a file that is there: some agents want it read first."""

    def wire(self, home: Path, commands: Mapping[str, str]) -> None:
        """Install a shell command for each of these events, by the agent's own names, without hookrun."""


@runtime_checkable
class Serving(Protocol):
    """An agent that uses tools of MCP servers."""

    def serve(self, home: Path, server: list[str], arguments: Json) -> tuple[Turn, ...]:
        """Name a server `my_files` in the settings. Return the turns that call its tool `make_it`."""


@runtime_checkable
class Delegating(Protocol):
    """An agent that starts subagents."""

    def subagent(self, prompt: str) -> Turn:
        """Return the turn that starts one."""


@runtime_checkable
class WithTerminal(Protocol):
    """An agent that runs commands in a terminal (pty), too."""

    def terminal(self, command: str) -> Turn:
        """Return the turn that runs a command there."""


class PatchingDriver(Driver, Protocol):
    """An agent that, with a model of the GPT kind, changes files by `apply_patch` and by nothing else."""

    def patch(self, files: str) -> Turn:
        """Return the turn that applies a patch: the text between its first line and its last."""


def begin_and_end(files: str) -> str:
    """Return a whole patch."""
    return f"*** Begin Patch\n{files}*** End Patch"


def put(path: Path, content: str | Json, mode: int = 0o644) -> None:
    """Write a file, and the directories above it; a mapping as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
    path.chmod(mode)


def change(path: Path, **entries: Any) -> None:
    """Put top-level entries into a JSON file that may not be there yet."""
    put(path, {**(json.loads(path.read_bytes()) if path.exists() else {}), **entries})


def groups(commands: Mapping[str, str], **more: Any) -> Json:
    """Return hooks as Claude Code and its kin write them: by event, a list of groups without a matcher."""
    return {
        event: [{"hooks": [{"type": "command", "command": command, **more}]}] for event, command in commands.items()
    }


def furnish(directory: Path, packages: Path) -> None:
    """Put into a directory of settings what the agent would fetch from npm as soon as it sees the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", "node_modules"):
        if (packages / name).exists():
            (directory / name).symlink_to(packages / name)
