"""Losses through a slip in a program: a handler under another's name, a misspelled field, a late message."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine
from threading import Event, get_ident
from typing import Any

import pytest

from hookrun import Context, Engine, RegistrationError, Verdict
from hookrun.core.context import ContextError
from hookrun.core.literals import EventName
from hookrun.events import PreToolUse
from hookrun.library import Handler, tables
from hookrun.recipes.notify import Notify
from hookrun.recipes.notify_channels import Notice
from tests.library.firing import Fire, answers, within
from tests.library.running import state_of
from tests.rows import rows
from tests.waiting import hang_async, limit, vary


def guard(ctx: Context) -> Verdict:
    """Refuse everything."""
    return Verdict.block(f"no {ctx.event}")


def events(engine: Engine) -> dict[str, list[str]]:
    """Return the events of each handler."""
    return {hook.name: list(hook.events) for hook in engine.hooks()}


# --- names


@pytest.mark.parametrize("lost", ["pre_tool_use", ["pre_tool_use", "post_tool_use"]], ids=["other", "one of two"])
def test_a_name_at_another_event_is_an_error_that_names_both(engine: Engine, lost: str | list[str]) -> None:
    """The handler that has the name stays in force; the message has both events and where that handler is written."""
    engine.register(lost, guard, name="guard")  # type: ignore[arg-type]
    with pytest.raises(RegistrationError) as caught:
        engine.register("post_tool_use", answers(None), name="guard")
    assert "handler guard for post_tool_use: " in str(caught.value)
    assert f"{__file__}:{guard.__code__.co_firstlineno}" in str(caught.value)
    assert "pre_tool_use" in str(caught.value).split("taken")[1]
    assert "replace=True" in str(caught.value)
    assert engine.fire_sync("pre_tool_use", tool_name="bash").message == "no pre_tool_use"


def test_a_name_that_was_taken_may_be_replaced_on_purpose(engine: Engine) -> None:
    """With `replace=True` whatever its events; without it where none of its events is left without the name."""
    engine.register("pre_tool_use", guard, name="a")
    engine.register("post_tool_use", guard, name="a", replace=True)
    assert events(engine) == {"a": ["post_tool_use"]}
    engine.register(["post_tool_use", "stop"], guard, name="a")
    assert events(engine) == {"a": ["post_tool_use", "stop"]}
    engine.on("stop", name="a", replace=True)(guard)
    assert events(engine) == {"a": ["stop"]}
    with pytest.raises(RegistrationError, match="`replace` must be true or false"):
        engine.register("stop", guard, name="a", replace="yes")  # type: ignore[call-overload]


def test_one_function_for_two_events_without_a_name_is_two_handlers(engine: Engine) -> None:
    """The duplicate name was not chosen: the second gets a number; a module that is run again adds none."""
    for _ in range(2):
        for event in ("pre_tool_use", "stop", PreToolUse):
            engine.register(event, guard)
    assert sorted(events(engine).items()) == [("guard", ["pre_tool_use"]), ("guard-2", ["stop"])]


def test_two_bundles_of_one_name_at_other_events_are_an_error(engine: Engine) -> None:
    """As with handlers: a second `Notify` for other events would end the first."""
    engine.use(Notify((), events=["stop"]))
    with pytest.raises(RegistrationError, match="handler notify for error: the name is taken"):
        engine.use(Notify((), events=["error"]))


# --- fields


@rows(
    "event, fields, said",
    [
        ("pre_tool_use", {"tool_nam": "bash"}, 'unknown field "tool_nam": did you mean "tool_name"?'),
        ("pre_tool_use", {"toolName": "bash"}, 'unknown field "toolName": did you mean "tool_name"?'),
        ("pre_tool_use", {"tool": "bash"}, 'unknown field "tool": did you mean "tool_name"?'),
        ("PreToolUse", {"tool_name": "bash", "tool_arg": {}}, 'unknown field "tool_arg": did you mean "tool_args"?'),
        ("pre_tool_use", {"tool_name": "bash", "command": "ls"}, 'did you mean "tool_args.command"?'),
        ("file_changed", {"filepath": "/x"}, 'unknown field "filepath": did you mean "file_path"?'),
        ("user_prompt_submit", {"prompt": "hello"}, 'unknown field "prompt": did you mean "user_prompt"?'),
        ("stop", {"sesion_id": "s"}, 'unknown field "sesion_id": did you mean "session_id"?'),
        ("stop", {"cwd": "/"}, 'unknown field "cwd": did you mean "working_dir"?'),
        ("stop", {"agnt": "x"}, 'unknown field "agnt": did you mean "agent"?'),
        ("notification", {"mesage": "x"}, 'unknown field "mesage": did you mean "message"?'),
        ("pre_compact", {"trigerr": "auto"}, 'unknown field "trigerr": did you mean "trigger"?'),
        ("stop", {"deadlin": 5}, 'unknown field "deadlin": did you mean "deadline"?'),
        ("deployed", {"tool_nam": "bash"}, 'unknown field "tool_nam": did you mean "tool_name"?'),
    ],
)
def test_a_misspelled_field_is_an_error_with_the_nearest_name(
    fire: Fire, event: str, fields: dict[str, Any], said: str
) -> None:
    """Every matcher would miss it. However the fields are given, and however often."""
    with Engine(events=["deployed"]) as engine:
        for positional, named in (((event,), fields), ((event, fields), {}), ((Context(event, **fields),), {})) * 2:
            with pytest.raises(ValueError, match=re.escape(said)):
                fire(engine, *positional, **named)


@rows(
    "event, fields",
    [
        ("pre_tool_use", {"sandbox": "docker", "tool_call_id": "1", "attempt": 2, "agent_name": "x"}),
        ("pre_tool_use", {"tool_name": "bash", "tool": object(), "tool_args": {}, "command": "ls"}),
        ("stop", {"file_paths": ["/x"], "messages": [], "session_ids": {"a"}, "path": "/", "mode": "plan"}),
        ("before_inference", {"mode": "fast", "models": ["a"], "prompt": "hello"}),
        ("stop", {"tool_name": None, "tool_nam": "bash"}),
        ("deployed", {"command": "make", "tool": "make", "cwd": "/", "url": "https://x", "message": "m"}),
    ],
)
def test_fields_of_the_programs_own_are_none(fire: Fire, event: EventName, fields: dict[str, Any]) -> None:
    """What resembles no known field, or one that is given as well, or has a value that would not fit, is kept."""
    with Engine(events=["deployed"]) as engine:
        seen: list[dict[str, object]] = []
        engine.register(event, lambda ctx: seen.append(dict(ctx)))
        for _ in range(2):
            fire(engine, event, **fields)
        assert [{key: each[key] for key in fields} for each in seen] == [fields] * 2


def test_a_remembered_shape_lets_no_other_field_through(fire: Fire, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was right is not asked again; another name or type is, however many were remembered, and forgotten."""
    monkeypatch.setattr(tables, "MOST_REMEMBERED", 2)
    with Engine() as engine:
        for number in range(5):
            right = {"tool_name": "bash", f"own_{number}": number}
            assert fire(engine, "pre_tool_use", **right).go_on
            with pytest.raises(ContextError, match="tool_args is a list"):
                fire(engine, "pre_tool_use", **right, tool_args=[number])
            with pytest.raises(ContextError, match='unknown field "tool_arg"'):
                fire(engine, "pre_tool_use", **right, tool_arg={})
        assert fire(engine, "pre_tool_use", tool_name="bash", tool_args={}).go_on


# --- the end


async def a_moment() -> None:
    """Take some time, while others run."""
    await asyncio.to_thread(vary, 0.1)


class Slow:
    """A channel that takes its time."""

    def __init__(self, takes: Callable[[], Coroutine[Any, Any, None]] = a_moment) -> None:
        self.takes = takes
        self.begun = Event()
        self.sent: list[str] = []
        self.thread: int | None = None

    def unavailable(self) -> str | None:
        """Return None: it always works."""

    async def send(self, note: Notice) -> None:
        """Keep the text after a while."""
        self.thread = get_ident()
        self.begun.set()
        await self.takes()
        self.sent.append(note.text)


async def fires(engine: Engine) -> None:
    """Fire the last event of a turn."""
    await engine.fire("stop", assistant_response="All done.")


async def fires_and_closes(engine: Engine) -> None:
    """Do so in a block."""
    async with engine:
        await fires(engine)


def fires_sync(engine: Engine) -> None:
    """Do the same in a thread."""
    engine.fire_sync("stop", assistant_response="All done.")


def with_with(engine: Engine) -> None:
    """Fire in a block."""
    with engine:
        fires_sync(engine)


ENDS: dict[str, list[Callable[[Engine], object]]] = {
    "async with": [lambda engine: asyncio.run(fires_and_closes(engine))],
    "with": [with_with],
    "close": [fires_sync, Engine.close_sync],
    "close in a later loop": [lambda engine: asyncio.run(fires(engine)), lambda engine: asyncio.run(engine.close())],
}


@pytest.mark.parametrize("steps", ENDS.values(), ids=ENDS)
def test_the_last_message_is_told(steps: list[Callable[[Engine], object]]) -> None:
    """The engine is closed right after the last stop: it waits for messages being sent, however it is closed."""
    channel = Slow()
    engine = Engine().use(Notify(channel))
    within(lambda: [step(engine) for step in steps])
    assert channel.sent == ["All done."]


def test_background_work_runs_in_the_engines_own_thread(engine: Engine) -> None:
    """Not in the loop that fires: that may end, or be blocked, before the work is done."""
    channel = Slow()
    engine.use(Notify(channel))
    asyncio.run(fires(engine))
    within(lambda: asyncio.run(engine.wait_background()))
    assert channel.sent == ["All done."]
    assert channel.thread not in (None, get_ident())


@pytest.mark.parametrize(
    "close", [lambda engine: engine.close_sync(wait=0.1), lambda engine: asyncio.run(engine.close(wait=0.1))]
)
def test_what_is_cancelled_at_the_end_is_logged(
    caplog: pytest.LogCaptureFixture, close: Callable[[Engine], None]
) -> None:
    """By the names of hook and work; it does not hold up the end longer than was asked for."""
    channel = Slow(hang_async)
    engine = Engine().use(Notify(channel))
    with caplog.at_level(logging.WARNING, "hookrun"):
        engine.fire_sync("stop", assistant_response="All done.")
        within(lambda: close(engine))
    assert caplog.messages == ["hook notify: Slow was cancelled before it finished"]


def test_an_engine_that_its_own_background_work_closes_does_not_wait_for_it(engine: Engine) -> None:
    """It would wait for itself, in a coroutine and in a thread."""
    done = Event()

    def in_thread() -> None:
        engine.close_sync()
        done.set()

    async def in_loop() -> None:
        engine.close_sync()
        done.set()

    for work in (in_thread, in_loop):
        with Engine() as engine:  # noqa: PLR1704  # each closes its own
            done.clear()
            engine.register("stop", lambda ctx, work=work: ctx.background(work))  # type: ignore[misc]
            engine.fire_sync("stop")
            assert done.wait(limit())


def test_a_close_that_is_cancelled_closes_all_the_same(engine: Engine) -> None:
    """No thread and no work is left by a program that is interrupted while it waits for the end."""
    channel = Slow(hang_async)
    engine.use(Notify(channel))

    async def main() -> None:
        await fires(engine)
        closing = asyncio.create_task(engine.close(wait=3600))
        await asyncio.to_thread(channel.begun.wait, limit())
        closing.cancel()
        await asyncio.wait([closing])
        assert closing.cancelled()

    within(lambda: asyncio.run(main()))
    assert state_of(engine).background.names() == []


def test_background_work_may_fire_while_the_end_waits_for_it() -> None:
    """Work that was started earlier is completed; no other caller can fire any more."""
    fired: list[str] = []
    engine = Engine()
    engine.register("notification", lambda ctx: fired.append(str(ctx["message"])))

    async def work() -> None:
        await a_moment()
        await engine.fire("notification", message="late")

    engine.register("stop", lambda ctx: ctx.background(work()))
    engine.fire_sync("stop")
    within(engine.close_sync)
    assert fired == ["late"]


def test_the_handler_that_is_returned_has_the_name_that_it_got(engine: Engine) -> None:
    """So that a program can disable a hook that it registered without a name."""
    assert [engine.register(event, guard).name for event in ("stop", "error")] == ["guard", "guard-2"]
    assert isinstance(engine.register("error", guard), Handler)
