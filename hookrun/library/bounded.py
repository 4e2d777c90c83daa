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


class TimeLimited:
    """A coroutine that waits for `first`, awaited until `deadline` (monotonic). Gives what it returns, or raises.

    At its deadline it is cancelled, and `expired` is true; what it still returns or raises then is given all the same.
    If that does not end it within CANCEL_GRACE it is closed: `closed` is true, and None is given. A cancellation of
    the task goes through it, and on: a coroutine can neither swallow it nor outstay it. `before` is how many
    cancellations of the task there were when the fire began (`Task.cancelling`); None for none but those until now.

    It is no task of its own, so that whatever a coroutine asks of its task (`asyncio.timeout`, context variables) is
    as if it were called directly. Whoever makes one has called `coroutine.send(None)` in the same task, and got
    `first`: a coroutine that never waits needs none of this.
    """

    __slots__ = (
        "_before", "_coroutine", "_deadline", "_first", "_grace", "_ours", "_over", "_task", "_timer", "_undelivered",
        "closed", "dropped", "expired",
    )  # fmt: skip

    _task: asyncio.Task[Any]

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, Any],
        first: Any,
        deadline: float = FOREVER,
        before: int | None = None,
    ) -> None:
        self.expired = False
        self.closed = False
        self.dropped = False
        self._coroutine = coroutine
        self._first = first
        self._deadline = deadline
        self._before = before
        self._timer: asyncio.TimerHandle | None = None
        self._grace: asyncio.TimerHandle | None = None
        self._ours = 0
        self._undelivered = False
        self._over = False

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
            self._end()

    @property
    def cancelled(self) -> bool:
        """Whether somebody else has cancelled the task since the fire began."""
        return self._task.cancelling() - self._ours > (self._before or 0)

    def _begin(self) -> None:
        """The coroutine waits: from here on somebody has to look at the clock."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("an async handler that waits needs an asyncio task")
        self._task = task
        if self._before is None:
            self._before = task.cancelling()
        if self._deadline < FOREVER:
            left = max(0.0, self._deadline - monotonic())
            self._timer = task.get_loop().call_later(left, self._expire)

    def _expire(self) -> None:
        self.expired = True
        self._cancel()
        self._give_grace()

    def _cancel(self) -> None:
        """Cancel the task ourselves. That is taken back at the end, so that whoever awaits within it sees it too."""
        self._ours += 1
        self._undelivered = True
        self._task.cancel()

    def _is_over(self) -> bool:
        """A cancellation has come, ours or another's: tell whether the coroutine had its chance to end by itself."""
        if self._undelivered:
            self._undelivered = False
            return self.closed
        self._give_grace()
        return False

    def _give_grace(self) -> None:
        if self._grace is None:
            self._grace = self._task.get_loop().call_later(CANCEL_GRACE, self._end_grace)

    def _end_grace(self) -> None:
        """Close the coroutine, unless what cancelled it was within it (`asyncio.timeout`) and is over."""
        self._grace = None
        if self.expired:
            self._give_up()
        elif self.cancelled:  # or one of its own is just on its way: that is seen a turn later
            self._task.get_loop().call_soon(lambda: self._give_up() if self.cancelled and not self._over else None)

    def _give_up(self) -> None:
        self.closed = True
        self._cancel()

    def _end(self) -> None:
        self._over = True
        for timer in (self._timer, self._grace):
            if timer is not None:
                timer.cancel()
        for _ in range(self._ours):
            self._task.uncancel()
        self._ours = 0

    def _close(self) -> None:
        try:
            self._coroutine.close()
        except RuntimeError:  # it ignores even that
            pass
        self._pass_on_cancellation()

    def _pass_on_cancellation(self) -> None:
        """Raise CancelledError if the task was cancelled by somebody else, whatever the coroutine made of it."""
        if self.cancelled:
            raise asyncio.CancelledError
