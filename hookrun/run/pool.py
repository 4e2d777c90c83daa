"""Runs hooks for many fires at once in a process that lives on: one thread, one poll loop, a limit for all of them.

A caller that may block, and finds room, runs its hooks itself in a loop of its own: that saves two changes of thread.
"""

from __future__ import annotations

import os
import weakref
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.model import Failure, Outcome
from hookrun.run.process import MOST_AT_ONCE, Loop
from hookrun.run.task import NEVER, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

READ_AT_ONCE = 4096
CLOSE_WAIT = 5.0
"""Seconds to wait for the thread at the end: longer than it takes to kill whatever runs."""


class ClosedError(RuntimeError):
    """The pool, or the engine that it belongs to, was closed."""


class Batch:
    """Hooks that were given to the pool together. `done` is called once, with their outcomes, when all are over."""

    __slots__ = ("done", "left", "outcomes", "tasks")

    def __init__(self, tasks: Sequence[Task | Failure | None], done: Callable[[list[Outcome]], None]) -> None:
        self.tasks = tasks
        self.outcomes = [Outcome(task if isinstance(task, Failure) else None) for task in tasks]
        self.left = sum(isinstance(task, Task) for task in tasks)
        self.done = done


class Pool:
    """Runs the hooks of a program's fires, at most `most` processes at a time; more wait for their turn, in order.

    Safe to use from many threads. The thread is started at first need; a forked child of the program starts its own.
    """

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._most = most
        self._places = _Places(most)
        self._lock = Lock()
        self._service: _Service | None = None
        self._closed = False
        self._pid = os.getpid()

    def submit(self, tasks: Sequence[Task | Failure | None], done: Callable[[list[Outcome]], None]) -> Batch:
        """Run the tasks side by side; `done` is called in the pool's thread. Raises ClosedError."""
        batch = Batch(tasks, done)
        self._running_service().submit(batch)
        return batch

    def cancel(self, batch: Batch) -> None:
        """End the hooks of a batch: it is over, and `done` called, when none of them is left."""
        with self._lock:
            service = self._service
        if service is not None:
            service.cancel(batch)

    def run(self, tasks: Sequence[Task | Failure | None]) -> list[Outcome]:
        """Run the tasks side by side, wait for them, return their outcomes. Raises ClosedError.

        Whatever exception comes meanwhile (KeyboardInterrupt), none of them is left running.
        """
        self._check()
        if not self._places.take(len(tasks)):
            return self._wait_for(tasks)
        try:
            return Loop().run(tasks)
        finally:
            self._places.give(len(tasks))

    def _wait_for(self, tasks: Sequence[Task | Failure | None]) -> list[Outcome]:
        over = Lock()
        over.acquire()
        batch = self.submit(tasks, lambda _: over.release())
        try:
            over.acquire()
        except BaseException:
            self.cancel(batch)
            over.acquire()
            raise
        return batch.outcomes

    def close(self) -> None:
        """End every hook that runs, and the thread. What is submitted afterwards raises ClosedError."""
        with self._lock:
            self._closed = True
            service, self._service = self._service, None
        if service is not None and self._pid == os.getpid():
            service.close()

    def _check(self) -> None:
        if self._closed:
            raise ClosedError("the engine is closed")
        if self._pid != os.getpid():  # a fork: the thread and what it ran are the parent's
            self._pid = os.getpid()
            self._places = _Places(self._most)
            self._lock = Lock()
            self._service = None

    def _running_service(self) -> _Service:
        self._check()
        with self._lock:
            if self._closed:
                raise ClosedError("the engine is closed")
            if self._service is None:
                self._service = _Service(self._places)
                weakref.finalize(self, self._service.close)  # forgotten, or at the program's end
            return self._service


class _Places:
    """How many more processes may be started, for all threads. Who waits for one is woken when one is given back."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._most = most
        self._lock = Lock()
        self.wake: Callable[[], None] | None = None

    def take(self, count: int) -> bool:
        with self._lock:
            if self._free < count:
                return False
            self._free -= count
            return True

    def give(self, count: int) -> None:
        with self._lock:
            self._free += count
            wake, self.wake = self.wake, None
        if wake is not None:
            wake()

    def wait(self, wake: Callable[[], None]) -> bool:
        """Have `wake` called when a place is given back; False when there is one now."""
        with self._lock:
            if self._free > 0:
                return False
            self.wake = wake
            return True

    @property
    def taken(self) -> bool:
        return self._free < self._most


class _Service(Loop):
    """The loop of a pool in a thread of its own, given batches by others through a list and a pipe."""

    def __init__(self, places: _Places) -> None:
        self._read_end, self._write_end = os.pipe()
        for end in (self._read_end, self._write_end):
            os.set_blocking(end, False)
        super().__init__(wake=self._read_end)
        self._places = places
        self._inbox: list[Batch] = []
        self._cancelled: list[Batch] = []
        self._batches: dict[int, Batch] = {}
        self._finished: list[Batch] = []
        self._woken = False
        self._closing = False
        self._mutex = Lock()
        self._thread = Thread(target=self._serve, name="hookrun-processes", daemon=True)
        self._thread.start()

    # --- for other threads

    def submit(self, batch: Batch) -> None:
        with self._mutex:
            if self._closing:
                raise ClosedError("the engine is closed")
            self._inbox.append(batch)
        self._wake_up()

    def cancel(self, batch: Batch) -> None:
        with self._mutex:
            self._cancelled.append(batch)
        self._wake_up()

    def close(self) -> None:
        with self._mutex:
            self._closing = True
        self._wake_up()
        self._thread.join(CLOSE_WAIT)

    def _wake_up(self) -> None:
        if not self._woken:
            self._woken = True
            try:
                os.write(self._write_end, b"\0")
            except OSError:  # it is full, so it will be read; or the thread has ended
                return

    # --- in the thread

    def _serve(self) -> None:
        while True:
            try:
                self._take_in()
                if self._closing and not self._live and not self._waiting:
                    break
                self._start_some()
                self._tell()
                if not self._waiting or self._retry or self._places.wait(self._wake_up):
                    self._turn()
            except Exception as error:  # a mistake of ours: nobody may wait for ever
                self._fail(error)
        self._tell()
        for end in (self._read_end, self._write_end):
            os.close(end)

    def _take_in(self) -> None:
        """Take what other threads have given: new batches, and those that are to be ended."""
        with self._mutex:
            new, self._inbox = self._inbox, []
            cancelled, self._cancelled = self._cancelled, []
            closing = self._closing
        for batch in new:
            if batch.left == 0:
                self._finished.append(batch)
                continue
            entries = [
                (task, outcome, NEVER)
                for task, outcome in zip(batch.tasks, batch.outcomes, strict=True)
                if isinstance(task, Task)
            ]
            for _, outcome, _ in entries:
                self._batches[id(outcome)] = batch
            self._waiting[:0] = reversed(entries)
        if closing:
            cancelled = list({id(batch): batch for batch in self._batches.values()}.values())
        if cancelled:
            self._cancel([outcome for batch in cancelled for outcome in batch.outcomes])

    def _cancel(self, outcomes: list[Outcome]) -> None:
        """End the hooks of these outcomes; those that have not begun never do."""
        wanted = {id(outcome) for outcome in outcomes}
        waiting = [entry for entry in self._waiting if id(entry[1]) in wanted]
        self._waiting = [entry for entry in self._waiting if id(entry[1]) not in wanted]
        for _, outcome, _ in waiting:
            outcome.failure = Failure("signal", "the fire was cancelled before it could start")
            self._over(outcome)
        running = [process for process in self._live if id(process.outcome) in wanted and not process.ending]
        for process in running:
            process.outcome.failure = Failure("signal", "the fire was cancelled")
        if running:
            self._end(running, monotonic())

    def _interrupt(self) -> None:
        """What comes through the pipe is no signal but word that there is something to take in."""
        try:
            os.read(self._read_end, READ_AT_ONCE)
        except BlockingIOError:
            pass
        self._woken = False  # after the read: who sees it set has a byte in the pipe, or is taken in now

    def _take_place(self) -> bool:
        return self._places.take(1)

    def _give_place(self) -> None:
        self._places.give(1)

    def _others(self) -> bool:
        return self._places.taken

    def _over(self, outcome: Outcome) -> None:
        batch = self._batches.pop(id(outcome), None)
        if batch is not None:
            batch.left -= 1
            if batch.left == 0:
                self._finished.append(batch)

    def _tell(self) -> None:
        """Tell those whose hooks are all over."""
        finished, self._finished = self._finished, []
        for batch in finished:
            batch.done(batch.outcomes)

    def _fail(self, error: Exception) -> None:
        """A mistake of ours: end everything, and tell everybody that waits."""
        failure = Failure("spawn", f"internal error, please report it: {type(error).__name__}: {error}")
        unfinished = dict(self._batches)
        try:
            self._abandon()
        except Exception:
            self._live.clear()
        self._waiting = []
        self._batches.clear()
        for batch in {id(batch): batch for batch in unfinished.values()}.values():
            for outcome in batch.outcomes:
                if id(outcome) in unfinished:
                    outcome.failure = failure
            if batch not in self._finished:
                self._finished.append(batch)
