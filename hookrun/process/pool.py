"""Runs hooks for many fires at once in a process that lives on: one thread, one poll loop, a limit for all of them.

A caller that may block, and finds room, runs its hooks itself in a loop of its own: that saves two changes of thread.
"""

from __future__ import annotations

import os
import weakref
from threading import Lock
from typing import TYPE_CHECKING

from hookrun.model import Failure, Outcome
from hookrun.process import alone
from hookrun.process.child import Task
from hookrun.process.loop import MAX_PROCESSES
from hookrun.process.service import Batch, ClosedError, Inline, Places, Service

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Tasks = Sequence[Task | Failure | None]

__all__ = ["Batch", "ClosedError", "Pool"]


class Pool:
    """Runs the hooks of a program's fires, at most `most` processes at a time; more wait for their turn, in order.

    Safe to use from many threads. The thread is started at first need; a forked child of the program starts its own.
    """

    def __init__(self, most: int = MAX_PROCESSES) -> None:
        self._most = most
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._places = Places(self._most)
        self._lock = Lock()
        self._service: Service | None = None

    def submit(self, tasks: Tasks, done: Callable[[list[Outcome]], object]) -> Batch:
        """Run the tasks side by side; `done` is called with their outcomes, in the pool's thread. Raises ClosedError.

        `done` is not to raise; what it raises is dropped.
        """
        batch = Batch(tasks, done)
        try:
            service = self._running_service()
        except (OSError, RuntimeError) as error:
            if isinstance(error, ClosedError):
                raise
            batch.fail(Failure("spawn", f"the thread that runs it could not be started: {error}"))
            batch.tell()
            return batch
        service.submit(batch)
        return batch

    def cancel(self, batch: Batch) -> None:
        """End the hooks of a batch: it is over, and `done` called, when none of them is left."""
        service = self._service
        if service is not None:
            service.cancel(batch)

    def run(self, tasks: Tasks) -> list[Outcome]:
        """Run the tasks side by side, wait for them, return their outcomes. Raises ClosedError.

        Whatever exception comes meanwhile (KeyboardInterrupt), none of them is left running.
        """
        self._check()
        places = self._places
        if not places.take(len(tasks)):
            return self._wait_for(tasks)
        try:
            return self._run_here(places, tasks)
        finally:
            places.give(len(tasks))

    @staticmethod
    def _run_here(places: Places, tasks: Tasks) -> list[Outcome]:
        """Run the tasks in this thread, in places that have been taken."""
        try:
            wake = places.watch()
        except OSError as error:
            batch = Batch(tasks, lambda _: None)
            batch.fail(Failure("spawn", f"what runs it could not be started: {error.strerror}"))
            return batch.outcomes
        try:
            if len(tasks) == 1 and isinstance(tasks[0], Task):
                return [alone.run(tasks[0], wake, lambda: Inline(places, 1, wake))]
            return Inline(places, len(tasks), wake).run(tasks)
        finally:
            places.unwatch()

    def _wait_for(self, tasks: Tasks) -> list[Outcome]:
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
        if self._pid == os.getpid():
            self._places.close()
            if service is not None:
                service.close()

    def _check(self) -> None:
        if self._closed:
            raise ClosedError("the engine is closed")
        if self._pid != os.getpid():  # a fork: the thread and what it ran are the parent's
            self._begin()

    def _running_service(self) -> Service:
        self._check()
        with self._lock:
            if self._closed:
                raise ClosedError("the engine is closed")
            if self._service is None:
                self._service = Service(self._places)
                weakref.finalize(self, self._service.close)  # forgotten, or at the program's end
            return self._service
