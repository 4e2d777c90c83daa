"""Await coroutines within a time limit, or in a loop of another thread. Apart, as asyncio takes half of an import."""

from __future__ import annotations

import asyncio
import gc
import sys
from concurrent.futures import Future
from math import inf
from time import monotonic
from types import AsyncGeneratorType
from typing import TYPE_CHECKING, Any

from hookrun.library.event_contexts import close_unstarted
from hookrun.process.pool import ClosedError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator, Iterator
    from contextvars import Context as Variables

# Seconds of cleanup for a cancelled coroutine; then it is closed, wherever it waits.
CANCEL_GRACE = 1.0


def failed_groups(waiting: Any) -> Iterator[asyncio.TaskGroup]:
    """Yield the groups at whose end a coroutine waits and of which a task has failed.

    Such a group has cancelled the coroutine's task, and before Python 3.13 leaves it so.
    """
    while sys.version_info < (3, 13) and waiting is not None:
        if getattr(waiting, "cr_code", None) is asyncio.TaskGroup.__aexit__.__code__:
            group = waiting.cr_frame.f_locals["self"]
            if group._parent_cancel_requested:  # noqa: SLF001  # nothing public says so
                yield group
        # What waits for an async generator, as `asynccontextmanager` makes one, does not say for which.
        generators = (each for each in gc.get_referents(waiting) if isinstance(each, AsyncGeneratorType))
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "ag_await", None) or next(generators, None)


class TimeLimited:
    """Await a coroutine that waits for `first`, until `deadline` (monotonic); returns or raises as it does.

    At its deadline it is cancelled, and `expired` is true; its result or exception still counts. If it outlasts
    CANCEL_GRACE it is closed: `closed` is true, and None is returned. A cancellation of the task is passed to it and
    on: a coroutine can neither swallow nor outlast it. `before` is the task's number of cancellations when the fire
    began (`Task.cancelling`); None ignores those until now.

    It is not a task, so that what a coroutine needs of its task (`asyncio.timeout`, context variables) works as in a
    direct call. The creator has called `coroutine.send(None)` in the same task, which returned `first`: a coroutine
    that never waits needs none of this.
    """

    _task: asyncio.Task[Any]

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], first: Any, deadline: float, before: int | None = None
    ) -> None:
        self.expired = False
        self.closed = False
        self.unanswered = False
        self.dropped = False
        self._coroutine = coroutine
        self._first = first
        self._deadline = deadline
        self._before = before
        self._timer: asyncio.TimerHandle | None = None
        self._grace: asyncio.TimerHandle | None = None
        self._ours = 0
        self._of_groups: set[object] = set()
        self._undelivered = False
        self._over = False

    async def outcome(self) -> tuple[Any, BaseException | None]:
        """Return the coroutine's value, and what it raised; neither if it is `unanswered`.

        Raises only what is not its own: CancelledError if the task is cancelled, GeneratorExit if it is no longer
        awaited.
        """
        try:
            value = await self
        except BaseException as error:
            cancelled = isinstance(error, asyncio.CancelledError)
            if self.dropped or (cancelled and self.cancelled):
                raise
            self.unanswered = cancelled and self.expired
            return None, None if self.unanswered else error
        self.unanswered = self.closed
        return value, None

    def __await__(self) -> Generator[Any, Any, Any]:
        coroutine, waits_for = self._coroutine, self._first
        self._begin()
        try:
            while True:
                try:
                    sent = yield waits_for
                except GeneratorExit:
                    self.dropped = True
                    coroutine.close()
                    raise
                except BaseException as error:
                    if isinstance(error, asyncio.CancelledError):
                        if not self._undelivered:
                            self._of_groups.update(failed_groups(coroutine))
                        if self._is_over():
                            return self._close()
                    waits_for = coroutine.throw(error)
                else:
                    waits_for = coroutine.send(sent)
        except StopIteration as end:
            self._pass_on_cancellation()
            return end.value
        except Exception:
            self._pass_on_cancellation()
            raise
        finally:
            self._end()

    @property
    def cancelled(self) -> bool:
        """Whether the task was cancelled from outside since the fire began."""
        return self._task.cancelling() - self._ours - len(self._of_groups) > (self._before or 0)

    def _begin(self) -> None:
        """Start the timer when the coroutine first waits."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("an async handler that waits needs an asyncio task")
        self._task = task
        if self._before is None:
            self._before = task.cancelling()
        if self._deadline < inf:
            left = max(0.0, self._deadline - monotonic())
            self._timer = task.get_loop().call_later(left, self._expire)

    def _expire(self) -> None:
        self.expired = True
        self._cancel()
        self._give_grace()

    def _cancel(self) -> None:
        """Cancel the task, so that nested awaits see it; `_end` undoes the cancellation."""
        self._ours += 1
        self._undelivered = True
        self._task.cancel()

    def _is_over(self) -> bool:
        """Return, at a cancellation, whether the coroutine had its chance to end by itself."""
        if self._undelivered:
            self._undelivered = False
            return self.closed
        self._give_grace()
        return False

    def _give_grace(self) -> None:
        if self._grace is None:
            self._grace = self._task.get_loop().call_later(CANCEL_GRACE, self._end_grace)

    def _end_grace(self) -> None:
        """Close the coroutine, unless finished code within it (`asyncio.timeout`) cancelled it."""
        self._grace = None
        if self.expired:
            self._give_up()
        elif self.cancelled:  # or its own is on the way: visible one turn later
            self._task.get_loop().call_soon(lambda: self._give_up() if self.cancelled and not self._over else None)

    def _give_up(self) -> None:
        self.closed = True
        self._cancel()

    def _end(self) -> None:
        self._over = True
        for timer in (self._timer, self._grace):
            if timer is not None:
                timer.cancel()
        for _ in range(self._ours + len(self._of_groups)):
            self._task.uncancel()
        self._ours = 0
        self._of_groups.clear()

    def _close(self) -> None:
        try:
            self._coroutine.close()
        except RuntimeError:  # it ignores GeneratorExit
            pass
        self._pass_on_cancellation()

    def _pass_on_cancellation(self) -> None:
        """Raise CancelledError for an outside cancellation, even if the coroutine swallowed it."""
        if self.cancelled:
            raise asyncio.CancelledError


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
            close_unstarted(self._coroutine)
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
            close_unstarted(self._coroutine)
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
