"""Run the hooks of many fires in a long-lived process: one thread, one poll loop, one limit."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from threading import Lock, RLock, Thread, current_thread
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.core.model import Failure, Outcome
from hookrun.core.state import report_bug
from hookrun.core.text import HookrunError
from hookrun.process.child import NEVER, WATCHER, Task, close
from hookrun.process.loop import MAX_INTERRUPTS, MAX_PROCESSES, Loop
from hookrun.process.runner import inheritable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrun.process.child import Process

    Tasks = Sequence[Task | Failure | None]

READ_SIZE = 4096
# Seconds between looks for a signal in a waiting thread: one just before it blocks does not wake it.
SIGNALS_SEEN_AFTER = 0.5
# Seconds to wait for the thread on close: longer than killing all hooks takes.
CLOSE_WAIT = 5.0


class ClosedError(HookrunError, RuntimeError):
    """The pool, or the engine that owns it, was closed."""


class Batch:
    """Hooks submitted together. `done` is called once, with their outcomes in order, when all have ended."""

    def __init__(self, tasks: Tasks, done: Callable[[list[Outcome]], object]) -> None:
        self.tasks = tasks
        self.outcomes = [Outcome(task if isinstance(task, Failure) else None) for task in tasks]
        self.unfinished = sum(isinstance(task, Task) for task in tasks)
        self.taken = self.reported = False
        self.done = done

    def fail(self, failure: Failure) -> None:
        """Report that none of its tasks could be run."""
        for task, outcome in zip(self.tasks, self.outcomes, strict=True):
            if isinstance(task, Task):
                outcome.failure = failure
        self.report()

    def report(self) -> None:
        """Call `done`; its exceptions must not disturb the other batches."""
        self.reported = True
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
        self._thread: PoolThread | None = None

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
        thread = self._thread
        return thread is not None and thread.cancel(batch)

    def run(self, tasks: Tasks) -> list[Outcome]:
        """Run the tasks side by side, wait for them and return their outcomes. Raises ClosedError.

        An exception meanwhile (KeyboardInterrupt) leaves none of them running.
        """
        finished = Lock()  # an event has a condition, a lock and a queue besides
        finished.acquire()
        batch = Batch(tasks, lambda _: finished.release())
        if not batch.unfinished and not self._closed:
            return batch.outcomes
        try:
            self._submit(batch)
            _wait_for(batch, finished)
        except ClosedError:
            raise
        except BaseException:
            for _ in range(MAX_INTERRUPTS):
                try:
                    if self.cancel(batch):
                        _wait_for(batch, finished)
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
        if self._thread is not None:
            self._thread.close()
        WATCHER.close()

    def _running_thread(self) -> PoolThread:
        if self._pid != os.getpid():  # a fork: the thread and its hooks are the parent's
            self._reset()
        with self._lock:
            if self._closed:
                raise ClosedError("the engine is closed")
            if self._thread is None:
                self._thread = PoolThread(self._limit)
                weakref.finalize(self, self._thread.close)  # on collection, or at exit
            return self._thread


def _wait_for(batch: Batch, finished: Lock) -> None:
    """Wait for the end of a batch, also if an interrupt came just after the lock was had."""
    while not finished.acquire(timeout=SIGNALS_SEEN_AFTER) and not batch.reported:
        pass


class PoolThread(Loop):
    """A pool's loop in a thread. Other threads hand it batches through a list and a pipe; forks leave it alone."""

    _read_end = _write_end = -1

    def __init__(self, limit: int) -> None:
        self._read_end, self._write_end = os.pipe()
        for end in (self._read_end, self._write_end):
            os.set_blocking(end, False)
        super().__init__(wake=self._read_end, limit=limit)
        self._mutex = RLock()  # garbage collection may close us meanwhile
        self._inbox: list[Batch] = []
        self._cancelled: list[Batch] = []
        self._has_more = self._wake_sent = False
        self._closing = False
        self._ended = False
        self._batches: dict[int, Batch] = {}
        self._finished: list[Batch] = []
        self._next_deadline = NEVER
        self._thread = Thread(target=self._serve, name="hookrun-processes", daemon=True)
        _THREADS.add(self)
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
            self._wake_up()

    def cancel(self, batch: Batch) -> bool:
        """End a batch, even if its `submit` was interrupted; return False if the thread has ended."""
        with self._mutex:
            if self._ended:
                return False
            if not batch.taken and batch not in self._inbox:
                self._inbox.append(batch)
            self._cancelled.append(batch)
            self._wake_up()
            return True

    def close(self) -> None:
        """End everything, and the thread."""
        with self._mutex:
            self._closing = True
            self._wake_up()
        if current_thread() is not self._thread:
            self._thread.join(CLOSE_WAIT)

    def _wake_up(self) -> None:
        """Have the thread take in what has come, with the mutex held."""
        self._has_more = True  # first: the thread may run as soon as the byte is there
        if self._write_end >= 0 and not self._wake_sent:  # else it has a byte to read, and takes in all after that
            with suppress(BlockingIOError):  # the pipe is full of wake-ups
                os.write(self._write_end, b"\0")
            self._wake_sent = True

    def after_fork(self) -> None:
        """Close the parent's descriptors in a forked child: a hook must see the end of its stdin."""
        for process in self._live:
            for fd in (process.inp, process.out, process.err, process.pidfd, process.lock_fd):
                try:
                    close(fd)
                except OSError:  # about to be closed, or not yet open
                    continue
        self._live.clear()
        self._waiting.clear()
        self._close_pipe()

    def _close_pipe(self) -> None:
        """Close the pipe. Its numbers are cleared first: then they may belong to other files."""
        ends = (self._read_end, self._write_end)
        self._read_end = self._write_end = -1
        for fd in ends:
            try:
                os.close(fd)
            except OSError:
                continue

    __del__ = _close_pipe

    # --- in the thread

    def _serve(self) -> None:
        while not self._ended:
            try:
                self._take_in()
                self._drop_late()
                self._start_some()
                self._report()
                if self._live or not self._closing:
                    self._poll_once()
            except Exception as error:  # a bug of ours: no caller may wait forever
                self._fail(error)
        self._report()

    def _take_in(self) -> None:
        """Take other threads' new batches, and end cancelled ones."""
        if not (self._has_more or self._closing):
            return
        with self._mutex:
            new, self._inbox = self._inbox, []
            cancelled, self._cancelled = self._cancelled, []
            self._has_more = self._wake_sent = False
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

    def _cancel(self, why: str, only: set[int] | None = None) -> None:
        """End the hooks, or those with these outcomes (by id); queued ones never start."""

        def is_meant(outcome: Outcome) -> bool:
            return only is None or id(outcome) in only

        waiting = [entry for entry in self._waiting if is_meant(entry[1])]
        self._waiting = [entry for entry in self._waiting if not is_meant(entry[1])]
        for _, outcome, _ in waiting:
            outcome.failure = Failure("signal", f"{why} before it could start")
            self._on_finished(outcome)
        running = [process for process in self._live if is_meant(process.outcome) and not process.ending]
        for process in running:
            process.outcome.failure = Failure("signal", why)
        if running:
            self._terminate(running, monotonic())

    def _on_wake(self) -> None:
        """Empty the pipe: its bytes are wake-ups, not signals."""
        try:
            os.read(self._read_end, READ_SIZE)
        except BlockingIOError:
            return

    def _start_one(self, process: Process, give_up: float, locked: list[tuple[Task, Outcome, float]]) -> None:
        with _STARTING:
            super()._start_one(process, give_up, locked)

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


_THREADS: weakref.WeakSet[PoolThread] = weakref.WeakSet()
# Held while a process starts; forks of the host wait. A child forked meanwhile would hold unrecorded pipes: a hook
# would not see its stdin end, and `subprocess` would wait for the child.
_STARTING = RLock()


def _after_fork() -> None:
    _STARTING.release()
    for thread in list(_THREADS):
        thread.after_fork()
    _THREADS.clear()
    WATCHER.forget()


WATCHER.closed = inheritable
os.register_at_fork(before=_STARTING.acquire, after_in_parent=_STARTING.release, after_in_child=_after_fork)
