"""A hundred thousand fires, and hundreds of engines: memory, descriptors, threads and children do not grow."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from hookrun import Engine, Skip, Verdict
from tests.library.running import (
    NOTHING,
    QUICK_ECHO,
    Resources,
    fields,
    kinds,
    left,
    linux,
    load,
    running,
    thread_of_background_hooks,
    until_inside,
    until_inside_async,
)
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun import Context
    from tests.conftest import Project

pytestmark = [pytest.mark.slow, linux]
LIMIT = 40_000
"""Allowed growth in bytes for any number of fires: a cache, a longer list. Over 20,000 fires even two bytes each are as
much; an object kept by mistake (a context, a frame, a future) is hundreds.
"""


def grown(work: Callable[[], object]) -> int:
    """Return how many bytes more are allocated after the work than before; it is done once to warm up."""
    work()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def engine_of_handlers() -> Engine:
    """Return an engine with an event for each way in which a handler answers."""
    engine = Engine(events=["quiet", "modifies", "blocks", "raises", "skips", "awaits", "waits", "chain"])
    logging.getLogger("hookrun").setLevel(logging.CRITICAL)

    def raises(_: Context) -> None:
        raise LookupError("no")

    async def awaits(_: Context) -> Verdict:
        return Verdict.with_context("here")

    async def waits(_: Context) -> None:
        await asyncio.sleep(0)

    engine.register("quiet", lambda _: None, name="quiet")  # type: ignore[arg-type]
    engine.register("modifies", lambda ctx: Verdict.patch({"n": ctx.tool_args["n"]}), name="modifies")  # type: ignore[arg-type]
    engine.register("blocks", lambda _: Verdict.block("no"), name="blocks")  # type: ignore[arg-type]
    engine.register("raises", raises, name="raises", on_error=lambda _failure, _context: None)  # type: ignore[arg-type]
    engine.register("skips", lambda _: Skip("enough"), name="skips")  # type: ignore[arg-type]
    engine.register("awaits", awaits, name="awaits")  # type: ignore[arg-type]
    engine.register("waits", waits, name="waits")  # type: ignore[arg-type]
    for n, function in enumerate((lambda _: None, raises, awaits, waits)):
        engine.register("chain", function, name=f"chain{n}", parallel=n > 1)  # type: ignore[arg-type]
    return engine


@pytest.fixture(autouse=True)
def _log_level() -> object:
    level = logging.getLogger("hookrun").level
    yield
    logging.getLogger("hookrun").setLevel(level)


def test_a_hundred_thousand_fires_leave_everything_where_it_was() -> None:
    """In this process: handlers of both kinds that agree, change, refuse, raise."""
    before = Resources()
    engine = engine_of_handlers()
    sync = ("quiet", "modifies", "blocks", "raises", "skips")

    async def tasks(count: int) -> None:
        for event in (*sync, "awaits", "waits"):
            for n in range(count):
                await engine.fire(event, fields(n))  # type: ignore[arg-type]
        for n in range(count // 10):
            await engine.fire("chain", fields(n))  # type: ignore[arg-type]

    def threads(count: int) -> None:
        for event in sync:
            for n in range(count):
                engine.fire_sync(event, fields(n))  # type: ignore[arg-type]

    def work(count: int) -> None:
        asyncio.run(tasks(count))
        threads(count)

    work(6600)  # without the tracing, which takes three times as long
    assert grown(lambda: work(1000)) < LIMIT
    engine.close_sync()
    assert before.same()


def test_fires_that_are_cancelled_or_out_of_time_leave_nothing() -> None:
    """Handlers that wait, each ended in one of both ways; futures, timers and tasks go with them."""
    engine = Engine()
    logging.getLogger("hookrun").setLevel(logging.CRITICAL)

    @engine.on("pre_tool_use", parallel=True)
    async def waits(_: Context) -> None:
        await asyncio.Event().wait()

    @engine.on("pre_tool_use", parallel=True)
    async def waits_too(_: Context) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        for n in range(300):
            fire = asyncio.create_task(engine.fire("pre_tool_use", fields(n), deadline=0.001 if n % 2 else None))
            if n % 2:
                assert kinds(await fire) == ["timeout", "timeout"]
            else:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                fire.cancel()
                await asyncio.wait([fire])
        assert asyncio.all_tasks() == {asyncio.current_task()}

    before = Resources()
    assert grown(lambda: asyncio.run(main())) < LIMIT
    engine.close_sync()
    assert before.same()


def test_a_thousand_processes_leave_everything_where_it_was(project: Project) -> None:
    """Hooks that run, fail, cannot be started, are out of time, are cancelled; from tasks and threads."""
    before = Resources()
    engine = load(
        project,
        {"command": QUICK_ECHO, "event": "pre_tool_use"},
        {"command": "exit 3", "event": "post_tool_use"},
        {"args": ["./missing"], "event": "stop"},
        {"command": "sleep 60", "timeout": 0.01, "event": "notification"},
        {"command": "sleep 60", "event": "session_start"},
        {"command": ":", "cwd": "missing", "event": "session_end"},
        {"command": ":", "exclusive": True, "event": "file_changed"},
    )
    logging.getLogger("hookrun").setLevel(logging.CRITICAL)
    quick = ("pre_tool_use", "post_tool_use", "stop", "session_end", "file_changed")

    async def tasks(count: int) -> None:
        for event in quick:
            for n in range(0, count, 10):
                await asyncio.gather(*(engine.fire(event, fields(n)) for _ in range(10)))  # type: ignore[arg-type]
        await asyncio.gather(*(engine.fire("notification", fields()) for _ in range(8)))
        cancelled = [asyncio.create_task(engine.fire("session_start", fields())) for _ in range(8)]
        await asyncio.sleep(0)
        for fire in cancelled:
            fire.cancel()
        await asyncio.wait(cancelled)

    def work(count: int) -> None:
        asyncio.run(tasks(count))
        for event in quick:
            for n in range(count):
                engine.fire_sync(event, fields(n))  # type: ignore[arg-type]

    work(80)
    assert grown(lambda: work(40)) < LIMIT
    assert not running(engine)
    engine.close_sync()
    assert before.same()
    assert left(project) == NOTHING


def used(engine: Any) -> Engine:
    """Use everything of an engine that starts a thread."""
    engine.fire_sync("awaits", fields())
    engine.fire_sync("waits", fields())
    engine.fire_sync("blocks", fields())
    engine.register("quiet", lambda _: None, name="quiet", thread=True)
    engine.fire_sync("quiet", fields())
    return engine  # type: ignore[no-any-return]


def test_two_hundred_engines_that_are_closed_leave_nothing() -> None:
    """Nor does closing take long enough to be noticed."""
    before = Resources()
    for _ in range(200):
        used(engine_of_handlers()).close_sync()
    assert before.same()


async def waits_a_turn(_: Context) -> None:
    """Let others run, as an async handler does."""
    await asyncio.sleep(0)


def fire_at(engine: Any, function: Callable[[Context], Any], **options: Any) -> None:
    """Run one handler from this thread."""
    engine.register("pre_tool_use", function, **options)
    engine.fire_sync("pre_tool_use", fields())


USES: dict[str, Callable[[Engine], object]] = {
    "async handlers": lambda engine: fire_at(engine, waits_a_turn),
    "handlers in threads": lambda engine: fire_at(engine, lambda _: None, thread=True),
    "processes": lambda engine: asyncio.run(engine.fire("stop", fields())),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_an_engine_that_is_forgotten_leaves_no_thread(project: Project, use: Callable[[Engine], object]) -> None:
    """Without being closed: its threads and its descriptors go with it."""
    before = Resources()
    engine = load(project, {"command": QUICK_ECHO, "event": "stop"})
    use(engine)
    del engine
    gc.collect()
    assert before.same()


def test_an_engine_that_is_forgotten_ends_its_background_hooks_quietly(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    """Or lets them end; either way its thread ends, and nothing is written to the program's stderr."""
    engine = load(
        project,
        {
            "command": "mkdir in.$$; n=0; while [ ! -e go ] && [ $((n += 1)) -lt 20000000 ]; do :; done",
            "background": True,
        },
    )
    engine.fire_sync("pre_tool_use", fields())
    until_inside(project, 1)
    thread = thread_of_background_hooks(engine)
    del engine
    gc.collect()
    (project.root / "go").touch()
    until(lambda: gc.collect() >= 0 and not thread.is_alive(), "its thread goes on")
    assert (thread.is_alive(), left(project), capfd.readouterr().err) == (False, NOTHING, "")


def test_the_tasks_of_many_loops_leave_nothing(project: Project) -> None:
    """An engine outlives a hundred loops, each closed by asyncio.run, some by an exception while a hook runs."""
    engine = load(project, {"command": QUICK_ECHO}, {"command": "mkdir in.$$; sleep 60", "event": "stop"})
    asyncio.run(engine.fire("pre_tool_use", fields()))
    before = Resources()

    async def fails() -> None:
        task = asyncio.create_task(engine.fire("stop", fields()))
        await until_inside_async(project, 1)
        raise LookupError(task)

    for n in range(100):
        if n % 20 == 0:
            with pytest.raises(LookupError):
                asyncio.run(fails())
        else:
            asyncio.run(engine.fire("pre_tool_use", fields(n)))
    assert before.same()
    assert threading.active_count() == len(before.threads)
    engine.close_sync()
    assert left(project) == NOTHING
