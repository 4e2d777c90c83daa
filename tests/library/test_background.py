"""What handlers leave in the background, and the state that travels along the chain."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from threading import Event, Lock, current_thread
from typing import Any

import pytest

from hookrun import ClosedError, Context, Engine
from hookrun.library import Failure
from tests.library.firing import Fire, answers, fire_sync, kinds, within
from tests.waiting import hang_async, limit, vary

Work = Callable[[], Any]
Begin = Callable[[Context, Work, Work], None]
"""Starts in the background one of the two: a coroutine function, or a function that does the same."""
BEGIN: dict[str, Begin] = {
    "coroutine": lambda ctx, coroutine, _: ctx.background(coroutine(), name="w"),
    "function": lambda ctx, _, function: ctx.background(function, name="w"),
    "async function": lambda ctx, coroutine, _: ctx.background(coroutine, name="w"),
}
each_of_two = pytest.mark.parametrize("begin", [BEGIN["coroutine"], BEGIN["function"]], ids=["coroutine", "function"])


@each_of_two
def test_it_is_waited_for(engine: Engine, fire: Fire, begin: Begin) -> None:
    """`wait_background` waits for all of it, what that starts itself included; the fire does not wait."""
    done: list[str] = []
    go = Event()

    def second() -> None:
        vary(0.05)
        done.append("second")

    def handler(ctx: Context) -> None:
        async def coroutine() -> None:
            await asyncio.to_thread(go.wait, limit())
            done.append("first")
            ctx.background(second)

        def function() -> None:
            go.wait(limit())
            done.append("first")
            ctx.background(second)

        begin(ctx, coroutine, function)

    def looks(ctx: Context) -> None:
        done.append("the fire went on")
        go.set()

    engine.register("stop", handler)
    engine.register("stop", looks)
    within(lambda: fire(engine, "stop"))
    assert done == ["the fire went on", "first", "second"]


@pytest.mark.parametrize("begin", BEGIN.values(), ids=BEGIN)
@pytest.mark.parametrize("error", [ValueError("lost"), SystemExit(3)], ids=["error", "exit"])
@pytest.mark.filterwarnings("error")
def test_its_error_is_told(
    engine: Engine, caplog: pytest.LogCaptureFixture, begin: Begin, error: BaseException
) -> None:
    """In the log with the names of hook and work, and to the hook's `on_error`; the next fire is as any other."""
    failures: list[Failure] = []

    async def coroutine() -> None:
        raise error

    def function() -> None:
        raise error

    async def handler(ctx: Context) -> None:
        begin(ctx, coroutine, function)

    engine.register("stop", handler, name="h", on_error=lambda failed, _: failures.append(failed))
    with caplog.at_level(logging.ERROR, "hookrun"):
        for _ in range(2):
            assert within(lambda: kinds(fire_sync(engine, "stop"))) == {"h": None}
    assert [failed.exception for failed in failures] == [error, error]
    assert f"hook h: w failed in the background: {type(error).__name__}" in caplog.text


@each_of_two
def test_it_is_within_no_fire(engine: Engine, fire: Fire, begin: Begin) -> None:
    """Background work that fires an event which restarts it, such as a heartbeat, continues indefinitely."""
    beats: list[str] = []

    async def later() -> None:
        await asyncio.sleep(0)
        await engine.fire("stop")

    def handler(ctx: Context) -> None:
        beats.append("beat")
        if len(beats) < 10:
            begin(ctx, later, lambda: engine.fire_sync("stop"))

    engine.register("stop", handler)
    within(lambda: fire(engine, "stop"))
    assert len(beats) == 10


def test_it_cannot_wait_for_itself(engine: Engine, fire: Fire, caplog: pytest.LogCaptureFixture) -> None:
    """`wait_background` raises there at once, in a handler that the work fires too; on another engine it is allowed."""
    said: list[str] = []

    async def waits(ctx: Context) -> None:
        async with Engine() as other:
            await other.wait_background()
        try:
            await engine.wait_background()
        except RuntimeError as error:
            said.append(str(error))

    async def work(ctx: Context) -> None:
        await waits(ctx)
        await engine.fire("session_end")

    engine.register("stop", lambda ctx: ctx.background(work(ctx)), name="h")
    engine.register("session_end", waits)
    within(lambda: fire(engine, "stop"))
    assert said == ["wait_background in background work would wait for itself: await the work instead"] * 2
    assert caplog.text == ""


def test_an_async_on_error_is_awaited(engine: Engine, fire: Fire) -> None:
    """`wait_background` waits for the on_error of what failed there, too."""
    failures: list[str] = []

    async def on_error(failed: Failure, ctx: Context) -> None:
        await asyncio.to_thread(vary, 0.02)
        failures.append(failed.detail)

    def fails() -> None:
        raise ValueError("x")

    engine.register("stop", lambda ctx: ctx.background(fails), name="h", on_error=on_error)
    within(lambda: fire(engine, "stop"))
    assert failures == ["its background work raised ValueError: x"]


CLOSES: list[Callable[[Engine, float], None]] = [
    lambda engine, wait: engine.close_sync(wait=wait),
    lambda engine, wait: asyncio.run(engine.close(wait=wait)),
]


@pytest.mark.parametrize("close", CLOSES)
def test_closing_waits_for_what_may_end_by_itself(close: Callable[[Engine, float], None]) -> None:
    """As long as was asked for."""
    ended: list[str] = []

    async def work() -> None:
        await asyncio.to_thread(vary, 0.02)
        ended.append("by itself")

    engine = Engine()
    engine.register("stop", lambda ctx: ctx.background(work()), name="h")
    engine.fire_sync("stop")
    within(lambda: close(engine, limit()))
    assert ended == ["by itself"]


@pytest.mark.parametrize("close", CLOSES)
def test_closing_without_a_wait_cancels(close: Callable[[Engine, float], None]) -> None:
    """A coroutine that runs already is cancelled."""
    ended: list[str] = []
    started = Event()

    async def work() -> None:
        started.set()
        try:
            await hang_async()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    engine = Engine()
    engine.register("stop", lambda ctx: ctx.background(work()), name="h")
    engine.fire_sync("stop")
    assert started.wait(limit())
    within(lambda: close(engine, 0))
    assert ended == ["cancelled"]


def test_work_is_not_started_for_a_closed_engine(recwarn: pytest.WarningsRecorder) -> None:
    """A handler's context that outlives the engine starts no work that would never be ended."""
    kept: list[Context] = []
    names: list[str] = []

    async def work() -> None:
        names.append("x")

    engine = Engine()
    engine.register("stop", kept.append, name="h")
    engine.fire_sync("stop")
    engine.close_sync()
    with pytest.raises(ClosedError):
        kept[0].background(work())
    assert names == []


def test_outside_of_a_handler_there_is_no_background(engine: Engine, fire: Fire) -> None:
    """RuntimeError; the coroutine is closed, and nothing warns of it."""

    async def work() -> None:
        """Do nothing."""

    engine.register("stop", answers(None), name="h")
    after = fire(engine, "stop").context
    assert after is not None
    for ctx in (Context("stop"), after):
        with pytest.raises(RuntimeError, match="background work can be started only in a handler"):
            ctx.background(work())


def test_work_of_a_task_runs_outside_of_its_loop(engine: Engine) -> None:
    """A coroutine runs in the engine's own loop, a function in a thread."""
    seen: list[bool] = []

    async def main() -> None:
        loop, thread = asyncio.get_running_loop(), current_thread()

        async def work() -> None:
            seen.append(asyncio.get_running_loop() is not loop)

        def handler(ctx: Context) -> None:
            ctx.background(work())
            ctx.background(lambda: seen.append(current_thread() is not thread))

        engine.register("stop", handler)
        await engine.fire("stop")
        await engine.wait_background()

    asyncio.run(main())
    assert seen == [True, True]


# --- the state


@pytest.mark.parametrize("thread", [False, True])
def test_state_travels_along_the_chain(engine: Engine, fire: Fire, thread: bool) -> None:
    """One object for all handlers in order, and the very one that the program gave."""
    state: dict[str, Any] = {}

    async def reads(ctx: Context) -> None:
        ctx.state["b"] = ctx.state["a"] + 1

    def sets(ctx: Context) -> None:
        ctx.state["a"] = 1

    engine.register("stop", sets, thread=thread)
    engine.register("stop", reads)
    result = fire(engine, "stop", state=state)
    assert state == {"a": 1, "b": 2}
    assert result.context is not None
    assert result.context.state is state


def test_side_by_side_each_has_a_clone(engine: Engine, fire: Fire) -> None:
    """A handler's changes to its state are invisible to the others, and to later fires."""
    seen: list[Any] = []

    def changes(ctx: Context) -> None:
        seen.append(list(ctx.state["list"]))
        ctx.state["list"].append(ctx["hook"])

    state = {"list": [0]}
    for name in "ab":
        engine.register("stop", changes, name=name, parallel=True, thread=name == "b")
    engine.register("stop", changes, name="c")
    fire(engine, "stop", state=state)
    assert (seen, state) == ([[0], [0], [0]], {"list": [0, "c"]})


def test_a_state_that_cannot_be_cloned_is_a_failure(engine: Engine, fire: Fire) -> None:
    """Side by side it would be shared: each fails by name, and a guard among them refuses."""
    engine.register("stop", answers(None), name="a", parallel=True)
    engine.register("stop", answers(None), name="b", parallel=True, on_failure="block")
    result = fire(engine, "stop", state=Lock())
    assert (kinds(result), result.action) == ({"a": "exception", "b": "exception"}, "block")
    assert "lock' object): give it a method `clone`" in str(result.message)
