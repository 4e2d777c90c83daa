"""Helpers for the library's tests: engines, both ways to fire, and a guard against endless tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from threading import Thread
from typing import Any, Protocol, TypeVar

from hookrun import Context, Engine, Result
from hookrun.library import Failure
from tests.waiting import limit

T = TypeVar("T")

CALL: dict[str, Any] = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls", "n": 1}}
"""A call of a tool, as most tests fire it."""


class Fire(Protocol):
    """Fire an event at an engine, in a task or in this thread."""

    def __call__(self, engine: Engine, event: Any = "pre_tool_use", /, *positional: Any, **named: Any) -> Result:
        """Fire; without any field it is the CALL above."""


def with_call(event: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Return the named arguments of a fire, the CALL's fields among them where no field is given."""
    given = positional or isinstance(event, Context) or named.keys() - {"state", "deadline"}
    return named if given else {**CALL, **named}


def fire_async(engine: Engine, event: Any = "pre_tool_use", /, *positional: Any, **named: Any) -> Result:
    """Fire in a task of a separate loop; also wait for background work, because the loop ends here."""

    async def main() -> Result:
        result = await engine.fire(event, *positional, **with_call(event, positional, named))
        await engine.wait_background()
        return result

    return asyncio.run(main())


def fire_sync(engine: Engine, event: Any = "pre_tool_use", /, *positional: Any, **named: Any) -> Result:
    """Fire in this thread, and wait for background work too."""
    result = engine.fire_sync(event, *positional, **with_call(event, positional, named))
    asyncio.run(engine.wait_background())
    return result


def within(function: Callable[[], T]) -> T:
    """Return the function's result, or fail after a time limit: a deadlock ends one test, not all."""
    ended: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            ended.append(function())
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(limit())
    if raised:
        raise raised[0]
    assert ended, f"it has not ended after {limit():.0f} s: a deadlock"
    return ended[0]


def answers(value: object) -> Callable[[Context], Any]:
    """Return a handler that returns this."""

    def handler(ctx: Context) -> Any:
        return value

    return handler


def raises(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    """Return a handler, or an `on_error`, that raises this."""

    def handler(*arguments: object) -> Any:
        raise error

    return handler


def in_coroutine(handler: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return the same handler as an async one, which answers at once."""

    async def at_once(*arguments: Any) -> Any:
        return handler(*arguments)

    return at_once


def after_a_turn(handler: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return the same handler as an async one, which first lets others run."""

    async def late(*arguments: Any) -> Any:
        await asyncio.sleep(0)
        return handler(*arguments)

    return late


def as_it_is(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Return the handler."""
    return handler


Kind = tuple[Callable[[Callable[..., Any]], Callable[..., Any]], dict[str, Any]]
KINDS: dict[str, Kind] = {
    "sync": (as_it_is, {}),
    "async": (in_coroutine, {}),
    "late": (after_a_turn, {}),
    "thread": (as_it_is, {"thread": True}),
    "parallel": (as_it_is, {"parallel": True}),
}
"""How a function becomes a handler of each kind, and how that is registered."""


def sees(seen: list[Any], name: str = "tool_args") -> Callable[[Context], Any]:
    """Return a handler that notes a field of its context, by attribute."""

    def handler(ctx: Context) -> None:
        seen.append(getattr(ctx, name))

    return handler


def says(**answer: object) -> str:
    """Return a shell line that prints this answer."""
    return f"cat >/dev/null; echo '{json.dumps(answer)}'"


def order(result: Result) -> list[str]:
    """Return the names of the hooks that ran, in order."""
    return [run.name for run in result.runs]


def kinds(result: Result) -> Mapping[str, str | None]:
    """Return the kind of failure of each hook, None where there is none."""
    return {run.name: run.failure.kind if run.failure else None for run in result.runs}


def failure(result: Result, name: str | None = None) -> Failure:
    """Return the failure of a hook, by default of the only one that failed."""
    found = [run.failure for run in result.runs if run.failure and name in (None, run.name)]
    assert len(found) == 1, kinds(result)
    return found[0]
