"""Poll loops that share a process limit; other threads can wake and close them, forks leave them alone."""

from __future__ import annotations

import os
import weakref
from threading import Lock, RLock
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.model import Failure
from hookrun.process.child import WATCHER, close
from hookrun.process.loop import Loop
from hookrun.process.runner import inheritable

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.model import Outcome
    from hookrun.process.child import Process, Task

READ_SIZE = 4096
# Seconds between looks for a signal in a waiting thread: one just before it blocks does not wake it.
SIGNALS_SEEN_AFTER = 0.5


class Slots:
    """The processes that the loops of a pool may still start.

    While batches are queued, the pool's thread sets `claimed`: callers find no free slot; `wake` wakes the thread.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.free = limit
        self.claimed = False
        self.wake: Callable[[], None] | None = None
        self._lock = Lock()

    @property
    def taken(self) -> int:
        """Number of processes running or about to start."""
        return self.limit - self.free

    def take(self, count: int, *, claimed: bool = False) -> bool:
        """Take `count` slots and return True, or none if they are not free."""
        with self._lock:
            # A queued batch gets the next slot, even if a caller asks first.
            if self.free < count or (self.claimed and not claimed):
                return False
            self.free -= count
            return True

    def give(self, count: int) -> None:
        """Return slots."""
        with self._lock:
            self.free += count
        if self.claimed and self.wake is not None:
            self.wake()


class PoolLoop(Loop):
    """A loop that shares its limit, and that other threads can wake and close."""

    _read_end = _write_end = -1

    def __init__(self, slots: Slots) -> None:
        self._read_end, self._write_end = os.pipe()
        for end in (self._read_end, self._write_end):
            os.set_blocking(end, False)
        super().__init__(wake=self._read_end)
        self._slots = slots
        self._mutex = RLock()  # garbage collection may close us meanwhile
        self._closing = False
        _LOOPS.add(self)

    def close(self) -> None:
        """End all running hooks."""
        with self._mutex:
            self._closing = True
            self._wake_up()

    def _wake_up(self) -> None:
        """Write a byte for the thread of the loop, with the mutex held."""
        if self._write_end >= 0:
            try:
                os.write(self._write_end, b"\0")
            except BlockingIOError:  # the pipe is full of wake-ups
                return

    def _on_wake(self) -> None:
        """Empty the pipe: its bytes are wake-ups, not signals."""
        try:
            os.read(self._read_end, READ_SIZE)
        except BlockingIOError:
            return

    def _start_one(self, process: Process, give_up: float, locked: list[tuple[Task, Outcome, float]]) -> None:
        with _STARTING:
            super()._start_one(process, give_up, locked)

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


class CallerLoop(PoolLoop):
    """The loop of a caller that waits for its hooks itself, in slots `reserved` for them."""

    reserved = 0

    def _on_wake(self) -> None:
        super()._on_wake()
        if self._closing:
            self._cancel("the engine was closed")

    def _next_wakeup(self, now: float) -> float:
        return min(super()._next_wakeup(now), now + SIGNALS_SEEN_AFTER)

    def _others_run(self) -> bool:
        return bool(self._live) or self._slots.taken > self.reserved
