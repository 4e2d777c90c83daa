"""The OpenAI Agents SDK with hooks, run with its own scripted model: tools, approvals, usage and budgets."""

from __future__ import annotations

import asyncio
import runpy
from pathlib import Path
from typing import Any

import pytest

from hookrun import Abort, Engine, Verdict
from hookrun.events import PreToolUse
from hookrun.integrations.pending import PendingCalls
from hookrun.observe import CostTracker, ObserverDatabase
from tests.integrations.conftest import EXAMPLES, answering, listen
from tests.rows import rows

pytest.importorskip("agents", reason="the package openai-agents is not installed")

from agents import Agent, ModelResponse, RunConfig, Runner, RunState, function_tool
from agents.exceptions import UserError
from agents.models import get_default_model
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.usage import Usage

adapter = runpy.run_path(str(EXAMPLES / "openai_agents_hooks.py"))
ModelEvents, hooked_tool = adapter["ModelEvents"], adapter["hooked_tool"]

RAN: list[str] = []
CONFIG = RunConfig(tracing_disabled=True)
MODEL = ("before_request", "before_inference", "after_inference", "after_request")


@function_tool
def send(to: str) -> str:
    """Send it."""
    RAN.append(to)
    return f"sent to {to}"


@function_tool(failure_error_function=None)
def fails(to: str) -> str:
    """Fail."""
    raise OSError(to)


@function_tool
def look_up(to: str) -> dict[str, str]:
    """Return an object."""
    return {"password of": to}


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    """Every test begins with no call."""
    RAN.clear()


def agent_of(engine: Engine, *names: str, calls: PendingCalls | None = None, tool: Any = send) -> tuple[Any, Any]:
    """Return an agent whose model sends to these, one after the other, and then ends; and the model."""
    usage = Usage(requests=1, input_tokens=1_000_000, output_tokens=0, total_tokens=1_000_000)
    turns: list[Any] = [[function_call(tool.name, {"to": name}, call_id=f"call-{name}")] for name in names]
    model = ScriptedModel([*turns, [assistant_message("done")]], default_usage=usage)
    hooked = hooked_tool(engine, tool, pending=calls, session_id="s1")
    return Agent(name="helper", model=model, tools=[hooked]), model


def run(agent: Any, given: Any = "go", engine: Engine | None = None) -> Any:
    """Run the agent; return the result."""
    hooks = None if engine is None else ModelEvents(engine, session_id="s1")
    return asyncio.run(Runner.run(agent, given, run_config=CONFIG, hooks=hooks))


def outputs(result: Any) -> list[str]:
    """Return the tools' results, as the model gets them."""
    return [each.output for each in result.new_items if each.type == "tool_call_output_item"]


def test_a_tool_with_hooks(engine: Engine) -> None:
    """Blocked, changed, with a note; its schema is the tool's."""

    @engine.on(PreToolUse)
    def guard(ctx: PreToolUse) -> Verdict | None:
        if ctx.tool_args["to"] == "eve":
            return Verdict.block("not eve")
        return Verdict.patch({"to": "outbox"}) if ctx.tool_args["to"] == "press" else None

    answering(engine, "post_tool_use", Verdict.with_context("noted"), name="note")
    heard = listen(engine, "post_tool_use", "tool_call_aborted")
    agent, _ = agent_of(engine, "eve", "press", "ann")
    assert outputs(run(agent)) == ["not eve", "sent to outbox\n\nnoted", "sent to ann\n\nnoted"]
    assert RAN == ["outbox", "ann"]
    assert [(each.event, each.tool_use_id, each.session_id) for each in heard] == [
        ("tool_call_aborted", "call-eve", "s1"),
        ("post_tool_use", "call-press", "s1"),
        ("post_tool_use", "call-ann", "s1"),
    ]
    assert agent.tools[0].params_json_schema == send.params_json_schema


def test_a_stop_and_a_failure_end_the_run(engine: Engine) -> None:
    """As Abort, and as what the tool raised, after its hooks."""
    heard = listen(engine, "post_tool_failure")
    with pytest.raises(Exception, match="ann"):
        run(agent_of(engine, "ann", tool=fails)[0])
    assert [each.tool_result_error for each in heard] == ["OSError: ann"]
    answering(engine, "pre_tool_use", Verdict("stop", "enough"))
    with pytest.raises(UserError, match="enough") as stopped:
        run(agent_of(engine, "ann")[0])
    assert isinstance(stopped.value.__cause__, Abort)
    assert RAN == []


def test_what_replaces_is_all_that_comes_back(engine: Engine) -> None:
    """Also of an object, and of an exception."""
    answering(engine, "post_tool_use", Verdict.replace_output("[hidden]"))
    answering(engine, "post_tool_failure", Verdict.replace_output("[hidden]"), name="errors")
    assert outputs(run(agent_of(engine, "ann", tool=look_up)[0])) == ["[hidden]"]
    with pytest.raises(UserError, match="hidden") as failed:
        run(agent_of(engine, "ann", tool=fails)[0])
    assert "ann" not in f"{failed.value} {failed.value.__cause__} {failed.value.__cause__.__cause__}"


def test_an_object_comes_with_what_hooks_say_of_it(engine: Engine) -> None:
    """As text."""
    answering(engine, "post_tool_use", Verdict.block("not to be trusted"))
    assert outputs(run(agent_of(engine, "ann", tool=look_up)[0])) == ['{"password of": "ann"}\n\nnot to be trusted']


def test_a_tool_s_own_wish_for_approval_stays(engine: Engine) -> None:
    """It is asked though no hook asks; its hooks run once."""
    heard = listen(engine, "pre_tool_use")
    agent, _ = agent_of(engine, "ann", tool=function_tool(send.__wrapped__, name_override="send", needs_approval=True))
    result = run(agent)
    state = result.to_state()
    state.approve(result.interruptions[0])
    assert outputs(run(agent, state)) == ["sent to ann"]
    assert len(heard) == 1


class TestApprovals:
    """A hook's `ask` is one of the run's interruptions."""

    @staticmethod
    def waiting(engine: Engine, calls: PendingCalls, *names: str) -> tuple[Any, Any]:
        """Return an agent whose run waits, and the run's result."""
        answering(engine, "pre_tool_use", Verdict("ask", "really?", additional_context="mind the time"))
        agent, _ = agent_of(engine, *names, calls=calls)
        result = run(agent)
        assert (len(result.interruptions), RAN) == (1, [])
        return agent, result

    def test_approved_it_runs_and_its_hooks_do_not_run_again(self, engine: Engine) -> None:
        """What waits says why."""
        calls = PendingCalls()
        agent, result = self.waiting(engine, calls, "ann")
        assert [(each.tool, each.arguments, each.reason) for each in calls] == [("send", {"to": "ann"}, "really?")]
        heard = listen(engine, "pre_tool_use", "post_tool_use")
        state = result.to_state()
        state.approve(result.interruptions[0])
        assert outputs(run(agent, state)) == ["sent to ann\n\nmind the time"]
        assert ([each.event for each in heard], list(calls)) == (["post_tool_use"], [])

    def test_another_program_resumes_it(self, engine: Engine, tmp_path: Path) -> None:
        """From the state's JSON and the directory, with an agent made anew."""
        _, result = self.waiting(engine, PendingCalls(tmp_path), "ann")
        saved = result.to_state().to_string()
        heard = listen(engine, "pre_tool_use")

        async def resume() -> Any:
            agent, _ = agent_of(engine, calls=PendingCalls(tmp_path))
            state = await RunState.from_string(agent, saved)
            state.approve(state.get_interruptions()[0])
            return await Runner.run(agent, state, run_config=CONFIG)

        assert outputs(asyncio.run(resume())) == ["sent to ann\n\nmind the time"]
        assert heard == []

    def test_rejected_it_does_not_run(self, engine: Engine) -> None:
        """The model gets the SDK's message."""
        agent, result = self.waiting(engine, PendingCalls(), "ann")
        state = result.to_state()
        state.reject(result.interruptions[0], rejection_message="not today")
        assert (outputs(run(agent, state)), RAN) == (["not today"], [])

    def test_a_used_approval_runs_nothing_again(self, engine: Engine) -> None:
        """The same saved state, resumed twice: the hooks ask anew, and it does not run."""
        calls = PendingCalls()
        agent, result = self.waiting(engine, calls, "ann")
        saved = result.to_state().to_string()

        async def resume() -> Any:
            again, _ = agent_of(engine, calls=calls)
            state = await RunState.from_string(again, saved)
            state.approve(state.get_interruptions()[0])
            return await Runner.run(again, state, run_config=CONFIG)

        asyncio.run(resume())
        assert RAN == ["ann"]
        (output,) = outputs(asyncio.run(resume()))
        assert (output.startswith("needs the user's approval"), RAN) == (True, ["ann"])
        assert agent is not None

    def test_an_expired_call_does_not_run(self, engine: Engine) -> None:
        """Though the SDK's state says that it is approved."""
        now = [0.0]
        agent, result = self.waiting(engine, PendingCalls(expires_in=60, clock=lambda: now[0]), "ann")
        state = result.to_state()
        state.approve(result.interruptions[0])
        now[0] = 61.0
        (output,) = outputs(run(agent, state))
        assert (output.startswith("needs the user's approval"), RAN) == (True, [])


def test_each_inference_has_its_events(engine: Engine) -> None:
    """Around the request, with each one's usage."""
    heard = listen(engine, *MODEL)
    agent, _ = agent_of(engine, "ann")
    run(agent, engine=engine)
    assert [each.event for each in heard] == [MODEL[0], *MODEL[1:3], *MODEL[1:3], MODEL[3]]
    usages: list[Any] = [each["usage"] for each in heard if each.event == "after_inference"]
    assert [(each["input_tokens"], each["input_tokens_details"]) for each in usages] == [
        (1_000_000, {"cached_tokens": 0})
    ] * 2


def test_a_budget_ends_the_run(engine: Engine, tmp_path: Path) -> None:
    """After the second inference: its tool does not run, and the model is not asked a third time."""
    engine.use(CostTracker({"*": {"input": 1.0, "output": 1.0}}, ObserverDatabase(tmp_path / "o.db"), budget=1.5))
    agent, model = agent_of(engine, "ann", "bob", "cec", "dan")
    with pytest.raises(Abort, match=r"the budget of \$1.50 for this session is used up \(\$2.00\)"):
        run(agent, engine=engine)
    assert (len(model.calls), RAN) == (2, ["ann"])


class Named(ScriptedModel):
    """A model that knows its name, as the SDK's own do."""

    model = "large-4"


@rows(
    "model, told, known",
    [
        (Named(), {}, "large-4"),
        ("large-4", {}, "large-4"),
        (None, {}, get_default_model()),
        (ScriptedModel(), {}, None),
        ("small", {"model": "large-4"}, "large-4"),
    ],
)
def test_the_name_of_the_model(engine: Engine, model: Any, told: Any, known: str | None) -> None:
    """An agent's model may be an object, or the SDK's default; that of a RunConfig, only the program knows."""
    heard = listen(engine, "after_inference")
    response = ModelResponse(output=[], usage=Usage(requests=1, input_tokens=5, total_tokens=5), response_id=None)
    hooks = ModelEvents(engine, session_id="s1", **told)
    asyncio.run(hooks.on_llm_end(None, Agent(name="helper", model=model), response))
    assert [each.get("model") for each in heard] == [known]


def test_a_response_without_usage(engine: Engine) -> None:
    """It has none here, instead of no tokens."""
    heard = listen(engine, "after_inference")
    response = ModelResponse(output=[], usage=Usage(), response_id=None)
    asyncio.run(ModelEvents(engine).on_llm_end(None, Agent(name="helper", model="large-4"), response))
    assert [each.get("usage") for each in heard] == [None]


def test_hooks_for_other_events_are_named_at_the_start(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """Once."""
    engine.register(["stop", "pre_tool_use"], lambda _: None, name="ending")
    ModelEvents(engine)
    assert [each.message for each in caplog.records] == ["hookrun: ending: the OpenAI Agents SDK does not deliver stop"]
