"""The loops that run a pool's hooks: one in a thread of its own, given batches by others, and those of callers."""

from __future__ import annotations

import os
import weakref
from threading import Event, Lock, RLock, Thread, current_thread
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.model import Failure, Outcome
from hookrun.process.child import NEVER, Task
from hookrun.process.loop import Loop

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

    def __init__(self, tasks: Sequence[Task | Failure | None], done: Callable[[list[Outcome]], object]) -> None:
        self.tasks = tasks
        self.outcomes = [Outcome(task if isinstance(task, Failure) else None) for task in tasks]
        self.left = sum(isinstance(task, Task) for task in tasks)
        self.done = done

    def fail(self, failure: Failure) -> None:
        """Note that none of its tasks could be run."""
        for task, outcome in zip(self.tasks, self.outcomes, strict=True):
            if isinstance(task, Task):
                outcome.failure = failure

    def tell(self) -> None:
        """Tell that it is over. What is done about it is not our business, and does not disturb us."""
        try:
            self.done(self.outcomes)
        except Exception:  # whoever wanted to be told sees to its own mistakes
            return


class Places:
    """How many more processes may be started, by all threads. Who waits for one is woken when one is given back."""

    def __init__(self, most: int) -> None:
        self.closed = False
        self.wake: Callable[[], None] | None = None
        self._claimed = False
        self._free = most
        self._most = most
        self._lock = Lock()
        self._terminate: tuple[int, int] | None = None
        self._watchers = 0
        self._idle = Event()

    @property
    def taken(self) -> int:
        """How many there are not, at the moment."""
        return self._most - self._free

    def take(self, count: int, *, waited: bool = False) -> bool:
        """Take so many places at once; False, and none, if there are not so many, or somebody waits."""
        with self._lock:
            if self._free < count or (self._claimed and not waited):
                return False
            if waited:
                self._claimed = False
            self._free -= count
            return True

    def give(self, count: int) -> None:
        """Give places back."""
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
            self._claimed = True
            return True

    def disclaim(self) -> None:
        """Wait for no place any more."""
        self._claimed = False

    def prepare(self) -> None:
        """Make the descriptor that `watch` returns, now rather than later."""
        with self._lock:
            self._open_end()

    def _open_end(self) -> int:
        if self.closed:
            raise ClosedError("the engine is closed")
        if self._terminate is None:
            self._terminate = os.pipe()
        return self._terminate[0]

    def __del__(self) -> None:
        if self._terminate is not None:
            _close_all(self._terminate)

    def watch(self) -> int:
        """Return a descriptor that can be read from when the pool is closed, and that is open until `unwatch`."""
        with self._lock:
            end = self._open_end()
            self._watchers += 1
            return end

    def unwatch(self) -> None:
        """Have no more need of the descriptor."""
        with self._lock:
            self._watchers -= 1
            self._close_end()

    def close(self) -> None:
        """Let those know who run hooks in threads of their own, and wait until they have ended them."""
        with self._lock:
            self.closed = True
            if self._terminate is not None:
                os.write(self._terminate[1], b"\0")
            self._close_end()
        self._idle.wait(CLOSE_WAIT)

    def _close_end(self) -> None:
        if self.closed and self._watchers == 0:
            self._idle.set()
            if self._terminate is not None:
                _close_all(self._terminate)
                self._terminate = None


class Sharing(Loop):
    """A loop whose processes are counted with those of others, and that gives up what it has open in a forked child."""

    def __init__(self, places: Places, wake: int) -> None:
        super().__init__(wake=wake)
        self._places = places
        _LOOPS.add(self)

    def _cancel(self, wanted: Callable[[Outcome], bool], why: str) -> None:
        """End the hooks of the outcomes that are wanted; those that have not begun never do."""
        waiting = [entry for entry in self._waiting if wanted(entry[1])]
        self._waiting = [entry for entry in self._waiting if not wanted(entry[1])]
        for _, outcome, _ in waiting:
            outcome.failure = Failure("signal", f"{why} before it could start")
            self._on_finished(outcome)
        running = [process for process in self._live if wanted(process.outcome) and not process.ending]
        for process in running:
            process.outcome.failure = Failure("signal", why)
        if running:
            self._terminate(running, monotonic())

    def after_fork(self) -> None:
        """In a forked child: close what is the parent's, lest nobody sees its end."""
        for process in self._live:
            process.close_in_fork()
        self._live.clear()
        self._waiting.clear()


_LOOPS: weakref.WeakSet[Sharing] = weakref.WeakSet()


def _after_fork() -> None:
    for loop in list(_LOOPS):
        loop.after_fork()
    _LOOPS.clear()


os.register_at_fork(after_in_child=_after_fork)


class Inline(Sharing):
    """The loop of a caller that waits for its hooks itself, in `count` places that it has taken.

    Something comes at `wake` when the pool is closed: then they have failed.
    """

    def __init__(self, places: Places, count: int, wake: int) -> None:
        self._count = count
        super().__init__(places, wake)

    def _on_wake(self) -> None:
        """The pool is closed."""
        if self._places.closed:
            self._unregister_wake()
            self._cancel(lambda _: True, "the engine was closed")

    def _others(self) -> bool:
        return bool(self._live) or self._places.taken > self._count


class Service(Sharing):
    """The loop of a pool in a thread of its own, given batches by others through a list and a pipe."""

    def __init__(self, places: Places) -> None:
        self._read_end, self._write_end = os.pipe()
        for end in (self._read_end, self._write_end):
            os.set_blocking(end, False)
        super().__init__(places, self._read_end)
        self._inbox: list[Batch] = []
        self._woken = False
        self._cancelled: list[Batch] = []
        self._batches: dict[int, Batch] = {}
        self._finished: list[Batch] = []
        self._soonest = NEVER
        self._closing = False
        self._ended = False
        self._mutex = RLock()  # a collection of garbage may close us while we hold it
        self._thread = Thread(target=self._serve, name="hookrun-processes", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._close_ends()
            raise
        places.prepare()

    # --- for other threads

    def submit(self, batch: Batch) -> None:
        """Take a batch. Raises ClosedError."""
        with self._mutex:
            if self._closing:
                raise ClosedError("the engine is closed")
            self._inbox.append(batch)
            if not self._woken:  # else a byte is on its way, and the inbox is emptied after that is read
                self._wake_up()
                self._woken = True

    def cancel(self, batch: Batch) -> None:
        """End a batch."""
        with self._mutex:
            self._cancelled.append(batch)
            self._wake_up()

    def close(self) -> None:
        """End everything, and the thread."""
        with self._mutex:
            self._closing = True
            self._wake_up()
        if current_thread() is not self._thread:
            self._thread.join(CLOSE_WAIT)

    def _wake_up(self) -> None:
        """Write a byte for the thread. With the mutex held."""
        if self._write_end >= 0:
            try:
                os.write(self._write_end, b"\0")
            except BlockingIOError:  # there are enough
                return

    def _place_is_free(self) -> None:
        with self._mutex:
            self._wake_up()

    # --- in the thread

    def _serve(self) -> None:
        while not self._ended:
            try:
                self._take_in()
                self._drop_late()
                self._start_some()
                self._tell()
                if not self._waiting:
                    self._places.disclaim()
                if self._has_to_wait():
                    self._poll_once()
            except Exception as error:  # a mistake of ours: nobody may wait for ever
                self._fail(error)
        self._tell()

    def _has_to_wait(self) -> bool:
        """Tell whether there is nothing to be done until something happens."""
        if self._closing and not self._live:
            return False
        return not self._waiting or self._retry or self._places.wait(self._place_is_free)

    def _take_in(self) -> None:
        """Take what other threads have given: new batches, and those that are to be ended."""
        with self._mutex:
            new, self._inbox = self._inbox, []
            self._woken = False
            cancelled, self._cancelled = self._cancelled, []
            closing = self._closing
            if closing and not (new or self._live or self._waiting):
                self._close_ends()
                self._ended = True
                return
        for batch in new:
            if batch.left == 0:
                self._finished.append(batch)
                continue
            both = zip(batch.tasks, batch.outcomes, strict=True)
            entries = [(task, outcome, NEVER) for task, outcome in both if isinstance(task, Task)]
            for task, outcome, _ in entries:
                self._batches[id(outcome)] = batch
                self._soonest = min(self._soonest, task.deadline)
            self._waiting[:0] = reversed(entries)
        if closing:
            self._cancel(lambda _: True, "the engine was closed")
        elif cancelled:
            wanted = {id(outcome) for batch in cancelled for outcome in batch.outcomes}
            self._cancel(lambda outcome: id(outcome) in wanted, "the fire was cancelled")

    def _drop_late(self) -> None:
        """Fail those whose deadline has passed while they waited for a place."""
        now = monotonic()
        if now < self._soonest:
            return
        late = [entry for entry in self._waiting if now >= entry[0].deadline]
        self._waiting = [entry for entry in self._waiting if now < entry[0].deadline]
        self._soonest = min((entry[0].deadline for entry in self._waiting), default=NEVER)
        for _, outcome, _ in late:
            outcome.failure = Failure("timeout", "the fire's deadline had passed before it could start")
            self._on_finished(outcome)

    def _next_wakeup(self, now: float) -> float:
        return min(super()._next_wakeup(now), self._soonest)

    def _on_wake(self) -> None:
        """What comes through the pipe is no signal but word that there is something to take in."""
        try:
            os.read(self._read_end, READ_AT_ONCE)
        except BlockingIOError:
            return

    def _take_place(self) -> bool:
        return self._places.take(1, waited=True)

    def _give_place(self) -> None:
        self._places.give(1)

    def _others(self) -> bool:
        return self._places.taken > 1

    def _on_finished(self, outcome: Outcome) -> None:
        batch = self._batches.pop(id(outcome), None)
        if batch is not None:
            batch.left -= 1
            if batch.left == 0:
                self._finished.append(batch)

    def _tell(self) -> None:
        """Tell those whose hooks are all over."""
        finished, self._finished = self._finished, []
        for batch in finished:
            batch.tell()

    def _fail(self, error: Exception) -> None:
        """A mistake of ours: end everything, and tell everybody that waits."""
        failure = Failure("spawn", f"internal error, please report it: {type(error).__name__}: {error}")
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

    def after_fork(self) -> None:
        """In a forked child: close what is the parent's."""
        super().after_fork()
        self._close_ends()

    def _close_ends(self) -> None:
        """Close the pipe; the numbers are forgotten before: they may be somebody else's from then on."""
        ends = (self._read_end, self._write_end)
        self._read_end = self._write_end = -1
        _close_all(ends)


def _close_all(descriptors: Sequence[int]) -> None:
    for fd in descriptors:
        if fd >= 0:
            try:
                os.close(fd)
            except OSError:
                continue
