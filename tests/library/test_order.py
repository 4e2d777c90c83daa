"""The order of an engine's hooks: priorities, ties, replacing, disabling and enabling, removing; during a fire too."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from hookrun import Context, Engine, Verdict
from hookrun.core.model import Hook
from hookrun.events import Stop
from tests.library.firing import Fire, answers, order
from tests.library.running import declare


def names(engine: Engine, event: Any = None) -> list[str]:
    """Return the names of the hooks in their order."""
    return [hook.name for hook in engine.hooks(event)]


def silent(ctx: Context) -> None:
    """Have no objection."""


def test_lower_priority_runs_first_and_ties_run_as_registered(engine: Engine, fire: Fire) -> None:
    """Whatever order they are registered in; async, sync and threaded ones are in the same order."""

    async def async_one(ctx: Context) -> None:
        """Return nothing."""

    engine.register("stop", answers(None), name="d", priority=500)
    engine.register("stop", async_one, name="e")
    engine.register("stop", answers(None), name="f", thread=True)
    engine.register("stop", answers(None), name="z", priority=1000)
    engine.register("stop", async_one, name="a", priority=0)
    engine.register("stop", answers(None), name="c", priority=499)
    assert order(fire(engine, "stop")) == ["a", "c", "d", "e", "f", "z"] == names(engine)


def test_hooks_of_an_event(engine: Engine) -> None:
    """`hooks` takes an event by any name, or by its class; an unknown event is an error."""
    engine.register("stop", answers(None), name="a")
    engine.register(["error", "stop"], answers(None), name="b", priority=1)
    assert names(engine) == names(engine, "Stop") == names(engine, Stop) == ["b", "a"]
    assert names(engine, "error") == ["b"]
    assert names(engine, "pre_tool_use") == []
    with pytest.raises(ValueError, match="hooks: unknown event"):
        engine.hooks("stopp")  # type: ignore[arg-type]


def test_the_same_name_replaces(engine: Engine, fire: Fire) -> None:
    """The new one has its own priority and events, and comes last among those of its priority."""
    engine.register("stop", answers(Verdict.block("old")), name="a", priority=1)
    engine.register("stop", answers(None), name="b")
    new = engine.register("stop", answers(Verdict.with_context("new")), name="a")
    assert names(engine) == ["b", "a"]
    result = fire(engine, "stop")
    assert (order(result), result.action, result.additional_context) == (["b", "a"], "continue", "new")
    assert engine.hooks()[1] is new
    engine.register("error", answers(None), name="a", priority=0, replace=True)
    assert names(engine, "stop") == ["b"]
    assert names(engine) == ["a", "b"]


def test_the_log_tells_what_is_replaced(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """By the name and both functions; a first registration, and one that gets a number, are not logged."""
    with caplog.at_level(logging.INFO, "hookrun"):
        engine.register("stop", silent)
        engine.register("stop", print, name="a")
        engine.register("stop", lambda _: None)
        engine.register("stop", lambda _: None)
        assert caplog.text == ""
        engine.register("stop", silent, name="a")
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("INFO", "hookrun")
    assert record.getMessage() == f"hook a is replaced: {__name__}:silent instead of builtins:print"


def test_what_replaces_one_that_was_off_is_on(engine: Engine, fire: Fire) -> None:
    """A handler that is registered runs, unless it is registered with `enabled=False`."""
    engine.register("stop", answers(None), name="a")
    engine.disable("a")
    engine.register("stop", answers(None), name="a")
    assert engine.enabled("a")
    assert order(fire(engine, "stop")) == ["a"]
    engine.register("stop", answers(None), name="a", enabled=False)
    assert not engine.enabled("a")
    assert order(fire(engine, "stop")) == []


def test_a_hook_that_is_off_stays_in_its_place(engine: Engine, fire: Fire) -> None:
    """It does not run, it is listed, and it runs again in its old place."""
    for name in "abc":
        engine.register("stop", answers(Verdict.with_context(name)), name=name)
    engine.disable("b")
    engine.disable("b")
    assert (order(fire(engine, "stop")), names(engine)) == (["a", "c"], ["a", "b", "c"])
    assert [getattr(hook, "enabled", None) for hook in engine.hooks()] == [True, False, True]
    assert [engine.enabled(name) for name in "abc"] == [True, False, True]
    engine.enable("b")
    result = fire(engine, "stop")
    assert (order(result), result.additional_context) == (["a", "b", "c"], "a\nb\nc")
    assert engine.enabled("b")


def test_one_that_is_removed_is_gone(engine: Engine, fire: Fire) -> None:
    """Nothing is left of it; asking for it is an error."""
    engine.register("stop", answers(None), name="a")
    engine.remove("a")
    assert names(engine) == order(fire(engine, "stop")) == []
    for ask in (engine.remove, engine.enable, engine.disable, engine.enabled):
        with pytest.raises(KeyError, match="no h"):
            ask("a")


def test_a_fire_keeps_the_hooks_it_began_with(engine: Engine, fire: Fire) -> None:
    """A handler that switches off, removes, replaces or adds others is obeyed from the next fire on."""

    def busy(ctx: Context) -> None:
        engine.disable("off")
        engine.remove("gone")
        engine.register("stop", answers(Verdict.with_context("new")), name="other")
        engine.register("stop", answers(None), name="more")
        engine.remove("busy")

    engine.register("stop", busy, name="busy")
    for name in ("off", "gone"):
        engine.register("stop", answers(None), name=name)
    engine.register("stop", answers(Verdict.with_context("old")), name="other")
    result = fire(engine, "stop")
    assert (order(result), result.additional_context) == (["busy", "off", "gone", "other"], "old")
    result = fire(engine, "stop")
    assert (order(result), result.additional_context) == (["other", "more"], "new")


def test_matcher_when_unless_and_agents_select(engine: Engine, fire: Fire) -> None:
    """As in a declaration: tools by canonical name or the agent's own, conditions on any field."""
    for name, options in {
        "bash": {"matcher": "bash|edit"},
        "list": {"matcher": ["ba*"]},
        "own": {"matcher": "terminal"},
        "when": {"when": {"tool_args.command": "rm *"}},
        "unless": {"unless": {"tool_args.command": "rm *"}},
        "number": {"when": {"tool_args.n": 1}},
        "agent": {"agents": ["claude", "codex"]},
        "mine": {"when": {"mine.deep": "x"}},
    }.items():
        engine.register("pre_tool_use", answers(None), name=name, **options)  # type: ignore[arg-type]
    call = {"tool_name": "bash", "tool_args": {"command": "rm x", "n": 1}}
    assert order(fire(engine, **call)) == ["bash", "list", "when", "number"]
    call |= {"agent": "codex", "agent_tool_name": "terminal", "mine": {"deep": "x"}}
    assert order(fire(engine, **call)) == ["bash", "list", "own", "when", "number", "agent", "mine"]
    assert order(fire(engine, tool_name="write", tool_args={})) == ["unless"]


def test_a_managed_hook_is_not_the_programs_to_switch_off(engine: Engine, fire: Fire) -> None:
    """Neither by its name, nor by a handler of the same name that is off, was off, or was removed."""
    managed = Hook(name="m", events=["stop"], layer="managed", target="exit 2")
    declare(engine, managed)
    with pytest.raises(PermissionError, match="hook m is managed"):
        engine.disable("m")
    assert fire(engine, "stop").action == "block"
    engine.register("stop", answers(None), name="m", enabled=False)
    assert fire(engine, "stop").action == "block"
    engine.remove("m")
    assert fire(engine, "stop").action == "block"


def test_a_handler_that_is_off_switches_no_declared_hook_of_its_name_off(engine: Engine, fire: Fire) -> None:
    """`enabled=False` concerns the handler alone: a declared guard of the same name still runs."""
    engine.register("stop", answers(None), name="m", enabled=False)
    declared = Hook(name="m", events=["stop"], layer="user", target="exit 2")
    declare(engine, declared)
    assert fire(engine, "stop").action == "block"
