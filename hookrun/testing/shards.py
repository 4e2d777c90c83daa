"""Runs many cases in several processes, for one interpreter starts no more hooks than one core can."""

from __future__ import annotations

import asyncio
import io
import os
import pickle
import select
import signal
import threading
from typing import TYPE_CHECKING

from hookrun.model import VERDICT_OBJECTS, VERDICT_TEXTS, Hook, Verdict
from hookrun.testing.ran import Ran
from hookrun.testing.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hookrun.testing.cases import Case
    from hookrun.testing.declared import Declared

    Job = tuple[Case, str | None]
    OnRan = Callable[[Ran], object]

FEW = 64
"""Cases for which it pays to have one more process."""
LENGTH = 4
"""Bytes that say how long the next result is."""
CHUNK = 1 << 16


def wanted(jobs: int, at_once: int) -> int:
    """Return how many processes so many cases are to be run in, with so many hooks at once: one for each core at most.

    Only one where this process has threads, which a fork would leave in the middle of what they do.
    """
    if threading.active_count() > 1:
        return 1
    return max(1, min(os.cpu_count() or 1, at_once, jobs // FEW))


def run(
    jobs: Sequence[Job],
    count: int,
    *,
    at_once: int,
    given: Declared | None,
    directory: str | None,
    on_ran: OnRan,
) -> list[Ran]:
    """Run the jobs in `count` processes; return what came of each, in their order. Whatever is raised, none is left."""
    results = [Ran(case, agent) for case, agent in jobs]
    with Runner(at_once, given, directory) as lookup:
        for ran in results:
            if not ran.case.problems:
                ran.declared = lookup.declared_for(ran.case.file)
        workers: list[_Worker] = []
        try:
            for number in range(count):
                mine = list(enumerate(jobs))[number::count]
                workers.append(_Worker(mine, max(1, at_once // count), given, directory))
            _collect(workers, results, on_ran)
        finally:
            for worker in workers:
                worker.end()
    return results


def _collect(workers: Iterable[_Worker], results: list[Ran], on_ran: OnRan) -> None:
    """Take the results of all workers as they come; a case of which none comes could not be run."""
    poll = select.poll()
    open_still = {worker.fd: worker for worker in workers}
    for fd in open_still:
        poll.register(fd, select.POLLIN)
    while open_still:
        for fd, _ in poll.poll():
            worker = open_still[fd]
            data = os.read(fd, CHUNK)
            if not data:
                poll.unregister(fd)
                del open_still[fd]
            for index in worker.take(data, results):
                on_ran(results[index])
    for worker in workers:
        for index in sorted(worker.left):
            results[index].problems = [f"{results[index].case.where}: the process that was to run it has died"]
            on_ran(results[index])


class _Worker:
    """A process that runs some of the jobs, each with its index, and writes what came of each to the pipe `fd`."""

    def __init__(
        self, jobs: Sequence[tuple[int, Job]], at_once: int, given: Declared | None, directory: str | None
    ) -> None:
        self.left = {index for index, _ in jobs}
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
            _work(jobs, at_once, given, directory, end)
            status = 0
        except (KeyboardInterrupt, BrokenPipeError):  # nobody waits for the rest
            pass
        finally:
            os._exit(status)

    def take(self, data: bytes, results: list[Ran]) -> list[int]:
        """Take what was read; return the indices of the results that are whole now."""
        self._data += data
        found = []
        while len(self._data) >= LENGTH:
            end = LENGTH + int.from_bytes(self._data[:LENGTH])
            if len(self._data) < end:
                break
            found.append(_unpack(bytes(self._data[LENGTH:end]), results))
            del self._data[:end]
        self.left.difference_update(found)
        return found

    def end(self) -> None:
        """End the process, if it still runs, and what it runs; wait until that is done."""
        os.close(self.fd)
        if self.left:
            try:
                os.kill(self._pid, signal.SIGINT)
            except ProcessLookupError:
                pass
        os.waitpid(self._pid, 0)


def _work(
    jobs: Sequence[tuple[int, Job]], at_once: int, given: Declared | None, directory: str | None, end: int
) -> None:
    """Run jobs and write what comes of each to the descriptor `end`, also where they cannot be run at all."""
    left = dict(jobs)

    async def run(runner: Runner) -> None:
        to_run = iter(jobs)

        async def work() -> None:
            for index, (case, agent) in to_run:
                _write(end, _packed(index, await runner.run(case, agent)))
                del left[index]

        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(jobs), runner.width)):
                group.create_task(work())

    try:
        with Runner(at_once, given, directory) as runner:
            asyncio.run(run(runner))
    except Exception as error:
        for index, (case, agent) in left.items():
            why = f"{case.where}: it cannot be run: {type(error).__name__}: {error}"
            _write(end, _packed(index, Ran(case, agent, problems=[why])))


def _write(end: int, data: bytes) -> None:
    view = memoryview(len(data).to_bytes(LENGTH) + data)
    while view:
        view = view[os.write(end, view) :]


class _Pickler(pickle.Pickler):
    """Hooks are not sent: the one that reads has them, too."""

    def persistent_id(self, value: object) -> object:
        return (value.source, value.line, value.name) if isinstance(value, Hook) else None


class _Unpickler(pickle.Unpickler):
    """What one of our own processes has written."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self.hooks: Sequence[Hook] = ()

    def persistent_load(self, key: object) -> Hook:
        for hook in self.hooks:
            if (hook.source, hook.line, hook.name) == key:
                return hook
        raise pickle.UnpicklingError(f"there is no hook {key}")


def _packed(index: int, ran: Ran) -> bytes:
    """Return a result as bytes, without what belongs to its fire and would take all of that along."""
    came = ran.came
    if came is not None:
        fields = {name: getattr(came.verdict, name) for name in (*VERDICT_TEXTS, *VERDICT_OBJECTS)}
        came.verdict = Verdict(came.verdict.action, **fields)
    data = io.BytesIO()
    pickler = _Pickler(data, pickle.HIGHEST_PROTOCOL)
    pickler.dump(index)
    pickler.dump((came, ran.differences, ran.problems, ran.directory))
    return data.getvalue()


def _unpack(data: bytes, results: list[Ran]) -> int:
    """Put a result into its place and return its index."""
    unpickler = _Unpickler(data)
    index: int = unpickler.load()
    ran = results[index]
    unpickler.hooks = ran.declared.hooks if ran.declared is not None else ()
    ran.came, ran.differences, ran.problems, ran.directory = unpickler.load()
    return index
