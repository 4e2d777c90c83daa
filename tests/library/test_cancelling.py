"""A fire that is cancelled, interrupted or abandoned leaves no process and no task."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import pytest

from tests.library.running import (
    FAR,
    NOTHING,
    STARTED,
    STUBBORN,
    Resources,
    end_all,
    fields,
    kinds,
    left,
    linux,
    load,
    output,
    program_file,
    queued,
    running,
    until_inside,
    until_inside_async,
)
from tests.waiting import limit, until, until_async

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from hookrun import Context, Engine, Result
    from tests.conftest import Project

    Way = Callable[[Coroutine[object, object, Result], Project], Coroutine[object, object, None]]

pytestmark = linux

HOOKS: dict[str, tuple[str, int]] = {
    "sleeps": (STARTED + "sleep 60", 1),
    "ignores TERM": (STARTED + STUBBORN, 1),
    "has a grandchild in another session": (FAR + STARTED + "sleep 60", 2),
    "has ended, its child holds the pipes": (FAR + STARTED + "exit 0", 2),
}
"""A hook, and how many of it note that they run."""
WAITS = STARTED + "sleep 60"


@pytest.fixture(autouse=True)
def _no_survivors(project: Project) -> Iterator[None]:
    yield
    end_all(project)


def others() -> set[asyncio.Task[object]]:
    """Return the tasks that are not this one."""
    return asyncio.all_tasks() - {task for task in [asyncio.current_task()] if task is not None}


def run(engine: Engine, test: Coroutine[object, object, None]) -> None:
    """Run the test's coroutine, close the engine."""

    async def both() -> None:
        async with engine:
            await test

    asyncio.run(both())


async def cancelled(fire: asyncio.Task[Result]) -> None:
    """Cancel a fire; it has to end as a cancelled task does."""
    fire.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fire


@pytest.mark.parametrize("what", [name for name in HOOKS if name != "has ended, its child holds the pipes"])
def test_a_cancelled_fire_leaves_nothing(project: Project, what: str) -> None:
    """When it ends it has no process, no zombie, no task left; and the engine still works."""
    line, count = HOOKS[what]
    engine = load(project, {"command": line})

    async def test() -> None:
        fire = asyncio.create_task(engine.fire("pre_tool_use", fields()))
        await until_inside_async(project, count)
        await cancelled(fire)
        assert (left(project), others()) == (NOTHING, set())
        assert not running(engine)

    run(engine, test())


@pytest.mark.parametrize("line", [WAITS, STARTED + STUBBORN, FAR + STARTED + "sleep 60"])
def test_a_fire_that_is_cancelled_twice_leaves_nothing(project: Project, line: str) -> None:
    """Cancelling twice is no faster: the fire ends when its processes are gone."""
    engine = load(project, {"command": line})

    async def test() -> None:
        fire = asyncio.create_task(engine.fire("pre_tool_use", fields()))
        await until_inside_async(project, 1)
        fire.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await cancelled(fire)
        assert (left(project), others()) == (NOTHING, set())

    run(engine, test())


def test_a_fire_that_is_cancelled_while_it_waits_for_a_place_never_runs(project: Project) -> None:
    """The one that runs is not disturbed."""
    (project.root / "first").touch()
    engine = load(
        project,
        {
            "command": STARTED
            + "rm first || touch second; n=0; while [ ! -e go ] && [ $((n += 1)) -lt 20000000 ]; do :; done"
        },
        max_processes=1,
    )

    async def test() -> None:
        first = asyncio.create_task(engine.fire("pre_tool_use", fields()))
        await until_inside_async(project, 1)
        second = asyncio.create_task(engine.fire("pre_tool_use", fields()))
        await until_async(lambda: queued(engine), "the second fire does not wait for a place")
        await cancelled(second)
        (project.root / "go").touch()
        assert kinds(await first) == [None]
        assert not (project.root / "second").exists()

    run(engine, test())


async def with_wait_for(fire: Coroutine[object, object, Result], _: Project) -> None:
    """Wait for a fire with a limit."""
    await asyncio.wait_for(fire, 0.3)


async def with_timeout(fire: Coroutine[object, object, Result], _: Project) -> None:
    """Do so in a block."""
    async with asyncio.timeout(0.3):
        await fire


async def with_a_failing_sibling(fire: Coroutine[object, object, Result], project: Project) -> None:
    """Have a fire in a group, of which another task fails once the hook runs."""

    async def fails() -> None:
        await until_inside_async(project, 1)
        raise LookupError

    async with asyncio.TaskGroup() as group:
        group.create_task(fire)
        group.create_task(fails())


@pytest.mark.parametrize(
    ("way", "error"),
    [(with_wait_for, TimeoutError), (with_timeout, TimeoutError), (with_a_failing_sibling, ExceptionGroup)],
)
def test_what_asyncio_has_for_it_ends_a_fire(project: Project, way: Way, error: type[Exception]) -> None:
    """Each raises what it always does, and nothing is left."""
    engine = load(project, {"command": WAITS})

    async def test() -> None:
        with pytest.raises(error):
            await way(engine.fire("pre_tool_use", fields()), project)
        assert (left(project), others()) == (NOTHING, set())

    run(engine, test())


@pytest.mark.parametrize("line", [WAITS, STARTED + STUBBORN])
def test_a_cancelled_group_of_every_kind_leaves_nothing(project: Project, line: str) -> None:
    """Async handlers and handlers in threads, beside processes: all end with the fire."""
    declared: dict[str, object] = {"command": line, "parallel": True}
    engine = load(project, declared, declared)
    went: list[str] = []
    free = threading.Event()

    @engine.on("pre_tool_use", parallel=True)
    async def awaits(_: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            went.append("awaits")

    @engine.on("pre_tool_use", parallel=True, thread=True)
    def blocks(_: Context) -> None:
        free.wait(limit())

    async def test() -> None:
        fire = asyncio.create_task(engine.fire("pre_tool_use", fields()))
        await until_inside_async(project, 2)
        await cancelled(fire)
        assert (left(project), others(), went) == (NOTHING, set(), ["awaits"])
        free.set()

    run(engine, test())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "raised", "expected"),
    [(KeyboardInterrupt, pytest.raises(KeyboardInterrupt), []), (SystemExit, nullcontext(), ["timeout", "exception"])],
)
def test_a_handler_that_ends_the_program_leaves_nothing(
    project: Project, error: type[BaseException], raised: AbstractContextManager[object], expected: list[str]
) -> None:
    """Beside a handler that raises it a process runs."""
    engine = load(project, {"command": WAITS, "parallel": True})

    @engine.on("pre_tool_use", parallel=True)
    async def raises(_: Context) -> None:
        await until_inside_async(project, 1)
        raise error

    failures: list[str | None] = []
    with raised:
        failures += kinds(asyncio.run(engine.fire("pre_tool_use", fields(), deadline=3)))
    assert failures == expected
    assert left(project) == NOTHING
    engine.close_sync()


def test_a_handler_that_is_interrupted_before_anything_waits_leaves_nothing(project: Project) -> None:
    """The process beside it was started already."""
    engine = load(project, {"command": WAITS, "parallel": True})

    @engine.on("pre_tool_use", parallel=True)
    def raises(_: Context) -> None:
        until_inside(project, 1)
        raise KeyboardInterrupt

    ways: list[Callable[[], object]] = [
        lambda: engine.fire_sync("pre_tool_use", fields()),
        lambda: asyncio.run(engine.fire("pre_tool_use", fields())),
    ]
    for fires in ways:
        with pytest.raises(KeyboardInterrupt):
            fires()
        assert left(project) == NOTHING
        for each in project.root.glob("in.*"):
            each.rmdir()
    engine.close_sync()


@pytest.mark.slow
def test_a_program_that_fails_while_hooks_run_leaves_nothing(project: Project) -> None:
    """Its tasks are cancelled in order."""
    engine = load(project, {"command": WAITS})
    before = Resources()
    keep: list[object] = []

    async def fails() -> None:
        keep.append(asyncio.create_task(engine.fire("pre_tool_use", fields())))
        await until_inside_async(project, 1)
        raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(fails())
    assert left(project) == NOTHING
    keep.clear()
    engine.close_sync()
    assert before.same()


@pytest.mark.slow
@pytest.mark.parametrize("end", [lambda _: None, lambda task: task.get_coro().close()], ids=["forgotten", "closed"])
def test_a_loop_that_is_closed_while_hooks_run_leaves_nothing(
    project: Project, end: Callable[[asyncio.Task[Result]], None]
) -> None:
    """Its tasks are simply forgotten, or their coroutines closed."""
    engine = load(project, {"command": WAITS})
    before = Resources()
    loop = asyncio.new_event_loop()
    task = loop.create_task(engine.fire("pre_tool_use", fields()))
    loop.run_until_complete(until_inside_async(project, 1))
    loop.set_exception_handler(lambda _loop, _told: None)  # "Task was destroyed but it is pending"
    end(task)
    loop.close()
    del task, loop
    gc.collect()
    until(lambda: left(project) == NOTHING, lambda: str(left(project)))
    engine.close_sync()
    assert before.same()


def test_closing_ends_every_fire(project: Project) -> None:
    """Fires in tasks and in threads; none of them hangs, and their hooks have failed."""
    engine = load(project, {"command": WAITS, "on_failure": "block"})
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(engine.fire_sync("pre_tool_use", fields())), daemon=True)

    async def test() -> None:
        fire = asyncio.create_task(engine.fire("pre_tool_use", fields()))
        await until_inside_async(project, 1)
        thread.start()
        await until_inside_async(project, 2)
        await engine.close()
        assert left(project) == NOTHING
        assert ((await fire).action, kinds(await fire)) == ("block", ["signal"])

    asyncio.run(test())
    thread.join(limit())
    assert [(result.action, kinds(result)) for result in results] == [("block", ["signal"])]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", ["sleeps", "ignores TERM", "has a grandchild in another session"])
@pytest.mark.parametrize("way", ["fire_sync", "fire"])
def test_ctrl_c_leaves_no_process(project: Project, way: str, what: str) -> None:
    """A real SIGINT: KeyboardInterrupt comes out when the hooks are gone, and the program continues."""
    line, count = HOOKS[what]
    load(project, {"command": line, "parallel": True}, {"command": "sleep 60", "parallel": True}).close_sync()
    process = program_file(project, "interrupted", way)
    try:
        until_inside(project, count)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == "interrupted\n"
        mine = [line for line in left(project)[0] if str(project.root) not in line.split()]
        assert mine == []
    finally:
        printed = output(process)
    assert printed == ("", "")


def test_ctrl_c_while_a_hook_is_started_leaves_no_process(project: Project) -> None:
    """The hook runs already, its process id is still unknown. No warning is printed: `-W error` would show it."""
    load(project, {"command": WAITS}).close_sync()
    process = program_file(project, "interrupted", "at a start")
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "interrupted\n"
        assert [line for line in left(project)[0] if str(project.root) not in line.split()] == []
    finally:
        printed = output(process)
    assert printed == ("", "")
