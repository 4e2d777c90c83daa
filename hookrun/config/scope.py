"""What the hooks of one file are read in: their layer, the defaults, the events and names that are known there."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookrun.config import command_words

if TYPE_CHECKING:
    from collections.abc import Iterable

SPEAKING = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(slots=True)
class Scope:
    """What a file's hooks are read in: its layer, the defaults, the host's own events.

    `named` are the names met so far, `reserved` those that a made name keeps away from, `numbers` the last one's.
    """

    layer: str
    events: frozenset[str] = frozenset()
    defaults: dict[str, object] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    reserved: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)


def made_name(kind: str, target: str | list[str]) -> str:
    """Return what a hook without a name is called: after its script or program, its host, or its function."""
    if kind == "python":
        return str(target).rpartition(":")[2] or "hook"
    if kind == "url":
        return _speaking(re.split("[/?#]", str(target).partition("://")[2])[0].rpartition("@")[2].partition(":")[0])
    look = command_words.program_and_script(kind, target)
    if look:
        base = os.path.basename(look[-1])  # a word of a command line, not a path of ours
        return _speaking(base.rpartition(".")[0].lstrip(".") or base)
    return _speaking(target if isinstance(target, str) else " ".join(target))


def _speaking(text: str) -> str:
    match = SPEAKING.search(text)
    return match.group() if match else "hook"


def free_name(name: str, scope: Scope) -> str:
    """Return the name, with a number if it is taken, and reserve it."""
    free = name
    number = scope.numbers.get(name, 1)
    while free in scope.reserved:
        number += 1
        free = f"{name}-{number}"
    scope.numbers[name] = number
    scope.reserved.add(free)
    return free


def explicit_names(entries: Iterable[object]) -> set[str]:
    """Return the names that entries give themselves: what a scope has to reserve."""
    return {entry["name"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("name"), str)}
