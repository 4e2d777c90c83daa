"""The files that the cases read: contexts, declarations of hooks, and a place to put them."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

EVENT = "pre_tool_use"
TOOL = "bash"

# What every runner is given to run: a hook that reads all of its context and continues.
HOOK = """cat >/dev/null; echo '{"action":"continue"}'"""
BLOCKING_HOOK = """cat >/dev/null; echo '{"action":"block","message":"no"}'"""

_OTHER_EVENTS = ("post_tool_use", "session_start", "user_prompt_submit", "stop", "notification")
_OTHER_TOOLS = ("edit|write", "read", "web_*", "mcp__github__*", "delete")
_OTHER_COMMANDS = ("*git push*", "*rm -rf*", "*terraform apply*", "*npm publish*", "*kubectl delete*")

Hook = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """A temporary directory to work in, and the environment variables that every case gets."""

    root: Path

    @property
    def home(self) -> Path:
        """The home directory of every case."""
        return self.root / "home"

    @property
    def env(self) -> dict[str, str]:
        """The environment of every case: nothing from the person's own but where programs are."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"}

    def directory(self, name: str) -> Path:
        """Return a directory of that name, made if need be."""
        place = self.root / name
        place.mkdir(parents=True, exist_ok=True)
        return place

    def write(self, name: str, text: str) -> Path:
        """Write one file and return its path."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def json(self, hooks: list[Hook]) -> Path:
        """Write a coder.json with these declarations into a new directory and return its path."""
        place = tempfile.mkdtemp(prefix="project-", dir=self.root)
        return self.write(f"{place}/coder.json", json.dumps({"hooks": hooks}, indent=2) + "\n")

    def yaml(self, hooks: list[Hook]) -> Path:
        """Write a hookrun.yaml with these declarations into a new directory and return its path."""
        place = tempfile.mkdtemp(prefix="project-", dir=self.root)
        return self.write(f"{place}/hookrun.yaml", _as_yaml(hooks))


def context(content: str | None = None) -> str:
    """Return the JSON context of one tool call, in the eleven fields that every engine of this kind knows."""
    arguments = {"command": "ls -la src"} | ({} if content is None else {"content": content})
    fields = {
        "session_id": "0b9c2f6e-benchmark",
        "event": EVENT,
        "tool_name": TOOL,
        "tool_args": arguments,
        "tool_result_output": None,
        "tool_result_error": None,
        "user_prompt": None,
        "assistant_response": None,
        "root_session_id": None,
        "file_path": None,
        "working_dir": None,
    }
    return json.dumps(fields, ensure_ascii=False) + "\n"


def large_context(size: int) -> str:
    """Return a context of about `size` bytes: source code, with all that JSON has to escape."""
    line = '    raise ValueError(f"{name!r} is no café: \\"{found}\\"")  # naïve\n'
    escaped = json.dumps(line, ensure_ascii=False).strip('"').encode()
    return context(line * (size // len(escaped)))


def hook(number: int = 0, **fields: object) -> Hook:
    """Return the declaration of a hook that matches the context, changed by `fields`."""
    return {"name": f"hook-{number}", "event": EVENT, "matcher": TOOL, "command": HOOK, "timeout": 30} | fields


def matching_among(total: int, matching: list[Hook]) -> list[Hook]:
    """Return `total` declarations of which only `matching` match, evenly spread.

    Of the others every second one is for another event, every fourth for another tool, and every fourth looks into the
    arguments and finds something else.
    """
    hooks = [_not_matching(number) for number in range(total)]
    for index, declared in enumerate(matching):
        hooks[(2 * index + 1) * total // (2 * len(matching))] = declared
    return hooks


def _not_matching(number: int) -> Hook:
    pick = number // 4 % len(_OTHER_EVENTS)
    declared = hook(number, name=f"guard-{number}", command=f"./hooks/guard_{number}.sh --strict")
    kinds: tuple[Hook, ...] = (
        {"event": _OTHER_EVENTS[pick], "matcher": "*"},
        {"matcher": _OTHER_TOOLS[pick]},
        {"event": _OTHER_EVENTS[pick], "matcher": "*"},
        {"when": {"tool_args.command": _OTHER_COMMANDS[pick]}},
    )
    chosen = declared | kinds[number % len(kinds)]
    if chosen["event"] not in (EVENT, "post_tool_use"):
        del chosen["matcher"]  # an event without a tool
    return chosen


def _as_yaml(hooks: list[Hook]) -> str:
    """Return the declarations as a person would write them in YAML: a block per hook, flat fields only."""
    lines = ["hooks:"]
    for declared in hooks:
        for index, (key, value) in enumerate(declared.items()):
            scalar = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else json.dumps(value)
            lines.append(f"  {' ' if index else '-'} {key}: {scalar}")
    return "\n".join(lines) + "\n"
