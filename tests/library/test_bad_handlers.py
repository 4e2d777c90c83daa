"""A handler that raises or returns nonsense: a named failure, `on_failure` takes effect, the others still run."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from hookrun import Abort, Context, Engine, Result, Skip, Verdict
from hookrun.library import Failure
from tests.library.firing import (
    KINDS,
    Fire,
    Kind,
    after_a_turn,
    answers,
    as_it_is,
    failure,
    in_coroutine,
    kinds,
    order,
    raises,
    within,
)
from tests.rows import rows


class NoRepr:
    """An object whose `repr()` raises."""

    def __repr__(self) -> str:
        raise ValueError("no")


class NoEqual:
    """An object whose comparison raises."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError


class Ends:
    """What ends the program when it is shown or compared."""

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise SystemExit(3)

    def __eq__(self, other: object) -> bool:
        raise SystemExit(3)


class Proxy:
    """A proxy for an object that no longer exists."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


class OpaqueProxy:
    """The same, asked for whatever it is."""

    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)


def circular() -> dict[str, Any]:
    """Return an answer that holds itself."""
    answer: dict[str, Any] = {"action": "modify"}
    answer["modified_args"] = answer
    return answer


def deep() -> dict[str, Any]:
    """Return arguments nested deeper than Python recurses."""
    value: dict[str, Any] = {}
    for _ in range(5000):
        value = {"x": value}
    return value


async def a_coroutine_function() -> None:
    """A function that the program forgot to call."""


NONSENSE = [
    42, True, False, 0, "block", b"block", [], [Verdict.block()], (Verdict.block(), "x"), Verdict, Verdict.block,
    a_coroutine_function, object(), NoRepr(), Ends(), Failure("timeout", "x"), ValueError("returned"), "x" * 10_000_000,
    {}, {"message": "no action"}, {"action": "refused"}, {"action": None}, {"action": ["block"]}, {"action": {1, 2}},
    {1: 2}, circular(), {"action": "modify", "modified_args": deep()}, {"action": circular()},
    Verdict("allow", 5), Verdict("modify", message=["a"]),  # type: ignore[arg-type]
    Verdict("modify"), Verdict("modify", modified_args=[1]), Verdict("modify", modified_args="x"),  # type: ignore[arg-type]
    Verdict("modify", modified_args={}, args_patch={}), Verdict(modified_context=[1]),  # type: ignore[arg-type]
    Verdict("modify", modified_args={1: 2}), Verdict("modify", args_patch={None: 2}),  # type: ignore[dict-item]
    Verdict.__new__(Verdict), Verdict.modify({"n": NoEqual()}), OrderedDict(action="nope"),
    (_ for _ in [1]), Skip("s").verdict,
]  # fmt: skip


@pytest.mark.parametrize(("make", "options"), KINDS.values(), ids=KINDS)
@rows("value", NONSENSE, ids=[f"{n}-{type(v).__name__}" for n, v in enumerate(NONSENSE)])
def test_nonsense_is_a_bad_verdict(engine: Engine, fire: Fire, value: Any, make: Any, options: dict[str, Any]) -> None:
    """Any return value that is no answer: named, reported to the user or the model, never silent."""
    how: dict[str, Any] = {**options, "always": True}
    function = make(answers(value))
    engine.register("pre_tool_use", function, name="c", **how)
    engine.register("pre_tool_use", function, name="b", on_failure="block", **how)
    engine.register("pre_tool_use", answers(Verdict.with_context("other")), name="o", **how)
    result = fire(engine, tool_name="bash", tool_args={"n": NoEqual()})
    assert kinds(result) == {"c": "bad_verdict", "b": "bad_verdict", "o": None}
    assert (result.action, result.additional_context, result.ended_by) == ("block", "other", "b")
    assert "hook c failed (bad_verdict): " in str(result.system_message)
    assert "hook b failed (bad_verdict): " in str(result.message)
    assert len(failure(result, "b").detail) < 1000


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@rows("error", [ValueError("why"), SystemExit(3), asyncio.CancelledError(), StopIteration()])
def test_an_exception_is_a_failure(
    engine: Engine, fire: Fire, caplog: pytest.LogCaptureFixture, kind: Kind, error: BaseException
) -> None:
    """Whatever it raises: named, with the exception itself, in the log; the others still run."""
    caplog.clear()
    function = kind[0](raises(error))
    how: dict[str, Any] = {**kind[1], "always": True}
    engine.register("stop", function, name="c", **how)
    engine.register("stop", function, name="b", on_failure="block", **how)
    engine.register("stop", answers(Verdict.with_context("other")), name="o", **how)
    with caplog.at_level(logging.WARNING, "hookrun"):
        result = within(lambda: fire(engine, "stop"))
    assert (result.action, result.additional_context) == ("block", "other")
    assert (result.ended_by, order(result)) == ("b", ["c", "b", "o"])
    found = failure(result, "b")
    assert found.kind == "exception"
    assert found.exception is error or found.exception.__class__ is RuntimeError  # a StopIteration in a coroutine
    assert f"hook b failed (exception): {found.detail}" == result.message
    assert f"hook c failed (exception): {found.detail}" == result.system_message
    assert result.message in caplog.text
    assert str(result.system_message) in caplog.text


@rows("make, options", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("proxy", [Proxy, OpaqueProxy])
def test_what_nothing_can_be_asked_of_is_a_bad_verdict(
    engine: Engine, fire: Fire, make: Any, options: dict[str, Any], proxy: Any
) -> None:
    """An object whose every attribute raises is an invalid answer like others; returned by `on_error` it is ignored."""
    engine.register("stop", make(lambda _: proxy()), name="h", on_error=lambda *_: proxy(), **options)
    engine.register("stop", answers(Verdict.block("no")), name="guard", **options)
    result = fire(engine, "stop")
    assert (kinds(result), result.message) == ({"h": "bad_verdict", "guard": None}, "no")


def test_an_argument_that_cannot_be_compared(engine: Engine, fire: Fire) -> None:
    """An argument whose comparison would exit the program does not do so when a handler has seen the arguments."""
    engine.register("stop", lambda ctx: ctx.tool_args.update(n=Ends()), name="h")
    engine.register("stop", answers(Verdict.block("no")), name="guard")
    assert fire(engine, "stop", tool_args={"n": Ends()}).message == "no"


class Mute(Exception):  # noqa: N818  # it is named for what it does
    """An exception whose `str()` raises."""

    def __init__(self, error: type[BaseException] = ZeroDivisionError) -> None:
        self._error = error

    def __str__(self) -> str:
        raise self._error


def in_background(handler: Any) -> Any:
    """Return a handler that starts this one in the background."""
    return lambda ctx: ctx.background(in_coroutine(handler)(ctx))


WITHOUT_A_TEXT: dict[str, tuple[Kind, str | None]] = {
    **{name: (kind, "exception") for name, kind in KINDS.items()},
    "on_error": ((lambda _: raises(ValueError("first")), {}), "exception"),
    "background": ((in_background, {}), None),
}


@rows("kind, failed", WITHOUT_A_TEXT.values(), ids=WITHOUT_A_TEXT)
@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit])
def test_an_exception_without_a_text_is_a_failure(  # noqa: PLR0917  # a table of cases
    engine: Engine, fire: Fire, caplog: pytest.LogCaptureFixture, kind: Kind, failed: str | None, error: type[Exception]
) -> None:
    """An exception whose `__str__` raises is named by its type, and the guards after it run."""
    caplog.clear()
    engine.register("stop", kind[0](raises(Mute(error))), name="m", on_error=raises(Mute(error)), **kind[1])
    engine.register("stop", answers(Verdict.block("no")), name="guard", **kind[1])
    with caplog.at_level(logging.WARNING, "hookrun"):
        result = within(lambda: fire(engine, "stop"))
    assert (result.action, result.message) == ("block", "no")
    assert kinds(result) == {"m": failed, "guard": None}
    assert f"Mute (it cannot say what it says: {error.__name__})" in caplog.text


@pytest.mark.parametrize("make", [as_it_is, in_coroutine])
def test_what_an_exception_says_is_bounded_and_harmless(engine: Engine, fire: Fire, make: Any) -> None:
    """A text of megabytes is cut, and what a terminal would obey is escaped; line ends stay."""
    engine.register("stop", make(raises(ValueError("a\x1b[2J\nb" + "x" * 5_000_000))), name="h")
    result = fire(engine, "stop")
    assert str(result.system_message).startswith("hook h failed (exception): it raised ValueError: a\\x1b[2J\nbxxx")
    assert len(str(result.system_message)) < 2100


@rows("make, options", [KINDS[kind] for kind in ("sync", "async", "late", "parallel")])
def test_ctrl_c_ends_the_fire(engine: Engine, fire: Fire, make: Any, options: dict[str, Any]) -> None:
    """A KeyboardInterrupt is raised to the caller: it becomes no failure, and no caller waits forever."""
    engine.register("stop", make(raises(KeyboardInterrupt())), name="h", **options)
    engine.register("stop", answers(None), name="o", **options)
    with pytest.raises(KeyboardInterrupt):
        within(lambda: fire(engine, "stop"))
    engine.remove("h")
    assert within(lambda: fire(engine, "stop")).action == "continue"


async def fails_soon() -> None:
    """Fail while others wait."""
    await asyncio.sleep(0)
    raise ValueError("the task's")


async def with_a_failing_task(ctx: Context) -> None:
    """Start it, and wait for it at the end of the group, which cancels its task then."""
    async with asyncio.TaskGroup() as group:
        group.create_task(fails_soon())


@asynccontextmanager
async def group_of_tasks() -> AsyncIterator[asyncio.TaskGroup]:
    """Open one in an async generator."""
    async with asyncio.TaskGroup() as group:
        yield group


async def with_a_failing_task_elsewhere(ctx: Context) -> None:
    """Wait for it at the end of such a group."""
    async with group_of_tasks() as group:
        group.create_task(fails_soon())


async def with_a_failure_that_is_handled(ctx: Context) -> Verdict:
    """Answer nevertheless, after another wait."""
    with suppress(ExceptionGroup):
        await with_a_failing_task(ctx)
    await asyncio.sleep(0)
    return Verdict.block("no")


@rows(
    "handler, expected",
    [
        (with_a_failing_task, ("continue", "exception")),
        (with_a_failing_task_elsewhere, ("continue", "exception")),
        (with_a_failure_that_is_handled, ("block", None)),
    ],
)
def test_a_task_group_that_fails_in_a_handler_cancels_nothing_else(handler: Any, expected: tuple[str, Any]) -> None:
    """Python before 3.13 leaves a cancellation of the task behind, which is none of the program's."""
    with Engine() as engine:
        engine.register("pre_tool_use", handler, name="h")

        async def fires() -> tuple[Result, int]:
            task = asyncio.current_task()
            assert task is not None
            return await engine.fire("pre_tool_use", tool_name="bash"), task.cancelling()

        result, cancelling = asyncio.run(fires())
        for each in (result, engine.fire_sync("pre_tool_use", tool_name="bash")):
            assert (each.action, kinds(each)["h"]) == expected
        assert cancelling == 0


def test_a_cancelled_fire_ends_though_a_task_group_failed_in_it() -> None:
    """What comes from outside counts."""

    async def test() -> None:
        waiting = asyncio.Event()

        async def waits(ctx: Context) -> None:
            await with_a_failure_that_is_handled(ctx)
            waiting.set()
            await asyncio.Event().wait()

        async with Engine() as engine:
            engine.register("pre_tool_use", waits, name="h")
            fire = asyncio.create_task(engine.fire("pre_tool_use", tool_name="bash"))
            await waiting.wait()
            fire.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fire

    asyncio.run(test())


@rows(
    "raised, action",
    [
        ([Abort("no"), ValueError("x")], "block"),
        ([Skip("later"), ExceptionGroup("inner", [Abort("no")])], "block"),
        ([Skip("later")], "skip"),
        ([ValueError("x")], "continue"),
    ],
)
def test_what_a_task_group_answers_counts(raised: list[Exception], action: str) -> None:
    """A task that raises Abort leaves its group in an exception of the group; the strongest answer in it counts."""

    async def fails(error: Exception) -> None:
        raise error

    async def checks(ctx: Context) -> None:
        async with asyncio.TaskGroup() as group:
            for each in raised:
                group.create_task(fails(each))

    with Engine() as engine:
        engine.register("pre_tool_use", checks, name="h")
        assert engine.fire_sync("pre_tool_use", tool_name="bash").action == action


def test_generator_exit_is_no_way_out(engine: Engine, fire: Fire) -> None:
    """A handler that raises GeneratorExit by itself has failed like any other."""
    engine.register("stop", raises(GeneratorExit()), name="h", on_failure="block")
    assert fire(engine, "stop").action == "block"


def test_a_change_where_there_are_no_arguments(engine: Engine, fire: Fire) -> None:
    """A bad verdict, as with a declared hook; on a program's own event it depends on what was fired."""
    engine.register("stop", answers(Verdict.modify({"x": 1})), name="h", on_failure="block")
    assert fire(engine, "stop", tool_args={"x": 0}).action == "block"
    with Engine(events=["mine"]) as own:
        own.register("mine", answers(Verdict.modify({"x": 1})), name="h")  # type: ignore[arg-type]
        assert fire(own, "mine", tool_args={"x": 0}).modified_args == {"x": 1}
        assert kinds(fire(own, "mine", a=1)) == {"h": "bad_verdict"}


def test_keys_that_are_not_known_are_noted(engine: Engine, fire: Fire, caplog: pytest.LogCaptureFixture) -> None:
    """The answer counts, and a note and the log name the keys."""
    engine.register("stop", answers({"action": "block", "message": "m", "reason": "x", "b": 1}), name="h")
    with caplog.at_level(logging.WARNING, "hookrun"):
        result = fire(engine, "stop")
    assert (result.action, result.runs[0].notes) == ("block", ["unknown keys in its answer: b, reason"])
    assert "hook h: unknown keys in its answer: b, reason" in caplog.text


def test_arguments_beside_a_refusal_are_not_used(engine: Engine, fire: Fire) -> None:
    """A note says so, and the arguments are unchanged."""
    engine.register("pre_tool_use", answers(Verdict("block", "m", modified_args={"x": 1})), name="h")
    result = fire(engine)
    assert (result.action, result.modified_args) == ("block", None)
    assert "are ignored" in result.runs[0].notes[0]


def test_async_generators_are_no_handlers(engine: Engine, fire: Fire) -> None:
    """One that yields its verdict has not returned it: reported as a failure."""

    async def yields(ctx: Context) -> Any:
        yield Verdict.block("no")

    def yields_too(ctx: Context) -> Any:
        yield Verdict.block("no")

    engine.register("stop", answers(yields(Context("stop"))), name="a", on_failure="block", always=True)
    engine.register("stop", answers(yields_too(Context("stop"))), name="b", on_failure="block", always=True)
    result = fire(engine, "stop")
    assert kinds(result) == {"a": "bad_verdict", "b": "bad_verdict"}
    assert "(async_generator)" in str(result.message)


def test_a_thread_is_not_for_what_is_to_be_awaited(engine: Engine, fire: Fire) -> None:
    """A function that returns a coroutine, in a thread: it cannot be awaited; it is closed and reported."""
    engine.register("stop", lambda _: a_coroutine_function(), name="h", thread=True)
    assert failure(fire(engine, "stop")).detail == (
        "it returned an awaitable, which cannot be combined with thread=True"
    )


@pytest.mark.filterwarnings("error")
def test_awaiting_what_is_cancelled(engine: Engine, fire: Fire) -> None:
    """A cancelled future is that handler's failure, and cancels nothing else."""

    async def waits(ctx: Context) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.cancel)
        await future

    async def other(ctx: Context) -> Verdict:
        await asyncio.sleep(0)
        return Verdict.block("other")

    engine.register("stop", waits)
    engine.register("stop", other)
    result = fire(engine, "stop")
    assert (kinds(result), result.message) == ({"waits": "exception", "other": None}, "other")


def test_anything_that_can_be_awaited_is_awaited(engine: Engine) -> None:
    """A future or a task of this loop is as good as a coroutine."""

    async def main() -> None:
        future: asyncio.Future[Verdict] = asyncio.Future()
        future.set_result(Verdict.block("f"))
        task = asyncio.ensure_future(after_a_turn(answers(Verdict.block("t")))(Context("stop")))
        for given, message in ((future, "f"), (task, "t")):
            engine.register("stop", answers(given), name="h")
            assert (await engine.fire("stop")).message == message

    asyncio.run(main())


def test_a_change_that_ends_the_program_is_a_bad_verdict(engine: Engine, fire: Fire) -> None:
    """None of the change is applied, and the guard after it runs."""
    engine.register("pre_tool_use", answers(Verdict.patch({"a": Ends()})), name="m")
    engine.register("pre_tool_use", answers(Verdict.block("no")), name="guard")
    result = within(lambda: fire(engine, "pre_tool_use", tool_name="bash", tool_args={"a": Ends()}))
    assert (result.action, failure(result, "m").kind) == ("block", "bad_verdict")
