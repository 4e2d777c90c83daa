"""A function with hooks around it, and the two halves of a call, as an author of an agent uses them."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from hookrun import Abort, Context, Engine, Verdict
from hookrun.core.context import ContextError
from hookrun.core.literals import EventName
from hookrun.integrations.hooked import HookedCall, hooked
from hookrun.integrations.tool_loop import ToolOutcome
from tests.rows import rows


def heard(engine: Engine) -> list[tuple[str, str | None, dict[str, Any]]]:
    """Return the events that are fired from now on: event, tool and arguments."""
    events: list[tuple[str, str | None, dict[str, Any]]] = []

    def hear(ctx: Context) -> None:
        events.append((ctx.event, ctx.tool_name, ctx.tool_args))

    every: tuple[EventName, ...] = ("pre_tool_use", "post_tool_use", "post_tool_failure", "tool_call_aborted")
    engine.register(every, hear, name="hear", always=True, priority=1000)
    return events


def add(first: int, second: int = 2) -> int:
    """Add two numbers."""
    return first + second


def test_it_keeps_what_a_framework_makes_a_schema_of() -> None:
    """Name, documentation, annotations and signature."""
    with Engine() as engine:
        tool = hooked(engine)(add)
        assert (tool.__name__, tool.__doc__, tool.__annotations__) == ("add", add.__doc__, add.__annotations__)
        assert inspect.signature(tool) == inspect.signature(add)


def test_hooks_see_the_arguments_by_name_and_the_caller_gets_the_result() -> None:
    """Given by position or by name."""
    with Engine() as engine:
        events = heard(engine)
        assert hooked(engine, name="sum")(add)(1, second=5) == 6
        assert events == [
            ("pre_tool_use", "sum", {"first": 1, "second": 5}),
            ("post_tool_use", "sum", {"first": 1, "second": 5}),
        ]


def test_changed_arguments_are_those_it_runs_with() -> None:
    """Also those that it takes by position only, and others."""

    def tool(first: int, /, **others: int) -> tuple[int, dict[str, int]]:
        return first, others

    with Engine() as engine:
        engine.register("pre_tool_use", lambda _: Verdict.patch({"first": 7, "more": 8}))
        assert hooked(engine)(tool)(1, also=2) == (7, {"also": 2, "more": 8})


def test_a_refused_call_raises_or_returns_what_is_made_of_it() -> None:
    """The function does not run."""
    ran: list[int] = []
    with Engine() as engine:
        events = heard(engine)
        engine.register("pre_tool_use", lambda _: Verdict.block("not today"), name="guard")
        with pytest.raises(Abort, match="not today"):
            hooked(engine)(ran.append)(1)  # its parameter has a name

        def said(outcome: ToolOutcome) -> str:
            return f"refused: {outcome.content}"

        refused: Any = hooked(engine, refused=said)(abs)(1)
        assert refused == "refused: not today"
    assert ran == []
    assert [event for event, _, _ in events] == ["pre_tool_use", "tool_call_aborted"] * 2


def test_its_exception_is_raised_after_its_hooks_have_run() -> None:
    """With what they say."""

    def fails(number: int) -> int:
        raise KeyError(number)

    with Engine() as engine:
        events = heard(engine)
        engine.register("post_tool_failure", lambda _: Verdict.with_context("try 2"), name="hint")
        with pytest.raises(KeyError) as raised:
            hooked(engine)(fails)(1)
    assert raised.value.__notes__ == ["try 2"]
    assert [event for event, _, _ in events] == ["pre_tool_use", "post_tool_failure"]


def test_an_async_function_stays_one() -> None:
    """And is awaited."""

    async def tool(number: int) -> str:
        await asyncio.sleep(0)
        return f"got {number}"

    with Engine() as engine:
        engine.register("post_tool_use", lambda _: Verdict.with_context("by the way"), name="note")
        wrapped = hooked(engine)(tool)
        assert inspect.iscoroutinefunction(wrapped)
        assert asyncio.run(wrapped(3)) == "got 3\n\nby the way"


def test_hooks_do_not_see_what_is_hidden() -> None:
    """It is passed on, whatever it is."""
    own = object()

    def tool(ctx: object, path: str) -> bool:
        return ctx is own and path == "x"

    with Engine() as engine:
        events = heard(engine)
        assert hooked(engine, hidden=["ctx"])(tool)(own, "x") is True
        assert events[0] == ("pre_tool_use", "tool", {"path": "x"})
        engine.register("pre_tool_use", lambda _: Verdict.patch({"path": "y"}), name="change")
        assert hooked(engine, hidden=["ctx"])(tool)(own, path="x") is False


def test_hooks_do_not_see_the_object_of_a_method() -> None:
    """A hook from a config file could not read it, and changes the other arguments."""
    with Engine() as engine:

        class Files:
            @hooked(engine)
            def read(self, path: str) -> tuple[object, str]:
                return self, path

            @classmethod
            @hooked(engine)
            def find(cls, path: str) -> tuple[object, str]:
                return cls, path

        events = heard(engine)
        assert hooked(engine)(lambda self: self)("z") == "z"  # no method
        engine.register("pre_tool_use", lambda _: Verdict.modify({"path": "y"}), name="change")
        files = Files()
        assert (files.read("x"), Files.find("x")) == ((files, "y"), (Files, "y"))
    assert [args for _, _, args in events] == [{"self": "z"}] * 2 + [{"path": "y"}] * 4


def test_what_hooks_say_of_an_object_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """It has no place for a text, and its caller's code continues with it."""
    with Engine() as engine:
        engine.register("post_tool_use", lambda _: Verdict.block("not to be trusted"))
        assert hooked(engine)(lambda path: {"path": path})("x") == {"path": "x"}
    assert "not shown to the model: not to be trusted" in caplog.text


@rows(
    "hidden, function, says",
    [
        ([], lambda *args: args, r"\*args has none"),
        (["ctx"], lambda path: path, 'no parameter "ctx" to hide'),
        ([], lambda path: (yield path), "hooks do not see what a generator yields"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_at_once(hidden: list[str], function: Any, says: str) -> None:
    """Not at its first call."""
    with Engine() as engine, pytest.raises(ValueError, match=says):
        hooked(engine, hidden=hidden)(function)


def test_wrong_fields_are_the_program_s_mistake() -> None:
    """They are raised before there is a function, as what is no engine is."""
    with Engine() as engine, pytest.raises(ContextError, match="sesion_id"):
        hooked(engine, sesion_id="s1")
    forgotten: Any = test_wrong_fields_are_the_program_s_mistake
    with pytest.raises(ValueError, match="expected an Engine, not <function"):
        hooked(forgotten)


def test_an_object_with_an_async_call_is_awaited() -> None:
    """As an async function is."""

    class Tool:
        async def __call__(self, number: int) -> int:
            return number

    with Engine() as engine:
        assert asyncio.run(hooked(engine)(Tool())(3)) == 3


async def awaited(call: HookedCall, name: str, *given: Any) -> Any:
    """Call a half in a loop."""
    return await getattr(call, name)(*given)


async def at_once(call: HookedCall, name: str, *given: Any) -> Any:
    """Call a half that needs none."""
    return getattr(call, f"{name}_sync")(*given)


@rows("half", [awaited, at_once])
def test_the_halves_of_a_call(half: Any) -> None:
    """Changed arguments, a refusal, a result with a note, a failure."""

    async def calls(engine: Engine) -> None:
        events = heard(engine)
        engine.register("pre_tool_use", lambda _: Verdict.patch({"x": 2}), name="change")
        engine.register("post_tool_use", lambda _: Verdict.with_context("note"), name="note")
        call = HookedCall(engine, "mine", {"x": 1}, session_id="s1")
        assert await half(call, "before") is None
        assert call.args == {"x": 2}
        outcome = await half(call, "after", {"ok": True})
        assert (outcome.content, outcome.ran, outcome.result) == ('{"ok": true}\n\nnote', True, {"ok": True})
        failed = HookedCall(engine, "mine", {"x": 1})
        assert await half(failed, "before") is None
        assert (await half(failed, "failed", ValueError("no"))).content == "ValueError: no"
        engine.register("pre_tool_use", lambda _: Verdict.block("stop it"), name="guard", priority=1)
        refused = await half(HookedCall(engine, "mine", {}), "before")
        assert (refused.content, refused.ran, refused.action) == ("stop it", False, "block")
        assert [event for event, _, _ in events] == [
            *("pre_tool_use", "post_tool_use"),
            *("pre_tool_use", "post_tool_failure"),
            *("pre_tool_use", "tool_call_aborted"),
        ]

    with Engine() as engine:
        asyncio.run(calls(engine))
