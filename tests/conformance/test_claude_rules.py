"""Matchers and `if` rules choose through hookrun what they choose in Claude Code, which was measured (2.1.329)."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.conformance.claude_rules import MATCHERS, RULES, Asked, calls, chosen, recorded, settings

if TYPE_CHECKING:
    from tests.conftest import Project

NAMES = {"Bash": "bash", "Write": "write", "Read": "read", "Edit": "edit"}


def chosen_by_hookrun(project: Project, kind: str) -> dict[str, list[str]]:
    """Fire the event before each call, and read which hooks ran."""

    def fire(call: Asked) -> None:
        context = {
            "session_id": "s1",
            "working_dir": str(project.root),
            "tool_name": NAMES[call.tool],
            "tool_args": call.arguments,
        }
        fired = project.fire(context, "--config", ".claude/settings.json")
        assert fired.status == 0, fired.stderr

    settings(project.root, project.home / "log", kind)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(fire, calls(project.root, kind)))
    return chosen(project.home / "log", project.root, kind)


def differences(found: dict[str, list[str]], kind: str, texts: Iterable[str]) -> list[str]:
    """Return a line for each matcher or rule that chose otherwise, with the calls chosen too many and too few."""
    lines = []
    for text in texts:
        ours, theirs = set(found.get(text, ())), set(recorded(kind).get(text, ()))
        if ours != theirs:
            lines.append(f"{text!r}: too many {sorted(ours - theirs)}, too few {sorted(theirs - ours)}")
    return lines


def test_matchers_choose_the_tools_that_they_choose_in_claude_code(project: Project) -> None:
    """Right or wrong ones: what matches nothing there matches nothing here."""
    assert differences(chosen_by_hookrun(project, "matchers"), "matchers", MATCHERS) == []


def test_if_rules_choose_the_calls_that_they_choose_in_claude_code(project: Project) -> None:
    """Commands that hide one in another, and paths."""
    assert differences(chosen_by_hookrun(project, "rules"), "rules", RULES) == []
