"""A guard that reads a variable of Claude Code's settings refuses in Claude Code, and under another agent as well."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hookrun_conformance.driver import groups, put
from hookrun_conformance.model import Json, say
from tests.live.run import Agent

STRICT = {"env": {"GUARD_MODE": "strict"}}
GUARD = '[ "$GUARD_MODE" = strict ] || exit 0; echo not-in-strict-mode >&2; exit 2'


def _as_it_is(_: Agent) -> None:
    """Let Claude Code run its own settings."""


@pytest.mark.parametrize(("project", "user"), [(STRICT, {}), ({}, STRICT)], ids=["project", "user"])
@pytest.mark.parametrize(
    ("agent", "include"),
    [("claude", _as_it_is), ("codex", Agent.include_claude), ("gemini", Agent.include_claude)],
    indirect=["agent"],
)
def test_a_guard_that_reads_a_variable_refuses(
    agent: Agent, include: Callable[[Agent], None], project: Json, user: Json
) -> None:
    """Whether the project's settings set it or the user's."""
    put(agent.place.project / ".claude" / "settings.json", {"hooks": groups({"PreToolUse": GUARD}), **project})
    put(agent.place.home / ".claude" / "settings.json", user)
    include(agent)
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), say("all-is-done"))
    assert "made.txt" not in ran.files, ran
    assert "not-in-strict-mode" in ran.heard, ran
