"""The poll loops of a pool (pool.py): one in each thread that waits for its own hooks, one in a thread for the rest."""

from __future__ import annotations

import os
import weakref
from threading import Lock, RLock, Thread, get_ident
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.core.model import Failure, Outcome
from hookrun.core.state import report_bug
from hookrun.core.text import HookrunError
from hookrun.process.child import NEVER, WATCHER, Task, close
from hookrun.process.loop import Loop
from hookrun.process.runner import inheritable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrun.process.child import Process

    Tasks = Sequence[Task | Failure | None]

READ_SIZE = 4096
# Seconds between looks for a signal in a waiting thread: one just before it blocks does not wake it.
SIGNALS_SEEN_AFTER = 0.5
# Seconds to wait for a loop's end: longer than killing all hooks takes.
CLOSE_WAIT = 5.0


class ClosedError(HookrunError, RuntimeError):
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


class Room:
    """The loops of a pool, and how many processes they may run together. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.lock = RLock()  # garbage collection may close us meanwhile
        self.loops: weakref.WeakSet[PoolLoop] = weakref.WeakSet()
        self.thread: PoolThread | None = None
        self.holder: object = None
        self.held = 0

    def take(self, holder: object, count: int) -> bool:
        """Hold room for the processes of a caller who runs them itself, if nothing else runs or waits."""
        with self.lock:
            if self.holder is not None or count > self.limit or (self.thread is not None and self.thread.busy):
                return False
            self.holder, self.held = holder, count
            return True

    def keep(self, count: int) -> None:
        """Hold room for so many of them only: the thread may have the rest."""
        with self.lock:
            self.held = count
            if self.thread is not None and self.thread.busy:
                self.thread.wake_up()

    def give_back(self, holder: object) -> None:
        """Hold nothing for a caller any more, wherever it was interrupted."""
        if self.holder is holder:
            self.keep(0)
            self.holder = None

    def close(self) -> None:
        """End every loop, and all that they run."""
        loops = list(self.loops)
        for loop in loops:
            loop.close()
        for loop in loops:
            loop.join()


class PoolLoop(Loop):
    """A pool's loop, for a caller that waits for its hooks. Others wake it through a pipe; forks leave it alone."""

    longest_wait = SIGNALS_SEEN_AFTER
    _read_end = _write_end = -1

    def __init__(self, room: Room) -> None:
        self._read_end, self._write_end = os.pipe()
        for end in (self._read_end, self._write_end):
            os.set_blocking(end, False)
        super().__init__(wake=self._read_end, limit=room.limit)
        self._room = room
        self._serves = Lock()  # held while a thread runs the loop: `_server`
        self._server = 0
        self._mutex = room.lock
        self._closing = False
        room.loops.add(self)
        _LOOPS.add(self)

    # --- for other threads

    def close(self) -> None:
        """End everything; `join` waits until it has ended."""
        with self._mutex:
            self._closing = True
            if self._server:
                self.wake_up()
            else:
                self._close_pipe()

    def join(self) -> None:
        """Wait until no thread runs the loop, for CLOSE_WAIT at most, and not in that thread itself."""
        if self._server not in (0, get_ident()) and self._serves.acquire(timeout=CLOSE_WAIT):
            self._serves.release()

    def wake_up(self) -> None:
        """Have the loop look for what is new."""
        with self._mutex:
            if self._write_end >= 0:
                try:
                    os.write(self._write_end, b"\0")
                except BlockingIOError:  # the pipe is full of wake-ups
                    return

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
        self._mutex, self._serves, self._server = RLock(), Lock(), 0  # who held them is not in the child
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

    # --- in its thread

    def run_here(self, tasks: Tasks, meanwhile: Callable[[], object] | None = None) -> list[Outcome] | None:
        """Run the tasks side by side and return their outcomes; None if something else runs or waits.

        `meanwhile`, which raises nothing, may be called while they run. Whatever is raised, none is left running.
        Raises ClosedError.
        """
        with self._serves:
            try:
                with self._mutex:
                    if self._closing:
                        raise ClosedError("the engine is closed")
                    self._server = get_ident()
                self._meanwhile = [(0.0, meanwhile)] if meanwhile is not None else []
                return self.run(tasks)
            finally:
                with self._mutex:
                    self._server = 0
                    if self._closing:
                        self._close_pipe()
                self._meanwhile.clear()  # it may know the pool, which must not know it when it is forgotten

    def _next_wakeup(self, now: float) -> float:
        return min(super()._next_wakeup(now), now + self.longest_wait)

    def _finish(self, process: Process) -> None:
        super()._finish(process)
        self._free_room()

    def _free_room(self) -> None:
        """Leave the room of what has ended to others."""
        self._room.keep(len(self._live) + len(self._waiting))

    def _others_run(self) -> bool:
        return self._room.thread is not None and self._room.thread.busy

    def _on_wake(self) -> None:
        """Empty the pipe: its bytes are wake-ups, not signals."""
        try:
            os.read(self._read_end, READ_SIZE)
        except BlockingIOError:
            return
        if self._closing:
            self._cancel("the engine was closed")

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

    def _start_one(self, process: Process, give_up: float, locked: list[tuple[Task, Outcome, float]]) -> None:
        with _STARTING:
            super()._start_one(process, give_up, locked)


class PoolThread(PoolLoop):
    """A pool's loop in a thread of its own. Other threads hand it batches through a list."""

    longest_wait = NEVER

    def __init__(self, room: Room) -> None:
        super().__init__(room)
        self.busy = False
        self._inbox: list[Batch] = []
        self._cancelled: list[Batch] = []
        self._wake_sent = False
        self._ended = False
        self._batches: dict[int, Batch] = {}
        self._finished: list[Batch] = []
        self._next_deadline = NEVER
        self._serves.acquire()
        self._server = -1  # not known yet
        self._thread = Thread(target=self._serve, name="hookrun-processes", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._close_pipe()
            raise
        room.thread = self

    def submit(self, batch: Batch) -> None:
        """Take a batch. Raises ClosedError."""
        with self._mutex:
            if self._closing:
                raise ClosedError("the engine is closed")
            self._inbox.append(batch)
            self.busy = True
            if not self._wake_sent:  # else the thread empties the inbox once it has read the byte
                self.wake_up()
                self._wake_sent = True

    def cancel(self, batch: Batch) -> bool:
        """End a batch, even if its `submit` was interrupted; return False if the thread has ended."""
        with self._mutex:
            if self._ended:
                return False
            if not batch.taken and batch not in self._inbox:
                self._inbox.append(batch)
            self._cancelled.append(batch)
            self.wake_up()
            return True

    # --- in the thread

    def _serve(self) -> None:
        self._server = get_ident()
        while not self._ended:
            try:
                self._take_in()
                self._drop_late()
                self._start_some()
                if not self._live:
                    self._rest()
                self._report()
                if self._live or not self._closing:
                    self._poll_once()
            except Exception as error:  # a bug of ours: no caller may wait forever
                self._fail(error)
        self._report()
        self._server = 0
        self._serves.release()

    def _rest(self) -> None:
        """Let callers run their hooks themselves if nothing waits."""
        with self._mutex:
            self.busy = bool(self._inbox or self._waiting)

    def _has_room(self) -> bool:
        return len(self._live) + self._room.held < self._room.limit

    def _free_room(self) -> None:
        """It is the thread's own."""

    def _others_run(self) -> bool:
        return self._room.held > 0

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


_LOOPS: weakref.WeakSet[PoolLoop] = weakref.WeakSet()
# Held while a process starts; forks of the host wait. A child forked meanwhile would hold unrecorded pipes: a hook
# would not see its stdin end, and `subprocess` would wait for the child.
_STARTING = RLock()


def _after_fork() -> None:
    _STARTING.release()
    for loop in list(_LOOPS):
        loop.after_fork()
    _LOOPS.clear()
    WATCHER.forget()


WATCHER.closed = inheritable
os.register_at_fork(before=_STARTING.acquire, after_in_parent=_STARTING.release, after_in_child=_after_fork)
