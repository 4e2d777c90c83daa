"""Hooks replace a tool's result, its error and the prompt in programs: what model, caller and later hooks get."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from hookrun import Engine, Verdict
from hookrun.integrations.hooked import HookedCall, hooked
from hookrun.integrations.tool_loop import ToolFailed, ToolOutcome, run_tool, run_tool_sync
from tests.integrations.conftest import answering, listen
from tests.rows import rows

WITHHELD = "(withheld by hookrun: a hook that checks it has failed)"
NEW = Verdict.replace_output("new")

Runner = Callable[..., ToolOutcome]


def run_async(*args: Any, **options: Any) -> ToolOutcome:
    """Run a tool in a separate loop."""
    return asyncio.run(run_tool(*args, **options))


@pytest.fixture(params=[run_async, run_tool_sync], ids=["async", "sync"])
def run(request: pytest.FixtureRequest) -> Runner:
    """Both ways to run a tool."""
    runner: Runner = request.param
    return runner


def raising(**_: object) -> object:
    """Fail with a secret in the error."""
    raise ValueError("hunter2")


def test_the_model_and_later_hooks_get_the_replaced_result(run: Runner, engine: Engine) -> None:
    """Chained: the second hook replaces what the first has put there; a change of a file is reported with it."""
    answering(engine, "post_tool_use", Verdict.replace_output("first", "for the model"), name="a")
    engine.register("post_tool_use", lambda ctx: Verdict.replace_output(f"{ctx.tool_result_output}, second"), name="b")
    heard = listen(engine, "post_tool_use")
    outcome = run(engine, "bash", {"command": "x"}, lambda **_: "hunter2")
    assert heard[0].tool_result_output == "first, second"
    assert (outcome.result, outcome.output, outcome.returned) == ("first, second", "first, second", "hunter2")
    assert outcome.content == "first, second\n\nfor the model"


@rows(
    "returned, new, result",
    [
        ("hunter2", "", ""),
        ({"key": "hunter2"}, '{"key": "[hidden]"}', {"key": "[hidden]"}),
        ({"key": "hunter2"}, "nothing", "nothing"),
        (["hunter2"], '{"a": 1}', '{"a": 1}'),
        (3, "4", 4),
        (None, "new", "new"),
        (object(), "new", "new"),
    ],
)
def test_the_result_keeps_its_type_where_the_text_has_it(
    run: Runner, returned: object, new: str, result: object
) -> None:
    """A tool that returns an object goes on to, if the new text is one."""
    engine = Engine()
    answering(engine, "post_tool_use", Verdict.replace_output(new))
    assert run(engine, "lookup", {}, lambda **_: returned).result == result


def test_an_error_is_replaced_in_text_and_exception(run: Runner, engine: Engine) -> None:
    """Neither has the old text."""
    answering(engine, "post_tool_failure", NEW)
    outcome = run(engine, "bash", {"command": "x"}, raising)
    assert (outcome.content, outcome.error, str(outcome.exception)) == ("new", "new", "new")
    assert isinstance(outcome.exception, ToolFailed)
    assert "hunter2" not in repr(outcome)


@rows("call, event", [(lambda **_: "hunter2", "post_tool_use"), (raising, "post_tool_failure")])
def test_a_guard_that_fails_withholds_it(run: Runner, call: Callable[..., object], event: Any) -> None:
    """The model gets why, without the error's text, which may quote what is withheld."""
    engine = Engine()

    def guard(_: object) -> None:
        raise ValueError("not a number: hunter2")

    engine.register(event, guard, name="guard", on_failure="block")
    outcome = run(engine, "bash", {"command": "x"}, call)
    assert outcome.output == WITHHELD
    assert outcome.content == f"{WITHHELD}\n\nhook guard failed (exception), so the output was withheld"


def test_a_hooked_function_returns_and_raises_what_replaces(engine: Engine) -> None:
    """Its caller, a framework, never sees the other."""
    answering(engine, "post_tool_use", NEW)
    answering(engine, "post_tool_failure", Verdict.replace_output("new error"), name="errors")

    @hooked(engine)
    def lookup(name: str) -> str:
        if name == "fail":
            raising()
        return "hunter2"

    assert lookup("x") == "new"
    with pytest.raises(ToolFailed, match="new error"):
        lookup("fail")


def test_the_halves_of_a_call_have_it(engine: Engine) -> None:
    """For frameworks that call the tool themselves."""
    answering(engine, "post_tool_use", NEW)
    call = HookedCall(engine, "bash", {"command": "x"})
    assert call.before_sync() is None
    assert call.after_sync("hunter2").content == "new"


def test_a_prompt_is_replaced_for_later_hooks_and_the_program(engine: Engine) -> None:
    """The result has the last; with a refusal there is none to send."""
    answering(engine, "user_prompt_submit", Verdict.replace_prompt("better"))
    heard = listen(engine, "user_prompt_submit")
    assert engine.fire_sync("user_prompt_submit", user_prompt="worse").modified_prompt == "better"
    assert heard[0].user_prompt == "better"
    answering(engine, "user_prompt_submit", Verdict.block("no"), name="z")
    assert engine.fire_sync("user_prompt_submit", user_prompt="worse").modified_prompt is None


def test_claude_s_sdk_gets_it_in_the_form_of_the_tool(engine: Engine) -> None:
    """As Claude Code takes it on the command line."""
    pytest.importorskip("claude_agent_sdk", reason="the package claude-agent-sdk is not installed")
    from tests.integrations.test_claude_agent_sdk import ask, payload  # its types are the SDK's

    answering(engine, "post_tool_use", NEW)
    updated = ask(engine, payload("PostToolUse"))["hookSpecificOutput"]["updatedToolOutput"]
    assert updated == {"stdout": "new", "stderr": "", "interrupted": False}
