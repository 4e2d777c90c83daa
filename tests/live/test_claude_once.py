"""Hooks in Claude Code's settings that hookrun reads too run once: whoever else reads those settings."""

from __future__ import annotations

from collections import Counter

from tests.live.driver import groups, put
from tests.live.model import say
from tests.live.run import Agent
from tests.live.test_wiring import LISTENER, trust_the_project

EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
HOOKS = groups(dict.fromkeys(EVENTS, '{ cat; echo; } >> "$HOME/seen.jsonl"'))


def test_hooks_that_are_included_run_once(agent: Agent) -> None:
    """Claude Code runs its settings' hooks itself, Copilot those of a trusted project; hookrun is wired there too."""
    project = agent.place.project
    put(project / ".claude" / "settings.json", {"hooks": HOOKS})
    put(agent.place.hooks, {"hooks": [LISTENER]})
    trust_the_project(agent)
    agent.install("--scope", "project", name="claude")
    agent.include_claude()
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), say("all-is-done"))
    assert "made.txt" in ran.files
    heard = Counter(each.get("hook_event_name", each.get("event")) for each in ran.seen)
    assert heard["PreToolUse"] == heard["pre_tool_use"] == 1, ran
    assert set(heard.values()) == {1}, ran
