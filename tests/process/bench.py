"""A bench for the pool: shell lines that run as tasks, and their reports."""

from __future__ import annotations

import itertools
import os
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.model import Failure, Outcome
from hookrun.process import program as programs
from hookrun.process.child import Task
from hookrun.process.pool import Pool
from tests.process.test_processes import Signpost, until
from tests.warm import all_children, state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hookrun.process.child import Start

    Given = Sequence[Task | Failure | None]

pytestmark = [
    pytest.mark.timeout(90),
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc here"),
]
ENOUGH = 30
"""Seconds: a bound for what must happen, never waited for."""
SOON = 5
"""The same where a fault would mean that it never happens."""
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
    until(lambda: not made.processes())
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

    def outcomes(self, seconds: float = ENOUGH) -> list[Outcome]:
        """Return the outcomes, once."""
        assert self._event.wait(seconds), "nobody was told"
        assert len(self.calls) == 1
        return self.calls[0]


def submit(pool: Pool, tasks: Given) -> Told:
    """Submit tasks and return the report to come."""
    told = Told()
    pool.submit(tasks, told)
    return told


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
        thread.join(ENOUGH)
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
