"""What a program reads of a failed handler says how the call ended, in the result and in the log."""

from __future__ import annotations

import asyncio
import logging

import pytest

from hookrun import Engine, Verdict
from hookrun.core.literals import EventName
from tests.rows import rows

RAISED = "hook lint failed (exception): it raised ZeroDivisionError: division by zero"


def fails(_ctx: object) -> None:
    """Fail."""
    raise ZeroDivisionError("division by zero")


def engine_with(event: EventName, answer: Verdict | None) -> Engine:
    """Return an engine with a handler that fails, and one that gives this answer after it."""
    engine = Engine()
    engine.register(event, fails, name="lint")
    engine.register(event, lambda _: answer, name="guard")
    return engine


ENDS: dict[str, tuple[str, Verdict | None, str]] = {
    "nobody objects": ("pre_tool_use", None, "; the call continued"),
    "another blocks": ("pre_tool_use", Verdict.block("no"), "; the call was blocked"),
    "another ends the turn": ("pre_tool_use", Verdict.stop("no"), "; the call was blocked"),
    "another skips": ("pre_tool_use", Verdict.skip("no"), "; the call was skipped"),
    "another asks": ("pre_tool_use", Verdict.ask("sure?"), "; the call needed the user's approval"),
    "no hook can refuse": ("post_tool_use", None, ""),
}


@rows("event, answer, end", ENDS.values(), ids=ENDS)
def test_a_line_ends_as_the_call(
    event: EventName, answer: Verdict | None, end: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The one in the result, in the run's own verdict and in the log."""
    caplog.clear()
    result = engine_with(event, answer).fire_sync(event, tool_name="bash")
    assert result.system_message == RAISED + end
    assert result.runs[0].verdict.system_message == RAISED + end
    assert caplog.messages == [RAISED + end]


def test_a_failure_before_a_fire_is_cancelled_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Without an end: none is known."""
    engine = engine_with("pre_tool_use", None)

    @engine.on("pre_tool_use")
    async def endless(_ctx: object) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        with caplog.at_level(logging.WARNING), pytest.raises(TimeoutError):
            await asyncio.wait_for(engine.fire("pre_tool_use", tool_name="bash"), 0.2)

    asyncio.run(main())
    assert caplog.messages == [RAISED]
