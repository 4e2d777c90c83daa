"""An internal error stops no agent, and a hook that is too slow for an agent ends in time."""

from __future__ import annotations

import shutil

from hookrun_conformance.driver import put
from hookrun_conformance.model import say
from tests.conftest import copy_package
from tests.live.installed import DIRECTORY
from tests.live.run import Agent

DONE = say("all-is-done")

TOLD = {
    "claude": "the person",
    "codex": "nobody",
    "gemini": "the person",
    "qwen": "nobody",
    "copilot": "the model",
    "cline": "the model",
    "opencode": "the person",
    "kilo": "the person",
    "pi": "the person",
    "vibe": "nobody",
    "grok": "the model",
}
"""Who gets errors before a tool, without a terminal: Codex, Qwen and Vibe show them in their own windows."""

NEVER_ENDING = {"qwen", "cline", "opencode", "kilo", "vibe"}
"""Agents that do not report the end of a session when they run without a user."""


def test_without_a_hook_that_applies_nothing_is_said(agent: Agent) -> None:
    """Neither the model nor the user gets a message; the tool runs."""
    agent.declare({"name": "elsewhere", "event": "pre_tool_use", "matcher": "web_fetch", "command": "exit 2"})
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), DONE)
    assert ran.files == {"made.txt": "hi\n"}, ran
    assert "hookrun" not in (ran.printed + ran.heard).replace(str(DIRECTORY), ""), ran
    assert {record["kind"] for record in ran.audit} <= {"fire"}


def test_a_project_whose_declarations_cannot_be_read_stops_nothing(obeying: Agent) -> None:
    """The error and its location are in the audit, and shown if the agent does that; the user's guards still run."""
    obeying.place.project.joinpath("coder.json").write_text('{"hooks": [\n  {"name": "guard",\n')
    passes = obeying.driver.shell("echo hi > made.txt")
    ran = obeying.run(passes, obeying.driver.shell("echo forbidden > forbidden.txt"), DONE)
    assert sorted(ran.files) == ["coder.json", "made.txt"], ran
    where = f"{obeying.place.project}/coder.json:3:"
    assert any(where in str(record.get("error")) + str(record.get("problems")) for record in ran.audit), ran
    said = {"the person": ran.printed, "the model": ran.heard, "nobody": where}[TOLD[obeying.name]]
    assert where in said, ran


def test_an_audit_that_cannot_be_written_changes_no_verdict(obeying: Agent) -> None:
    """Allowed calls are allowed, refused ones are refused."""
    state = obeying.place.home / ".local" / "state" / "hookrun"
    shutil.rmtree(state)
    state.write_text("in the way")
    passes = obeying.driver.shell("echo hi > made.txt")
    ran = obeying.run(passes, obeying.driver.shell("echo forbidden > forbidden.txt"), DONE)
    assert ran.files == {"made.txt": "hi\n"}, ran


def test_a_slow_hook_at_the_end_of_a_session_ends_in_time(agent: Agent) -> None:
    """Before the agent's own timeout: the audit records a timeout."""
    agent.declare({"name": "slow", "event": "session_end", "command": "exec sleep 600", "timeout": 4})
    ran = agent.run(DONE)
    assert ran.status == 0, ran
    if agent.name in NEVER_ENDING:
        assert "session_end" not in {record["event"] for record in ran.audit}
        return
    slow = [(record["action"], record["failure"]) for record in ran.audit if record.get("hook") == "slow"]
    assert slow == [("continue", "timeout")], ran


def test_a_hookrun_that_was_moved_away_stops_nothing(agent: Agent) -> None:
    """The tool runs, on every agent; the installed line reports that hookrun is gone, if the agent shows messages."""
    old, new = agent.place.home / "old", agent.place.home / "new"
    copy_package(old / "hookrun")
    put(agent.place.hooks, {"hooks": [{"name": "guard", "event": "pre_tool_use", "command": "exit 2"}]})
    agent.install(package=old / "hookrun")
    assert agent.run(agent.driver.shell("echo hi > refused.txt"), DONE).files == {}
    old.rename(new)
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), DONE)
    assert ran.files == {"made.txt": "hi\n"}, ran
    said = {"the person": ran.printed, "the model": ran.heard, "nobody": str(old)}[TOLD[agent.name]]
    assert str(old) in said, ran
