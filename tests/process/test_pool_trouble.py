"""The pool where things go wrong: mistakes of ours, its end while hooks run, its forgetting."""

from __future__ import annotations

import errno
import gc
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.model import Outcome
from hookrun.process.pool import Batch, Pool, PoolThread
from tests.process.bench import (
    ENOUGH,
    NO,
    SOON,
    Bench,
    Told,
    bench,
    fail,
    kinds,
    once,
    open_files,
    pool_of,
    pytestmark,
    submit,
    zombies,
)
from tests.process.test_processes import until

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["bench", "pytestmark"]


# --- mistakes of ours


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests write their own crash.log."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    "where", ["_take_in", "_start_some", "_poll_once", "_enforce_deadlines", "_on_exit", "_report", "_finish"]
)
def test_a_mistake_in_the_pools_thread_is_told_and_the_pool_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Whatever raises there: no caller waits forever, no process and no slot is lost, and the next hooks run."""
    before = open_files()
    with pool_of(3) as pool:
        first = submit(pool, [bench.task("echo a"), bench.waiting()])
        until(lambda: bench.inside() == 1)
        mistake = RuntimeError("a mistake")
        monkeypatch.setattr(PoolThread, where, once(getattr(PoolThread, where), fail(mistake)))
        second = submit(pool, [bench.task("exit 0"), bench.waiting()])
        until(lambda: bool(first.calls and second.calls) or bench.inside() == 2)
        for _ in range(2):
            bench.gate.tell()
        outcomes = [*first.outcomes(SOON), *second.outcomes(SOON)]
        for failure in [outcome.failure for outcome in outcomes if outcome.failure]:
            assert failure.kind == "signal" or "report it: RuntimeError: a mistake (see /" in failure.detail
        until(lambda: not pool._slots.taken)
        assert (bench.processes(), zombies()) == ([], [])
        assert kinds(submit(pool, [bench.task("exit 0")] * 3).outcomes(SOON)) == [None] * 3
    assert open_files() == before


@pytest.mark.parametrize("way", ["submit", "run"])
def test_a_task_whose_start_raises_anything_costs_no_place(bench: Bench, way: str) -> None:
    """Nor a descriptor; it has failed, and what runs afterwards finds all places free."""

    def cannot(_in: int, _out: int, _err: int) -> int:
        raise RuntimeError("no")

    with pool_of(1) as pool:
        submit(pool, [bench.task(":")]).outcomes()
        before = open_files()
        for _ in range(3):
            task = bench.task("exit 0", lock=str(bench.directory / "lock"), timeout=5)
            task.start = cannot
            if way == "submit":
                assert kinds(submit(pool, [task]).outcomes(SOON)) == ["spawn"]
            else:
                with pytest.raises(RuntimeError):
                    pool.run([task])
        assert (pool._slots.free, open_files()) == (1, before)
        assert kinds(submit(pool, [bench.task("exit 0")]).outcomes(SOON)) == [None]


def test_everybody_is_told_though_telling_one_raises(bench: Bench) -> None:
    """Two batches end in the same turn; the callback of the first fails."""
    with pool_of(1) as pool:
        second = Told()

        def give_two(_: list[Outcome]) -> None:
            pool.submit([NO], lambda _: fail(RuntimeError("what is told fails"))())
            pool.submit([NO], second)

        pool.submit([NO], give_two)
        assert kinds(second.outcomes(SOON)) == ["missing"]
        assert kinds(submit(pool, [bench.task("exit 0")]).outcomes(SOON)) == [None]


@pytest.mark.parametrize("trouble", [OSError(errno.EMFILE, "Too many open files"), RuntimeError("no new thread")])
def test_a_pool_whose_thread_cannot_start_says_so_and_starts_it_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    """The hooks fail as if they could not be started; no descriptor is lost, or closed in a forked child."""
    with pool_of(1) as pool:
        before = open_files()
        target: tuple[Any, str] = (os, "pipe") if isinstance(trouble, OSError) else (threading.Thread, "start")
        monkeypatch.setattr(target[0], target[1], once(getattr(*target), fail(trouble)))
        assert kinds(submit(pool, [bench.task("exit 0")]).outcomes(SOON)) == ["spawn"]
        assert open_files() == before
        others = [os.open(os.devnull, os.O_RDONLY) for _ in range(4)]  # the numbers that are free now
        child = os.fork()
        if child == 0:
            os._exit(sum(not os.path.exists(f"/proc/self/fd/{fd}") for fd in others))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        for fd in others:
            os.close(fd)
        assert kinds(submit(pool, [bench.task("exit 0")]).outcomes(SOON)) == [None]


# --- the end


def test_closing_ends_what_runs_for_batches_and_for_threads(bench: Bench) -> None:
    """Nothing is left, and every caller gets a report, also those that waited for a slot."""
    pool = Pool(2)
    before = open_files()
    ran: list[list[Outcome]] = []
    thread = threading.Thread(target=lambda: ran.append(pool.run([bench.waiting()])), daemon=True)
    thread.start()
    until(lambda: bench.inside() == 1)
    told = [submit(pool, [bench.waiting()]) for _ in range(3)]
    until(lambda: bench.inside() == 2)
    pool.close()
    assert [kinds(each.outcomes(SOON)) for each in told] == [["signal"]] * 3
    thread.join(SOON)
    left = bench.processes()
    bench.gate.tell()
    thread.join(ENOUGH)
    assert (left, len(ran), zombies()) == ([], 1, [])
    assert open_files() == before


def test_what_is_submitted_while_the_pool_is_closed_is_run_or_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that comes between the thread's last look and its end is not forgotten."""
    with pool_of(1) as pool:
        submit(pool, [NO]).outcomes()
        thread = pool._thread
        assert thread is not None
        take_in, told, closer = thread._take_in, Told(), threading.Thread(target=pool.close)
        closed = threading.Event()

        def take_in_and_close() -> None:
            take_in()
            monkeypatch.setattr(thread, "_take_in", take_in)
            thread.submit(Batch([bench.task("exit 0")], told))
            closer.start()
            until(lambda: thread._closing)
            closed.set()

        monkeypatch.setattr(thread, "_take_in", take_in_and_close)
        submit(pool, [NO])
        assert closed.wait(ENOUGH)
        closer.join(ENOUGH)
        assert kinds(told.outcomes(SOON)) == ["signal"]


def test_nothing_is_written_to_a_descriptor_that_is_no_longer_the_pools(bench: Bench) -> None:
    """A hook that a thread runs may end after the pool: its descriptors then belong to something else."""
    pool = Pool(1)
    thread = threading.Thread(target=lambda: pool.run([bench.waiting()]), daemon=True)
    thread.start()
    until(lambda: bench.inside() == 1)
    waits = submit(pool, [bench.task("exit 0")])
    pool_thread = pool._thread
    assert pool_thread is not None
    until(lambda: pool._slots.claimed)
    number = pool_thread._write_end
    pool_thread.close()  # the pool's own close may end the thread's hook too
    assert kinds(waits.outcomes()) == ["signal"]
    fd = os.open(bench.directory / "somebody's file", os.O_WRONLY | os.O_CREAT)
    if fd != number:  # else it has the number already
        os.dup2(fd, number)
        os.close(fd)
    bench.gate.tell()
    thread.join(ENOUGH)
    pool.close()
    os.close(number)
    assert (bench.directory / "somebody's file").read_bytes() == b""


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
    until(lambda: bench.inside() == 1)
    assert pool._thread is not None
    thread = pool._thread._thread
    del pool, tell
    gc.collect()
    if keeps:
        bench.gate.tell()
    until(lambda: not thread.is_alive())
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
