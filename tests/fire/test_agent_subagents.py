"""The end of a subagent is fired once, as the right event, though Copilot CLI sends two events for it."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Project
from tests.fire.agents import Agent, Told

BLOCKS: dict[str, object] = {"event": ["stop", "subagent_stop"], "command": "echo go on >&2; exit 2"}


def ending(agent: Agent, native: str) -> dict[str, Any]:
    """Return the message about the end of a subagent."""
    about = {"agent_id": "a2", "agent_type": "general-purpose", "parent_agent_id": "s1", "stop_hook_active": False}
    return {**agent.stop(), "hook_event_name": native, **about}


def hooks_that_ran(agent: Agent) -> list[object]:
    """Return the events for which hooks ran."""
    return [each["event"] for each in agent.project.audit() if each["kind"] == "hook"]


def end_subagent(agent: Agent, *wired: str) -> list[Told]:
    """Install hookrun for these events, and return the answer at each when a subagent ends."""
    agent.project.hooks(BLOCKS)
    entry = [{"type": "command", "bash": "hookrun fire --agent copilot"}]
    path = agent.project.home / ".copilot" / "hooks" / "hookrun.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"version": 1, "hooks": dict.fromkeys(wired, entry)}))
    return [agent.fire(ending(agent, native), event=native) for native in wired]


def test_a_subagent_s_end_is_fired_by_the_event_of_the_turn_s(project: Project) -> None:
    """If hookrun is installed for that alone; no block of a turn is counted."""
    agent = Agent("copilot", project)
    [told] = end_subagent(agent, "Stop")
    assert (hooks_that_ran(agent), told.json["decision"]) == (["subagent_stop"], "block")
    assert project.audit()[-1]["degraded"] == ["block -> nothing"]


def test_a_subagent_s_end_is_fired_once(project: Project) -> None:
    """By Copilot's own event for it, if hookrun is installed for that."""
    agent = Agent("copilot", project)
    of_the_turn, its_own = end_subagent(agent, "Stop", "SubagentStop")
    assert hooks_that_ran(agent) == ["subagent_stop"]
    assert (of_the_turn.stdout, its_own.json["decision"]) == (b"", "block")


def test_the_end_of_the_turn_is_what_it_was(project: Project) -> None:
    """It has no agent's id."""
    agent = Agent("copilot", project)
    project.hooks(BLOCKS)
    assert agent.fire(agent.stop(), event="Stop").json["decision"] == "block"
    assert hooks_that_ran(agent) == ["stop"]
