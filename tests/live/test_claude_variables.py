"""A guard that reads a variable of Claude Code's settings refuses in Claude Code, and under another agent as well."""

from __future__ import annotations

import pytest

from tests.live.driver import groups, put
from tests.live.model import say
from tests.live.run import Agent

AGENTS = ("claude", "codex", "gemini")
GUARD = '[ "$GUARD_MODE" = strict ] || exit 0; echo not-in-strict-mode >&2; exit 2'


@pytest.mark.parametrize("whose", ["project", "user"])
@pytest.mark.parametrize("agent", AGENTS, indirect=True)
def test_a_guard_that_reads_a_variable_refuses(agent: Agent, whose: str) -> None:
    """Whether the project's settings set it or the user's."""
    env = {"env": {"GUARD_MODE": "strict"}}
    settings = {"hooks": groups({"PreToolUse": GUARD})}
    put(agent.place.project / ".claude" / "settings.json", {**settings, **(env if whose == "project" else {})})
    if whose == "user":
        put(agent.place.home / ".claude" / "settings.json", env)
    if agent.name != "claude":
        agent.include_claude()
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), say("all-is-done"))
    assert "made.txt" not in ran.files, ran
    assert "not-in-strict-mode" in ran.heard, ran
