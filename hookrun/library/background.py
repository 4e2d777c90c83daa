"""Work that handlers start and do not wait for: tracked until it ends, its errors told, ended with the engine."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from threading import Thread
from typing import TYPE_CHECKING, Any

from hookrun.library.workers import Work, settle
from hookrun.model import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from hookrun.library.workers import LoopThread

LOG = logging.getLogger("hookrun")


class Background:
    """All background work of an engine."""

    def __init__(self, loop_thread: LoopThread) -> None:
        self._loop_thread = loop_thread
        self._running: dict[Future[Any], tuple[str, Work | None]] = {}

    def start(
        self,
        owner: str,
        failed: Callable[[Failure], object],
        work: Coroutine[Any, Any, object] | Callable[[], object],
        name: str | None = None,
    ) -> None:
        """Start the work of the hook `owner`; `failed` is told when it raises.

        A coroutine runs in the loop that runs here, else in the engine's own; a function gets a thread.
        """
        label = f"{owner}: {name or getattr(work, '__qualname__', 'background work')}"
        variables = contextvars.copy_context()
        task: Work | None = None
        if asyncio.iscoroutine(work):
            try:
                task = Work(asyncio.get_running_loop(), work, variables)
            except RuntimeError:
                task = self._loop_thread.submit(work, variables)
            future = task.done
        else:
            future = Future()
        self._running[future] = label, task
        future.add_done_callback(lambda future: self._over(future, failed))
        if task is None:
            run = (settle, future, work)
            Thread(target=variables.run, args=run, name="hookrun-background", daemon=True).start()

    def _over(self, future: Future[Any], failed: Callable[[Failure], object]) -> None:
        label, _ = self._running.pop(future, ("background work", None))
        error = future.exception()
        if error is not None and not isinstance(error, asyncio.CancelledError):
            LOG.error("hook %s failed in the background: %s: %s", label, type(error).__name__, error)
            failed(Failure("exception", f"its background work raised {type(error).__name__}: {error}", error))

    def names(self) -> list[str]:
        """Return what runs, as `hook: work`."""
        return [label for label, _ in list(self._running.values())]

    async def wait(self) -> None:
        """Wait until nothing runs, what is started meanwhile included."""
        while running := list(self._running):
            await asyncio.wait([asyncio.wrap_future(future) for future in running])

    async def wait_for_tasks(self) -> None:
        """Wait until no coroutine runs; functions in threads may take as long as they like."""
        tasks = [task.done for _, task in list(self._running.values()) if task is not None]
        if tasks:
            await asyncio.wait([asyncio.wrap_future(done) for done in tasks])

    def wait_sync(self, seconds: float | None = None, *, tasks_only: bool = False) -> None:
        """Wait until nothing runs, or no coroutine, or for so long. Not in the loop that the work runs in."""
        running = list(self._running.items())
        wait_for([done for done, (_, task) in running if task is not None or not tasks_only], seconds)

    def cancel(self) -> None:
        """Ask everything to end that can be asked: coroutines."""
        for _, task in list(self._running.values()):
            if task is not None:
                task.cancel()
