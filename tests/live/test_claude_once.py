"""Hooks in Claude Code's settings that hookrun also reads run once, whichever agent also reads those settings."""

from __future__ import annotations

from collections import Counter

from hookrun_conformance.driver import groups, put
from hookrun_conformance.model import say
from tests.live.run import Agent
from tests.live.test_wiring import LISTENER, trust_the_project

EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
# One write for a line: two of them may append at once.
HOOKS = groups(dict.fromkeys(EVENTS, 'line=$(cat); printf "%s\\n" "$line" >> "$HOME/seen.jsonl"'))

TWICE = {"copilot"}
"""Agents that run a trusted project's hooks for Claude Code themselves too, by rules of their own.

Copilot has no `if`, and takes nothing from a file with an empty matcher: to leave them to it would be to lose guards.
"""


def test_hooks_that_are_included_run_once(agent: Agent) -> None:
    """Claude Code runs its settings' hooks itself; hookrun is installed in the same file, which all agents include."""
    project = agent.place.project
    put(project / ".claude" / "settings.json", {"hooks": HOOKS})
    put(agent.place.hooks, {"hooks": [LISTENER]})
    trust_the_project(agent.driver, agent.place)
    agent.include_claude(*(("--scope", "project") if agent.name == "claude" else ()))
    agent.install("--scope", "project", name="claude")  # last: where a project has a line, approvals are the account's
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), say("all-is-done"))
    assert "made.txt" in ran.files
    heard = Counter(each.get("hook_event_name", each.get("event")) for each in ran.seen)
    theirs = {heard[event] for event in EVENTS} - {0}
    assert theirs == {2 if agent.name in TWICE else 1}, ran
    assert {count for event, count in heard.items() if event not in EVENTS} == {1}, ran
    assert heard["PreToolUse"] > 0, ran
    assert heard["pre_tool_use"] == 1, ran
