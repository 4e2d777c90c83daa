"""Many fires at once, from tasks, threads and handlers: each gets its own verdict, and the limit is kept."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hookrun import Engine, NestedError, Verdict
from tests.library.running import (
    NOTHING,
    QUICK_ECHO,
    Resources,
    fields,
    kinds,
    left,
    linux,
    load,
    seen,
    until_inside,
    until_inside_async,
)
from tests.process.bench import in_threads
from tests.waiting import limit

if TYPE_CHECKING:
    from hookrun import Context, Result
    from tests.conftest import Project

pytestmark = linux
COUNTS = "mkdir in.$$; ls -d in.* | wc -l >> counts; " + QUICK_ECHO + "; rmdir in.$$"

TELLS = QUICK_ECHO.replace("modify", "continue").replace('"args_patch": {"seen": %s}', '"additional_context": "%s"')


def count(result: Result) -> int:
    """Return the number that the hook of an event that changes nothing saw."""
    return int(result.additional_context or -1)


def most_at_once(project: Project) -> int:
    """Return how many hooks saw each other."""
    return max(int(line) for line in (project.root / "counts").read_text().split())


@pytest.mark.slow
def test_threads_and_loops_share_an_engine(project: Project) -> None:
    """Sixteen threads that wait, and two loops of tasks, all at once."""
    engine = load(project, {"command": COUNTS}, max_processes=3)

    async def tasks(first: int) -> None:
        results = await asyncio.gather(*(engine.fire("pre_tool_use", fields(first + n)) for n in range(20)))
        assert [seen(result) for result in results] == [first + n for n in range(20)]

    def work(number: int) -> None:
        first = number * 1000
        if number >= 16:
            asyncio.run(tasks(first))
            return
        for n in range(10):
            assert seen(engine.fire_sync("pre_tool_use", fields(first + n))) == first + n

    in_threads(18, work)
    engine.close_sync()
    assert most_at_once(project) <= 3
    assert left(project) == NOTHING


@pytest.mark.slow
def test_groups_of_every_kind_keep_their_answers_apart(project: Project) -> None:
    """Beside a process, an async handler and one in a thread, in tasks and threads at once."""
    engine = load(project, {"command": QUICK_ECHO, "parallel": True}, max_processes=4)

    @engine.on("pre_tool_use", parallel=True)
    async def awaits(ctx: Context) -> Verdict:
        await asyncio.sleep(0)
        return Verdict.patch({"awaited": ctx.tool_args["n"]})

    @engine.on("pre_tool_use", parallel=True, thread=True)
    def blocks(ctx: Context) -> Verdict:
        return Verdict.patch({"blocked": ctx.tool_args["n"]})

    async def tasks(first: int) -> None:
        for result in await asyncio.gather(*(engine.fire("pre_tool_use", fields(first)) for _ in range(15))):
            check(first, result.args_patch or result.modified_args)

    def check(number: int, args: object) -> None:
        assert isinstance(args, dict)
        assert [args.get(name) for name in ("seen", "awaited", "blocked")] == [number] * 3

    def work(number: int) -> None:
        if number % 2:
            asyncio.run(tasks(number))
            return
        for n in range(10):
            result = engine.fire_sync("pre_tool_use", fields(number * 100 + n))
            check(number * 100 + n, result.args_patch or result.modified_args)

    in_threads(6, work)
    engine.close_sync()


@pytest.mark.slow
@pytest.mark.parametrize("in_a_task", [True, False])
def test_a_handler_fires_another_event_whose_hook_is_a_process(project: Project, in_a_task: bool) -> None:
    """With a limit of one, many at once: no fire waits for a slot that it holds itself."""
    engine = load(project, {"command": TELLS, "event": "post_tool_use"}, max_processes=1)

    async def asks(ctx: Context) -> Verdict:
        inner = await engine.fire("post_tool_use", fields(ctx.tool_args["n"]))
        return Verdict.patch({"seen": count(inner)})

    def asks_sync(ctx: Context) -> Verdict:
        return Verdict.patch({"seen": count(engine.fire_sync("post_tool_use", fields(ctx.tool_args["n"])))})

    handler: Any = {True: asks, False: asks_sync}[in_a_task]
    engine.register("pre_tool_use", handler, name="asks")

    async def tasks() -> list[object]:
        return [seen(r) for r in await asyncio.gather(*(engine.fire("pre_tool_use", fields(n)) for n in range(20)))]

    def work(number: int) -> None:
        if number == 0:
            assert asyncio.run(tasks()) == list(range(20))
            return
        for n in range(5):
            assert seen(engine.fire_sync("pre_tool_use", fields(number * 100 + n))) == number * 100 + n

    in_threads(5, work)
    engine.close_sync()
    assert left(project) == NOTHING


def test_fires_within_fires_end(project: Project) -> None:
    """A handler that fires its own event is stopped at the depth limit that processes have too."""
    engine = Engine()
    depth: list[int] = []

    @engine.on("pre_tool_use")
    async def again(_: Context) -> None:
        depth.append(1)
        await engine.fire("pre_tool_use", fields())

    result = asyncio.run(engine.fire("pre_tool_use", fields()))
    assert (len(depth), kinds(result)) == (3, [None])
    depth.clear()
    engine.remove("again")

    @engine.on("pre_tool_use")
    def again_sync(_: Context) -> None:
        depth.append(1)
        try:
            engine.fire_sync("pre_tool_use", fields())
        except NestedError:
            depth.append(0)
            raise

    assert kinds(engine.fire_sync("pre_tool_use", fields())) == [None]
    assert depth == [1, 1, 1, 0]


def test_handlers_in_threads_may_fire_at_others_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when every thread is taken by one that waits for such a fire."""
    monkeypatch.setattr("hookrun.library.engine_state.MOST_THREADS", 2)
    engine = Engine()
    meet = threading.Barrier(2)

    @engine.on("pre_tool_use", thread=True, timeout=limit())
    def outer(_: Context) -> Verdict:
        meet.wait(limit())
        return Verdict.patch({"inner": engine.fire_sync("post_tool_use", fields()).additional_context})

    @engine.on("post_tool_use", thread=True, timeout=limit())
    def inner(_: Context) -> Verdict:
        return Verdict.with_context("here")

    def work(_: int) -> None:
        modified = engine.fire_sync("pre_tool_use", fields()).modified_args
        assert modified is not None
        assert modified["inner"] == "here"

    in_threads(2, work)
    engine.close_sync()


def test_a_deadline_holds_while_others_have_all_the_places(project: Project) -> None:
    """The fire ends at its deadline, and its guard has failed; it does not wait for the others' hooks."""
    engine = load(
        project,
        {
            "command": "mkdir in.$$; n=0; while [ ! -e go ] && [ $((n += 1)) -lt 20000000 ]; do :; done",
            "on_failure": "block",
        },
        max_processes=1,
    )

    async def main() -> None:
        async with engine:
            first = asyncio.create_task(engine.fire("pre_tool_use", fields()))
            await until_inside_async(project, 1)
            second = asyncio.create_task(engine.fire("pre_tool_use", fields(), deadline=0.2))
            await asyncio.wait([second], timeout=limit())
            in_time = second.done()
            (project.root / "go").touch()
            assert (in_time, kinds(await second), (await second).action) == (True, ["timeout"], "block")
            assert kinds(await first) == [None]

    asyncio.run(main())


def test_hooks_in_the_background_do_not_hold_up_those_that_are_waited_for(project: Project) -> None:
    """A slow notifier holds up no guard, however few may run at once."""
    engine = load(
        project,
        {
            "command": "mkdir in.$$; n=0; while [ ! -e go ] && [ $((n += 1)) -lt 20000000 ]; do :; done",
            "background": True,
            "event": "post_tool_use",
        },
        {"command": QUICK_ECHO},
        max_processes=1,
    )
    assert engine.fire_sync("post_tool_use", fields()).action == "continue"
    until_inside(project, 1)
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(seen(engine.fire_sync("pre_tool_use", fields(5)))))
    thread.start()
    thread.join(limit())
    in_time = list(results)
    (project.root / "go").touch()
    thread.join(limit())
    engine.close_sync()
    assert in_time == [5]


def test_exclusive_hooks_of_two_fires_never_run_side_by_side(project: Project) -> None:
    """Neither of two tasks nor of two threads; all of them run in the end."""
    line = "mkdir held || touch overlap; " + QUICK_ECHO + "; rmdir held"
    engine = load(project, {"command": line, "exclusive": True}, max_processes=8)

    async def tasks() -> list[object]:
        return [seen(r) for r in await asyncio.gather(*(engine.fire("pre_tool_use", fields(n)) for n in range(8)))]

    def work(number: int) -> None:
        if number == 0:
            assert asyncio.run(tasks()) == list(range(8))
        else:
            assert seen(engine.fire_sync("pre_tool_use", fields(number))) == number

    in_threads(5, work)
    engine.close_sync()
    assert not (project.root / "overlap").exists()


@pytest.mark.slow
def test_hooks_are_registered_and_switched_while_fires_run(project: Project) -> None:
    """A fire runs the hooks registered when it began; none fails because of a change."""
    engine = load(project, {"command": QUICK_ECHO})
    before = Resources()

    def work(number: int) -> None:
        for n in range(15):
            if number == 0:
                engine.register("pre_tool_use", lambda _: None, name=f"h{n}")
                engine.disable(f"h{n}")
                engine.enable(f"h{n}")
                engine.remove(f"h{n}")
                engine.reload()
            else:
                assert seen(engine.fire_sync("pre_tool_use", fields(n))) == n

    in_threads(4, work)
    engine.close_sync()
    assert before.same()
