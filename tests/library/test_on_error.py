"""`on_error`, a handler's own reaction to its failure, which can itself fail, hang and be awaited."""

from __future__ import annotations

import asyncio
import gc
import logging
from threading import Event, enumerate as enumerate_threads
from typing import Any

import pytest

from hookrun import Context, Engine, Verdict
from hookrun.library import Failure
from tests.library.firing import CALL, Fire, after_a_turn, answers, as_it_is, failure, in_coroutine, raises, within
from tests.rows import rows
from tests.waiting import hang_async, limit

FAILS = ValueError("x")


@pytest.mark.parametrize("make", [as_it_is, after_a_turn])
@rows(
    "handler, expected",
    [
        (raises(FAILS), [("exception", FAILS, CALL["tool_args"], "s", "h")]),
        (answers(42), [("bad_verdict", None, CALL["tool_args"], "s", "h")]),
        (answers(None), []),
        (answers(Verdict.block()), []),
    ],
)
def test_it_is_told_the_failure_and_the_context(
    engine: Engine, fire: Fire, make: Any, handler: Any, expected: list[object]
) -> None:
    """Called once when the hook fails, and not when it answers, whatever it answers."""
    failures: list[object] = []
    details: list[str] = []

    def on_error(failed: Failure, ctx: Context) -> None:
        failures.append((failed.kind, failed.exception, ctx.tool_args, ctx.state, ctx["hook"]))
        details.append(failed.detail)

    engine.register("pre_tool_use", handler, name="h", on_error=make(on_error))
    result = fire(engine, state="s")
    assert failures == expected
    assert details == [run.failure.detail for run in result.runs if run.failure]


@pytest.mark.parametrize("make", [as_it_is, in_coroutine, after_a_turn])
@rows("error", [ValueError("second"), SystemExit(3), asyncio.CancelledError()], ids=["error", "exit", "cancelled"])
def test_one_that_fails_itself_changes_nothing(
    engine: Engine, fire: Fire, caplog: pytest.LogCaptureFixture, make: Any, error: BaseException
) -> None:
    """The hook's failure is unchanged, the others still run, and the log and a note report the second failure."""
    caplog.clear()
    engine.register("stop", raises(ValueError("first")), name="h", on_failure="block", on_error=make(raises(error)))
    engine.register("stop", answers(Verdict.with_context("other")), name="o", always=True)
    with caplog.at_level(logging.ERROR, "hookrun"):
        result = within(lambda: fire(engine, "stop"))
    assert (result.action, result.additional_context) == ("block", "other")
    assert failure(result, "h").detail == "it raised ValueError: first"
    assert f"its on_error failed: {type(error).__name__}" in caplog.text
    assert any("its on_error failed" in note for note in result.runs[0].notes)


def test_one_that_hangs_is_ended(engine: Engine, fire: Fire) -> None:
    """It has the hook's timeout, and a note says that it did not end."""

    async def on_error(failed: Failure, ctx: Context) -> None:
        await hang_async()

    engine.register("stop", answers(42), name="h", on_error=on_error, timeout=0.1)
    result = within(lambda: fire(engine, "stop"))
    assert result.runs[0].notes == ["its on_error failed: TimeoutError: not finished after 0.1 s"]


def test_the_fires_deadline_is_for_on_error_too(engine: Engine, fire: Fire) -> None:
    """A hook without a limit whose on_error hangs: a caller with a deadline does not wait forever."""

    async def on_error(failed: Failure, ctx: Context) -> None:
        await hang_async()

    engine.register("stop", answers(42), name="h", on_error=on_error, timeout=None)
    result = within(lambda: fire(engine, "stop", deadline=0.1))
    assert failure(result).kind == "bad_verdict"
    assert result.runs[0].notes == ["its on_error failed: TimeoutError: not finished by the deadline"]


def test_it_is_called_on_a_timeout(engine: Engine, fire: Fire) -> None:
    """A handler that never answers, async or in a thread, has its on_error called."""
    failures: list[str] = []

    async def never(ctx: Context) -> None:
        await hang_async()

    engine.register("stop", never, timeout=0.05, on_error=lambda failed, _: failures.append(failed.kind))
    fire(engine, "stop")
    assert failures == ["timeout"]


def test_it_may_fire_and_start_work_of_its_own(engine: Engine, fire: Fire) -> None:
    """Its context is that of a handler: background work can be started from it, and other events fired."""
    done: list[str] = []

    async def work() -> None:
        done.append("work")

    async def on_error(failed: Failure, ctx: Context) -> None:
        ctx.background(work())
        await engine.fire("notification", message=failed.detail)

    engine.register("stop", answers(42), name="h", on_error=on_error)
    engine.register("notification", lambda ctx: done.append(ctx.message), name="n")
    fire(engine, "stop")
    assert len(done) == 2
    assert "work" in done
    assert "it returned 42" in "".join(done)


def test_what_can_no_longer_be_awaited_is_closed(recwarn: pytest.WarningsRecorder) -> None:
    """The work of a function fails after the engine is closed: its report is not run, and Python warns of nothing."""
    begins = Event()

    def work() -> None:
        begins.wait(limit())
        raise ValueError("late")

    async def on_error(failure: Failure, ctx: Context) -> None:
        raise AssertionError("there is no loop")

    engine = Engine()
    engine.register("stop", lambda ctx: ctx.background(work), on_error=on_error)
    engine.fire_sync("stop")
    engine.close_sync(wait=0)
    (thread,) = [each for each in enumerate_threads() if each.name == "hookrun-background"]
    begins.set()
    thread.join(limit())
    gc.collect()
    assert [str(each.message) for each in recwarn] == []
