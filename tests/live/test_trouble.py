"""hookrun's own trouble stops no agent, and a hook that is too slow for an agent ends in time."""

from __future__ import annotations

from tests.live.model import say
from tests.live.run import Agent

DONE = say("all-is-done")


def test_without_a_hook_that_applies_nothing_is_said(agent: Agent) -> None:
    """Neither to the model nor to the person; the tool runs."""
    agent.declare({"name": "elsewhere", "event": "pre_tool_use", "matcher": "web_fetch", "command": "exit 2"})
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), DONE)
    assert ran.files == {"made.txt": "hi\n"}, ran
    assert "hookrun" not in ran.printed + ran.heard, ran
    assert {record["kind"] for record in ran.audit} <= {"fire"}


def test_declarations_that_cannot_be_read_stop_nothing(agent: Agent) -> None:
    """The tool runs; what is wrong is in the audit, with its place in the file."""
    agent.declare({"name": "guard", "event": "pre_tool_use", "command": "exit 2"})
    agent.place.hooks.write_text('{"hooks": [\n  {"name": "guard",\n')
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), DONE)
    assert ran.files == {"made.txt": "hi\n"}, ran
    told = [str(record.get("error")) + str(record.get("problems")) for record in ran.audit]
    assert any(f"{agent.place.hooks}:3:" in each for each in told), ran


def test_an_audit_that_cannot_be_written_changes_no_verdict(obeying: Agent) -> None:
    """What passes passes, what is refused is refused."""
    (obeying.place.home / ".local").mkdir(exist_ok=True)
    (obeying.place.home / ".local" / "state").write_text("in the way")
    passes = obeying.driver.shell("echo hi > made.txt")
    ran = obeying.run(passes, obeying.driver.shell("echo forbidden > forbidden.txt"), DONE)
    assert ran.files == {"made.txt": "hi\n"}, ran


def test_a_slow_hook_at_the_end_of_a_session_ends_in_time(agent: Agent) -> None:
    """Before the agent would lose patience: the audit says that it was a timeout."""
    agent.declare({"name": "slow", "event": "session_end", "command": "exec sleep 600"})
    ran = agent.run(DONE)
    assert ran.status == 0, ran
    slow = [(record["action"], record["failure"]) for record in ran.audit if record.get("hook") == "slow"]
    assert slow == [("continue", "timeout")], ran
