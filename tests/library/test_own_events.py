"""Events of a program's own: a class declares one, with its fields."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import MappingProxyType
from typing import Any, ClassVar

import pytest

import hookrun
from hookrun import Context, Engine, RegistrationError, Verdict, hooked, run_tool
from hookrun.core.context import ContextError
from hookrun.events import PostToolUse, PreToolUse, Stop
from hookrun.library.event_contexts import Text, text
from tests.rows import rows


class Deploy(Context, event="deploy"):
    """The program is about to deploy."""

    target: Text = text("Where to.")


class OtherDeploy(Context, event="deploy"):
    """Another class of the same event."""


def test_a_class_declares_its_event() -> None:
    """Its handlers get a context of the class, also if the event is fired by its name."""
    seen: list[tuple[type[Context], str | None]] = []
    with Engine() as engine:

        @engine.on(Deploy)
        def guard(ctx: Deploy) -> Verdict | None:
            seen.append((type(ctx), ctx.target))
            return Verdict.block("not today") if ctx.target == "production" else None

        assert engine.fire_sync(Deploy(target="staging")).go_on
        assert engine.fire_sync(Deploy(target="production")).message == "not today"
        assert engine.fire_sync(Context("deploy", target="production")).message == "not today"
    assert seen == [(Deploy, "staging"), (Deploy, "production"), (Deploy, "production")]


class Release(Context, event="release"):
    """The program is about to release something: fields as type checkers read them."""

    target: str
    session_id: str
    dry_run: bool = False
    notes: list[str] = []  # noqa: RUF012  # each reader gets a copy
    levels: ClassVar[int] = 3


def test_the_annotated_fields_of_a_class_are_what_was_given() -> None:
    """A checker takes them for the arguments and attributes of the class; a default stands in for what is missing."""
    seen: list[object] = []
    with Engine() as engine:

        @engine.on(Release)
        def guard(ctx: Release) -> Verdict | None:
            seen.append((ctx.target, ctx.session_id, ctx.dry_run, ctx.notes))
            ctx.notes.append("no default of the class")
            return Verdict.block("not there") if ctx.target == "production" and not ctx.dry_run else None

        assert engine.fire_sync(Release(target="production", session_id="s1")).refused
        assert engine.fire_sync(Release(target="production", session_id="s1", dry_run=True)).go_on
    assert seen == [("production", "s1", False, []), ("production", "s1", True, [])]
    assert Release.levels == 3


def test_an_annotated_field_that_was_not_given_is_missed_by_name() -> None:
    """A guard must not judge something else; and a misspelt one is an error at once, as of hookrun's classes."""
    with Engine() as engine:
        engine.register(Release, lambda ctx: Verdict.block(ctx.target), on_failure="block")
        result = engine.fire_sync(Context("release", session_id="s1"))
        assert (result.action, "this Release has no target" in str(result.message)) == ("block", True)
        with pytest.raises(ContextError, match='did you mean "target"'):
            engine.fire_sync(Context("release", tarrget="x"))
        with pytest.raises(AttributeError, match="cannot set target"):
            Release(target="x", session_id="s1").target = "y"


def test_a_class_may_be_fired_before_it_is_registered() -> None:
    """Nothing listens, then something does."""
    with Engine() as engine:
        assert engine.fire_sync(Deploy(target="x")).runs == ()
        engine.register(Deploy, lambda ctx: Verdict.block(ctx.target))
        assert engine.fire_sync(Deploy(target="x")).message == "x"


def test_a_handler_of_every_event_sees_all_of_them() -> None:
    """Also those that are declared later; what it answers counts, and it is taken for no other name of an event."""
    engine, seen = Engine(events=["mine"]), []

    @engine.on("*", matcher="bash", name="calls")
    def calls(ctx: Context) -> Verdict | None:
        return Verdict.block("no") if ctx.event == "pre_tool_use" else None

    engine.register("*", lambda ctx: seen.append(ctx.event), always=True, name="all")
    assert [(hook.name, hook.events) for hook in engine.hooks("stop")] == [("calls", ["*"]), ("all", ["*"])]
    assert engine.fire_sync("stop").runs[0].name == "all"
    engine.fire_sync("mine")  # type: ignore[arg-type]
    engine.fire_sync(Deploy())
    assert engine.fire_sync("pre_tool_use", tool_name="bash").message == "no"
    assert seen == ["stop", "mine", "deploy", "pre_tool_use"]
    with pytest.raises(RegistrationError, match=r'"\*" is every event'):
        engine.register(["*", "stop"], calls)
    with pytest.raises(RegistrationError, match="takes a PreToolUse"):
        engine.register("*", takes_a_call)  # type: ignore[arg-type]
    with pytest.raises(RegistrationError, match="the name is taken"):
        engine.register("stop", calls, name="calls")
    engine.register("stop", seen.append, name="last")
    engine.register("*", seen.append, name="last")


def takes_a_call(ctx: PreToolUse) -> None:
    """A handler of one event."""


def test_a_misspelt_field_of_a_class_is_an_error() -> None:
    """As of hookrun's own classes."""
    with Engine() as engine:
        engine.register(Deploy, lambda _: None)
        with pytest.raises(ContextError, match='did you mean "target"'):
            engine.fire_sync(Context("deploy", tarrget="x"))


def test_an_event_has_one_class() -> None:
    """Handlers of the other would not get what they are written for."""
    with Engine() as engine:
        engine.register(Deploy, lambda _: None)
        with pytest.raises(RegistrationError, match="Deploy is the class of the event deploy"):
            engine.register(OtherDeploy, lambda _: None)


class BashCall(PreToolUse):
    """A class of the program's for an event of hookrun's."""

    sandbox: str


def takes_a_bash_call(ctx: BashCall) -> None:
    """Take what no handler gets."""


@rows("event, function", [(BashCall, print), ("pre_tool_use", takes_a_bash_call)])
def test_an_event_of_hookruns_keeps_its_class(event: Any, function: Any) -> None:
    """A handler would get that one, without the fields of another; as a context to fire, another one is as good."""
    with Engine() as engine:
        with pytest.raises(RegistrationError, match="BashCall: PreToolUse is the class of the event pre_tool_use"):
            engine.register(event, function)
        assert engine.fire_sync(BashCall(tool_name="bash", sandbox="docker")).go_on


def two(ctx: Context, other: Context) -> None:
    """Take two parameters."""


def none() -> None:
    """Take no parameter."""


def keyword(ctx: Context, *, also: int) -> None:
    """Need another argument."""


def generator(ctx: Context) -> Iterator[Verdict]:
    """Yield an answer, which nothing asks for."""
    yield Verdict.block("no")


async def async_generator(ctx: Context) -> AsyncIterator[Verdict]:
    """Yield an answer, which nothing asks for."""
    yield Verdict.block("no")


def of_another_event(ctx: PostToolUse) -> None:
    """Take the context of another event."""


def of_one_of_two(ctx: Stop) -> None:
    """Take the context of one of the two events."""


def defaults(ctx: Context, more: int = 3, *rest: object, **others: object) -> None:
    """Can be called with the context alone."""


def unresolved(ctx: Missing) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Have an annotation that is known to type checkers only."""


@rows(
    "function, says",
    [
        (two, "a handler is called with the context alone"),
        (none, "a handler is called with the context alone"),
        (keyword, "a handler is called with the context alone"),
        (generator, "handler generator is a generator: return the answer"),
        (async_generator, "handler async_generator is a generator: return the answer"),
        (
            of_another_event,
            "takes a PostToolUse, the context of post_tool_use, and is registered",
        ),
    ],
)
def test_a_function_that_cannot_be_a_handler_is_refused_at_once(function: Any, says: str) -> None:
    """Not at the first call."""
    with Engine() as engine, pytest.raises(RegistrationError, match=says):
        engine.register(["pre_tool_use", "stop"], function)


@rows("function", [of_one_of_two, defaults, unresolved, print, [].append, PreToolUse.__repr__])
def test_a_function_that_can_be_one_is_taken(function: Any) -> None:
    """Whatever else it takes."""
    with Engine() as engine:
        assert engine.register(["pre_tool_use", "stop"], function).function is function


def test_every_error_of_the_library_has_one_base_class() -> None:
    """A program can catch all of them, and each as what it is besides."""
    errors = {name: getattr(hookrun, name) for name in hookrun.__all__ if name.endswith("Error")}
    assert len(errors) >= 5
    assert [name for name, each in errors.items() if not issubclass(each, hookrun.HookrunError)] == []
    with pytest.raises(hookrun.HookrunError):
        Engine().fire_sync(Context("nowhere"))


@rows(
    "wrong, says",
    [
        (lambda: Engine(max_processes=0), "max_processes must be at least 1, not 0"),
        (lambda: Engine(max_processes="3"), "max_processes must be at least 1, not '3'"),  # type: ignore[arg-type]
        (lambda: Engine(events="deploy"), "events must be a list of names, not 'deploy'"),
        (lambda: Engine(events=[""]), "not a valid name for a custom event"),
        (Context, "the event must be the name of an event, not None"),
        (lambda: hooked(3), "expected an Engine, not 3"),  # type: ignore[arg-type]
        (lambda: hooked(Engine(), names={"a": "b"}), "names must be a NameMap"),  # type: ignore[arg-type]
        (lambda: hooked(Engine(), hidden=["nope"])(two), "the function has no parameter"),
        (lambda: asyncio.run(run_tool(Engine(), "bash", {}, "ls")), "call must be a function"),  # type: ignore[arg-type]
        (lambda: asyncio.run(run_tool(Engine(), "bash", {}, str, decision={})), "a decision needs `pending`"),
    ],
)
def test_a_wrong_argument_of_the_library_is_such_an_error(wrong: Any, says: str) -> None:
    """And a ValueError."""
    with pytest.raises(hookrun.HookrunError, match=says) as raised:
        wrong()
    assert isinstance(raised.value, ValueError)


def test_an_engine_shows_what_it_is() -> None:
    """In a debugger."""
    with Engine(directory="/") as engine:
        engine.register("stop", lambda _: None, name="h")
        assert repr(engine.fire_sync("stop").runs) == "[HookResult('h', Verdict({'action': 'continue'}))]"
    assert repr(engine) == "<Engine closed, 1 hooks, directory '/'>"


def test_arguments_are_changed_with_any_mapping() -> None:
    """The result is a JSON object."""
    with Engine() as engine:
        engine.register("pre_tool_use", lambda _: Verdict.patch(MappingProxyType({"timeout": 5})))
        result = engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": "ls"})
    assert result.modified_args == {"command": "ls", "timeout": 5}
    assert Verdict.modify(MappingProxyType({"command": "ls"})).modified_args == {"command": "ls"}
