"""Call a function of a Python program as a hook, within its time limit, and classify every outcome."""

from __future__ import annotations

import asyncio
from inspect import CORO_CREATED, getcoroutinestate
from time import monotonic
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeVar

from hookrun.core.context import ContextError
from hookrun.core.model import NO_OBJECTION, VERDICT_OBJECTS, AnyVerdict, Failure, Outcome, Verdict
from hookrun.core.refusals import bare, from_exception
from hookrun.core.text import HookrunError, describe_exception, truncate
from hookrun.core.verdicts import WRONG_FIELD
from hookrun.library import Abort, Skip
from hookrun.library.event_contexts import Context, deep_copy

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator

    from hookrun.library import Handler

Value = TypeVar("Value")

# Seconds of cleanup for a cancelled coroutine; then it is closed, wherever it waits.
CANCEL_GRACE = 1.0

FOREVER = float("inf")


def check_deadline(deadline: object) -> None:
    """Raise ContextError unless it is None or a number of seconds greater than 0."""
    if deadline is not None and not (isinstance(deadline, (int, float)) and 0 < deadline < FOREVER):
        raise ContextError(f"deadline must be a number of seconds greater than 0, not {deadline!r}")


class NotAsyncioError(HookrunError, RuntimeError):
    """A coroutine of the engine is awaited in another loop than asyncio's, such as trio's."""


def current_task() -> asyncio.Task[Any] | None:
    """Return the task of the caller. Raises NotAsyncioError."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        raise NotAsyncioError(
            "the engine's coroutines need a running asyncio loop: under trio or curio call `fire_sync` in a thread "
            "(`await trio.to_thread.run_sync(...)`), and use `with` and `close_sync`"
        ) from None


ANSWERS = "None, a Verdict, Skip, Abort, or the object that a declared hook prints"
# Characters of a value shown in a message.
SHOWN = 80


class HandlerCall:
    """One call of a handler. `outcome` is complete when the call has finished.

    `deadline` is the fire's (monotonic); `before` counts earlier cancellations of its task (see `TimeLimited`).
    """

    __slots__ = ("_before", "_clone_state", "_context", "_deadline", "_started", "handler", "outcome")

    def __init__(
        self,
        handler: Handler,
        context: Context,
        deadline: float = FOREVER,
        before: int | None = None,
        *,
        clone_state: bool = False,
    ) -> None:
        self.outcome = Outcome()
        self.handler = handler
        self._context = context
        self._deadline = deadline
        self._started = monotonic() if handler.thread else 0.0  # time runs while it waits for a thread
        self._before = before
        self._clone_state = clone_state

    def begin(self) -> Any:
        """Call the function; return its awaitable, or None if it has finished."""
        if self._started == 0.0:
            self._started = monotonic()
        if (self.handler.thread or self._deadline < FOREVER) and self.left() == 0:
            which = "timeout" if monotonic() < self._deadline else "deadline"
            self.outcome.failure = Failure("timeout", f"the {which} passed before the hook could start")
            return None
        try:
            if self._clone_state:
                self._context.state = self._context.clone().state
            value: Any = self.handler.function(self._context)
        except BaseException as error:
            self._raised(error)
        else:
            if value is None:
                self.outcome.answer = NO_OBJECTION
            elif is_awaitable(value):
                return value
            else:
                self._answered(value)
        self._over()
        return None

    async def await_result(self, wanted: Any) -> None:
        """Await the function's awaitable. Raises CancelledError if the task is cancelled."""
        until = min(self._started + self.handler.timeout, self._deadline)
        value, error, limit = await within_limit(wanted, until, self._before)
        expired = limit is not None and limit.expired
        if error is None and not (limit is not None and limit.closed):
            self._answered(value)
        elif error is not None and not (expired and isinstance(error, asyncio.CancelledError)):
            self._raised(error)
        if limit is not None and expired:
            end = "; it did not end when cancelled, and was closed" if limit.closed else ""
            self.outcome.failure = Failure("timeout", f"no answer {self._when()}{end}")
        self._over()

    def left(self) -> float | None:
        """Return the seconds it has left, or None without a limit."""
        until = min(self._started + self.handler.timeout, self._deadline)
        return max(0.0, until - monotonic()) if until < FOREVER else None

    def abandoned(self, *, begun: bool) -> Outcome:
        """Return the outcome of a function in an abandoned thread, which nothing can end.

        If not `begun`, no thread was free, and it is never called.
        """
        detail = f"no answer {self._when()}; its thread was abandoned"
        if not begun:
            detail = f"no thread was free {self._when()}: other handlers with thread=True used all of them"
        outcome = Outcome(Failure("timeout", detail))
        outcome.ms = (monotonic() - self._started) * 1000
        return outcome

    def _when(self) -> str:
        if self._deadline < self._started + self.handler.timeout:
            return "by the deadline"
        return f"after {self.handler.timeout:g} s"

    def _over(self) -> None:
        """Record its time. A late answer counts only if it blocks, as with a process."""
        outcome = self.outcome
        took = monotonic() - self._started
        outcome.ms = took * 1000
        if took > self.handler.timeout or self._started + took > self._deadline:
            late = Failure("timeout", f"it answered late, after {took:.3g} s{self._advice()}")
            outcome.failure = outcome.failure or late
        # A change must be returned; one to a copy has no effect, as the author should know.
        if changed := self._context.changed_in_place():
            outcome.notes = [
                *outcome.notes,
                *(
                    f"it changed ctx.{name} in place, which has no effect: return a Verdict that changes it"
                    for name, keys in changed.items()
                    if not _says(outcome.answer, name, keys)
                ),
            ]

    def _advice(self) -> str:
        if self.handler.is_async:
            return ": it blocks the event loop"
        return "" if self.handler.thread else ": it blocks the calling thread, register it with thread=True"

    def _answered(self, value: object) -> None:
        try:
            self._take(value)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # any access to an object may raise
            why = f"it returned a {type(value).__name__} that is not a valid answer ({describe_exception(error)})"
            self.outcome.answer = bare(value)
            if self.outcome.answer is None:
                self.outcome.failure = Failure("bad_verdict", why)
            else:
                self.outcome.notes = [f"{WRONG_FIELD}: only its action and texts were used: {why}"]

    def _take(self, value: object) -> None:
        outcome = self.outcome
        if value is None:
            outcome.answer = NO_OBJECTION
        elif isinstance(value, AnyVerdict):  # its own, or the result of a fire
            if isinstance(value, Verdict) and all(getattr(value, each) is None for each in VERDICT_OBJECTS):
                outcome.answer = value
            else:
                outcome.answer = deep_copy(AnyVerdict.to_dict(value))
        elif isinstance(value, dict):
            outcome.answer = deep_copy(value)
        elif isinstance(value, (Skip, Abort)):
            outcome.answer = value.verdict()
        elif value is Skip or value is Abort:
            outcome.answer = value().verdict()
        else:
            text = truncate(repr(value), SHOWN)
            wrong = f"it returned {text} ({type(value).__name__}) instead of {ANSWERS}"
            outcome.failure = Failure("bad_verdict", wrong)

    def _raised(self, error: BaseException) -> None:
        """Record an exception of the function. KeyboardInterrupt is re-raised to end the program."""
        if isinstance(error, KeyboardInterrupt):
            raise error
        self.outcome.answer = from_exception(error, self._context.event)
        if self.outcome.answer is None:
            self.outcome.failure = Failure("exception", f"it raised {describe_exception(error)}", error)


def is_awaitable(value: Any) -> bool:
    """Return whether a value can be awaited; False if inspecting it raises."""
    try:
        return hasattr(value, "__await__")
    except KeyboardInterrupt:
        raise
    except BaseException:  # a proxy of a deleted object
        return False


def close_awaitable(value: Any) -> bool:
    """Return whether a value is awaitable, which nothing will await: it is closed."""
    if not is_awaitable(value):
        return False
    close = getattr(value, "close", None)
    if callable(close):
        close()
    return True


def close_unstarted(wanted: Any) -> None:
    """Close a coroutine that was never started."""
    if asyncio.iscoroutine(wanted) and getcoroutinestate(wanted) == CORO_CREATED:
        wanted.close()


# Field of the context -> the key of a verdict that changes it.
CHANGED_BY = {"tool_args": "args_patch", "metadata": "modified_context"}


def _says(answer: Verdict | dict[str, object] | None, name: str, keys: set[object]) -> bool:
    """Return whether an answer changes these keys of a field, or maybe all of it."""
    if not isinstance(answer, dict) or all(answer.get(each) is None for each in VERDICT_OBJECTS):
        return False
    if name not in CHANGED_BY or (name == "tool_args" and answer.get("modified_args") is not None):
        return True
    change = answer.get(CHANGED_BY[name])
    return isinstance(change, dict) and keys <= change.keys()


async def _awaited(wanted: Any) -> Any:
    return await wanted


async def within_limit(
    wanted: Any, deadline: float, before: int | None = None
) -> tuple[Any, BaseException | None, TimeLimited | None]:
    """Await any awaitable; return its value, what it raised, and its time limit: None if it has not waited.

    Raises only what is not its own: CancelledError if the task is cancelled, GeneratorExit if it is no longer awaited.
    """
    limit = None
    try:
        is_coroutine = type(wanted) is CoroutineType or asyncio.iscoroutine(wanted)
        coroutine = wanted if is_coroutine else _awaited(wanted)
        first = coroutine.send(None)
        limit = TimeLimited(coroutine, first, deadline, before)
        return await limit, None, limit
    except StopIteration as end:  # it has finished without waiting
        return end.value, None, None
    except BaseException as error:
        if limit is not None and (limit.dropped or (isinstance(error, asyncio.CancelledError) and limit.cancelled)):
            raise
        return None, error, limit


def result_at_once(coroutine: Coroutine[Any, Any, Value]) -> Value:
    """Return the result of a coroutine that never waits, so that tasks and threads share a function."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: Value = end.value
        return result
    coroutine.close()
    raise RuntimeError("a synchronous run has waited")


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
        self, coroutine: Coroutine[Any, Any, Any], first: Any, deadline: float = FOREVER, before: int | None = None
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
        """Whether the task was cancelled from outside since the fire began."""
        return self._task.cancelling() - self._ours > (self._before or 0)

    def _begin(self) -> None:
        """Start the timer when the coroutine first waits."""
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
        for _ in range(self._ours):
            self._task.uncancel()
        self._ours = 0

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
