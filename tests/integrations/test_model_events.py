"""The events of requests and inferences from LangChain's and the Claude SDK's own messages; a budget ends both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hookrun import Abort, Context, Engine, Verdict
from hookrun.observe import CostTracker, ObserverDatabase
from tests.integrations.conftest import answering, listen
from tests.rows import rows

pytest.importorskip("langchain.agents", reason="the package langchain (1.0 or later) is not installed")
pytest.importorskip("claude_agent_sdk", reason="the package claude-agent-sdk is not installed")

from claude_agent_sdk import AssistantMessage, ResultMessage, SystemMessage, TextBlock, UserMessage
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel

from hookrun.integrations.claude_agent_sdk import hooks_for, with_model_events
from hookrun.integrations.langchain import HookrunMiddleware
from tests.integrations.test_langchain import CALLS, Model, bash, use

MODEL = ("before_request", "before_inference", "after_inference", "after_request")
USAGE = {"input_tokens": 1_000_000, "output_tokens": 0}


@pytest.fixture
def costs(engine: Engine, tmp_path: Path) -> CostTracker:
    """A budget of 1.50 USD where every inference costs one."""
    tracker = CostTracker({"*": {"input": 1.0, "output": 1.0}}, ObserverDatabase(tmp_path / "observe.db"), budget=1.5)
    engine.use(tracker)
    return tracker


class Form(BaseModel):
    """What a program wants."""

    number: int


async def each_of(messages: list[Any]) -> AsyncIterator[Any]:
    """Yield the messages."""
    for each in messages:
        yield each


def names(heard: list[Context]) -> list[str]:
    """Return the events' names."""
    return [each.event for each in heard]


class TestLangChain:
    """`HookrunMiddleware`."""

    @staticmethod
    def run(engine: Engine, *turns: AIMessage, sync: bool = True) -> tuple[Model, list[Any]]:
        """Run an agent whose model says these; return the model and the messages."""
        CALLS.clear()
        said = [
            turn.model_copy(
                update={"usage_metadata": {**USAGE, "total_tokens": 1}, "response_metadata": {"model_name": "large-4"}}
            )
            for turn in turns
        ]
        model = Model(messages=iter(said))
        agent: Any = create_agent(model, [bash], middleware=[HookrunMiddleware(engine, session_id="s1")])
        given = {"messages": [HumanMessage("go")]}
        result = agent.invoke(given) if sync else asyncio.run(agent.ainvoke(given))
        return model, result["messages"]

    @rows("sync", [True, False])
    def test_each_inference_has_its_events(self, sync: bool) -> None:
        """Around the request; with the model's name and usage."""
        with Engine() as engine:
            heard = listen(engine, *MODEL)
            self.run(engine, use("bash", command="ls"), AIMessage("done"), sync=sync)
            assert names(heard) == [MODEL[0], *MODEL[1:3], *MODEL[1:3], MODEL[3]]
            usages = [(each["model"], dict(each["usage"])) for each in heard if each.event == "after_inference"]  # type: ignore[call-overload]
            assert usages == [("large-4", {**USAGE, "total_tokens": 1})] * 2
            assert {each.session_id for each in heard} == {"s1"}

    def test_an_answer_in_the_form_that_the_program_wants_is_an_inference(self, costs: CostTracker) -> None:
        """LangChain adds its own message behind the model's; the model that answers so is counted."""
        said = use("Form", number=1).model_copy(update={"usage_metadata": {**USAGE, "total_tokens": 1}})
        with Engine().use(costs) as engine:
            heard = listen(engine, "after_inference")
            hooks = HookrunMiddleware(engine, session_id="s1")
            agent: Any = create_agent(
                Model(messages=iter([said])), [bash], middleware=[hooks], response_format=ToolStrategy(Form)
            )
            result = agent.invoke({"messages": [HumanMessage("go")]})
        assert result["structured_response"] == Form(number=1)
        assert [dict(each["usage"]) for each in heard] == [{**USAGE, "total_tokens": 1}]  # type: ignore[call-overload]
        assert costs.spent("s1") == 1.0

    @rows("about", [{"model_name": "large-4"}, {"model": "large-4"}])
    def test_the_name_of_the_model(self, engine: Engine, about: Any) -> None:
        """Providers have two names for it."""
        heard = listen(engine, "after_inference")
        agent: Any = create_agent(
            Model(messages=iter([AIMessage("done", response_metadata=about)])), middleware=[HookrunMiddleware(engine)]
        )
        agent.invoke({"messages": [HumanMessage("go")]})
        assert [each.get("model") for each in heard] == ["large-4"]

    @rows("event", ["before_request", "before_inference"])
    @rows(
        "action, reason",
        [("block", "no more"), ("stop", "no more"), ("ask", "needs the user's approval: no more")],
    )
    def test_a_refusal_ends_the_turn(self, event: Any, action: Any, reason: str) -> None:
        """The model is not asked; the last message is the reason."""
        with Engine() as engine:
            answering(engine, event, Verdict(action, "no more"))
            heard = listen(engine, "stop", "after_request")
            model, messages = self.run(engine, AIMessage("done"))
            assert model.asked == []
            assert messages[-1].text == reason
            assert names(heard) == ["after_request"]

    def test_a_budget_ends_the_run(self, engine: Engine, costs: CostTracker) -> None:
        """After the second inference: its tool does not run, and the model is not asked a third time."""
        model, messages = self.run(engine, *[use("bash", command=f"echo {number}") for number in range(5)])
        assert (len(model.asked), CALLS) == (2, ["echo 0"])
        assert messages[-1].text == "the budget of $1.50 for this session is used up ($2.00)"
        assert costs.spent("s1") == 2.0

    def test_hooks_for_other_events_are_named_at_the_start(
        self, engine: Engine, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Once, whatever runs; events of the program's own are its own."""
        engine.register(["pre_compact", "stop"], lambda _: None, name="compacting")
        self.run(engine, use("bash", command="ls"), AIMessage("done"))
        assert [each.message for each in caplog.records] == [
            "hookrun: compacting: LangChain does not deliver pre_compact"
        ]


class TestClaude:
    """`with_model_events`, with the SDK's own classes."""

    closed = False

    def answer(self, number: int, *, blocks: int = 1) -> list[Any]:
        """Return an answer, as a message for each block."""
        block = TextBlock("text")
        about: dict[str, Any] = {"session_id": "s1", "usage": USAGE, "message_id": f"m{number}"}
        return [AssistantMessage([block], "claude-5", **about) for _ in range(blocks)]

    async def messages(self, *of: Any) -> AsyncIterator[Any]:
        """Yield what `query` does."""
        try:
            yield SystemMessage("init", {"session_id": "s1"})
            for each in of:
                yield each
        finally:
            self.closed = True

    def run(self, engine: Engine, *of: Any) -> list[Any]:
        """Return the messages that the program gets."""
        got: list[Any] = []

        async def run() -> None:
            async for message in with_model_events(engine, self.messages(*of)):
                got.append(message)  # noqa: PERF401  # what came before an exception counts

        try:
            asyncio.run(run())
        except Abort as abort:
            got.append(abort.reason)
        return got

    @staticmethod
    def result(**more: Any) -> ResultMessage:
        """Return the last message."""
        return ResultMessage("success", 1, 1, is_error=False, num_turns=1, session_id="s1", **more)

    def test_each_answer_is_an_inference(self, engine: Engine) -> None:
        """However many blocks it has; the result has the whole cost; every message arrives."""
        heard = listen(engine, *MODEL)
        of = [*self.answer(1, blocks=3), UserMessage("result"), *self.answer(2), self.result(total_cost_usd=0.3)]
        got = self.run(engine, *of)
        assert got[1:] == of
        assert names(heard) == [MODEL[0], *MODEL[1:3], *MODEL[1:3], MODEL[2], MODEL[3]]
        assert [(each.get("model"), each.get("usage")) for each in heard if each.event == "after_inference"] == [
            ("claude-5", USAGE),
            ("claude-5", USAGE),
            (None, None),
        ]
        assert {each.session_id for each in heard} == {"s1"}

    def test_an_answer_without_usage_is_an_inference(
        self, engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Spans see it, and a budget says that it does not."""
        engine.use(CostTracker({}, ObserverDatabase(tmp_path / "o.db"), budget=1.0))
        heard = listen(engine, "after_inference")
        self.run(engine, AssistantMessage([TextBlock("text")], "claude-5", session_id="s1", message_id="m1"))
        assert [(each.get("model"), each.get("usage")) for each in heard] == [("claude-5", None)]
        assert [each.message for each in caplog.records] == [
            "hookrun: model claude-5 reports no usage: the budget does not count it"
        ]

    def test_answers_of_several_subagents_at_once(self, engine: Engine, costs: CostTracker) -> None:
        """Their messages come in turns; each answer counts once."""
        heard = listen(engine, "after_inference")
        one, two = self.answer(1), self.answer(2)
        self.run(engine, *one, *two, *one, *two)
        assert (len(heard), costs.spent("s1")) == (2, 2.0)

    def test_a_budget_ends_the_run(self, engine: Engine, costs: CostTracker) -> None:
        """The messages are closed, which ends Claude; tools of the session are blocked, too."""
        turns = [each for number in range(5) for each in (*self.answer(number), UserMessage("result"))]
        got = self.run(engine, *turns)
        assert got[-1] == "the budget of $1.50 for this session is used up ($2.00)"
        assert (len(got), self.closed, costs.spent("s1")) == (5, True, 2.0)
        assert engine.fire_sync("pre_tool_use", session_id="s1", tool_name="bash", tool_args={}).refused

    def test_the_agent_s_own_figure_counts(self, engine: Engine, costs: CostTracker) -> None:
        """Not what the answers would cost at the program's prices."""
        self.run(engine, *self.answer(1), self.result(total_cost_usd=1.2))
        assert costs.spent("s1") == pytest.approx(1.2)

    def test_what_a_hook_tells_the_user_is_logged(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """The messages have no place for it: that a budget leaves something out is not lost."""
        with Engine().use(CostTracker({}, ObserverDatabase(tmp_path / "o.db"), budget=1.0)) as engine:
            self.run(engine, *self.answer(1), UserMessage("result"), *self.answer(2))
        assert [each.message for each in caplog.records] == [
            "hookrun: no price is known for model claude-5: its tokens are counted, but not its cost"
        ]

    def test_a_first_message_that_names_no_session(self, engine: Engine, costs: CostTracker) -> None:
        """What comes later does: its inferences are the session's."""
        first: Any = [UserMessage("go"), SystemMessage("status", {})]

        async def run() -> None:
            async for _ in with_model_events(engine, each_of([*first, *self.answer(1)])):
                pass

        asyncio.run(run())
        assert costs.spent("s1") == 1.0

    def test_a_request_that_is_refused(self, engine: Engine) -> None:
        """No message arrives."""
        answering(engine, "before_request", Verdict.block("not now"))
        assert self.run(engine, *self.answer(1)) == ["not now"]
        assert self.closed

    def test_model_events_are_delivered(self, engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
        """`hooks_for` names only what neither delivers."""
        engine.register([*MODEL, "pre_checkpoint"], lambda _: None, name="watch")  # type: ignore[list-item]
        hooks_for(engine)
        assert [each.message for each in caplog.records] == [
            "hookrun: watch: the Claude Agent SDK does not deliver pre_checkpoint"
        ]
