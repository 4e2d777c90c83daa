"""Run blocking functions in daemon threads, and coroutines in the engine's own loop.

Not by `concurrent.futures`: its threads are joined at exit, so a hanging handler would hang the program.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from contextvars import ContextVar, copy_context
from threading import Lock, Thread, current_thread, local
from time import monotonic
from typing import TYPE_CHECKING, Any

from hookrun.library.event_contexts import close_unstarted
from hookrun.process.pool import ClosedError

if TYPE_CHECKING:
    import asyncio
    from contextvars import Context as Variables

    from hookrun.library.awaiting import Work

# Seconds to wait for a cancelled handler, longer than it may take.
ENDING = 3.0

# Limit on abandoned threads that are replaced.
MOST_LEFT = 1000


class Job:
    """A function to call in a thread, and its result in `done`.

    `begun`: a thread has taken it; `left`: it is abandoned.
    """

    def __init__(self, function: Callable[[], object]) -> None:
        self.function = function
        self.done: Future[Any] = Future()
        self.done.set_running_or_notify_cancel()  # a task that stops waiting does not cancel it
        self.begun = self.left = False


class DaemonThreadPool:
    """At most `most` threads, not counting abandoned ones; more work waits. A thread ends when no work is left."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._jobs: deque[Job] = deque()
        self._lock = Lock()
        self._threads: set[Thread] = set()
        self._left = 0

    def submit(self, function: Callable[[], object]) -> Job:
        """Call the function in a thread as soon as one is free."""
        if self._pid != os.getpid():  # a fork: the threads are the parent's
            self._reset()
        job = Job(function)
        with self._lock:
            self._jobs.append(job)
            within = current_thread() in self._threads  # it may wait for its submission, which gets a new thread
            self._start(force=within)
        return job

    def abandon(self, job: Job) -> None:
        """Stop waiting for a job: if not begun it never runs, else its thread no longer counts.

        A finished job may be abandoned, too.
        """
        if job.done.done() or self._pid != os.getpid():
            return
        with self._lock:
            if not (job.left or job.done.done()):
                job.left = True
                self._left += job.begun
                self._start()

    def _start(self, *, force: bool = False) -> None:
        """Start a thread for queued work if the limit allows."""
        if force or (self._jobs and len(self._threads) < self._most + min(self._left, MOST_LEFT)):
            thread = Thread(target=self._work, name="hookrun-worker", daemon=True)
            thread.start()
            self._threads.add(thread)

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                settle(job.done, job.function)
            finally:
                with self._lock:
                    self._left -= job.left

    def _next(self) -> Job | None:
        """Return the next job for this thread, None if it is to end."""
        with self._lock:
            while self._jobs:
                job = self._jobs.popleft()
                job.begun = not job.left
                if job.begun:
                    return job
            self._threads.discard(current_thread())
            return None

    def close(self, wait: float) -> int:
        """Wait until the threads have ended; return how many have not after `wait` seconds, and cannot be ended.

        A calling pool thread ends after its current job, and is not counted.
        """
        if self._pid != os.getpid():
            return 0
        with self._lock:
            others = [thread for thread in self._threads if thread is not current_thread()]
        until = monotonic() + wait
        for thread in others:
            thread.join(max(0.0, until - monotonic()))
        return sum(thread.is_alive() for thread in others)


# Loops whose threads wait for the current code: waiting for one here would deadlock.
BLOCKED: ContextVar[tuple[LoopThread, ...]] = ContextVar("hookrun_blocked", default=())
# In the thread of a loop: `by`, a reference to it.
SERVED = local()


class LoopThread:
    """An event loop in a thread, started on first use, for async handlers of a program without a loop."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._pid = os.getpid()
        self._closed = False

    def is_waited_for_here(self) -> bool:
        """Return whether waiting for the loop here would deadlock."""
        return _served() is self or self in BLOCKED.get()

    def check(self) -> None:
        """Raise RuntimeError if waiting for the loop here would deadlock."""
        if self.is_waited_for_here():
            raise RuntimeError("fire_sync in an async handler that fire_sync has called: use `await engine.fire(...)`")

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the loop to its end. Raises ClosedError if the engine is closed meanwhile."""
        work = self.start(coroutine)
        try:
            work.wait()
        except BaseException:
            work.cancel()
            wait([work.done], ENDING)
            raise

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> Work:
        """Run a coroutine in the loop with the caller's context variables, for a caller that waits."""
        try:
            self.check()
            variables = copy_context()
            served = _served()
            if served is not None:
                variables.run(BLOCKED.set, (*BLOCKED.get(), served))
            return self.submit(coroutine, variables)
        except BaseException:
            close_unstarted(coroutine)
            raise

    def submit(self, coroutine: Coroutine[Any, Any, Any], variables: Variables) -> Work:
        """Run a coroutine in the loop, with these context variables. Raises ClosedError."""
        import asyncio  # here and below: only for programs with async handlers

        from hookrun.library.awaiting import Work

        with self._lock:
            if self._closed:
                raise ClosedError("the engine is closed")
            if self._loop is None or self._pid != os.getpid():
                self._pid = os.getpid()
                self._loop = asyncio.new_event_loop()
                serving = (self._loop, weakref.ref(self))
                self._thread = Thread(target=_serve, args=serving, name="hookrun-handlers", daemon=True)
                self._thread.start()
                weakref.finalize(self, _stop, self._loop)  # after collection without closing
            return Work(self._loop, coroutine, variables)

    def close(self, seconds: float) -> None:
        """End the loop and what runs in it."""
        with self._lock:
            self._closed = True
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is None or thread is None or self._pid != os.getpid():
            return
        import asyncio

        from hookrun.library.awaiting import end_all

        ending = asyncio.run_coroutine_threadsafe(end_all(), loop)
        if thread is current_thread():
            ending.add_done_callback(lambda _: _stop(loop))
            return
        try:
            ending.result(seconds)
        except TimeoutError:  # blocked by a call: the thread dies with the program
            return
        _stop(loop)
        thread.join(seconds)


def _served() -> LoopThread | None:
    owner: weakref.ref[LoopThread] | None = getattr(SERVED, "by", None)
    return owner() if owner is not None else None


def _serve(loop: asyncio.AbstractEventLoop, owner: weakref.ref[LoopThread]) -> None:
    SERVED.by = owner
    loop.run_forever()
    loop.close()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)


def settle(future: Future[Any], function: Callable[[], object]) -> None:
    """Call the function and pass its result or exception to the future."""
    try:
        result = function()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
