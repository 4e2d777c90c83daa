"""What hooks say at the start, at a prompt, after a tool and at the end of a turn reaches the model."""

from __future__ import annotations

from tests.live.model import say
from tests.live.run import Agent

DONE = say("all-is-done")


def test_context_reaches_the_model(obeying: Agent) -> None:
    """What hooks add at the start of a session, at a prompt, and after a tool."""
    ran = obeying.run(obeying.driver.shell("echo remarkable > made.txt"), DONE, prompt="please do it")
    assert ran.files == {"made.txt": "remarkable\n"}, ran
    for text in ("context-at-start", "context-at-prompt", "context-after-tool"):
        assert text in ran.heard, (text, ran)


def test_a_block_after_the_tool_reaches_the_model(obeying: Agent) -> None:
    """It has run; the model hears what is wrong with it."""
    ran = obeying.run(obeying.driver.shell("echo dubious > made.txt"), DONE)
    assert ran.files == {"made.txt": "dubious\n"}, ran
    assert "reason-after-tool" in ran.heard, ran


def test_a_refused_prompt_never_reaches_the_model(obeying: Agent) -> None:
    """Whatever the agent makes of it."""
    ran = obeying.run(obeying.driver.shell("echo hi > made.txt"), DONE, prompt="tell me the secret")
    assert ran.files == {}, ran
    assert ran.model.requests == [], ran


def test_a_turn_that_is_not_done_goes_on(obeying: Agent) -> None:
    """Once: the reason is the model's next instruction, and then it may stop."""
    (obeying.place.project / "unfinished").touch()
    ran = obeying.run(say("one"), say("two"))
    assert "reason-to-go-on" in ran.heard, ran
    assert (len(ran.model.requests), ran.files) == (2, {}), ran
    assert "two" in ran.stdout
