"""The pool in a program that is interrupted, forks, ignores its children, or has threads that meet."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.core import state
from hookrun.process import orphans
from tests.conftest import ROOT
from tests.process.bench import (
    NO,
    Bench,
    Told,
    bench,
    kinds,
    noted_waits,
    once,
    open_files,
    pool_of,
    pytestmark,
    running,
    submit,
    zombies,
)
from tests.waiting import limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.process.child import Task

__all__ = ["bench", "pytestmark"]


# --- children of the test


def forked(child: Callable[[], bool]) -> int:
    """Run the function in a forked child and return its id; 0 is the exit status when it returns True."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(int(limit()))
            status = 0 if child() else 2
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


def status_of(pid: int) -> int:
    """Wait for a child and return its exit status."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def apart(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a forked child, so that its signals reach this process at no time."""

    @functools.wraps(test)
    def case(**fixtures: object) -> None:
        def child() -> bool:
            test(**fixtures)
            return True

        assert status_of(forked(child)) == 0, "what went wrong is on stderr"

    return case


# --- exceptions from outside


def interrupts(*_: object) -> None:
    """Do what Ctrl-C does, here and now."""
    signal.raise_signal(signal.SIGINT)


def interrupted_at_start(task: Task) -> Task:
    """Have the signal come when the process of a task runs and its number is not yet known to the pool."""
    begin = task.start

    def start(*streams: int) -> int:
        pid = begin(*streams)
        interrupts()
        return pid

    task.start = start
    return task


@apart
def test_an_interrupt_while_a_process_is_started_leaves_none(bench: Bench) -> None:
    """The signal arrives while the C library starts the process: its id is still unknown."""
    with pool_of(2) as pool:
        pool.run([bench.task("exit 0")])
        before = open_files()
        task = interrupted_at_start(bench.task("sleep 60"))
        with pytest.raises(KeyboardInterrupt):
            pool.run([bench.task("sleep 60"), task])
        assert (bench.processes(), zombies(), running(pool)) == ([], [], 0)
        assert open_files() <= before


@pytest.mark.parametrize("function", ["find", "kill"])
@apart
def test_a_second_interrupt_while_a_process_is_started_leaves_none(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """It comes while the process of unknown number is looked for or killed."""
    with pool_of(2) as pool:
        monkeypatch.setattr(orphans, function, once(getattr(orphans, function), interrupts))
        task = interrupted_at_start(bench.task("sleep 60"))
        with pytest.raises(KeyboardInterrupt):
            pool.run([task])
        assert (bench.processes(), zombies(), running(pool)) == ([], [], 0)


@pytest.mark.parametrize("function", ["find", "kill"])
@apart
def test_a_second_interrupt_leaves_no_process_either(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """Ctrl-C often comes twice, from the terminal and from a parent: the second while hooks are being ended."""
    with pool_of(2) as pool:
        monkeypatch.setattr(orphans, function, once(getattr(orphans, function), interrupts))

        def interrupt_when_it_runs() -> None:
            bench.until_inside(1)
            signal.pthread_kill(main, signal.SIGINT)

        main = threading.get_ident()
        threading.Thread(target=interrupt_when_it_runs, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            pool.run([bench.waiting()])
        assert (bench.processes(), zombies(), running(pool)) == ([], [], 0)


@apart
def test_an_interrupt_while_the_thread_is_woken_costs_no_wake_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that continues after Ctrl-C finds a pool that still listens."""
    with pool_of(1) as pool:
        submit(pool, [NO]).outcomes()
        write = os.write
        monkeypatch.setattr(os, "write", once(write, interrupts))
        with pytest.raises(KeyboardInterrupt):
            pool.submit([NO], Told())
        monkeypatch.setattr(os, "write", write)
        assert kinds(submit(pool, [NO]).outcomes()) == ["missing"]


@apart
def test_an_interrupt_just_after_the_wait_leaves_nobody_waiting(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller knows that its hooks have ended, but not yet that it knows."""
    with pool_of(1) as pool:
        pool.run([bench.task("exit 0")])
        noted_waits(monkeypatch, interrupts)
        with pytest.raises(KeyboardInterrupt):
            pool.run([bench.task("exit 0")])
        assert kinds(pool.run([bench.task("exit 0")])) == [None]


# --- forks and what belongs to the whole process


def waits_for(reader: int, writer: int) -> bool:
    """Wait for the end of a pipe, as a worker of multiprocessing does for its work."""
    os.close(writer)
    return os.read(reader, 1) == b""


def test_a_forked_child_has_a_pool_of_its_own(bench: Bench) -> None:
    """It runs hooks while the parent's run, closes, and the parent's are not disturbed."""
    with pool_of(1) as pool:
        told = submit(pool, [bench.waiting()])
        bench.until_inside(1)

        def child() -> bool:
            good = kinds(pool.run([bench.task("exit 0")])) == [None]
            good = good and kinds(submit(pool, [bench.task("exit 0")] * 3).outcomes()) == [None] * 3
            pool.close()
            return good

        assert status_of(forked(child)) == 0
        assert bench.inside() == 1
        bench.gate.tell()
        assert kinds(told.outcomes()) == [None]


def test_a_lock_is_given_back_though_a_forked_child_lives_on(bench: Bench) -> None:
    """A worker process that the host forks while an exclusive hook runs does not hold its lock forever."""
    lock = str(bench.directory / "lock")
    with pool_of(2) as pool:
        told = submit(pool, [bench.waiting(lock=lock)])
        bench.until_inside(1)
        wait, release = os.pipe()
        pid = forked(lambda: waits_for(wait, release))
        bench.gate.tell()
        told.outcomes()
        try:
            assert kinds(submit(pool, [bench.task("exit 0", lock=lock, timeout=5)]).outcomes()) == [None]
        finally:
            os.close(release)
            os.close(wait)
            assert status_of(pid) == 0


def test_a_forked_child_does_not_keep_a_hooks_stdin_open(bench: Bench) -> None:
    """A hook reads to the end of a context that is longer than a pipe, despite forks meanwhile."""
    with pool_of(2) as pool:
        task = bench.task("mkdir in.$$; read x < gate; cat | wc -c", timeout=3)
        task.stdin = b"x" * 1_000_000
        told = submit(pool, [task])
        bench.until_inside(1)
        wait, release = os.pipe()
        pid = forked(lambda: waits_for(wait, release))
        bench.gate.tell()
        try:
            outcome = told.outcomes()[0]
            assert (outcome.failure, outcome.stdout.strip()) == (None, b"1000000")
        finally:
            os.close(release)
            os.close(wait)
            assert status_of(pid) == 0


def test_locks_do_not_disturb_the_umask_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to all threads: two that make directories at once would put it back in the wrong order."""
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was changed"))
    state.make_private_dir(str(tmp_path / "first" / "second"))
    assert (tmp_path / "first" / "second").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "statuses"), [("ignored", [{"exit_code"}] * 2), ("taken", [{"0", "exit_code"}, {"2", "exit_code"}])]
)
def test_an_exit_status_that_is_lost_is_a_failure(how: str, statuses: list[set[str]]) -> None:
    """A host that ignores SIGCHLD, or waits for any child: no hang, no silent success, no mistake of ours."""
    program = Path(__file__).with_name("programs") / "exit_statuses.py"
    done = subprocess.run(
        [sys.executable, program, ROOT, how], capture_output=True, text=True, timeout=limit(), check=False
    )
    assert (done.stderr, done.stdout.count("\n")) == ("", 2)
    for line in done.stdout.splitlines():
        *ended, first_late, second_late = line.split()
        assert (first_late, second_late) == ("timeout", "timeout")
        assert [each in possible for each, possible in zip(ended, statuses, strict=True)] == [True, True], line
