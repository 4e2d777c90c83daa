"""State shared by the fires of an engine: pools, threads, settings, audit log, decisions, and background work."""

from __future__ import annotations

import contextvars
import copy
import inspect
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future, wait as wait_for
from contextlib import suppress
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Self

from hookrun.core import audit
from hookrun.core.model import Failure
from hookrun.core.state import DATA_DIR, STATE_DIR, YOUNG, home_directory, identity_of, now_ns
from hookrun.core.text import describe_exception
from hookrun.library.calls import close_awaitable
from hookrun.library.event_contexts import close_unstarted
from hookrun.library.threads import DaemonThreadPool, LoopThread, settle
from hookrun.process.pool import ClosedError, Pool
from hookrun.trust import store as stores
from hookrun.trust.store import Store

if TYPE_CHECKING:
    from hookrun.library.awaiting import Work

OnFailed = Callable[[Failure], Coroutine[Any, Any, None] | None]

LOG = logging.getLogger("hookrun")
# Trackers of the background work that runs the current code: waiting for them would deadlock.
WITHIN: contextvars.ContextVar[tuple[Background, ...]] = contextvars.ContextVar("hookrun_within_background", default=())


class TrustStoreCache:
    """The store as last read. Thread-safe."""

    def __init__(self) -> None:
        self._cached: tuple[tuple[object, ...], Store] | None = None

    def load(self, home: str, owners: Iterable[int] = ()) -> Store:
        """Return the decisions, as `store.load` does. Raises StoreError."""
        owners = tuple(owners)
        where = home + DATA_DIR
        found: list[os.stat_result] = []
        with suppress(OSError):  # that there is no file is a state of its directory
            found.append(os.lstat(where))
            found.append(os.lstat(f"{where}/{stores.NAME}"))
        if not found:
            return stores.load(home, owners)
        current = (home, owners, *((each.st_mode, each.st_uid, *identity_of(each)) for each in found))
        cached = self._cached
        if cached is not None and cached[0] == current:
            return cached[1]
        store = stores.load(home, owners)
        # Two states of a young file may have the same times; that there is none, each look shows.
        is_nothing = len(found) == 1 and not store.approved and not store.disabled
        if is_nothing or now_ns() - max(each.st_ctime_ns for each in found) > YOUNG:
            self._cached = current, store
        return store


# Seconds for cancelled work to end when the engine is closed.
CLOSE_WAIT = 3.0
# Handlers with `thread=True` at once; more are queued.
MOST_THREADS = 64


class EngineState:
    """`directory` is the agent's working directory if a context has none, `project` the hooks' root.

    `home` is the account's, None for an engine without config files, which writes nothing. `trusted`: the program
    vouches for a project's hooks. `unread` are the layers of files that cannot be read: their hooks are unknown.
    """

    def __init__(self, directory: str, *, max_processes: int) -> None:
        self.directory = directory
        self.project = directory
        self.home: str | None = None
        self.settings: Mapping[str, object] = {}
        self.journal: audit.Log | None = None
        self.trusted = False
        self.problems: list[str] = []
        self.unread: list[str] = []
        self.decisions = TrustStoreCache()
        self._max_processes = max_processes
        self.make_pools()

    def make_pools(self) -> None:
        """Begin with new pools and threads."""
        self.pool = Pool(self._max_processes)
        self.background_pool = Pool(self._max_processes)  # separate: background hooks must not delay others
        self.workers = DaemonThreadPool(MOST_THREADS)
        self.loop_thread = LoopThread()
        self.background = Background(self.loop_thread)

    def reopened(self) -> Self:
        """Return the same state with pools and threads of its own, for an engine that was closed."""
        state = copy.copy(self)
        state.make_pools()
        state.take_settings(self.settings)
        return state

    def take_settings(self, settings: Mapping[str, object]) -> None:
        """Use these settings from now on."""
        self.settings = settings
        setting = settings.get("audit")
        self.journal = None if self.home is None or setting is False else audit.Log(self.home, setting, stay_open=True)

    async def close(self, wait: float, *, sync: bool) -> None:
        """Wait up to `wait` seconds for background work, then end everything; with `sync` no loop is needed."""
        background = self.background
        here = background.may_be_waited_for()
        try:
            if wait > 0 and here:
                await background.wait(wait, sync=sync)
        finally:
            background.close()
            background.cancel()
            try:
                if here or not sync:
                    await background.wait(CLOSE_WAIT, tasks_only=True, sync=sync)
            finally:
                if sync:
                    self._end()
                else:
                    import asyncio  # here and below: not for programs without a loop

                    await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self.pool.close()
        self.background_pool.close()
        self.loop_thread.close(CLOSE_WAIT)
        stuck = self.workers.close(CLOSE_WAIT)
        if stuck:
            LOG.warning("%d handlers did not end: their threads were abandoned", stuck)
        for name in self.background.names():
            LOG.warning("background work did not end: %s", name)
        if self.journal is not None:
            self.journal.close()

    def locks_directory(self) -> str:
        """Return the directory of the locks of exclusive hooks."""
        return (self.home or home_directory()) + STATE_DIR + "/locks"


class Background:
    """All background work of an engine."""

    def __init__(self, loop_thread: LoopThread) -> None:
        self._loop_thread = loop_thread
        self._closed = False
        self._pid = os.getpid()
        self._running: dict[Future[Any], tuple[str, Work | None]] = {}

    def start(
        self,
        owner: str,
        failed: OnFailed,
        work: Coroutine[Any, Any, object] | Callable[[], object],
        name: str | None = None,
    ) -> None:
        """Start the hook `owner`'s work; `failed` is called if it raises, and may return an awaitable.

        A coroutine runs in the engine's loop, independent of the firing one; a function gets a thread. Raises
        ClosedError.
        """
        label = f"{owner}: {name or getattr(work, '__qualname__', 'background work')}"
        if callable(work) and inspect.iscoroutinefunction(work):
            work = work()
        if self._closed:
            if isinstance(work, Coroutine):
                work.close()
            raise ClosedError(f"the engine is closed and starts no background work ({label})")
        within = WITHIN.set((*WITHIN.get(), self) if self not in WITHIN.get() else WITHIN.get())
        try:
            if isinstance(work, Coroutine):
                self._start_task(work, label, failed)
                return
            future: Future[Any] = Future()
            self._track(future, label, None, failed)
            run = (settle, future, lambda: _plain(work()))
            Thread(target=contextvars.copy_context().run, args=run, name="hookrun-background", daemon=True).start()
        finally:
            WITHIN.reset(within)

    def _start_task(self, coroutine: Coroutine[Any, Any, object], label: str, failed: OnFailed | None) -> None:
        try:
            task = self._loop_thread.submit(coroutine, contextvars.copy_context())
        except ClosedError:
            close_unstarted(coroutine)
            raise
        self._track(task.done, label, task, failed)

    def _track(self, future: Future[Any], label: str, task: Work | None, failed: OnFailed | None) -> None:
        self._ours()[future] = label, task
        future.add_done_callback(lambda future: self._over(future, failed))

    def _over(self, future: Future[Any], failed: OnFailed | None) -> None:
        label = self._running.get(future, ("background work", None))[0]
        error = future.exception()
        if error is not None:
            self._failed(label, error, failed)
        self._running.pop(future, None)

    def _failed(self, label: str, error: BaseException, failed: OnFailed | None) -> None:
        import asyncio

        if isinstance(error, asyncio.CancelledError):
            LOG.warning("hook %s was cancelled before it finished", label)
        else:
            message = describe_exception(error)
            LOG.error("hook %s failed in the background: %s", label, message)
            if failed is not None:
                wanted = failed(Failure("exception", f"its background work raised {message}", error))
                if wanted is not None:
                    with suppress(ClosedError):
                        self._start_task(wanted, label, None)

    def close(self) -> None:
        """Accept no more work."""
        self._closed = True

    def _ours(self) -> dict[Future[Any], tuple[str, Work | None]]:
        """Return the running work; in a forked child, without its parent's."""
        if self._pid != os.getpid():
            self._pid, self._running = os.getpid(), {}
        return self._running

    def names(self) -> list[str]:
        """Return the running work, as `hook: work`."""
        return [label for label, _ in list(self._ours().values())]

    def check(self) -> None:
        """Raise RuntimeError if called in background work, which would wait for itself."""
        if self in WITHIN.get():
            raise RuntimeError("wait_background in background work would wait for itself: await the work instead")

    def is_waited_for_here(self) -> bool:
        """Return whether the current code is background work that closing the engine waits for."""
        return self in WITHIN.get() and not self._closed

    def may_be_waited_for(self) -> bool:
        """Return whether waiting here, even in a blocking call, cannot deadlock."""
        return self not in WITHIN.get() and not self._loop_thread.is_waited_for_here()

    async def wait(self, seconds: float | None = None, *, tasks_only: bool = False, sync: bool = False) -> None:
        """Wait until nothing, or no coroutine, runs, work started meanwhile included, for at most `seconds`.

        With `sync` this thread waits: not the one whose loop the work runs in.
        """
        until = None if seconds is None else monotonic() + seconds
        while running := [done for done, (_, task) in list(self._ours().items()) if task or not tasks_only]:
            left = None if until is None else until - monotonic()
            if left is not None and left <= 0:
                return
            if sync:
                wait_for(running, left)
                sleep(0.005)  # noqa: ASYNC251  # finished work may still be reported
            else:
                await _ended(running, left)

    def cancel(self) -> None:
        """Cancel all coroutines; functions in threads cannot be cancelled."""
        for _, task in list(self._ours().values()):
            if task is not None:
                task.cancel()


async def _ended(running: list[Future[Any]], seconds: float | None) -> None:
    """Wait until all have ended, for at most `seconds`; errors are logged elsewhere."""
    import asyncio

    waited = [asyncio.wrap_future(future) for future in running]
    for each in waited:
        each.add_done_callback(lambda end: end.cancelled() or end.exception())
    await asyncio.wait(waited, timeout=seconds)


def _plain(value: object) -> object:
    """Return the value of a function in a thread. Raises TypeError for an awaitable, never to be awaited."""
    if close_awaitable(value):
        raise TypeError("it returned an awaitable: pass the coroutine itself to ctx.background")
    return value
