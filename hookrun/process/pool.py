"""Run the hooks of many fires in a long-lived process: where one waits for them, or in a thread; with one limit."""

from __future__ import annotations

import os
import weakref
from threading import Event, Lock
from typing import TYPE_CHECKING

from hookrun.core.model import Failure, Outcome
from hookrun.process.child import WATCHER, Task
from hookrun.process.loop import MAX_INTERRUPTS, MAX_PROCESSES
from hookrun.process.pool_loops import SIGNALS_SEEN_AFTER, Batch, ClosedError, PoolLoop, PoolThread, Room

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.process.pool_loops import Tasks


class Pool:
    """Run the hooks of a program's fires, at most `limit` processes at once; the others are queued.

    A caller that waits runs them itself if nothing else does. For all others there is a thread, which starts on first
    use. Thread-safe; a forked child has its own.
    """

    def __init__(self, limit: int = MAX_PROCESSES) -> None:
        self._limit = limit
        self._closed = False
        self._reset()
        weakref.finalize(self, WATCHER.close)  # another pool's next hook starts a new watcher

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = Lock()
        self._room = Room(self._limit)
        self._own_loop: PoolLoop | None = None
        weakref.finalize(self, self._room.close)  # on collection, or at exit

    def submit(self, tasks: Tasks, done: Callable[[list[Outcome]], object]) -> Batch:
        """Run the tasks side by side; call `done` with their outcomes, in the pool's thread. Raises ClosedError.

        Exceptions that `done` raises are dropped.
        """
        batch = Batch(tasks, done)
        self._submit(batch)
        return batch

    def _submit(self, batch: Batch) -> None:
        try:
            thread = self._running_thread()
        except (OSError, RuntimeError) as error:
            if isinstance(error, ClosedError):
                raise
            batch.fail(Failure("spawn", f"could not start the thread that runs it: {error}"))
        else:
            thread.submit(batch)

    def cancel(self, batch: Batch) -> bool:
        """End the hooks of a batch; return whether `done` is called when none is left, if it was not yet."""
        thread = self._room.thread
        return thread is not None and thread.cancel(batch)

    def run(self, tasks: Tasks, meanwhile: Callable[[], object] | None = None) -> list[Outcome]:
        """Run the tasks side by side, wait for them and return their outcomes. Raises ClosedError.

        An exception meanwhile (KeyboardInterrupt) leaves none of them running. `meanwhile`, which raises none, may be
        called while they run.
        """
        outcomes = self._run_here(tasks, meanwhile)
        return self._run_in_thread(tasks) if outcomes is None else outcomes

    def _run_here(self, tasks: Tasks, meanwhile: Callable[[], object] | None) -> list[Outcome] | None:
        """Run the tasks in this thread; return None if something else runs or waits, or there is no descriptor."""
        self._check()
        holder = object()
        try:
            if not self._room.take(holder, sum(isinstance(task, Task) for task in tasks)):
                return None
            loop = self._own_loop or self._new_loop()
            if loop is None:
                return None
            self._own_loop = None  # after an exception it is in no known state
            outcomes = loop.run_here(tasks, meanwhile)
            self._own_loop = loop
            return outcomes
        finally:
            self._room.give_back(holder)

    def _new_loop(self) -> PoolLoop | None:
        try:
            return PoolLoop(self._room)
        except OSError:  # too many open files
            return None

    def _run_in_thread(self, tasks: Tasks) -> list[Outcome]:
        finished = Event()
        batch = Batch(tasks, lambda _: finished.set())
        try:
            self._submit(batch)
            _wait_for(finished)
        except ClosedError:
            raise
        except BaseException:
            for _ in range(MAX_INTERRUPTS):
                try:
                    if self.cancel(batch):
                        _wait_for(finished)
                except KeyboardInterrupt:
                    continue
                break
            raise
        return batch.outcomes

    def close(self) -> None:
        """End all running hooks, and the thread. Later submissions raise ClosedError."""
        with self._lock:
            self._closed = True
        if self._pid != os.getpid():
            return
        self._room.close()
        WATCHER.close()

    def _check(self) -> None:
        if self._pid != os.getpid():  # a fork: the loops and their hooks are the parent's
            self._reset()
        if self._closed:
            raise ClosedError("the engine is closed")

    def _running_thread(self) -> PoolThread:
        self._check()
        with self._lock:
            if self._closed:
                raise ClosedError("the engine is closed")
            return self._room.thread or PoolThread(self._room)


def _wait_for(event: Event) -> None:
    while not event.wait(SIGNALS_SEEN_AFTER):
        pass
