"""Runs many cases in several processes, for one interpreter starts no more hooks than one core can."""

from __future__ import annotations

import os
import pickle
import select
import signal
import threading
from time import sleep
from typing import TYPE_CHECKING

from hookrun.model import VERDICT_OBJECTS, VERDICT_TEXTS, Verdict
from hookrun.testing import threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hookrun.model import Hook
    from hookrun.testing.ran import Ran
    from hookrun.testing.runner import Runner

    OnRan = Callable[[Ran], object]

FEW = 64
"""Cases for which it pays to have one more process."""
LENGTH = 4
"""Bytes that say how long the next result is, or which cases are the next to be run."""
MOST_TURNS = 4096
"""Turns into which the cases are divided: as many as a pipe holds."""
CHUNK = 1 << 16
BETWEEN = 0.01
"""Seconds between looks at what has come: each look takes a core from the hooks."""


def wanted(jobs: int, at_once: int) -> int:
    """Return how many processes so many cases are to be run in, with so many hooks at once: one for each core at most.

    Only one where this process has threads, which a fork would leave in the middle of what they do.
    """
    if threading.active_count() > 1:
        return 1
    return max(1, min(os.cpu_count() or 1, at_once, jobs // FEW))


def run_all(runner: Runner, results: Sequence[Ran], count: int, at_once: int, on_ran: OnRan) -> None:
    """Run these in `count` processes, at most `at_once` at a time; `on_ran` is told of each.

    Whatever is raised, none is left running.
    """
    size = -(-len(results) // MOST_TURNS)
    turns, end = os.pipe()
    os.write(end, b"".join(start.to_bytes(LENGTH) for start in range(0, len(results), size)))
    os.close(end)
    workers: list[_Worker] = []
    try:
        for number in range(count):
            width = at_once // count + (number < at_once % count)
            workers.append(_Worker(runner, results, _claimed(turns, results, size), width))
        _collect(workers, results, on_ran)
    finally:
        os.close(turns)
        for worker in workers:
            worker.end()


def _claimed(turns: int, results: Sequence[Ran], size: int) -> Iterator[Ran]:
    """Take turn after turn of those that no other process has taken; yield what is to be run in it."""
    while data := os.read(turns, LENGTH):
        start = int.from_bytes(data)
        yield from results[start : start + size]


def _collect(workers: Iterable[_Worker], results: Sequence[Ran], on_ran: OnRan) -> None:
    """Take the results of all workers as they come; a case of which none comes could not be run."""
    left = set(range(len(results)))
    poll = select.poll()
    running = {worker.fd: worker for worker in workers}
    for fd in running:
        poll.register(fd, select.POLLIN)
    while running:
        for fd, _ in poll.poll():
            data = os.read(fd, CHUNK)
            if not data:
                poll.unregister(fd)
                running.pop(fd).over = True
                continue
            for index in running[fd].take(data, results):
                left.discard(index)
                on_ran(results[index])
        sleep(BETWEEN)
    for index in sorted(left):
        results[index].problems = [f"{results[index].case.where}: the process that was to run it has died"]
        on_ran(results[index])


class _Worker:
    """A process that runs some of all cases and writes what came of each to the pipe `fd`."""

    def __init__(self, runner: Runner, results: Sequence[Ran], mine: Iterable[Ran], width: int) -> None:
        self.over = False
        self._data = bytearray()
        self.fd, end = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(end)
            return
        status = 1
        try:
            os.setpgid(0, 0)  # Ctrl-C at the terminal is for the one that reads, which passes it on
            os.close(self.fd)
            _work(runner, results, mine, width, end)
            status = 0
        except (KeyboardInterrupt, BrokenPipeError):  # nobody waits for the rest
            pass
        finally:
            os._exit(status)

    def take(self, data: bytes, results: Sequence[Ran]) -> list[int]:
        """Take what was read; return the indices of the results that are whole now."""
        self._data += data
        found = []
        while len(self._data) >= LENGTH:
            end = LENGTH + int.from_bytes(self._data[:LENGTH])
            if len(self._data) < end:
                break
            found.append(_unpack(bytes(self._data[LENGTH:end]), results))
            del self._data[:end]
        return found

    def end(self) -> None:
        """End the process, if it still runs, and what it runs; wait until that is done."""
        os.close(self.fd)
        if not self.over:
            try:
                os.kill(self._pid, signal.SIGINT)
            except ProcessLookupError:
                pass
        os.waitpid(self._pid, 0)


def _work(runner: Runner, results: Sequence[Ran], mine: Iterable[Ran], width: int, end: int) -> None:
    """Run cases and write what comes of them to the descriptor `end`."""
    numbers = {id(ran): index for index, ran in enumerate(results)}
    try:
        threads.run_all(runner, mine, width, lambda ran: _write(end, _packed(numbers[id(ran)], ran)))
    finally:
        runner.stop()


def _write(end: int, data: bytes) -> None:
    view = memoryview(len(data).to_bytes(LENGTH) + data)
    while view:
        view = view[os.write(end, view) :]


def _packed(index: int, ran: Ran) -> bytes:
    """Return a result as bytes, without its hooks, which the one that reads has, and what belongs to its fire."""
    came = ran.came
    hooks = []
    if came is not None:
        fields = {name: getattr(came.verdict, name) for name in (*VERDICT_TEXTS, *VERDICT_OBJECTS)}
        came.verdict = Verdict(came.verdict.action, **fields)
        for run in came.runs:
            hooks.append(_key(run.hook))
            del run.hook
    data = (index, hooks, came, ran.differences, ran.problems, ran.directory)
    return pickle.dumps(data, pickle.HIGHEST_PROTOCOL)


def _unpack(data: bytes, results: Sequence[Ran]) -> int:
    """Put a result into its place and return its index."""
    index: int
    index, hooks, came, *rest = pickle.loads(data)  # noqa: S301  # what one of our own processes has written
    ran = results[index]
    ran.came, (ran.differences, ran.problems, ran.directory) = came, rest
    if came is not None and ran.declared is not None:
        for run, key in zip(came.runs, hooks, strict=True):
            run.hook = next(hook for hook in ran.declared.hooks if _key(hook) == key)
    return index


def _key(hook: Hook) -> tuple[object, ...]:
    """Return what tells a hook from the others."""
    return hook.source, hook.line, hook.name
