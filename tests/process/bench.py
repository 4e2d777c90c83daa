"""A bench for the pool: shell lines that run as tasks, and their reports."""

from __future__ import annotations

import itertools
import os
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.core.model import Failure, Outcome
from hookrun.process import child, pool as pools, program as programs
from hookrun.process.child import Process, Task, Watcher
from hookrun.process.loop import Loop
from hookrun.process.pool import Pool, PoolThread
from tests.process.test_processes import Signpost
from tests.waiting import limit, until
from tests.warm import all_children, state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hookrun.process.child import Start

    Given = Sequence[Task | Failure | None]
    Way = Callable[[Pool, Given], list[Outcome]]

pytestmark = [
    pytest.mark.timeout(90),
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc here"),
]
NO = Failure("missing", "a failure that was known before")
MARKERS = itertools.count()


def program(argv: tuple[str, ...], environment: Mapping[bytes, bytes], cwd: str) -> Start:
    """Return what starts a program with this environment and no other."""
    return programs.program(argv, dict(environment), cwd)


class Bench:
    """A directory in which shell lines run as tasks, with a gate for synchronisation with the test."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.gate = Signpost(directory / "gate")

    def task(self, line: str, *, timeout: float = 60, **more: Any) -> Task:
        """Return the task of a shell line."""
        marker = b"bench%d.%d;" % (os.getpid(), next(MARKERS))  # tests of other processes have other traces
        environment = {b"PATH": os.environb[b"PATH"], b"HOOKRUN_CHAIN": marker}
        begin = program(("/bin/sh", "-c", line), environment, str(self.directory))
        return Task(begin, b"", timeout=timeout, max_output=1 << 20, marker=marker, **more)

    def waiting(self, **more: Any) -> Task:
        """Return a task that counts in `inside()` while it runs, logs how many do, and ends when the gate opens."""
        return self.task("mkdir in.$$; read x < gate; ls -d in.* | wc -l >> counts; rmdir in.$$", **more)

    def inside(self) -> int:
        """Return how many tasks wait at the gate."""
        return len(list(self.directory.glob("in.*")))

    def until_inside(self, count: int) -> None:
        """Wait until so many tasks wait at the gate."""
        until(lambda: self.inside() == count, lambda: f"{self.inside()} of {count} tasks wait at the gate")

    def processes(self) -> list[int]:
        """Return the processes that work in the directory, unreaped zombies not counted."""
        return processes_in(self.directory)


def processes_in(directory: Path) -> list[int]:
    """Return the processes whose working directory is here or below, or whose environment names it."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            cwd = str((entry / "cwd").readlink())
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if f"{cwd}/".startswith(f"{directory}/") or f"={directory}".encode() in environment:
            found.append(int(entry.name))
    return found


def zombies() -> list[int]:
    """Return our children that have ended and are not reaped."""
    return [pid for pid in all_children(os.getpid()) if state(pid) == "Z"]


def reap() -> None:
    """Reap our children that have ended."""
    for pid in zombies():
        with suppress(ChildProcessError):  # it was reaped already
            os.waitpid(pid, os.WNOHANG)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Return a bench; whatever still runs in it at the end is killed, and no child is left from before."""
    reap()
    made = Bench(tmp_path)
    yield made
    made.gate.close()
    for pid in made.processes():
        with suppress(ProcessLookupError):  # it was just ending
            os.kill(pid, 9)
    until(lambda: not made.processes(), "something runs on")
    reap()


@contextmanager
def pool_of(most: int) -> Iterator[Pool]:
    """Have a pool, closed at the end."""
    pool = Pool(most)
    try:
        yield pool
    finally:
        pool.close()


class Told:
    """What `done` was called with. `outcomes()` waits for it."""

    def __init__(self) -> None:
        self.calls: list[list[Outcome]] = []
        self._event = threading.Event()

    def __call__(self, outcomes: list[Outcome]) -> None:
        """Record a report."""
        self.calls.append(outcomes)
        self._event.set()

    def outcomes(self) -> list[Outcome]:
        """Return the outcomes, once."""
        assert self._event.wait(limit()), "nobody was told"
        assert len(self.calls) == 1
        return self.calls[0]


def submit(pool: Pool, tasks: Given) -> Told:
    """Submit tasks and return the report to come."""
    told = Told()
    pool.submit(tasks, told)
    return told


def submitted(pool: Pool, tasks: Given) -> list[Outcome]:
    """Run tasks in the pool's thread, and return their outcomes as `Pool.run` does."""
    return submit(pool, tasks).outcomes()


def later(seconds: float) -> float:
    """Return a deadline."""
    return seconds + time.monotonic()


def kinds(outcomes: list[Outcome]) -> list[str | None]:
    """Return how each failed, None for one that did not."""
    return [outcome.failure.kind if outcome.failure else None for outcome in outcomes]


def in_threads(count: int, work: Callable[[int], object]) -> None:
    """Call it in so many threads at once; one that raises, or does not end, fails the test."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(limit())
    assert not [thread.name for thread in threads if thread.is_alive()], "it hangs"
    assert not errors, errors


def once(function: Callable[..., Any], instead: Callable[[], object]) -> Callable[..., Any]:
    """Return a function of which the first call is, before it does its work, the other one's."""
    left = [instead]

    def call(*args: Any, **named: Any) -> Any:
        if left:
            left.pop()()
        return function(*args, **named)

    return call


def fail(error: BaseException) -> Callable[[], None]:
    """Return what raises the exception."""

    def do() -> None:
        raise error

    return do


def open_files() -> set[str]:
    """Return our open descriptors."""
    return set(os.listdir("/proc/self/fd"))


# --- what only this bench knows by its private name

PARTS_OF_THE_THREAD = (
    *("_take_in", "_start_some", "_poll_once", "_enforce_deadlines", "_on_exit", "_report", "_finish"),
)
"""Methods of PoolThread: wherever one raises, the pool still serves."""
MOMENTS = (
    (Process, "spawn", "sleep 60", Process.spawn),
    (Loop, "_poll_once", "sleep 60", lambda *_: None),
    (Process, "finish", "true", lambda *_: None),
)
"""A hook just after its start, while it runs, and at its end: what is called then, for which hook,
and what is done of it."""
watch = child._watch


def running(pool: Pool) -> int:
    """Return how many processes of a pool run."""
    return len(pool._thread._live) if pool._thread is not None else 0


def queued(pool: Pool) -> int:
    """Return how many tasks of a pool wait for a place."""
    return len(pool._thread._waiting) if pool._thread is not None else 0


def thread_of(pool: Pool) -> PoolThread:
    """Return the thread of a pool that has needed one."""
    assert pool._thread is not None
    return pool._thread


def python_thread_of(pool: Pool) -> threading.Thread:
    """Return the same as Python knows it."""
    return thread_of(pool)._thread


def write_end(thread: PoolThread) -> int:
    """Return the descriptor by which a pool's thread is woken."""
    return thread._write_end


def is_closing(thread: PoolThread) -> bool:
    """Return whether a pool's thread has been asked to end."""
    return thread._closing


def after_its_next_look(thread: PoolThread, patch: pytest.MonkeyPatch, then: Callable[[], None]) -> None:
    """Have `then` called once, when a pool's thread has taken in what was submitted."""
    take_in = thread._take_in

    def take_in_and_then() -> None:
        take_in()
        patch.setattr(thread, "_take_in", take_in)
        then()

    patch.setattr(thread, "_take_in", take_in_and_then)


def noted_waits(patch: pytest.MonkeyPatch, then: Callable[[], None] = lambda: None) -> list[float]:
    """Return a list that gets, from now on, the seconds that each wait for the end of a batch may last.

    `then` is called just after the first that was not in vain.
    """
    seen: list[float] = []
    left = [then]

    class Noted:
        def __init__(self) -> None:
            self._lock = threading.Lock()
            self.release = self._lock.release

        def acquire(self, timeout: float = -1) -> bool:
            had = self._lock.acquire(timeout=timeout)
            if timeout > 0:
                seen.append(timeout)
            if timeout > 0 and had and left:
                left.pop()()
            return had

    patch.setattr(pools, "Lock", Noted)
    return seen


def streams_of(pool: Pool) -> list[int]:
    """Return the descriptors by which a pool reads what its hooks print."""
    return [fd for process in thread_of(pool)._live for fd in (process.out, process.err)]


def watcher_pid(watcher: Watcher) -> int:
    """Return the process id of a watcher's program."""
    return watcher._pid


def watched(watcher: Watcher) -> dict[bytes, int]:
    """Return the hooks that a watcher takes for running."""
    return watcher._hooks


def through_a_shell(patch: pytest.MonkeyPatch) -> None:
    """Have the directory of a program changed as where ignored signals would be inherited: by a shell."""
    patch.setattr(programs, "_signals_are_inherited", lambda: True)
