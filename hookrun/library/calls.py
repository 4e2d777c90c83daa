"""Call a function of a Python program as a hook, within its time limit, and classify every outcome."""

from __future__ import annotations

from collections.abc import Coroutine
from sys import modules
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
    import asyncio

    from hookrun.library import Handler
    from hookrun.library.awaiting import TimeLimited

Value = TypeVar("Value")

FOREVER = float("inf")


def end_of(deadline: object) -> float:
    """Return when so many seconds are over (monotonic), FOREVER for None. Raises ContextError if they are not > 0."""
    if deadline is None:
        return FOREVER
    if not (isinstance(deadline, (int, float)) and 0 < deadline < FOREVER):
        raise ContextError(f"deadline must be a number of seconds greater than 0, not {deadline!r}")
    return monotonic() + deadline


class NotAsyncioError(HookrunError, RuntimeError):
    """A coroutine of the engine is awaited in another loop than asyncio's, such as trio's."""


def current_task() -> asyncio.Task[Any] | None:
    """Return the task of the caller. Raises NotAsyncioError."""
    try:
        # Whoever has a loop has imported it; a program without one must not.
        task: asyncio.Task[Any] | None = modules["asyncio"].current_task()
    except (KeyError, RuntimeError):
        raise NotAsyncioError(
            "the engine's coroutines need a running asyncio loop: under trio or curio call `fire_sync` in a thread "
            "(`await trio.to_thread.run_sync(...)`), and use `with` and `close_sync`"
        ) from None
    return task


ANSWERS = "None, a Verdict, Skip, Abort, or the object that a declared hook prints"
# Characters of a value shown in a message.
SHOWN = 80


class HandlerCall:
    """One call of a handler. `outcome` is complete when the call has finished.

    Its time begins when it is made, and runs on while it waits for a thread.
    `deadline` is the fire's (monotonic); `before` counts earlier cancellations of its task (see `TimeLimited`). With
    `clone_state` the handler gets a clone of the state.
    """

    clone_state = False

    def __init__(
        self,
        handler: Handler,
        context: Context,
        deadline: float = FOREVER,
        before: int | None = None,
    ) -> None:
        self.outcome = Outcome()
        self.handler = handler
        self._context = context
        self._deadline = deadline
        self._before = before
        self._started = started = monotonic()
        self._until = min(started + handler.timeout, deadline)

    def begin(self) -> Any:
        """Call the function; return its awaitable, or None if it has finished."""
        if monotonic() >= self._until:
            which = "timeout" if monotonic() < self._deadline else "deadline"
            self.outcome.failure = Failure("timeout", f"the {which} passed before the hook could start")
            return None
        try:
            if self.clone_state:
                self._context.state = self._context.clone().state
            value: Any = self.handler.function(self._context)
        except BaseException as error:
            self._raised(error)
        else:
            if value is not None and (type(value) is CoroutineType or is_awaitable(value)):
                return value
            self._answered(value)
        self._over()
        return None

    async def await_result(self, wanted: Any) -> None:
        """Await what the function returned. Raises CancelledError if the task is cancelled."""
        value, error, limit = first_step(wanted, self._until, self._before)
        if limit is not None:
            value, error = await limit.outcome()
        if error is not None:
            self._raised(error)
        elif limit is None or not limit.unanswered:
            self._answered(value)
        if limit is not None and limit.expired:
            end = "; it did not end when cancelled, and was closed" if limit.closed else ""
            self.outcome.failure = Failure("timeout", f"no answer {self._when()}{end}")
        self._over()

    def left(self) -> float | None:
        """Return the seconds it has left, or None without a limit."""
        return max(0.0, self._until - monotonic()) if self._until < FOREVER else None

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
        ended = monotonic()
        took = ended - self._started
        outcome.ms = took * 1000
        if ended > self._until:
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
        if value is None:
            self.outcome.answer = NO_OBJECTION
            return
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
        if isinstance(value, AnyVerdict):  # its own, or the result of a fire
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


async def _awaited(wanted: Any) -> Any:
    return await wanted


def first_step(
    wanted: Any, deadline: float, before: int | None
) -> tuple[Any, BaseException | None, TimeLimited | None]:
    """Run any awaitable until it first waits; return its value, what it raised, and what is left if it waits.

    What never waits needs no limit, and most handlers do not.
    """
    coroutine = wanted if type(wanted) is CoroutineType or isinstance(wanted, Coroutine) else _awaited(wanted)
    try:
        first = coroutine.send(None)
    except StopIteration as end:
        return end.value, None, None
    except BaseException as error:
        return None, error, None
    from hookrun.library.awaiting import TimeLimited

    return None, None, TimeLimited(coroutine, first, deadline, before)


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


def result_at_once(coroutine: Coroutine[Any, Any, Value]) -> Value:
    """Return the result of a coroutine that never waits, so that tasks and threads share a function."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: Value = end.value
        return result
    coroutine.close()
    raise RuntimeError("a synchronous run has waited")
