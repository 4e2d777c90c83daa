"""A program that forks after it has used an engine: the child has its own, the parent keeps its."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from tests.library.running import (
    NOTHING,
    QUICK_ECHO,
    Resources,
    end_of_program,
    exit_at_once,
    fields,
    kinds,
    left,
    linux,
    load,
    seen,
    until_inside,
)
from tests.waiting import limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun import Context, Engine
    from tests.conftest import Project

pytestmark = linux
WAITS = "mkdir in.$$; n=0; while [ ! -e go ] && [ $((n += 1)) -lt 20000000 ]; do :; done; " + QUICK_ECHO


def in_a_fork(work: Callable[[], object]) -> int:
    """Call the function in a forked child; return the child's exit status, 0 if it did not raise."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(int(limit()))
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            exit_at_once(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def use(engine: Engine, number: int) -> None:
    """Use everything that has a thread: processes, async handlers, handlers in threads."""
    assert seen(engine.fire_sync("pre_tool_use", fields(number))) == number
    assert seen(asyncio.run(engine.fire("pre_tool_use", fields(number)))) == number
    for event in ("stop", "notification"):
        assert kinds(engine.fire_sync(event, fields())) == [None]


def engine_of_all(project: Project, **options: Any) -> Engine:
    """Return an engine that has all three."""
    engine = load(project, {"command": QUICK_ECHO}, {"command": WAITS, "event": "session_start"}, **options)

    async def awaits(_: Context) -> None:
        await asyncio.sleep(0)

    engine.register("stop", awaits)
    engine.register("notification", lambda _: None, thread=True, name="blocks")
    return engine


@pytest.mark.parametrize("numbers", [[], [1]], ids=["before it was used", "after it was used"])
def test_a_forked_child_fires(project: Project, numbers: list[int]) -> None:
    """In every way, and closes; then the parent does the same."""
    engine = engine_of_all(project)
    for number in numbers:
        use(engine, number)

    def child() -> None:
        use(engine, 2)
        engine.close_sync()

    assert in_a_fork(child) == 0
    use(engine, 3)
    engine.close_sync()
    assert left(project) == NOTHING


def test_a_fork_while_hooks_run_disturbs_neither(project: Project) -> None:
    """The child has every slot free, though the parent's are all taken, and ends none of the parent's processes."""
    engine = engine_of_all(project, max_processes=2)
    results: list[object] = []
    threads = [
        threading.Thread(target=lambda: results.append(seen(engine.fire_sync("session_start", fields(8))))),
        threading.Thread(target=lambda: results.append(asyncio.run(engine.fire("session_start", fields(9))).action)),
    ]
    for thread in threads:
        thread.start()
    until_inside(project, 2)

    def child() -> None:
        use(engine, 2)
        engine.close_sync()

    assert (in_a_fork(child), results) == (0, [])
    (project.root / "go").touch()
    for thread in threads:
        thread.join(limit())
    assert len(results) == 2
    engine.close_sync()


def test_a_forked_child_that_forgets_the_engine_ends_nothing_of_the_parents(project: Project) -> None:
    """Its exit, orderly or not, is its own."""
    engine = engine_of_all(project)
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(engine.fire("session_start", fields(9)))))
    thread.start()
    until_inside(project, 1)
    assert (in_a_fork(end_of_program), results) == (0, [])
    assert in_a_fork(engine.close_sync) == 0
    (project.root / "go").touch()
    thread.join(limit())
    use(engine, 4)
    engine.close_sync()
    assert len(results) == 1


def _work(number: int) -> object:
    return seen(SHARED[0].fire_sync("pre_tool_use", fields(number)))


SHARED: list[Engine] = []


def test_workers_of_multiprocessing_fire(project: Project) -> None:
    """Forked ones, after the engine was used."""
    engine = engine_of_all(project)
    use(engine, 1)
    SHARED[:] = [engine]
    with multiprocessing.get_context("fork").Pool(2) as workers:
        assert workers.map_async(_work, range(20)).get(limit()) == list(range(20))
    SHARED.clear()
    use(engine, 3)
    engine.close_sync()


def test_background_work_of_the_parent_is_not_the_childs(project: Project) -> None:
    """A child does not wait for what runs in its parent."""
    engine = engine_of_all(project)
    free = threading.Event()

    @engine.on("pre_compact")
    def starts(ctx: Context) -> None:
        ctx.background(free.wait, name="waits")

    engine.fire_sync("pre_compact", fields())
    assert in_a_fork(lambda: asyncio.run(asyncio.wait_for(engine.wait_background(), limit() / 2))) == 0
    free.set()
    engine.close_sync()


@pytest.mark.slow
def test_exclusive_hooks_go_on_though_a_worker_was_forked_meanwhile(project: Project) -> None:
    """A child that lives on does not keep the lock of a hook that ran when it was forked."""
    engine = load(project, {"command": WAITS, "exclusive": True, "timeout": 2})
    before = Resources()
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(seen(engine.fire_sync("pre_tool_use", fields(1)))))
    thread.start()
    until_inside(project, 1)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)
        exit_at_once(0)
    (project.root / "go").touch()
    thread.join(limit())
    second = engine.fire_sync("pre_tool_use", fields(2))
    os.close(writer)
    os.close(reader)
    os.waitpid(pid, 0)
    engine.close_sync()
    assert (results, kinds(second), seen(second)) == ([1], [None], 2)
    assert before.same()
