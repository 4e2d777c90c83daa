"""Time: handlers that are late, hang, or resist cancellation; cancellation from outside; deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from hookrun import Context, Engine, Verdict
from hookrun.core.literals import Policy
from hookrun.library import awaiting
from hookrun.library.threads import DaemonThreadPool
from tests.library.firing import Fire, answers, as_it_is, failure, in_coroutine, kinds, order, raises, within
from tests.library.running import state_of
from tests.waiting import hang_async, limit, until_async, vary


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awaiting, "CANCEL_GRACE", 0.2)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("on_failure", ["continue", "block"])
def test_one_that_never_ends(engine: Engine, fire: Fire, parallel: bool, on_failure: Policy) -> None:
    """It is cancelled at its timeout, its `finally` runs, and the other hooks run."""
    ended: list[str] = []

    async def never(ctx: Context) -> None:
        try:
            await hang_async()
        finally:
            ended.append("finally")

    engine.register("stop", never, timeout=0.05, on_failure=on_failure, parallel=parallel)
    engine.register("stop", answers(Verdict.with_context("other")), name="o", always=True, parallel=parallel)
    result = within(lambda: fire(engine, "stop"))
    assert (result.action, result.additional_context, ended) == (on_failure, "other", ["finally"])
    assert (failure(result).kind, failure(result).detail) == ("timeout", "no answer after 0.05 s")


def test_a_cancellation_may_be_swallowed_once(engine: Engine, fire: Fire) -> None:
    """Its cleanup within the grace period runs; an answer that is no refusal no longer counts."""
    seen: list[str] = []

    async def swallows(ctx: Context) -> Verdict:
        try:
            await hang_async()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            seen.append("put in order")
        return Verdict.allow("late")

    engine.register("pre_tool_use", swallows, timeout=0.05)
    result = within(lambda: fire(engine))
    assert (seen, result.action, failure(result).kind) == (["put in order"], "continue", "timeout")


def test_a_refusal_counts_also_late(engine: Engine, fire: Fire) -> None:
    """A refusal during cancellation counts, and a note says that it was late."""

    async def refuses(ctx: Context) -> Verdict:
        try:
            await hang_async()
        except asyncio.CancelledError:
            return Verdict.block("late")
        return Verdict()

    engine.register("stop", refuses, timeout=0.05)
    result = within(lambda: fire(engine, "stop"))
    assert (result.action, result.message, kinds(result)) == ("block", "late", {"refuses": None})
    assert result.runs[0].notes == ["its block counts although no answer after 0.05 s"]


def test_one_that_ignores_every_cancellation_is_closed(engine: Engine, fire: Fire) -> None:
    """After the grace period it is closed where it waits, and the failure says so."""

    async def stubborn(ctx: Context) -> None:
        while True:
            try:
                await hang_async()
            except asyncio.CancelledError:
                continue

    engine.register("stop", stubborn, timeout=0.05, on_failure="block")
    engine.register("stop", answers(None), name="o", always=True)
    result = within(lambda: fire(engine, "stop"))
    assert (result.action, order(result)) == ("block", ["stubborn", "o"])
    assert "it did not end when cancelled, and was closed" in failure(result).detail


@pytest.mark.parametrize("ours", [3600.0, None])
def test_a_timeout_of_its_own_is_its_own_business(engine: Engine, fire: Fire, ours: float | None) -> None:
    """`asyncio.timeout` within a handler expires, the handler continues and answers."""

    async def careful(ctx: Context) -> Verdict:
        try:
            async with asyncio.timeout(0.01):
                await hang_async()
        except TimeoutError:
            await asyncio.sleep(0)
            return Verdict.block("gave up")
        return Verdict()

    engine.register("stop", careful, timeout=ours)
    result = within(lambda: fire(engine, "stop"))
    assert (result.message, kinds(result)) == ("gave up", {"careful": None})


def test_a_longer_timeout_of_its_own_does_not_help(engine: Engine, fire: Fire) -> None:
    """Ours comes first: a cancellation, and no TimeoutError that the handler could take for its own."""
    caught: list[str] = []

    async def slow(ctx: Context) -> None:
        try:
            async with asyncio.timeout(3600):
                await hang_async()
        except BaseException as error:
            caught.append(type(error).__name__)
            raise

    engine.register("stop", slow, timeout=0.05)
    assert failure(within(lambda: fire(engine, "stop"))).kind == "timeout"
    assert caught == ["CancelledError"]


def test_short_timeouts_of_its_own_do_not_put_off_ours(engine: Engine, fire: Fire) -> None:
    """One that polls with its own timeouts is ended at its timeout like any other."""
    rounds: list[int] = []

    async def polls(ctx: Context) -> None:
        for n in range(60):
            rounds.append(n)
            try:
                async with asyncio.timeout(0.03):
                    await hang_async()
            except TimeoutError:
                pass

    engine.register("stop", polls, timeout=0.1)
    result = within(lambda: fire(engine, "stop"))
    assert failure(result).detail == "no answer after 0.1 s"
    assert len(rounds) < 60


def test_a_cancelled_fire_cannot_be_outstayed_by_polling(engine: Engine) -> None:
    """A handler that swallows the cancellation and continues with its own timeouts is closed after the grace period."""
    rounds: list[int] = []

    async def polls(ctx: Context) -> None:
        for n in range(60):
            rounds.append(n)
            try:
                async with asyncio.timeout(0.03):
                    await hang_async()
            except (TimeoutError, asyncio.CancelledError):
                pass

    async def main() -> None:
        engine.register("stop", polls, timeout=None)
        task = asyncio.create_task(engine.fire("stop"))
        await until_async(lambda: rounds, "the handler does not begin")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    within(lambda: asyncio.run(main()))
    assert len(rounds) < 60


def test_the_timeout_of_a_handler_ends_what_it_fires(engine: Engine, fire: Fire) -> None:
    """A fire within a handler that has timed out is cancelled: no more of its hooks run, none of them has failed."""
    seen: list[str] = []

    async def inner(ctx: Context) -> None:
        await hang_async()

    async def outer(ctx: Context) -> None:
        await engine.fire("notification")
        seen.append("went on")

    engine.register("stop", outer, timeout=0.05)
    engine.register("notification", inner, on_error=lambda failed, _: seen.append(failed.detail))
    engine.register("notification", lambda _: seen.append("second"), name="second")
    result = within(lambda: fire(engine, "stop"))
    assert (failure(result).detail, seen) == ("no answer after 0.05 s", [])


@pytest.mark.slow
def test_a_thread_that_is_late_is_left_alone(engine: Engine, fire: Fire) -> None:
    """The fire continues without it; the failure says that the thread was abandoned."""
    go = Event()

    def blocks(ctx: Context) -> None:
        go.wait(limit())

    engine.register("stop", blocks, thread=True, timeout=0.5)
    engine.register("stop", answers(None), name="o")
    result = within(lambda: fire(engine, "stop"))
    go.set()
    assert (order(result), kinds(result)) == (["blocks", "o"], {"blocks": "timeout", "o": None})
    assert failure(result).detail == "no answer after 0.5 s; its thread was abandoned"


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (as_it_is, "it blocks the calling thread, register it with thread=True"),
        (in_coroutine, "it blocks the event loop"),
    ],
)
def test_one_that_blocks_everybody_is_told_of(engine: Engine, fire: Fire, make: Any, advice: str) -> None:
    """It cannot be interrupted: its answer is late, and the failure suggests a fix."""

    def blocks(ctx: Context) -> Verdict:
        vary(0.03)
        return Verdict.allow("late")

    engine.register("stop", make(blocks), name="h", timeout=0.01)
    engine.register("stop", answers(Verdict.with_context("other")), name="o")
    result = fire(engine, "stop")
    assert (kinds(result), result.action, result.additional_context) == (
        {"h": "timeout", "o": None},
        "continue",
        "other",
    )
    assert failure(result).detail.endswith(advice)


def test_a_refusal_of_one_that_blocks_counts(engine: Engine, fire: Fire) -> None:
    """A late refusal is not lost."""

    def blocks(ctx: Context) -> Verdict:
        vary(0.03)
        return Verdict.block("late")

    engine.register("stop", blocks, timeout=0.01)
    result = fire(engine, "stop")
    assert (result.action, result.message) == ("block", "late")


def test_what_is_left_at_the_deadline_has_not_answered(engine: Engine, fire: Fire) -> None:
    """The fire's deadline ends the running one, and the others do not start: each is a separate failure."""
    names: list[str] = []
    began: list[Context] = []

    async def never(ctx: Context) -> None:
        began.append(ctx)
        await hang_async()

    engine.register("stop", never)
    engine.register("stop", lambda _: names.append("x"), name="guard", on_failure="block")
    for deadline in (0.05, 0.5, 4.0):
        result = within(lambda deadline=deadline: fire(engine, "stop", deadline=deadline))  # type: ignore[misc]
        if began:  # on a slow machine the deadline may pass before
            break
    assert (result.action, names, kinds(result)) == ("block", [], {"never": "timeout", "guard": "timeout"})
    assert failure(result, "never").detail == "no answer by the deadline"
    assert failure(result, "guard").detail == "the deadline passed before the hook could start"


@pytest.mark.parametrize("deadline", [0, -1, float("nan"), float("inf")])
def test_a_deadline_that_is_none_is_refused(engine: Engine, fire: Fire, deadline: float) -> None:
    """Seconds, more than none of them."""
    engine.register("stop", answers(None), name="h")
    with pytest.raises(ValueError, match="deadline must be"):
        fire(engine, "stop", deadline=deadline)


TAKES_IT: dict[str, Callable[..., Any]] = {
    "good": raises(asyncio.CancelledError()),
    "answers": answers(Verdict.block("x")),
    "raises": raises(ValueError("x")),
    "stubborn": answers(None),
}
"""What a handler does when it is cancelled."""


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("takes_it", TAKES_IT.values(), ids=TAKES_IT)
def test_cancelling_a_fire_ends_its_handlers(engine: Engine, parallel: bool, takes_it: Any) -> None:
    """However the handler takes it: the fire is cancelled, nothing is left, nothing that comes after it runs."""
    begun: list[Context] = []
    names: list[str] = []

    async def waits(ctx: Context) -> Verdict | None:
        begun.append(ctx)
        answer: Verdict | None = None
        while answer is None:
            try:
                await hang_async()
            except asyncio.CancelledError:
                names.append("cancelled")
                answer = takes_it(ctx)
        return answer

    async def main() -> int:
        engine.register("stop", waits, parallel=parallel)
        engine.register("stop", waits, name="second", parallel=parallel)
        engine.register("stop", lambda _: names.append("after"), name="after")
        task = asyncio.create_task(engine.fire("stop"))
        await until_async(lambda: len(begun) == 1 + parallel, "the handlers do not begin")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks())

    assert within(lambda: asyncio.run(main())) == 1
    assert set(names) == {"cancelled"}


def test_a_handler_that_cancels_the_fire_has_cancelled_it(engine: Engine) -> None:
    """A sync handler has the task cancelled (a program that shuts down): the next one's wait is where it ends."""

    def shuts_down(ctx: Context) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    async def waits(ctx: Context) -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        engine.register("stop", shuts_down)
        engine.register("stop", waits)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(engine.fire("stop"))

    asyncio.run(main())


def test_the_callers_own_timeout(engine: Engine) -> None:
    """`asyncio.timeout` around a fire gives the caller its TimeoutError."""

    async def waits(ctx: Context) -> None:
        await hang_async()

    async def main() -> None:
        engine.register("stop", waits)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await engine.fire("stop")
        assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]

    asyncio.run(main())


def test_one_that_waits_for_a_thread_runs_out_of_time_too(
    engine: Engine, fire: Fire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time runs from when it is its turn, whether there is a thread for it or not; it never begins later."""
    go = Event()
    names: list[str] = []
    monkeypatch.setattr(state_of(engine), "workers", DaemonThreadPool(1))

    def blocks(ctx: Context) -> None:
        go.wait(limit())

    engine.register("stop", blocks, name="a", thread=True, parallel=True, timeout=0.05)
    engine.register("stop", lambda _: names.append("b"), name="b", thread=True, parallel=True, timeout=0.05)
    result = within(lambda: fire(engine, "stop"))
    assert (kinds(result), names) == ({"a": "timeout", "b": "timeout"}, [])
    assert all(0 < run.ms < limit() * 1000 for run in result.runs)
    go.set()
    state_of(engine).workers.close(limit())
    assert names == []
