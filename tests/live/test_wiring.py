"""However often hookrun is installed, a hook runs once for each event of a real agent."""

from __future__ import annotations

from hookrun_conformance import HOOKS
from hookrun_conformance.driver import Driver, change, furnish, put
from hookrun_conformance.drivers.opencode import OpenCode
from hookrun_conformance.model import say
from hookrun_conformance.place import Place
from tests.live.installed import PINS
from tests.live.run import Agent

DONE = say("all-is-done")
LISTENER = {
    "name": "listener",
    "event": ["session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "stop"],
    "command": 'cat >> "$HOME/seen.jsonl"',
}


def trust_the_project(driver: Driver, place: Place) -> None:
    """Let the agent run the hooks in a project's settings."""
    home, project = place.home, str(place.project)
    if driver.name == "codex":
        with (home / ".codex" / "config.toml").open("a") as config:
            config.write(f'\n[projects."{project}"]\ntrust_level = "trusted"\n')
    elif driver.name == "copilot":
        change(home / ".copilot" / "config.json", trusted_folders=[project])
    elif isinstance(driver, OpenCode):
        furnish(place.project / driver.project, PINS[f"{driver.name}-plugin"].directory)
    elif driver.name == "pi":
        put(home / ".pi" / "agent" / "trust.json", {project: True})


def test_wired_for_the_user_and_the_project_a_hook_runs_once(agent: Agent) -> None:
    """For each event that the agent has; the project came with a hookrun line from another user."""
    put(agent.place.hooks, {"hooks": [LISTENER]})
    trust_the_project(agent.driver, agent.place)
    agent.install("--scope", "project")
    agent.install(cwd=agent.place.home)
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), DONE)
    events = [each["event"] for each in ran.seen]
    assert "made.txt" in ran.files
    assert events.count("pre_tool_use") == 1, ran
    assert len(events) == len(set(events)), ran


def test_wired_for_the_project_alone_it_runs_too(agent: Agent) -> None:
    """Once the user has trusted the project."""
    put(agent.place.hooks, {"hooks": [LISTENER]})
    trust_the_project(agent.driver, agent.place)
    agent.install("--scope", "project")
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), DONE)
    assert [each["event"] for each in ran.seen].count("pre_tool_use") == 1, ran


def test_copilot_fires_once_where_claude_is_wired_too(copilot: Agent) -> None:
    """It runs the hooks of a project's `.claude/settings.json` as well as its own."""
    put(copilot.place.hooks, {"hooks": [LISTENER]})
    trust_the_project(copilot.driver, copilot.place)
    copilot.install("--scope", "project", name="claude")
    copilot.install()
    ran = copilot.run(copilot.driver.shell("echo hi > made.txt"), DONE)
    events = [each["event"] for each in ran.seen]
    assert events.count("pre_tool_use") == 1, ran
    assert len(events) == len(set(events)), ran
    assert {each["agent"] for each in ran.seen} == {"copilot"}


def test_copilot_is_answered_in_its_own_words_through_claude_s_settings(copilot: Agent) -> None:
    """If hookrun is installed for Claude only: a refused command does not run, and the model gets the reason."""
    copilot.place.hooks.parent.mkdir(parents=True)
    copilot.place.hooks.write_text(HOOKS.read_text())
    trust_the_project(copilot.driver, copilot.place)
    copilot.install("--scope", "project", name="claude")
    ran = copilot.run(copilot.driver.shell("echo forbidden > made.txt"), copilot.driver.shell("echo remarkable"), DONE)
    assert ran.files == {}, ran
    assert "reason-of-no-forbidden" in ran.heard, ran
    assert "context-after-tool" in ran.heard, ran
