"""The pool at its limits: refusals by the system, locks that others hold, shutdown."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hookrun.process.child import Task
from hookrun.process.pool import ClosedError, Pool
from tests.process.bench import (
    ENOUGH,
    NO,
    SOON,
    Bench,
    Told,
    bench,
    in_threads,
    kinds,
    pool_of,
    pytestmark,
    submit,
)
from tests.process.test_processes import until

__all__ = ["bench", "pytestmark"]

# --- refusals by the system


@pytest.mark.parametrize("error", [errno.EMFILE, errno.EAGAIN])
@pytest.mark.parametrize("way", ["submit", "run"])
def test_what_cannot_start_though_nothing_else_runs_is_a_failure(bench: Bench, way: str, error: int) -> None:
    """No running task would free the missing resource: waiting would never end."""

    def start(_in: int, _out: int, _err: int) -> int:
        raise OSError(error, os.strerror(error))

    with pool_of(2) as pool:
        tasks = [Task(start, b"", timeout=60, max_output=10)]
        outcomes = submit(pool, tasks).outcomes(SOON) if way == "submit" else pool.run(tasks)
        assert kinds(outcomes) == ["spawn"]


@pytest.mark.parametrize("way", ["submit", "run"])
def test_what_cannot_start_while_others_run_is_tried_again(bench: Bench, way: str) -> None:
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
        until(lambda: bench.inside() == 1)
        tasks = [Task(start, b"", timeout=60, max_output=10)]

        def end_the_first() -> None:
            missing.wait(ENOUGH)
            bench.gate.tell()

        threading.Thread(target=end_the_first, daemon=True).start()
        outcomes = submit(pool, tasks).outcomes(SOON) if way == "submit" else pool.run(tasks)
        assert (kinds(outcomes), outcomes[0].stdout) == ([None], b"started\n")
        first.outcomes()


FEW_FILES = """
import os, resource, sys, threading
sys.path.insert(0, sys.argv[1])
from hookrun.process import program as programs
from hookrun.process.pool import Pool
from hookrun.process.child import Task
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
def task(n):
    begin = programs.program(("/bin/sh", "-c", f"echo {n}"), dict(os.environb), "/")
    return Task(begin, b"", timeout=60, max_output=99)
pool, over, seen = Pool(32), threading.Semaphore(0), []
for n in range(50):
    pool.submit([task(n), task(n)], lambda outcomes: (seen.extend(outcomes), over.release()))
for n in range(50):
    over.acquire()
pool.close()
print([o.failure for o in seen if o.failure], len({o.stdout for o in seen}), len(os.listdir("/proc/self/fd")))
"""


@pytest.mark.slow
def test_too_few_descriptors_for_all_only_make_them_wait() -> None:
    """A hundred processes in a program that may open forty files: all of them run."""
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", FEW_FILES, root], capture_output=True, text=True, timeout=ENOUGH, check=False
    )
    assert (done.stdout, done.stderr) == ("[] 50 4\n", "")


# --- locks


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_tasks_with_one_lock_never_run_side_by_side(bench: Bench, processes: int) -> None:
    """Neither those of one pool, batches and threads, nor those of another process."""
    locks = bench.directory / "locks"
    line = "mkdir held || touch overlap; echo run >> runs; rmdir held"
    forked: subprocess.Popen[bytes] | None = None
    if processes > 1:
        script = f"""
import sys; sys.path[:0] = [{str(Path(__file__).parents[2])!r}]
from pathlib import Path
from hookrun.process.pool import Pool
from tests.process.bench import Bench
class Same(Bench):
    def __init__(self): self.directory = Path({str(bench.directory)!r})
pool = Pool(4)
for _ in range(8):
    assert pool.run([Same().task({line!r}, lock={str(locks / "one")!r})])[0].failure is None
"""
        forked = subprocess.Popen([sys.executable, "-c", script])
    with pool_of(4) as pool:

        def work(number: int) -> None:
            for _ in range(3):
                tasks = [bench.task(line, lock=str(locks / "one"))] * 2
                outcomes = pool.run(tasks) if number % 2 else submit(pool, tasks).outcomes()
                assert kinds(outcomes) == [None, None]

        in_threads(4, work)
    if forked is not None:
        assert forked.wait(ENOUGH) == 0
    runs = (bench.directory / "runs").read_text().split()
    assert ((bench.directory / "overlap").exists(), len(runs)) == (False, 24 + 8 * (processes - 1))
    assert not pool._slots.taken


def test_a_lock_is_waited_for_no_longer_than_the_timeout(bench: Bench) -> None:
    """The one that holds it continues to run."""
    with pool_of(4) as pool:
        holder = submit(pool, [bench.waiting(lock=str(bench.directory / "lock"))])
        until(lambda: bench.inside() == 1)
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


@pytest.mark.parametrize("way", ["submit", "run"])
def test_a_hook_that_reads_nothing_is_out_of_time_as_any_other(bench: Bench, way: str) -> None:
    """More than a pipe takes is on its stdin: writing that must not wait for the hook, whose time then never ends."""
    task = bench.task("sleep 20; echo ended", timeout=0.1)
    task.stdin = b"x" * (1 << 20)
    with pool_of(2) as pool:
        [outcome] = submit(pool, [task]).outcomes() if way == "submit" else pool.run([task])
    assert (kinds([outcome]), outcome.stdout) == (["timeout"], b"")
