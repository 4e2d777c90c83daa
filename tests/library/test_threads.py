"""Handlers with `thread=True`: their threads when they hang, are left alone, or close the engine."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import Any

import pytest

from hookrun import ClosedError, Context, Engine, Verdict
from hookrun.library.threads import DaemonThreadPool
from tests.library.firing import Fire, answers, failure, kinds, within

LONG = 60.0
"""Seconds that no test waits."""


def hang(engine: Engine, fire: Fire, begun: list[Context], number: int) -> None:
    """Fire until so many handlers hang."""
    for _ in range(100):
        if len(begun) < number:
            assert kinds(fire(engine, "stop")) == {"hangs": "timeout"}
    assert len(begun) == number


def test_threads_that_were_left_alone_take_no_place(
    engine: Engine, fire: Fire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many handlers hang in threads, the next one gets one; when they end, no more run than before."""
    monkeypatch.setattr(engine._services, "workers", DaemonThreadPool(2))
    free, begun = Event(), []

    def hangs(ctx: Context) -> None:
        begun.append(ctx)
        free.wait(LONG)

    engine.register("stop", hangs, thread=True, timeout=0.05)
    engine.register("session_end", answers(Verdict.block("no")), name="guard", thread=True, timeout=LONG)
    try:
        hang(engine, fire, begun, 5)
        assert within(lambda: fire(engine, "session_end"), 30).message == "no"
    finally:
        free.set()


def test_where_no_thread_can_be_had_the_failure_says_so(
    engine: Engine, fire: Fire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the limit of abandoned threads a handler is never called, and its failure does not blame a thread."""
    monkeypatch.setattr("hookrun.library.threads.MOST_LEFT", 1)
    monkeypatch.setattr(engine._services, "workers", DaemonThreadPool(1))
    free, begun = Event(), []
    called: list[object] = []

    def hangs(ctx: Context) -> None:
        begun.append(ctx)
        free.wait(LONG)

    engine.register("stop", hangs, thread=True, timeout=0.05)
    engine.register("session_end", called.append, name="guard", thread=True, timeout=0.05)
    try:
        hang(engine, fire, begun, 2)
        why = "other handlers with thread=True used all of them"
        assert failure(fire(engine, "session_end")).detail == f"no thread was free after 0.05 s: {why}"
        found = failure(fire(engine, "session_end", deadline=0.04)).detail
        assert found == f"no thread was free by the deadline: {why}"
    finally:
        free.set()
    engine._services.workers.close(30)
    assert called == []


def test_a_cancelled_fire_leaves_its_threads_alone_too(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take no slot either, and a handler that had no thread yet is not called."""
    monkeypatch.setattr(engine._services, "workers", DaemonThreadPool(1))
    free, begun = Event(), Event()
    called: list[object] = []

    def hangs(ctx: Context) -> None:
        begun.set()
        free.wait(LONG)

    engine.register("stop", hangs, thread=True, parallel=True, timeout=None)
    engine.register("stop", called.append, name="waits", thread=True, parallel=True, timeout=None)
    engine.register("session_end", answers(Verdict.block("no")), name="guard", thread=True, timeout=LONG)

    async def main() -> str | None:
        fire = asyncio.create_task(engine.fire("stop"))
        await asyncio.to_thread(begun.wait, 30)
        fire.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fire
        return (await engine.fire("session_end")).message

    try:
        assert within(lambda: asyncio.run(main()), 30) == "no"
        assert called == []
    finally:
        free.set()


@pytest.mark.parametrize("kind", ["sync", "thread", "parallel"])
def test_a_handler_may_close_the_engine(fire: Fire, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """Also in a thread of the engine's own: the guards after it are asked, then nothing runs any more."""
    engine = Engine()
    how: dict[str, Any] = {"thread": kind != "sync", "parallel": kind == "parallel"}
    engine.register("stop", lambda _: engine.close_sync(), name="closes", priority=1, timeout=None, **how)
    engine.register("stop", answers(Verdict.block("no")), name="guard", timeout=None, **how)
    result = within(lambda: fire(engine, "stop"), 30)
    assert (kinds(result), result.message) == ({"closes": None, "guard": None}, "no")
    with pytest.raises(ClosedError):
        engine.fire_sync("stop")
    engine.close_sync()
    assert caplog.text == ""
