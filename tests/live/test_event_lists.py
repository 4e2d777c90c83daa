"""Every event that an agent's program knows is in a table: mapped to one of hookrun's, or not, with the reason.

A new version with a new event fails here, before calls pass a guard at it.
"""

from __future__ import annotations

import mmap
import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

from hookrun.agents import load
from scripts.document_agents import NOT_MAPPED
from tests.live.installed import PINS, absent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Listed(NamedTuple):
    """Where a program has its list: the files below its directory, the list's bytes, and a name in them."""

    files: str
    text: bytes
    name: bytes


NAMED = rb'HookEventName2\["(\w+)"\] = "\w+";'
QUOTED = rb'\["PreToolUse","PostToolUse"[^\]]*"WorktreeCreate"[^\]]*\]'
MEMBERS = rb'(?:\w\.\w+="\w+";?)*\w\.TaskResume=[^{}]*'
LISTS = {
    "claude": Listed("@anthropic-ai/claude-code/bin/claude.exe", QUOTED, rb'"(\w+)"'),
    "codex": Listed("@openai/*/vendor/*/bin/codex", rb"PreToolUsePermissionRequest[A-Za-z]{9,400}Interrupt", rb""),
    "gemini": Listed("@google/gemini-cli/bundle/*.js", rb"(?:" + NAMED + rb"\s*)+", NAMED),
    "qwen": Listed("@qwen-code/qwen-code/chunks/*.js", rb"(?:" + NAMED + rb"\s*)+", NAMED),
    "cline": Listed("@cline/core/dist/index.js", MEMBERS, rb'\w\.\w+="(\w+)"'),
}
"""The other agents' programs have no list that can be read: Copilot's is packed, OpenCode's plugins get any event."""


def _files(name: str) -> list[Path]:
    """Return the program's files; without the program, skip the test."""
    if reason := absent(name):
        pytest.skip(f"{name}: {reason}")
    return sorted((PINS[name].directory / "node_modules").glob(LISTS[name].files))


def _list(name: str, files: list[Path]) -> Iterator[bytes]:
    for file in files:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield from (match[0] for match in re.finditer(LISTS[name].text, data))


def _events(name: str, text: bytes) -> set[str]:
    """Return the names in a list; one without separators is what is left of it without the known names."""
    pattern = LISTS[name].name
    if pattern:
        return {found.decode() for found in re.findall(pattern, text)}
    known = sorted({*load(name).EVENTS, *NOT_MAPPED[name]}, key=len, reverse=True)
    return set(filter(None, re.split("|".join(known), text.decode())))


@pytest.mark.parametrize("name", LISTS)
def test_no_event_of_the_program_is_in_no_table(name: str) -> None:
    """What is not mapped is no event that a guard could need: each has its reason."""
    listed = list(_list(name, _files(name)))
    assert listed, "the list is not found"
    found = set().union(*(_events(name, text) for text in listed))
    assert found - {*load(name).EVENTS} - {*NOT_MAPPED[name]} == set()


def test_no_event_is_both_mapped_and_not() -> None:
    """The two tables exclude each other."""
    for name, names in NOT_MAPPED.items():
        assert set(names).isdisjoint(load(name).EVENTS)
        assert all(names.values())
