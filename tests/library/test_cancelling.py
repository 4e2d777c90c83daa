"""A fire that is cancelled, interrupted or abandoned leaves no process and no task."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from tests.library.running import (
    FAR,
    NOTHING,
    STARTED,
    STUBBORN,
    Resources,
    become,
    end_all,
    fields,
    inside,
    kinds,
    left,
    linux,
    load,
    output,
    program,
)
from tests.process.bench import ENOUGH, SOON
from tests.process.test_processes import until

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from hookrun import Context, Engine, Result
    from tests.conftest import Project

pytestmark = [pytest.mark.timeout(90), linux]

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
        await become(lambda: inside(project) == count)
        await cancelled(fire)
        assert (left(project), others()) == (NOTHING, set())
        assert not engine._services.pool._slots.taken

    run(engine, test())


@pytest.mark.parametrize("line", [WAITS, STARTED + STUBBORN, FAR + STARTED + "sleep 60"])
def test_a_fire_that_is_cancelled_twice_leaves_nothing(project: Project, line: str) -> None:
    """Cancelling twice is no faster: the fire ends when its processes are gone."""
    engine = load(project, {"command": line})

    async def test() -> None:
        fire = asyncio.create_task(engine.fire("pre_tool_use", fields()))
        await become(lambda: inside(project) >= 1)
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
        await become(lambda: inside(project) == 1)
        second = asyncio.create_task(engine.fire("pre_tool_use", fields()))
        await become(lambda: engine._services.pool._slots.claimed)
        await cancelled(second)
        (project.root / "go").touch()
        assert kinds(await first) == [None]
        assert not (project.root / "second").exists()

    run(engine, test())


@pytest.mark.parametrize("how", ["wait_for", "timeout", "a failing sibling"])
def test_what_asyncio_has_for_it_ends_a_fire(project: Project, how: str) -> None:
    """Each raises what it always does, and nothing is left."""
    engine = load(project, {"command": WAITS})

    async def fails() -> None:
        await become(lambda: inside(project) == 1)
        raise LookupError

    async def test() -> None:
        if how == "wait_for":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(engine.fire("pre_tool_use", fields()), 0.3)
        elif how == "timeout":
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await engine.fire("pre_tool_use", fields())
        else:
            with pytest.raises(ExceptionGroup):  # noqa: PT012  # a block is what is tested
                async with asyncio.TaskGroup() as group:
                    group.create_task(engine.fire("pre_tool_use", fields()))
                    group.create_task(fails())
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
        free.wait(ENOUGH)

    async def test() -> None:
        fire = asyncio.create_task(engine.fire("pre_tool_use", fields()))
        await become(lambda: inside(project) == 2)
        await cancelled(fire)
        assert (left(project), others(), went) == (NOTHING, set(), ["awaits"])
        free.set()

    run(engine, test())


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_handler_that_ends_the_program_leaves_nothing(project: Project, error: type[BaseException]) -> None:
    """Beside a handler that raises it a process runs."""
    engine = load(project, {"command": WAITS, "parallel": True})

    @engine.on("pre_tool_use", parallel=True)
    async def raises(_: Context) -> None:
        await become(lambda: inside(project) == 1)
        raise error

    try:
        result = asyncio.run(engine.fire("pre_tool_use", fields(), deadline=1))
    except KeyboardInterrupt:
        assert error is KeyboardInterrupt
    else:
        assert kinds(result) == ["timeout", "exception"]
    assert left(project) == NOTHING
    engine.close_sync()


def test_a_handler_that_is_interrupted_before_anything_waits_leaves_nothing(project: Project) -> None:
    """The process beside it was started already."""
    engine = load(project, {"command": WAITS, "parallel": True})

    @engine.on("pre_tool_use", parallel=True)
    def raises(_: Context) -> None:
        until(lambda: inside(project) == 1)
        raise KeyboardInterrupt

    for way in ("sync", "async"):
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012  # two ways
            if way == "async":
                asyncio.run(engine.fire("pre_tool_use", fields()))
            else:
                engine.fire_sync("pre_tool_use", fields())
        assert (way, left(project)) == (way, NOTHING)
        for each in project.root.glob("in.*"):
            each.rmdir()
    engine.close_sync()


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("how", ["the program fails", "the loop is closed", "the coroutine is closed"])
def test_a_loop_that_ends_while_hooks_run_leaves_nothing(project: Project, how: str) -> None:
    """Whether tasks are cancelled in order or simply forgotten."""
    engine = load(project, {"command": WAITS})
    before = Resources()

    async def fails() -> None:
        keep.append(asyncio.create_task(engine.fire("pre_tool_use", fields())))
        await become(lambda: inside(project) == 1)
        raise LookupError

    keep: list[object] = []
    if how == "the program fails":
        with pytest.raises(LookupError):
            asyncio.run(fails())
        assert left(project) == NOTHING
    else:
        loop = asyncio.new_event_loop()
        fire = engine.fire("pre_tool_use", fields())
        task = loop.create_task(fire)
        loop.run_until_complete(become(lambda: inside(project) == 1))
        loop.set_exception_handler(lambda _loop, _told: None)  # "Task was destroyed but it is pending"
        if how == "the coroutine is closed":
            task.get_coro().close()
        loop.close()
        del task, fire, loop
        gc.collect()
        for _ in range(int(SOON * 10)):
            if left(project) == NOTHING:
                break
            threading.Event().wait(0.1)
        assert left(project) == NOTHING
    keep.clear()
    engine.close_sync()
    assert before.same()


def test_closing_ends_every_fire(project: Project) -> None:
    """Fires in tasks and in threads; none of them hangs, and their hooks have failed."""
    engine = load(project, {"command": WAITS, "on_failure": "block"})
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(engine.fire_sync("pre_tool_use", fields())), daemon=True)

    async def test() -> None:
        fire = asyncio.create_task(engine.fire("pre_tool_use", fields()))
        await become(lambda: inside(project) == 1)
        thread.start()
        await become(lambda: inside(project) == 2)
        await engine.close()
        assert left(project) == NOTHING
        assert ((await fire).action, kinds(await fire)) == ("block", ["signal"])

    asyncio.run(test())
    thread.join(SOON)
    assert [(result.action, kinds(result)) for result in results] == [("block", ["signal"])]


INTERRUPTED = """
import asyncio, sys
from hookrun import Engine
def main():
    engine = Engine.load(sys.argv[1], home=sys.argv[2])
    try:
        if sys.argv[3] == "fire_sync":
            engine.fire_sync("pre_tool_use", session_id="s", tool_name="bash", tool_args={})
        elif sys.argv[3] == "a thread beside":
            engine._services.pool._slots.claimed = True  # as if others waited: the pool's thread runs it
            engine.fire_sync("pre_tool_use", session_id="s", tool_name="bash", tool_args={})
        else:
            asyncio.run(engine.fire("pre_tool_use", session_id="s", tool_name="bash", tool_args={}))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.stdin.read()
if __name__ == "__main__":
    main()
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", ["sleeps", "ignores TERM", "has a grandchild in another session"])
@pytest.mark.parametrize("way", ["fire_sync", "fire", "a thread beside"])
def test_ctrl_c_leaves_no_process(project: Project, way: str, what: str) -> None:
    """A real SIGINT: KeyboardInterrupt comes out when the hooks are gone, and the program continues."""
    line, count = HOOKS[what]
    load(project, {"command": line, "parallel": True}, {"command": "sleep 60", "parallel": True}).close_sync()
    process = program(project, INTERRUPTED, way)
    try:
        until(lambda: inside(project) == count)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == "interrupted\n"
        mine = [line for line in left(project)[0] if str(project.root) not in line.split()]
        assert mine == []
    finally:
        printed = output(process)
    assert printed == ("", "")


INTERRUPTED_START = """
import os, signal, subprocess
started = subprocess.Popen._execute_child
def interrupted(self, *arguments):
    started(self, *arguments)
    os.kill(os.getpid(), signal.SIGINT)
subprocess.Popen._execute_child = interrupted
"""


def test_ctrl_c_while_a_hook_is_started_leaves_no_process(project: Project) -> None:
    """The hook runs already, its process id is still unknown. No warning is printed: `-W error` would show it."""
    load(project, {"command": WAITS}).close_sync()
    process = program(project, INTERRUPTED_START + INTERRUPTED, "fire_sync")
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "interrupted\n"
        assert [line for line in left(project)[0] if str(project.root) not in line.split()] == []
    finally:
        printed = output(process)
    assert printed == ("", "")
