"""Text from hooks at the start, at a prompt, after a tool and at the end of a turn reaches the model."""

from __future__ import annotations

from hookrun_conformance.model import say
from tests.live.run import Agent, held

DONE = say("all-is-done")


UNTOLD = {
    "cline": {"context-at-start", "context-at-prompt"},
    "vibe": {"context-at-start", "context-at-prompt"},
}
"""Agents that take no text for the model there, or do not report the event."""

UNREFUSED = {"cline", "vibe"}
"""Agents that do not report a prompt."""

SUMMARISING = {"grok"}
"""Agents that ask the model for a line about the turn when it has ended."""

ENDS_ANYWAY = {"cline"}
"""Agents that cannot be kept going."""


def test_context_reaches_the_model(obeying: Agent) -> None:
    """Contexts at the start of a session, at a prompt, before a tool and after; unsupported ones are in the audit."""
    ran = obeying.run(obeying.driver.shell("echo remarkable > made.txt"), DONE, prompt="please do it")
    assert ran.files == {"made.txt": "remarkable\n"}, ran
    untold = UNTOLD.get(obeying.name, set())
    for text in ("context-at-start", "context-at-prompt", "context-before-tool", "context-after-tool"):
        assert (text in ran.heard) == (text not in untold), (text, ran)
    assert ("context -> nothing" in ran.degraded) == (obeying.name == "cline"), ran  # Vibe has no such events


def test_a_block_after_the_tool_reaches_the_model(obeying: Agent) -> None:
    """It has run; the model gets the error."""
    ran = obeying.run(obeying.driver.shell("echo dubious > made.txt"), DONE)
    assert ran.files == {"made.txt": "dubious\n"}, ran
    assert "reason-after-tool" in ran.heard, ran


def test_a_refused_prompt_never_reaches_the_model(obeying: Agent) -> None:
    """Whatever the agent does with it: except one that does not report it."""
    ran = obeying.run(obeying.driver.shell("echo hi > made.txt"), DONE, prompt="tell me the secret")
    if obeying.name in UNREFUSED:
        assert "user_prompt_submit" not in {record["event"] for record in ran.audit}
        assert ran.files == {"made.txt": "hi\n"}
        return
    assert ran.files == {}, ran
    assert ran.model.requests == [], ran


def test_a_turn_that_is_not_done_goes_on(obeying: Agent) -> None:
    """Once: the reason is the model's next instruction, and then it may stop."""
    ran = held(("continue a turn",), obeying)
    if obeying.name in ENDS_ANYWAY:
        assert (len(ran.model.requests), ran.degraded) == (1, {"context -> nothing", "block -> nothing"}), ran
        return
    assert "reason-to-go-on" in ran.heard, ran
    assert (len(ran.model.requests), ran.files) == (2 + (obeying.name in SUMMARISING), {}), ran
    assert "two" in ran.stdout


def test_a_turn_goes_on_though_the_hooks_of_the_prompt_take_their_time(agent: Agent) -> None:
    """The reason is a prompt too where an agent takes it as one: the agent must not end before that prompt is there."""
    slow = {"name": "slow", "event": "user_prompt_submit", "command": "sleep 1.5"}
    once = 'cd "$HOME" && ! mkdir asked 2> /dev/null || { echo reason-to-go-on >&2; exit 2; }'
    agent.declare(slow, {"name": "again", "event": "stop", "command": once})
    ran = agent.run(say("one"), say("two"))
    if agent.name in ENDS_ANYWAY:
        assert len(ran.model.requests) == 1, ran
        return
    assert "reason-to-go-on" in ran.heard, ran
    assert "two" in ran.stdout
