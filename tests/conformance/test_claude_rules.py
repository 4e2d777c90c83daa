"""Matchers and `if` rules select the same calls through hookrun as in Claude Code, which was measured (2.1.329)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import find
from tests.applies import applies, form_of
from tests.conformance.claude_rules import MATCHERS, RULES, Asked, calls, recorded, settings

if TYPE_CHECKING:
    from tests.conftest import Project

UNREAD = {r"(?<a>B)\k<a>?ash"}
"""Expressions that hookrun does not support, and reports: they match nothing."""

NAMES = {"Bash": "bash", "Write": "write", "Read": "read", "Edit": "edit"}


def chosen_by_hookrun(project: Project, kind: str) -> dict[str, list[str]]:
    """Compile the settings, and ask of each hook which calls it is for."""
    settings(project.root, project.home / "log", kind)
    declared = project.root / ".claude" / "settings.json"
    compiled = load_compiled(find(str(project.root), str(project.home), config=str(declared)))
    assert compiled is not None
    found: dict[str, list[str]] = {}
    for hook in compiled.hooks():
        text = str(form_of(hook)["if" if kind == "rules" else "matcher"])
        found[text] = [
            call.name for call in calls(project.root, kind) if applies(hook, context_of(call, str(project.root)))
        ]
    return found


def context_of(call: Asked, root: str) -> dict[str, object]:
    """Return the context of a call, by hookrun's names."""
    named = {"tool_name": NAMES[call.tool], "tool_args": call.arguments}
    return {"event": "pre_tool_use", "session_id": "s1", "working_dir": root, **named}


def differences(found: dict[str, list[str]], kind: str, texts: Iterable[str]) -> list[str]:
    """Return a line for each matcher or rule that chose otherwise, with the calls chosen too many and too few."""
    lines = []
    for text in texts:
        ours, theirs = set(found.get(text, ())), set(recorded(kind).get(text, ()))
        if ours != theirs:
            lines.append(f"{text!r}: too many {sorted(ours - theirs)}, too few {sorted(theirs - ours)}")
    return sorted(lines)


@pytest.mark.only_cold("asks matchers and runs no hook")
def test_matchers_choose_the_tools_that_they_choose_in_claude_code(project: Project) -> None:
    """Right or wrong ones: what matches nothing there matches nothing here, but for another agent's name of a tool."""
    assert differences(chosen_by_hookrun(project, "matchers"), "matchers", set(MATCHERS) - UNREAD - {"bash"}) == []


@pytest.mark.only_cold("asks matchers and runs no hook")
def test_if_rules_choose_the_calls_that_they_choose_in_claude_code(project: Project) -> None:
    """Commands that hide one in another, and paths."""
    assert differences(chosen_by_hookrun(project, "rules"), "rules", RULES) == []
