"""The pool where things go wrong: mistakes of ours, its end while hooks run, its forgetting."""

from __future__ import annotations

import errno
import gc
import os
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from hookrun.core.model import Outcome
from hookrun.process.pool import Batch, Pool, PoolThread
from tests.process.bench import (
    NO,
    PARTS_OF_THE_THREAD,
    Bench,
    Told,
    after_its_next_look,
    bench,
    fail,
    is_closing,
    kinds,
    once,
    open_files,
    pool_of,
    pytestmark,
    python_thread_of,
    running,
    submit,
    submitted,
    thread_of,
    write_end,
    zombies,
)
from tests.waiting import limit, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hookrun.process.child import Start, Task
    from tests.process.bench import Way

__all__ = ["bench", "pytestmark"]


# --- mistakes of ours


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests write their own crash.log."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize("where", PARTS_OF_THE_THREAD)
def test_a_mistake_in_the_pools_thread_is_told_and_the_pool_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Whatever raises there: no caller waits forever, no process and no slot is lost, and the next hooks run."""
    before = open_files()
    with pool_of(3) as pool:
        first = submit(pool, [bench.task("echo a"), bench.waiting()])
        bench.until_inside(1)
        mistake = RuntimeError("a mistake")
        monkeypatch.setattr(PoolThread, where, once(getattr(PoolThread, where), fail(mistake)))
        second = submit(pool, [bench.task("exit 0"), bench.waiting()])
        until(lambda: bool(first.calls and second.calls) or bench.inside() == 2, "hooks neither wait nor end")
        for _ in range(2):
            bench.gate.tell()
        outcomes = [*first.outcomes(), *second.outcomes()]
        for failure in [outcome.failure for outcome in outcomes if outcome.failure]:
            assert failure.kind == "signal" or "report it: RuntimeError: a mistake (see /" in failure.detail
        until(lambda: not running(pool), "a place is lost")
        assert (bench.processes(), zombies()) == ([], [])
        assert kinds(submit(pool, [bench.task("exit 0")] * 3).outcomes()) == [None] * 3
    assert open_files() == before


@pytest.mark.parametrize("run_in", [Pool.run, submitted], ids=["run", "submit"])
@pytest.mark.parametrize("start", [lambda _: lambda *_: 0, lambda task: task.start], ids=["before", "after"])
def test_a_task_whose_start_raises_anything_costs_no_place(
    bench: Bench, run_in: Way, start: Callable[[Task], Start]
) -> None:
    """Nor a descriptor, nor leaves it a process; it has failed, and what runs afterwards finds all places free."""
    with pool_of(1) as pool:
        submit(pool, [bench.task(":")]).outcomes()
        before = open_files()
        for _ in range(3):
            task = bench.task("sleep 60", lock=str(bench.directory / "lock"), timeout=5)
            task.start = and_then_raises(start(task))
            assert kinds(run_in(pool, [task])) == ["spawn"]
        assert (running(pool), bench.processes(), zombies(), open_files()) == (0, [], [], before)
        assert kinds(submit(pool, [bench.task("exit 0")]).outcomes()) == [None]


def and_then_raises(start: Start) -> Start:
    """Return a start that fails after it has done its work."""

    def cannot(stdin: int, stdout: int, stderr: int) -> int:
        start(stdin, stdout, stderr)
        raise RuntimeError("no")

    return cannot


def test_everybody_is_told_though_telling_one_raises(bench: Bench) -> None:
    """Two batches end in the same turn; the callback of the first fails."""
    with pool_of(1) as pool:
        second = Told()

        def give_two(_: list[Outcome]) -> None:
            pool.submit([NO], lambda _: fail(RuntimeError("what is told fails"))())
            pool.submit([NO], second)

        pool.submit([NO], give_two)
        assert kinds(second.outcomes()) == ["missing"]
        assert kinds(submit(pool, [bench.task("exit 0")]).outcomes()) == [None]


@pytest.mark.parametrize(
    ("module", "name", "trouble"),
    [
        (os, "pipe", OSError(errno.EMFILE, "Too many open files")),
        (threading.Thread, "start", RuntimeError("no new thread")),
    ],
)
def test_a_pool_whose_thread_cannot_start_says_so_and_starts_it_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, module: object, name: str, trouble: Exception
) -> None:
    """The hooks fail as if they could not be started; no descriptor is lost, or closed in a forked child."""
    with pool_of(1) as pool:
        before = open_files()
        monkeypatch.setattr(module, name, once(getattr(module, name), fail(trouble)))
        assert kinds(submit(pool, [bench.task("exit 0")]).outcomes()) == ["spawn"]
        assert open_files() == before
        others = [os.open(os.devnull, os.O_RDONLY) for _ in range(4)]  # the numbers that are free now
        child = os.fork()
        if child == 0:
            os._exit(sum(not os.path.exists(f"/proc/self/fd/{fd}") for fd in others))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        for fd in others:
            os.close(fd)
        assert kinds(submit(pool, [bench.task("exit 0")]).outcomes()) == [None]


# --- the end


def test_closing_ends_what_runs_for_batches_and_for_threads(bench: Bench) -> None:
    """Nothing is left, and every caller gets a report, also those that waited for a slot."""
    pool = Pool(2)
    before = open_files()
    ran: list[list[Outcome]] = []
    thread = threading.Thread(target=lambda: ran.append(pool.run([bench.waiting()])), daemon=True)
    thread.start()
    bench.until_inside(1)
    told = [submit(pool, [bench.waiting()]) for _ in range(3)]
    bench.until_inside(2)
    pool.close()
    assert [kinds(each.outcomes()) for each in told] == [["signal"]] * 3
    thread.join(limit())
    left = bench.processes()
    bench.gate.tell()
    thread.join(limit())
    assert (left, zombies()) == ([], [])
    [[outcome]] = ran
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.detail) == ("signal", "the engine was closed")
    assert open_files() == before


def test_what_is_submitted_while_the_pool_is_closed_is_run_or_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that comes between the thread's last look and its end is not forgotten."""
    with pool_of(1) as pool:
        submit(pool, [NO]).outcomes()
        thread, told, closer = thread_of(pool), Told(), threading.Thread(target=pool.close)
        closed = threading.Event()

        def submit_and_close() -> None:
            thread.submit(Batch([bench.task("exit 0")], told))
            closer.start()
            until(lambda: is_closing(thread), "the pool does not close")
            closed.set()

        after_its_next_look(thread, monkeypatch, submit_and_close)
        submit(pool, [NO])
        assert closed.wait(limit())
        closer.join(limit())
        assert kinds(told.outcomes()) == ["signal"]


def test_nothing_is_written_to_a_descriptor_that_is_no_longer_the_pools(bench: Bench) -> None:
    """A batch may be cancelled after the pool's end: its descriptors then belong to something else."""
    pool = Pool(1)
    told = Told()
    batch = pool.submit([bench.waiting()], told)
    bench.until_inside(1)
    number = write_end(thread_of(pool))
    pool.close()
    assert kinds(told.outcomes()) == ["signal"]
    fd = os.open(bench.directory / "somebody's file", os.O_WRONLY | os.O_CREAT)
    if fd != number:  # else it has the number already
        os.dup2(fd, number)
        os.close(fd)
    assert not pool.cancel(batch)
    pool.close()
    os.close(number)
    assert (bench.directory / "somebody's file").read_bytes() == b""
    assert len(told.calls) == 1


@pytest.mark.slow
def test_a_pool_that_is_forgotten_ends_its_thread(bench: Bench) -> None:
    """Without being closed, wherever the last that knows it lets go: here, or in its own thread."""
    noises: list[str] = []
    hook = sys.unraisablehook, sys.excepthook
    sys.unraisablehook = lambda told: noises.append(repr(told.exc_value))
    sys.excepthook = lambda *told: noises.append(repr(told[1]))
    try:
        assert forgotten(bench, keeps=False) == ["signal"]
        assert forgotten(bench, keeps=True) == [None]
    finally:
        sys.unraisablehook, sys.excepthook = hook
    assert (noises, bench.processes(), zombies()) == ([], [], [])


def forgotten(bench: Bench, *, keeps: bool) -> list[str | None]:
    """Forget a pool while a hook runs, which `keeps` it or not; return how the hook failed."""
    pool: Pool | None = Pool(1)
    assert pool is not None
    told = Told()

    def tell(outcomes: list[Outcome], _kept: Pool | None = pool if keeps else None) -> None:
        told(outcomes)

    pool.submit([bench.waiting()], tell)
    bench.until_inside(1)
    thread = python_thread_of(pool)
    del pool, tell
    gc.collect()
    if keeps:
        bench.gate.tell()
    until(lambda: not thread.is_alive(), "the thread runs on")
    for each in bench.directory.glob("in.*"):
        each.rmdir()
    return kinds(told.outcomes())


@pytest.mark.slow
def test_two_hundred_pools_leave_nothing(bench: Bench) -> None:
    """Made, used and closed; or made, used and forgotten."""
    before = open_files(), threading.active_count()
    for number in range(200):
        pool = Pool(1)
        submit(pool, [NO]).outcomes()
        if number % 2:
            pool.close()
    del pool
    gc.collect()
    assert (open_files(), threading.active_count()) == before
