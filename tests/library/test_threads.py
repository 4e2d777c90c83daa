"""Handlers with `thread=True`: their threads when they hang, are left alone, or close the engine."""

from __future__ import annotations

import asyncio
from threading import Event, current_thread
from typing import Any

import pytest

from hookrun import ClosedError, Context, Engine, Verdict
from hookrun.library.threads import DaemonThreadPool
from tests.library.firing import Fire, answers, failure, kinds, within
from tests.library.running import state_of
from tests.waiting import limit, until


def fire_until(engine: Engine, fire: Fire, begun: list[Context], number: int) -> None:
    """Fire until so many handlers hang: on a slow machine a hook may be out of time before it begins."""

    def fires() -> bool:
        assert kinds(fire(engine, "stop")) == {"hangs": "timeout"}
        return len(begun) == number

    until(fires, "handlers do not begin")


def test_threads_that_were_left_alone_take_no_place(
    engine: Engine, fire: Fire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many handlers hang in threads, the next one gets one; when they end, no more run than before."""
    monkeypatch.setattr(state_of(engine), "workers", DaemonThreadPool(2))
    free, begun = Event(), []

    def hangs(ctx: Context) -> None:
        begun.append(ctx)
        free.wait(limit())

    engine.register("stop", hangs, thread=True, timeout=0.05)
    engine.register("session_end", answers(Verdict.block("no")), name="guard", thread=True, timeout=limit())
    try:
        fire_until(engine, fire, begun, 5)
        assert within(lambda: fire(engine, "session_end")).message == "no"
    finally:
        free.set()


def test_where_no_thread_can_be_had_the_failure_says_so(
    engine: Engine, fire: Fire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the limit of abandoned threads a handler is never called, and its failure does not blame a thread."""
    monkeypatch.setattr("hookrun.library.threads.MOST_LEFT", 1)
    monkeypatch.setattr(state_of(engine), "workers", DaemonThreadPool(1))
    free, begun = Event(), []
    called: list[object] = []

    def hangs(ctx: Context) -> None:
        begun.append(ctx)
        free.wait(limit())

    engine.register("stop", hangs, thread=True, timeout=0.05)
    engine.register("session_end", called.append, name="guard", thread=True, timeout=0.05)
    try:
        fire_until(engine, fire, begun, 2)
        why = "other handlers with thread=True used all of them"
        assert failure(fire(engine, "session_end")).detail == f"no thread was free after 0.05 s: {why}"
        found = failure(fire(engine, "session_end", deadline=0.04)).detail
        assert found == f"no thread was free by the deadline: {why}"
    finally:
        free.set()
    state_of(engine).workers.close(limit())
    assert called == []


def test_a_cancelled_fire_leaves_its_threads_alone_too(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take no slot either, and a handler that had no thread yet is not called."""
    monkeypatch.setattr(state_of(engine), "workers", DaemonThreadPool(1))
    free, begun = Event(), Event()
    called: list[object] = []

    def hangs(ctx: Context) -> None:
        begun.set()
        free.wait(limit())

    engine.register("stop", hangs, thread=True, parallel=True, timeout=None)
    engine.register("stop", called.append, name="waits", thread=True, parallel=True, timeout=None)
    engine.register("session_end", answers(Verdict.block("no")), name="guard", thread=True, timeout=limit())

    async def main() -> str | None:
        fire = asyncio.create_task(engine.fire("stop"))
        await asyncio.to_thread(begun.wait, limit())
        fire.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fire
        return (await engine.fire("session_end")).message

    try:
        assert within(lambda: asyncio.run(main())) == "no"
        assert called == []
    finally:
        free.set()


def test_a_thread_ends_when_no_work_is_left() -> None:
    """It takes what is queued first; a pool without work has no thread."""
    pool, free = DaemonThreadPool(1), Event()
    first = pool.submit(lambda: free.wait(limit()))
    second = pool.submit(current_thread)
    free.set()
    assert first.done.result(limit())
    thread = second.done.result(limit())
    thread.join(limit())
    assert not thread.is_alive()
    assert pool.submit(current_thread).done.result(limit()) is not thread


@pytest.mark.parametrize("how", [{}, {"thread": True}, {"thread": True, "parallel": True}])
def test_a_handler_may_close_the_engine(fire: Fire, how: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    """Also in a thread of the engine's own: the guards after it are asked, then nothing runs any more."""
    engine = Engine()
    engine.register("stop", lambda _: engine.close_sync(), name="closes", priority=1, timeout=None, **how)
    engine.register("stop", answers(Verdict.block("no")), name="guard", timeout=None, **how)
    result = within(lambda: fire(engine, "stop"))
    assert (kinds(result), result.message) == ({"closes": None, "guard": None}, "no")
    with pytest.raises(ClosedError):
        engine.fire_sync("stop")
    engine.close_sync()
    assert caplog.text == ""
