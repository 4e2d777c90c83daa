"""Run the hooks of many fires in a long-lived process: one thread, one poll loop, one limit.

If slots are free, a caller of `run` runs its hooks in its own loop: that saves two thread switches, a quarter of
hookrun's CPU time per fire.
"""

from __future__ import annotations

import os
import weakref
from threading import Condition, Lock, Thread, current_thread
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.model import Failure, Outcome
from hookrun.process.child import NEVER, WATCHER, Task
from hookrun.process.loop import MAX_INTERRUPTS, MAX_PROCESSES
from hookrun.process.pool_loop import SIGNALS_SEEN_AFTER, CallerLoop, PoolLoop, Slots
from hookrun.state import report_bug

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Tasks = Sequence[Task | Failure | None]

# Seconds to wait for the thread on close: longer than killing all hooks takes.
CLOSE_WAIT = 5.0


class ClosedError(RuntimeError):
    """The pool, or the engine that owns it, was closed."""


class Batch:
    """Hooks submitted together. `done` is called once, with their outcomes in order, when all have ended."""

    def __init__(self, tasks: Tasks, done: Callable[[list[Outcome]], object]) -> None:
        self.tasks = tasks
        self.outcomes = [Outcome(task if isinstance(task, Failure) else None) for task in tasks]
        self.unfinished = sum(isinstance(task, Task) for task in tasks)
        self.taken = False
        self.done = done

    def fail(self, failure: Failure) -> None:
        """Report that none of its tasks could be run."""
        for task, outcome in zip(self.tasks, self.outcomes, strict=True):
            if isinstance(task, Task):
                outcome.failure = failure
        self.report()

    def report(self) -> None:
        """Call `done`; its exceptions must not disturb the other batches."""
        try:
            self.done(self.outcomes)
        except Exception:
            return


class Pool:
    """Run the hooks of a program's fires, at most `limit` processes at once; the others are queued.

    Thread-safe. The thread starts on first use; a forked child starts its own.
    """

    def __init__(self, limit: int = MAX_PROCESSES) -> None:
        self._limit = limit
        self._closed = False
        self._reset()
        weakref.finalize(self, WATCHER.close)  # another pool's next hook starts a new watcher

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = Lock()
        self._changed = Condition(self._lock)
        self._slots = Slots(self._limit)
        self._thread: PoolThread | None = None
        self._callers: set[CallerLoop] = set()
        self._spare: list[CallerLoop] = []

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

    def cancel(self, batch: Batch) -> None:
        """End the hooks of a batch; `done` is called when none is left."""
        thread = self._thread
        if thread is not None:
            thread.cancel(batch)

    def run(self, tasks: Tasks) -> list[Outcome]:
        """Run the tasks side by side, wait for them and return their outcomes. Raises ClosedError.

        An exception meanwhile (KeyboardInterrupt) leaves none of them running.
        """
        count = sum(isinstance(task, Task) for task in tasks)
        loop = self._take_loop(count)
        if loop is None:
            return self._run_in_thread(tasks)
        outcomes = None
        try:
            outcomes = loop.run(tasks)
            return outcomes
        finally:
            with self._lock:
                self._callers.discard(loop)
                if self._closed:
                    self._changed.notify_all()
                elif outcomes is not None:
                    self._spare.append(loop)
            self._slots.give(count)

    def _take_loop(self, count: int) -> CallerLoop | None:
        """Return a loop for a caller's tasks, with their slots taken, or None if it has to queue."""
        self._check()
        with self._lock:
            self._check_open()
            if not self._slots.take(count):
                return None
            try:
                loop = self._spare.pop() if self._spare else CallerLoop(self._slots)
            except OSError:  # too many open files: the thread has its own, or reports it
                self._slots.give(count)
                return None
            loop.reserved = count
            self._callers.add(loop)
            return loop

    def _run_in_thread(self, tasks: Tasks) -> list[Outcome]:
        finished = Lock()
        finished.acquire()
        batch = Batch(tasks, lambda _: finished.release())
        try:
            self._submit(batch)
            _wait_for(finished)
        except ClosedError:
            raise
        except BaseException:
            self.cancel(batch)
            for _ in range(MAX_INTERRUPTS if self._thread is not None else 0):
                try:
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
            thread, self._thread = self._thread, None
            callers = list(self._callers)
            self._spare.clear()
        if self._pid != os.getpid():
            return
        for loop in callers:
            loop.close()
        if thread is not None:
            thread.close()
        with self._lock:
            self._changed.wait_for(lambda: not self._callers, CLOSE_WAIT)
        WATCHER.close()

    def _check(self) -> None:
        if self._pid != os.getpid():  # a fork: the thread and its hooks are the parent's
            self._reset()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the engine is closed")

    def _running_thread(self) -> PoolThread:
        self._check()
        with self._lock:
            self._check_open()
            if self._thread is None:
                self._thread = PoolThread(self._slots)
                weakref.finalize(self, self._thread.close)  # on collection, or at exit
            return self._thread


def _wait_for(lock: Lock) -> None:
    while not lock.acquire(timeout=SIGNALS_SEEN_AFTER):
        pass


class PoolThread(PoolLoop):
    """A pool's loop in a thread. Other threads hand it batches through a list and a pipe."""

    def __init__(self, slots: Slots) -> None:
        super().__init__(slots)
        self._inbox: list[Batch] = []
        self._cancelled: list[Batch] = []
        self._wake_sent = False
        self._ended = False
        self._batches: dict[int, Batch] = {}
        self._finished: list[Batch] = []
        self._next_deadline = NEVER
        self._thread = Thread(target=self._serve, name="hookrun-processes", daemon=True)
        slots.wake = self._on_free_slot
        try:
            self._thread.start()
        except RuntimeError:
            self._close_pipe()
            raise

    # --- for other threads

    def submit(self, batch: Batch) -> None:
        """Take a batch. Raises ClosedError."""
        with self._mutex:
            if self._closing:
                raise ClosedError("the engine is closed")
            self._inbox.append(batch)
            if not self._wake_sent:  # else the thread empties the inbox once it has read the byte
                self._wake_up()
                self._wake_sent = True

    def cancel(self, batch: Batch) -> None:
        """End a batch, even if its `submit` was interrupted."""
        with self._mutex:
            if not batch.taken and batch not in self._inbox:
                self._inbox.append(batch)
            self._cancelled.append(batch)
            self._wake_up()

    def close(self) -> None:
        """End everything, and the thread."""
        super().close()
        if current_thread() is not self._thread:
            self._thread.join(CLOSE_WAIT)

    def _on_free_slot(self) -> None:
        with self._mutex:
            self._wake_up()

    # --- in the thread

    def _serve(self) -> None:
        while not self._ended:
            try:
                self._take_in()
                self._drop_late()
                self._slots.claimed = bool(self._waiting)  # before requesting slots: no wake-up may be lost
                self._start_some()
                self._slots.claimed = bool(self._waiting) and not self._retry
                self._report()
                if self._live or not self._closing:
                    self._poll_once()
            except Exception as error:  # a bug of ours: no caller may wait forever
                self._fail(error)
        self._report()

    def _take_in(self) -> None:
        """Take other threads' new batches, and end cancelled ones."""
        with self._mutex:
            new, self._inbox = self._inbox, []
            cancelled, self._cancelled = self._cancelled, []
            self._wake_sent = False
            closing = self._closing
            if closing and not (new or self._live or self._waiting):
                self._close_pipe()
                self._ended = True
                return
        for batch in new:
            batch.taken = True
            if batch.unfinished == 0:
                self._finished.append(batch)
                continue
            both = zip(batch.tasks, batch.outcomes, strict=True)
            entries = [(task, outcome, NEVER) for task, outcome in both if isinstance(task, Task)]
            for task, outcome, _ in entries:
                self._batches[id(outcome)] = batch
                self._next_deadline = min(self._next_deadline, task.deadline)
            self._waiting[:0] = reversed(entries)
        if closing:
            self._cancel("the engine was closed")
        elif cancelled:
            self._cancel("the fire was cancelled", {id(outcome) for batch in cancelled for outcome in batch.outcomes})

    def _take_slot(self) -> bool:
        return self._slots.take(1, claimed=True)

    def _free_slot(self) -> None:
        self._slots.give(1)

    def _others_run(self) -> bool:
        return self._slots.taken > 1

    def _drop_late(self) -> None:
        """Fail tasks whose deadline passed while they were queued."""
        now = monotonic()
        if now < self._next_deadline:
            return
        late = [entry for entry in self._waiting if now >= entry[0].deadline]
        self._waiting = [entry for entry in self._waiting if now < entry[0].deadline]
        self._next_deadline = min((entry[0].deadline for entry in self._waiting), default=NEVER)
        for _, outcome, _ in late:
            outcome.failure = Failure("timeout", "the deadline passed before the hook could start")
            self._on_finished(outcome)

    def _next_wakeup(self, now: float) -> float:
        return min(super()._next_wakeup(now), self._next_deadline)

    def _on_finished(self, outcome: Outcome) -> None:
        batch = self._batches.pop(id(outcome), None)
        if batch is not None:
            batch.unfinished -= 1
            if batch.unfinished == 0:
                self._finished.append(batch)

    def _report(self) -> None:
        finished, self._finished = self._finished, []
        for batch in finished:
            batch.report()

    def _fail(self, error: Exception) -> None:
        """End everything after a bug of ours, and report it to all callers."""
        failure = Failure("spawn", report_bug(error))
        unfinished = dict(self._batches)
        try:
            self._kill_all()
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
