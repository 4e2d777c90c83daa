"""Run coroutines as tasks of a loop in another thread. Apart, as asyncio takes half of an import."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from hookrun.process.pool import ClosedError

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from contextvars import Context as Variables


async def end_all() -> None:
    """Cancel all other tasks of this loop, and wait for their end."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


class Work:
    """A coroutine that runs as a task of a loop in any thread. `done` is set at its end."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], variables: Variables
    ) -> None:
        self.done: Future[Any] = Future()
        self._loop = loop
        self._coroutine = coroutine
        self._variables = variables
        self._task: asyncio.Task[Any] | None = None
        self._unwanted = False
        loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        if self._unwanted:
            self._coroutine.close()
            self.done.set_exception(asyncio.CancelledError())
            return
        self._task = self._loop.create_task(self._run(), context=self._variables)
        self._task.add_done_callback(self._over)

    async def _run(self) -> None:
        """Run it. All exceptions go to `done`, even KeyboardInterrupt and SystemExit, which would end the loop."""
        try:
            result = await self._coroutine
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self.done.set_exception(error)
        else:
            self.done.set_result(result)

    def _over(self, _: asyncio.Task[Any]) -> None:
        if not self.done.done():
            self._coroutine.close()
            self.done.set_exception(asyncio.CancelledError())

    def cancel(self) -> None:
        """Cancel the task."""
        self._unwanted = True
        try:
            self._loop.call_soon_threadsafe(lambda: self._task.cancel() if self._task is not None else None)
        except RuntimeError:  # the loop is closed, with all its tasks
            if not self.done.done():
                self.done.set_exception(asyncio.CancelledError())

    def wait(self) -> None:
        """Wait for it from another thread. Raises its exception; ClosedError if closing the engine cancelled it."""
        try:
            self.done.result()
        except asyncio.CancelledError:
            raise ClosedError("the engine was closed meanwhile") from None
