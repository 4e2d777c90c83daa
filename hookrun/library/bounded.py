"""Awaits a coroutine within its time, in the task that awaits it: it costs nothing more until the coroutine waits."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator

CANCEL_GRACE = 1.0
"""Seconds that a cancelled coroutine has to put its things in order; then it is closed, wherever it waits."""

FOREVER = float("inf")


class Bounded:
    """A coroutine that waits for `first`, awaited until `deadline` (monotonic). Gives what it returns, or raises.

    At its deadline it is cancelled, and `expired` is true; what it still returns or raises then is given all the same.
    If that does not end it within CANCEL_GRACE it is closed: `closed` is true, and None is given. A cancellation of
    the task goes through it, and on: a coroutine can neither swallow it nor outstay it.

    It is no task of its own, so that whatever a coroutine asks of its task (`asyncio.timeout`, context variables) is
    as if it were called directly. Whoever makes one has called `coroutine.send(None)` in the same task, and got
    `first`: a coroutine that never waits needs none of this.
    """

    __slots__ = ("_before", "_coroutine", "_deadline", "_first", "_ours", "_task", "_timer", "closed", "expired")

    _task: asyncio.Task[Any]

    def __init__(self, coroutine: Coroutine[Any, Any, Any], first: Any, deadline: float = FOREVER) -> None:
        self.expired = False
        self.closed = False
        self._coroutine = coroutine
        self._first = first
        self._deadline = deadline
        self._timer: asyncio.TimerHandle | None = None
        self._ours = False
        self._before = 0

    def __await__(self) -> Generator[Any, Any, Any]:
        coroutine, waits_for = self._coroutine, self._first
        self._begin()
        try:
            while True:
                try:
                    sent = yield waits_for
                except GeneratorExit:
                    coroutine.close()
                    raise
                except BaseException as error:
                    if isinstance(error, asyncio.CancelledError) and self._is_over():
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
            if self._timer is not None:
                self._timer.cancel()

    def _begin(self) -> None:
        """The coroutine waits: from here on somebody has to look at the clock."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("an async handler that waits needs an asyncio task")
        self._task = task
        self._before = task.cancelling()
        if self._deadline < FOREVER:
            left = max(0.0, self._deadline - monotonic())
            self._timer = task.get_loop().call_later(left, self._expire)

    def _expire(self) -> None:
        self.expired = True
        self._cancel()

    def _cancel(self) -> None:
        self._ours = True
        self._task.cancel()

    def _is_over(self) -> bool:
        """A cancellation has come, ours or another's: tell whether the coroutine had its chance to end by itself."""
        if self._ours:
            self._ours = False
            self._task.uncancel()
            if self.closed:
                return True
        self._give_grace()
        return False

    def _give_grace(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._task.get_loop().call_later(CANCEL_GRACE, self._end_grace)

    def _end_grace(self) -> None:
        """Close the coroutine, unless what cancelled it was within it (`asyncio.timeout`) and is over."""
        if self.expired or self.cancelled:
            self.closed = True
            self._cancel()
        elif self._deadline < FOREVER:
            self._timer = self._task.get_loop().call_later(max(0.0, self._deadline - monotonic()), self._expire)

    def _close(self) -> None:
        try:
            self._coroutine.close()
        except RuntimeError:  # it ignores even that
            pass
        self._pass_on_cancellation()

    @property
    def cancelled(self) -> bool:
        """Whether somebody else has cancelled the task, while the coroutine was awaited."""
        return self._task.cancelling() > self._before

    def _pass_on_cancellation(self) -> None:
        """Raise CancelledError if the task was cancelled by somebody else, whatever the coroutine made of it."""
        if self.cancelled:
            raise asyncio.CancelledError
