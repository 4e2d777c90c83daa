"""A hook's `ask` as LangGraph's interrupt: stored, decided later, resumed without its hooks running twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookrun import Engine, Verdict
from hookrun.events import PreToolUse
from hookrun.integrations.pending import Decision, Pending, PendingCalls
from tests.integrations.conftest import listen
from tests.rows import rows

pytest.importorskip("langchain.agents", reason="the package langchain (1.0 or later) is not installed")

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from hookrun.integrations.langchain import HookrunMiddleware
from tests.integrations.test_langchain import Model

RAN: list[str] = []
THREAD: Any = {"configurable": {"thread_id": "thread-1"}}


@tool
def send(to: str) -> str:
    """Send it."""
    RAN.append(to)
    return f"sent to {to}"


@pytest.fixture(autouse=True)
def guarded(engine: Engine) -> None:
    """The engine of most tests has the guard."""
    guard(engine)


def guard(engine: Engine) -> None:
    """Register a hook that asks, and blocks what is for `eve`."""
    RAN.clear()

    @engine.on(PreToolUse)
    def asks(ctx: PreToolUse) -> Verdict | None:
        to = ctx.tool_args["to"]
        return Verdict.block("not eve") if to == "eve" else Verdict("ask", "really?", system_message="it asks")


def calling(*recipients: str) -> AIMessage:
    """Return the turn that sends to these."""
    return AIMessage("", tool_calls=[{"name": "send", "args": {"to": to}, "id": f"call-{to}"} for to in recipients])


class Run:
    """An agent whose calls wait."""

    def __init__(
        self, engine: Engine, calls: PendingCalls, *recipients: str, saver: Any = None, sync: bool = True
    ) -> None:
        self.told: list[str] = []
        self.sync = sync
        model = Model(messages=iter([calling(*recipients), AIMessage("done"), AIMessage("done")]))
        hooks = HookrunMiddleware(engine, pending=calls, tell_person=self.told.append)
        self.agent: Any = create_agent(model, [send], middleware=[hooks], checkpointer=saver or InMemorySaver())

    def go(self, given: Any) -> tuple[list[Pending], list[str]]:
        """Run until it ends or waits; return what waits, and the tools' answers."""
        result = self.agent.invoke(given, THREAD) if self.sync else asyncio.run(self.agent.ainvoke(given, THREAD))
        waits = [Pending.from_dict(json.loads(json.dumps(each.value))) for each in result.get("__interrupt__", ())]
        return waits, [each.text for each in result["messages"] if isinstance(each, ToolMessage)]

    def begin(self) -> list[Pending]:
        """Run until it waits."""
        return self.go({"messages": [HumanMessage("go")]})[0]

    def resume(self, decision: Any) -> list[str]:
        """Resume it; return the tools' answers."""
        waits, answers = self.go(Command(resume=decision))
        assert waits == []
        return answers


@rows("sync", [True, False])
def test_an_ask_interrupts_and_its_hooks_run_once(sync: bool) -> None:
    """What waits is JSON; the approved call runs with what was shown; the user gets one message."""
    with Engine() as engine:
        guard(engine)
        heard = listen(engine, "pre_tool_use", "post_tool_use")
        run = Run(engine, PendingCalls(), "ann", sync=sync)
        (pending,) = run.begin()
        assert (pending.tool, pending.arguments, pending.reason, RAN) == ("send", {"to": "ann"}, "really?", [])
        assert run.resume(pending.approve()) == ["sent to ann"]
        assert [each.event for each in heard] == ["pre_tool_use", "post_tool_use"]
        assert (RAN, run.told) == (["ann"], ["it asks"])


def test_edited_refused_and_answered(engine: Engine) -> None:
    """As in a loop of one's own; a block of the edited arguments holds."""
    cases: list[tuple[Callable[[Pending], Decision], str, list[str]]] = [
        (lambda pending: pending.edit({"to": "bob"}), "sent to bob", ["bob"]),
        (lambda pending: pending.edit({"to": "eve"}), "not eve", []),
        (lambda pending: pending.refuse("no"), "needs the user's approval: really? (it was not given) no", []),
        (lambda pending: pending.answer("they know"), "they know", []),
    ]
    for decide, answer, ran in cases:
        RAN.clear()
        run = Run(engine, PendingCalls(), "ann")
        (pending,) = run.begin()
        assert (run.resume(decide(pending)), RAN) == ([answer], ran)


def test_another_program_resumes_the_thread(engine: Engine, tmp_path: Path) -> None:
    """With the same checkpoints and directory, and an agent made anew."""
    saver = InMemorySaver()
    (pending,) = Run(engine, PendingCalls(tmp_path), "ann", saver=saver).begin()
    heard = listen(engine, "pre_tool_use")
    again = Run(engine, PendingCalls(tmp_path), saver=saver)
    assert again.go(Command(resume=pending.approve()))[1] == ["sent to ann"]
    assert (RAN, heard) == (["ann"], [])


def test_calls_side_by_side_have_a_decision_each(engine: Engine) -> None:
    """The decision about one is none about the other, even if the program mixes them up."""
    run = Run(engine, PendingCalls(), "ann", "bob")
    result = run.agent.invoke({"messages": [HumanMessage("go")]}, THREAD)
    waits = {Pending.from_dict(each.value).arguments["to"]: each for each in result["__interrupt__"]}
    ann, bob = (Pending.from_dict(waits[name].value) for name in ("ann", "bob"))
    mixed = {waits["ann"].id: bob.approve(), waits["bob"].id: bob.approve()}
    answers = run.resume(mixed)
    assert RAN == ["bob"]
    assert answers[1] == "sent to bob"
    assert "the decision is for another call" in answers[0]
    assert ann.id != bob.id


@rows("decision", [True, "yes", {"type": "approve"}, {"id": "1", "action": "approve", "arguments": {}}])
def test_what_is_no_decision_shuts_the_gate(decision: Any) -> None:
    """The model gets why."""
    with Engine() as engine:
        guard(engine)
        run = Run(engine, PendingCalls(), "ann")
        run.begin()
        (answer,) = run.resume(decision)
        assert answer.startswith("needs the user's approval: no reason given (")
        assert RAN == []


def test_a_thread_that_is_resumed_from_the_past_runs_nothing_again(engine: Engine) -> None:
    """LangGraph can go back to a checkpoint: the decision that was used there is used."""
    run = Run(engine, PendingCalls(), "ann")
    (pending,) = run.begin()
    past = run.agent.get_state(THREAD).config
    assert run.resume(pending.approve()) == ["sent to ann"]
    result = run.agent.invoke(Command(resume=pending.approve()), past)
    assert RAN == ["ann"]
    assert "__interrupt__" in result or "was used already" in str(result["messages"])
