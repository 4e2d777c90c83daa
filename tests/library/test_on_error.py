"""`on_error`, a handler's own reaction to its failure, which can itself fail, hang and be awaited."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from hookrun import Context, Engine, Failure, Verdict
from tests.library.firing import CALL, Fire, answers, failure, raises, within
from tests.rows import rows
from tests.waiting import hang_async

OnError = Callable[[Failure, Context], Any]
Make = Callable[[OnError], OnError]
FAILS = ValueError("x")


def as_it_is(on_error: OnError) -> OnError:
    """Return the function."""
    return on_error


def at_once(on_error: OnError) -> OnError:
    """Return the same as an async function."""

    async def on_error_async(failed: Failure, ctx: Context) -> None:
        on_error(failed, ctx)

    return on_error_async


def late(on_error: OnError) -> OnError:
    """Return the same as an async function, which first lets others run."""

    async def on_error_async(failed: Failure, ctx: Context) -> None:
        await asyncio.sleep(0)
        on_error(failed, ctx)

    return on_error_async


@pytest.mark.parametrize("make", [as_it_is, late])
@rows("handler, kind, error", [(raises(FAILS), "exception", FAILS), (answers(42), "bad_verdict", None)])
def test_it_is_told_the_failure_and_the_context(  # noqa: PLR0917  # a table of cases
    engine: Engine, fire: Fire, make: Make, handler: Any, kind: str, error: BaseException | None
) -> None:
    """Called once when the hook fails, with all that there is to know."""
    failures: list[tuple[str, str, BaseException | None, object, object, object]] = []

    def on_error(failed: Failure, ctx: Context) -> None:
        failures.append((failed.kind, failed.detail, failed.exception, ctx.tool_args, ctx.state, ctx["hook"]))

    engine.register("pre_tool_use", handler, name="h", on_error=make(on_error))
    result = fire(engine, state="s")
    assert failures == [(kind, failure(result).detail, error, CALL["tool_args"], "s", "h")]


@rows("make", [as_it_is, late])
@pytest.mark.parametrize("value", [None, Verdict.block()], ids=["nothing", "a block"])
def test_it_is_not_called_where_the_hook_answers(engine: Engine, fire: Fire, make: Make, value: Any) -> None:
    """Whatever it answers."""
    failures: list[Failure] = []
    engine.register("pre_tool_use", answers(value), name="h", on_error=make(lambda failed, _: failures.append(failed)))
    fire(engine)
    assert failures == []


@pytest.mark.parametrize("make", [as_it_is, at_once, late])
@rows("error", [ValueError("second"), SystemExit(3), asyncio.CancelledError()], ids=["error", "exit", "cancelled"])
def test_one_that_fails_itself_changes_nothing(
    engine: Engine,
    fire: Fire,
    caplog: pytest.LogCaptureFixture,
    make: Make,
    error: BaseException,
) -> None:
    """The hook's failure is unchanged, the others still run, and the log and a note report the second failure."""
    caplog.clear()

    def on_error(failed: Failure, ctx: Context) -> None:
        raise error

    engine.register("stop", raises(ValueError("first")), name="h", on_failure="block", on_error=make(on_error))
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
