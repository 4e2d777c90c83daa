"""Registering handlers: every option, every kind of function, every way to name an event, and what is refused."""

from __future__ import annotations

import functools
import logging
import pydoc
import re
from collections.abc import Callable
from typing import Any

import pytest

import hookrun
from hookrun import Context, Engine, RegistrationError, Verdict, events
from hookrun.core.events import EVENTS
from hookrun.events import CLASSES, PreToolUse, Stop
from hookrun.library import Handler
from tests.library.firing import CALL, Fire, answers, order
from tests.rows import rows

BLOCK = Verdict.block("no")


def guard(ctx: Context) -> Verdict:
    """Refuse everything."""
    return Verdict.block(f"no {ctx.tool_name}")


class Guards:
    """Handlers that are methods, and an object that is one."""

    def method(self, ctx: Context) -> Verdict:
        """Refuse as a method."""
        return guard(ctx)

    async def async_method(self, ctx: Context) -> Verdict:
        """Refuse as an async method."""
        return guard(ctx)

    @classmethod
    def of_class(cls, ctx: Context) -> Verdict:
        """Refuse as a method of the class."""
        return guard(ctx)

    @staticmethod
    def static(ctx: Context) -> Verdict:
        """Refuse as a function in a class."""
        return guard(ctx)

    def __call__(self, ctx: Context) -> Verdict:
        """Refuse as an object."""
        return guard(ctx)


class AsyncGuard:
    """An object that is called and then awaited."""

    async def __call__(self, ctx: Context) -> Verdict:
        """Refuse."""
        return guard(ctx)


class Derived(AsyncGuard):
    """A class that inherits `__call__`."""


async def async_guard(ctx: Context) -> Verdict:
    """Refuse everything."""
    return guard(ctx)


def with_option(answer: Verdict, ctx: Context) -> Verdict:
    """Return the bound value."""
    return answer if ctx.tool_name else Verdict()


async def async_with_option(answer: Verdict, ctx: Context) -> Verdict:
    """Return the bound value."""
    return answer if ctx.tool_name else Verdict()


@rows(
    "function, name, is_async",
    [
        (guard, "guard", False),
        (async_guard, "async_guard", True),
        (lambda ctx: guard(ctx), "lambda", False),  # noqa: PLW0108  # a lambda is what is tried
        (lambda ctx: async_guard(ctx), "lambda", False),  # noqa: PLW0108  # so is this
        (Guards().method, "method", False),
        (Guards().async_method, "async_method", True),
        (Guards.of_class, "of_class", False),
        (Guards.static, "static", False),
        (Guards(), "Guards", False),
        (AsyncGuard(), "AsyncGuard", True),
        (Derived(), "Derived", True),
        (functools.partial(with_option, BLOCK), "partial", False),
        (functools.partial(async_with_option, BLOCK), "partial", True),
    ],
)
def test_whatever_can_be_called_is_a_handler(fire: Fire, function: Any, name: str, is_async: bool) -> None:
    """Functions, methods, partials, lambdas and objects, async or not, are called, of any event; each has a name."""
    with Engine() as engine:
        handler = engine.register(["pre_tool_use", "post_tool_use"], function)
        assert (handler.name, handler.is_async) == (name, is_async)
        assert [fire(engine, event).runs[0].action for event in handler.events] == ["block", "block"]


def test_the_handler_knows_where_it_was_written(engine: Engine) -> None:
    """A hook of kind handler: its target is module:qualname, its source the file and line of the function."""
    handler = engine.register("pre_tool_use", guard)
    assert isinstance(handler, Handler)
    assert (handler.kind, handler.target, handler.layer) == ("handler", f"{__name__}:guard", "user")
    assert handler.location() == f"{__file__}:{guard.__code__.co_firstlineno}"
    assert handler.function is guard
    assert repr(handler) == f"Handler('guard', {__name__}:guard)"
    assert engine.register("stop", functools.partial(with_option, BLOCK)).location().startswith(__file__)
    assert engine.register("stop", Guards()).location().startswith(__file__)
    assert engine.register("stop", print).location() == "?"


def test_every_option_is_on_the_handler(engine: Engine) -> None:
    """The options can be read back from the hook, in the form of a declaration."""
    handler = engine.register(
        ["pre_tool_use", "stop"],
        guard,
        name="n",
        matcher="bash|edit",
        when={"tool_args.command": "*rm*"},
        unless={"tool_args.n": 1},
        agents="claude",
        priority=7,
        timeout=1.5,
        parallel=True,
        always=True,
        on_failure="block",
        mode="advise",
        description="d",
        metadata={"k": [1]},
        enabled=False,
        on_error=lambda _, __: None,
        thread=True,
    )
    assert {name: getattr(handler, name) for name in ("events", "matcher", "when", "unless", "agents")} == {
        "events": ["pre_tool_use", "stop"],
        "matcher": ["bash", "edit"],
        "when": {"tool_args.command": ["*rm*"]},
        "unless": {"tool_args.n": ["1"]},
        "agents": ["claude"],
    }
    assert (handler.name, handler.priority, handler.timeout, handler.mode) == ("n", 7, 1.5, "advise")
    assert (handler.parallel, handler.always, handler.thread, handler.enabled) == (True, True, True, False)
    assert (handler.on_failure, handler.description, handler.metadata) == ("block", "d", {"k": [1]})
    assert handler.on_error is not None


def test_the_defaults_are_those_of_a_declaration(engine: Engine) -> None:
    """None, where an option may be None, is as good as nothing; but a timeout of None is no limit."""
    none = dict.fromkeys(("name", "matcher", "when", "unless", "agents", "description", "metadata", "on_error"))
    for handler in (engine.register("stop", guard), engine.register("stop", guard, **none)):  # type: ignore[arg-type]
        assert (handler.priority, handler.timeout, handler.on_failure, handler.mode) == (500, 30, "continue", "enforce")
        assert (handler.parallel, handler.always, handler.thread, handler.enabled) == (False, False, False, True)
        assert (handler.matcher, handler.when, handler.unless, handler.agents) == (None, None, None, None)
    assert engine.register("stop", guard, timeout=None).timeout == float("inf")


def test_a_handler_has_its_own_attributes_only(engine: Engine) -> None:
    """Nothing of what only a configured hook has: no process, no output, no file that it is written in."""
    handler = engine.register("stop", lambda _: None, name="quiet")
    assert not isinstance(handler, hookrun.library.Hook)
    assert {name for name in dir(handler) if not name.startswith("_")} == {
        "agents", "always", "description", "enabled", "enforcing", "events", "function", "is_async", "kind", "layer",
        "line", "location", "matcher", "metadata", "mode", "name", "on_error", "on_failure", "parallel", "priority",
        "source", "target", "thread", "timeout", "unless", "when",
    }  # fmt: skip


def test_the_decorator_leaves_the_function_as_it_is(engine: Engine) -> None:
    """It can still be called, and registered for more events, each with its own options."""

    def one(ctx: Context) -> Verdict | None:
        """Look."""
        return Verdict.block() if ctx.tool_name else None

    assert engine.on("stop", name="a")(engine.on(PreToolUse, "post_tool_use", name="b", priority=3)(one)) is one
    assert [(hook.name, hook.events, hook.priority) for hook in engine.hooks()] == [
        ("b", ["pre_tool_use", "post_tool_use"], 3),
        ("a", ["stop"], 500),
    ]


def test_an_event_goes_by_any_of_its_names(engine: Engine) -> None:
    """Canonical names, every alias and the classes of contexts; given twice it is there once."""
    for alias, event in EVENTS.items():
        assert engine.register(alias, guard).events == [event]  # type: ignore[arg-type]
    for event, cls in CLASSES.items():
        assert engine.register(cls, guard).events == [event]
    assert engine.register(["PreToolUse", PreToolUse, "BeforeTool", Stop], guard).events == ["pre_tool_use", "stop"]  # type: ignore[list-item]
    assert engine.register((name for name in ("stop", "error")), guard).events == ["stop", "error"]


def test_a_programs_own_events(fire: Fire) -> None:
    """They are given to the engine, and fired and registered as any other."""
    with Engine(events=["deployed"]) as engine:
        engine.on("deployed")(guard)  # type: ignore[call-overload]
        assert fire(engine, "deployed", x=1).action == "block"
        assert fire(engine, Context("deployed", x=1)).action == "block"
        with pytest.raises(RegistrationError, match='unknown event "deploied"; did you mean "deployed"'):
            engine.on("deploied")(guard)  # type: ignore[call-overload]


@rows(
    "options, found",
    [
        ({"priority": 1001}, "`priority` must be an integer from 0 to 1000, not 1001"),
        ({"priority": -1}, "`priority` must be an integer from 0 to 1000, not -1"),
        ({"priority": "1"}, '`priority` must be an integer from 0 to 1000, not "1"'),
        ({"priority": True}, "`priority` must be an integer from 0 to 1000, not true"),
        ({"priority": float("inf")}, "`priority` must be an integer from 0 to 1000, not Infinity"),
        ({"timeout": 0}, "`timeout` must be a number greater than 0, not 0"),
        ({"timeout": "5"}, '`timeout` must be a number greater than 0, not "5"'),
        ({"timeout": float("inf")}, "not Infinity"),
        ({"timeout": float("nan")}, "not NaN"),
        ({"on_failure": "blok"}, '`on_failure` must be "continue" or "block", not "blok"; did you mean'),
        ({"mode": "advice"}, 'did you mean "advise"?'),
        ({"matcher": 5}, "`matcher` must be one or more globs, none of them empty, not 5"),
        ({"matcher": ["a", ""]}, "matcher"),
        ({"when": "x"}, '`when` must be an object such as {"tool_args.command": "rm *"}, not "x"'),
        (
            {"when": {"tool_args.command": {}}},
            '`when["tool_args.command"]` must be a glob or a list of globs, not an empty object',
        ),
        ({"when": {}}, "when"),
        ({"unless": {"": "x"}}, "unless"),
        ({"agents": 3}, "`agents` must be an agent or a list of agents, not 3"),
        ({"parallel": "yes"}, '`parallel` must be true or false, not "yes"'),
        ({"always": 1}, "`always` must be true or false, not 1"),
        ({"thread": "yes"}, "thread"),
        ({"enabled": "no"}, "enabled"),
        ({"metadata": 3}, "`metadata` must be an object, not 3"),
        ({"description": 3}, "`description` must be a string, not 3"),
        ({"name": "a\nb"}, "`name` must be"),
        ({"name": 5}, "`name` must be a name without control characters, not 5"),
        ({"on_error": 3}, "on_error is"),
        ({"nam": "x"}, 'unknown option "nam"; did you mean "name"?'),
        ({"prioritty": 1}, 'unknown option "prioritty"; did you mean "priority"?'),
        ({"background": True}, 'unknown option "background"'),
    ],
)
def test_an_option_that_is_wrong_is_refused(engine: Engine, options: dict[str, Any], found: str) -> None:
    """The message shows the actual and the expected value and the nearest match; no hook is registered."""
    with pytest.raises(RegistrationError) as caught:
        engine.register("pre_tool_use", guard, **options)
    assert found in str(caught.value)
    assert engine.hooks() == []


def test_a_message_says_where_and_everything_at_once(engine: Engine) -> None:
    """File and line of the function, the handler's name, one line for each mistake."""
    with pytest.raises(RegistrationError) as caught:
        engine.register("stop", guard, name="n", priority=1001, mode="x")  # type: ignore[call-overload]
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{__file__}:{guard.__code__.co_firstlineno}:1: handler `n`: ") for line in lines)
    assert issubclass(RegistrationError, ValueError)


@rows(
    "events, found",
    [
        ("pre_tool_usee", 'handler guard: unknown event "pre_tool_usee"; did you mean "pre_tool_use"?'),
        ("zzz", "`hookrun help events` lists the events"),
        ("zzz", "Engine(events=[...])"),
        ("", "unknown event"),
        ([], "handler guard: no event given"),
        ([Context], "unknown event"),
        (PreToolUse(tool_name="x"), 'unknown event "PreToolUse'),
        ([5], "unknown event"),
        ([None], "unknown event"),
        (dict, "unknown event"),
        (5, "event"),
        (None, "event"),
    ],
)
def test_an_event_that_is_none_is_refused(engine: Engine, events: Any, found: str) -> None:
    """Unknown names with what is near, no event at all, things that are none; nothing is registered."""
    with pytest.raises(RegistrationError) as caught:
        engine.register(events, guard)
    assert found in str(caught.value)
    assert engine.hooks() == []


@rows("function", [None, 5, "guard", BLOCK])
def test_what_cannot_be_called_is_refused(engine: Engine, function: Any) -> None:
    """A handler is something that can be called."""
    with pytest.raises(RegistrationError, match="is not a function: pass one that takes the context"):
        engine.register("stop", function)


@rows("function", [async_guard, AsyncGuard(), Derived()])
def test_an_async_function_needs_no_thread(engine: Engine, function: Any) -> None:
    """thread=True is for functions that block; with an async one it is a mistake."""
    with pytest.raises(RegistrationError, match="is async: thread=True is for functions that are not async"):
        engine.register("stop", function, thread=True)


def test_a_bundle_registers_its_handlers(engine: Engine) -> None:
    """`use` calls its `register` with the engine, and returns the engine."""

    class Bundle:
        def register(self, engine: Engine) -> None:
            engine.register("stop", guard, name="one")
            engine.register("stop", guard, name="two")

    assert engine.use(Bundle()) is engine
    assert [hook.name for hook in engine.hooks()] == ["one", "two"]


def test_a_decorator_without_its_event_is_refused(engine: Engine) -> None:
    """`@engine.on` for `@engine.on(event)`: an error at once, because no hook would ever be registered."""
    with pytest.raises(RegistrationError, match="unknown event"):
        engine.on(guard)  # type: ignore[call-overload]
    with pytest.raises(RegistrationError, match="no event"):
        engine.on()  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "make",
    [
        lambda tool: lambda ctx: Verdict.block() if ctx.tool_name == tool else None,
        lambda tool: functools.partial(with_option, Verdict.block(tool)),
        lambda _: Guards(),
    ],
    ids=["lambda", "partial", "object"],
)
def test_a_name_that_was_made_up_does_not_replace_another_function_in_silence(
    engine: Engine, caplog: pytest.LogCaptureFixture, make: Callable[[str], Any]
) -> None:
    """Two guards without names: both are registered, or a message says that one is not."""
    log = ""
    with caplog.at_level(logging.WARNING, "hookrun"):
        engine.register("pre_tool_use", make("bash"), matcher="bash")
        try:
            engine.register("pre_tool_use", make("edit"), matcher="edit")
        except RegistrationError as error:
            log = str(error)
    assert len(engine.hooks()) == 2 or log or caplog.text


def test_every_public_name_is_there() -> None:
    """`hookrun` offers an engine, what goes in and comes out, and its errors, which have one base; no more."""
    offered = {name: getattr(hookrun, name) for name in hookrun.__all__}
    errors = {name for name, each in offered.items() if isinstance(each, type) and issubclass(each, BaseException)}
    assert offered.keys() - errors == {"Context", "Engine", "Result", "Verdict", "hooked", "load", "run_tool"}
    assert all(issubclass(offered[name], hookrun.HookrunError) for name in errors)
    assert set(events.__all__) == {cls.__name__ for cls in CLASSES.values()}
    assert len(CLASSES) == 27
    assert all(getattr(events, cls.__name__) is cls and cls.__module__ == "hookrun.events" for cls in CLASSES.values())
    assert set(hookrun.__all__) <= set(dir(hookrun))


def test_help_shows_how_to_begin() -> None:
    """`help(hookrun)` has an example, the public names, and where the others are."""
    shown = pydoc.plain(pydoc.render_doc(hookrun))
    for each in ("@engine.on", "class Engine(", "class Verdict(", "run_tool(", "hookrun.events", "HookrunError"):
        assert each in shown


def test_a_string_is_no_list_of_events() -> None:
    """`Engine(events="abc")` is not three events, and an invalid name is no event."""
    for wrong in ("", 5, None, ["deployed"]):
        with pytest.raises(ValueError, match=re.escape(f"events has {wrong!r}, which is not a valid name")):
            Engine(events=["deployed", wrong])  # type: ignore[list-item]
    with pytest.raises((ValueError, TypeError)):
        Engine(events="abc")


def test_an_option_that_is_none_switches_nothing_off(engine: Engine, fire: Fire) -> None:
    """`enabled=None` is the default, as None is for every other option."""
    engine.register("pre_tool_use", answers(BLOCK), name="a", enabled=None)  # type: ignore[call-overload]
    result = fire(engine, **CALL)
    assert (result.action, order(result)) == ("block", ["a"])
