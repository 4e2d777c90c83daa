"""The pool at its limits: refusals by the system, locks that others hold, shutdown."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.process.child import Task
from hookrun.process.pool import ClosedError, Pool
from tests.conftest import ROOT
from tests.process.bench import (
    NO,
    Bench,
    Told,
    bench,
    in_threads,
    kinds,
    pool_of,
    pytestmark,
    running,
    submit,
    submitted,
)
from tests.waiting import ended, limit

if TYPE_CHECKING:
    from tests.process.bench import Way

__all__ = ["bench", "pytestmark"]

PROGRAMS = Path(__file__).with_name("programs")

# --- refusals by the system


@pytest.mark.parametrize("error", [errno.EMFILE, errno.EAGAIN])
@pytest.mark.parametrize("run_in", [Pool.run, submitted], ids=["run", "submit"])
def test_what_cannot_start_though_nothing_else_runs_is_a_failure(bench: Bench, run_in: Way, error: int) -> None:
    """No running task would free the missing resource: waiting would never end."""

    def start(_in: int, _out: int, _err: int) -> int:
        raise OSError(error, os.strerror(error))

    with pool_of(2) as pool:
        assert kinds(run_in(pool, [Task(start, b"", timeout=60, max_output=10)])) == ["spawn"]


@pytest.mark.parametrize("run_in", [Pool.run, submitted], ids=["run", "submit"])
def test_what_cannot_start_while_others_run_is_tried_again(bench: Bench, run_in: Way) -> None:
    """The end of another task, in any thread, may free the missing resource."""
    missing = threading.Event()
    good = bench.task("echo started")

    def start(stdin: int, stdout: int, stderr: int) -> int:
        if not missing.is_set():
            missing.set()
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return good.start(stdin, stdout, stderr)

    with pool_of(2) as pool:
        first = submit(pool, [bench.waiting()])
        bench.until_inside(1)

        def end_the_first() -> None:
            missing.wait(limit())
            bench.gate.tell()

        threading.Thread(target=end_the_first, daemon=True).start()
        outcomes = run_in(pool, [Task(start, b"", timeout=60, max_output=10)])
        assert (kinds(outcomes), outcomes[0].stdout) == ([None], b"started\n")
        first.outcomes()


@pytest.mark.slow
def test_too_few_descriptors_for_all_only_make_them_wait() -> None:
    """A hundred processes in a program that may open forty files: all of them run."""
    done = subprocess.run(
        [sys.executable, PROGRAMS / "few_files.py", ROOT], capture_output=True, text=True, timeout=limit(), check=False
    )
    assert (done.stdout, done.stderr) == ("[] 50 4\n", "")


# --- locks


@pytest.mark.slow
def test_tasks_with_one_lock_never_run_side_by_side(bench: Bench) -> None:
    """Neither those of one pool, batches and threads, nor those of another process."""
    lock = str(bench.directory / "locks" / "one")
    line = "mkdir held || touch overlap; echo run >> runs; rmdir held"
    other = [sys.executable, str(PROGRAMS / "same_lock.py"), str(ROOT), str(bench.directory), line, lock]
    with subprocess.Popen(other) as process, pool_of(4) as pool:

        def work(number: int) -> None:
            for _ in range(3):
                tasks = [bench.task(line, lock=lock)] * 2
                assert kinds((submitted, Pool.run)[number % 2](pool, tasks)) == [None, None]

        in_threads(4, work)
        assert ended(process) == 0
        assert not running(pool)
    runs = (bench.directory / "runs").read_text().split()
    assert ((bench.directory / "overlap").exists(), len(runs)) == (False, 24 + 8)


def test_a_lock_is_waited_for_no_longer_than_the_timeout(bench: Bench) -> None:
    """The one that holds it continues to run."""
    with pool_of(4) as pool:
        holder = submit(pool, [bench.waiting(lock=str(bench.directory / "lock"))])
        bench.until_inside(1)
        late = submit(pool, [bench.task("touch no", timeout=0.1, lock=str(bench.directory / "lock"))])
        assert kinds(late.outcomes()) == ["timeout"]
        bench.gate.tell()
        assert kinds(holder.outcomes()) == [None]
    assert not (bench.directory / "no").exists()


def test_a_closed_pool_takes_no_more(bench: Bench) -> None:
    """Closing twice, or before anything ran, is allowed; later tasks are refused."""
    for started in (False, True):
        pool = Pool(2)
        if started:
            submit(pool, [NO]).outcomes()
        pool.close()
        pool.close()
        with pytest.raises(ClosedError):
            pool.submit([NO], Told())
        with pytest.raises(ClosedError):
            pool.run([bench.task("touch no")])
    assert not (bench.directory / "no").exists()


@pytest.mark.parametrize("run_in", [Pool.run, submitted], ids=["run", "submit"])
def test_a_hook_that_reads_nothing_is_out_of_time_as_any_other(bench: Bench, run_in: Way) -> None:
    """More than a pipe takes is on its stdin: writing that must not wait for the hook, whose time then never ends."""
    task = bench.task("sleep 20; echo ended", timeout=0.1)
    task.stdin = b"x" * (1 << 20)
    with pool_of(2) as pool:
        [outcome] = run_in(pool, [task])
    assert (kinds([outcome]), outcome.stdout) == (["timeout"], b"")
