"""LangChain agents with hooks, run with LangChain's own fake model, sync and async: what runs, what the model gets."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookrun import Engine, Verdict
from hookrun.events import PreToolUse
from hookrun.recipes.retry import Retry, RetryRule

pytest.importorskip("langchain.agents", reason="the package langchain (1.0 or later) is not installed")

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from hookrun.agents.base import NameMap
from hookrun.integrations.langchain import HookrunMiddleware
from tests.integrations.conftest import answering, listen
from tests.rows import rows

ROOT = Path(__file__).resolve().parents[2]
CALLS: list[str] = []
"""What the tools were called with, newest last."""


@tool
def bash(command: str) -> str:
    """Run a command."""
    CALLS.append(command)
    if command == "fail":
        raise OSError("no such program")
    return f"ran {command}"


@tool
def remember(fact: str, runtime: ToolRuntime) -> Command[Any]:
    """Remember a fact."""
    CALLS.append(fact)
    return Command(update={"messages": [ToolMessage("noted", tool_call_id=runtime.tool_call_id)]})


@tool
def hand_over(fact: str, runtime: ToolRuntime) -> list[Command[Any]]:
    """Hand a conversation over."""
    earlier = ToolMessage("of an earlier call", tool_call_id="call-0")
    own = ToolMessage(fact, tool_call_id=runtime.tool_call_id)
    return [Command(update={"messages": [earlier]}), Command(update={"messages": [own]})]


@tool
def put(path: str) -> list[dict[str, str]]:
    """Put a file."""
    return [{"type": "text", "text": f"put {path}"}]


class Model(GenericFakeChatModel):
    """LangChain's fake model, which records its requests."""

    asked: list[list[BaseMessage]] = []  # noqa: RUF012  # pydantic copies it

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """Take the tools that it will not use."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> Any:
        self.asked.append(messages)
        return super()._generate(messages, *args, **options)

    @property
    def heard(self) -> str:
        """All that it got the last time."""
        return "\n".join(str(message.content) for message in self.asked[-1])


def use(name: str, **args: Any) -> AIMessage:
    """Return the turn that asks for one tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{name}"}])


Agent = Callable[..., tuple[list[BaseMessage], Model]]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Agent:
    """A function that runs an agent with an engine's hooks, in both ways that LangChain has."""
    CALLS.clear()

    def run(
        engine: Engine, *turns: AIMessage, prompt: str = "do it", saver: Any = None, command: Any = None, **options: Any
    ) -> tuple[list[BaseMessage], Model]:
        model = Model(messages=iter([turn.model_copy() for turn in turns]))  # each with a separate id
        hooks = HookrunMiddleware(engine, **options)
        agent = create_agent(model, [bash, remember, hand_over, put], middleware=[hooks], checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "thread-1"}}
        input_: Any = command or {"messages": [("user", prompt)]}
        if request.param == "sync":
            state = agent.invoke(input_, config)
        else:
            state = asyncio.run(agent.ainvoke(input_, config))
        return state["messages"], model

    return run


def result_of(messages: list[BaseMessage]) -> ToolMessage:
    """Return the one result of a tool."""
    (result,) = [message for message in messages if isinstance(message, ToolMessage)]
    return result


LS = use("bash", command="ls")
DONE = AIMessage("done")


def test_without_an_objection_all_is_as_without_hooks(run: Agent, engine: Engine) -> None:
    """The conversation has no additional message; hooks see all of it."""
    heard = listen(engine, "session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "stop")
    messages, _ = run(engine, LS, DONE, working_dir="/w")
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"]
    assert result_of(messages).content == "ran ls"
    assert [ctx.event for ctx in heard] == [
        "session_start",
        "user_prompt_submit",
        "pre_tool_use",
        "post_tool_use",
        "stop",
    ]
    assert {(ctx.session_id, ctx.agent, ctx.working_dir) for ctx in heard} == {("thread-1", "langchain", "/w")}
    assert heard[1].user_prompt == "do it"
    assert (heard[2].tool_name, heard[2].tool_args, heard[2].tool_use_id) == ("bash", {"command": "ls"}, "call-bash")
    assert heard[3].tool_result_output == "ran ls"
    assert (heard[4].assistant_response, heard[4]["stop_hook_active"]) == ("done", False)


@rows(
    "verdict, content, status",
    [
        (Verdict.block("not here"), "not here", "error"),
        (Verdict.skip("done already"), "skipped by guard: done already", "success"),
        (Verdict.ask("sure?"), "needs the user's approval: sure?", "error"),
    ],
)
def test_a_refused_tool_does_not_run_and_the_model_hears_why(
    run: Agent, engine: Engine, verdict: Verdict, content: str, status: str
) -> None:
    """The turn continues with the reason as the tool's result."""
    answering(engine, "pre_tool_use", verdict)
    messages, model = run(engine, LS, DONE)
    result = result_of(messages)
    assert CALLS == []
    assert (result.content, result.status, result.name, result.tool_call_id) == (content, status, "bash", "call-bash")
    assert content in model.heard
    assert messages[-1].content == "done"


@rows("event, calls", [("pre_tool_use", []), ("post_tool_use", ["ls"])])
def test_a_stop_ends_the_turn(run: Agent, engine: Engine, event: str, calls: list[str]) -> None:
    """The model is not called again, the reason is the final message, and no `stop` hook can make it continue."""
    answering(engine, event, Verdict.stop("enough"))  # type: ignore[arg-type]
    answering(engine, "stop", Verdict.block("not yet"), name="stubborn")
    messages, model = run(engine, LS, DONE)
    assert (calls, len(model.asked)) == (CALLS, 1)
    assert (messages[-1].type, messages[-1].content) == ("ai", "enough")


def test_one_stop_among_tools_side_by_side_ends_the_turn(run: Agent, engine: Engine) -> None:
    """Every tool call has its result, so that the conversation can be continued."""
    engine.register("pre_tool_use", lambda _: Verdict.stop("enough"), when={"tool_args.command": "b"}, name="guard")
    calls = [{"name": "bash", "args": {"command": each}, "id": each} for each in "abc"]
    messages, model = run(engine, AIMessage("", tool_calls=calls), DONE)
    assert sorted(CALLS) == ["a", "c"]
    assert len(model.asked) == 1
    assert sorted(each.tool_call_id for each in messages if isinstance(each, ToolMessage)) == ["a", "b", "c"]
    assert messages[-1].content == "enough"


def test_changed_arguments_are_what_runs(run: Agent, engine: Engine) -> None:
    """And what is reported afterwards."""
    answering(engine, "pre_tool_use", Verdict.patch({"command": "ls -l"}, "made longer"))
    heard = listen(engine, "post_tool_use")
    messages, _ = run(engine, LS, DONE)
    assert CALLS == ["ls -l"]
    assert result_of(messages).content == "ran ls -l\n\nmade longer"
    assert heard[0].tool_args == {"command": "ls -l"}


def test_context_stands_beside_the_result(run: Agent, engine: Engine) -> None:
    """Of before and after; a block after the tool too."""
    answering(engine, "pre_tool_use", Verdict.with_context("before"))
    answering(engine, "post_tool_use", Verdict.block("not good enough"), name="judge")
    messages, model = run(engine, LS, DONE)
    assert result_of(messages).content == "ran ls\n\nbefore\n\nnot good enough"
    assert result_of(messages).status == "success"
    assert "not good enough" in model.heard


def test_results_of_every_kind_take_context(run: Agent, engine: Engine) -> None:
    """Blocks get one more; what a tool writes into the state by a Command keeps everything else."""
    answering(engine, "post_tool_use", Verdict.with_context("note"))
    heard = listen(engine, "post_tool_use")
    messages, _ = run(engine, use("put", path="/a"), DONE)
    content = result_of(messages).content
    assert content == [{"type": "text", "text": "put /a"}, {"type": "text", "text": "note"}]
    messages, _ = run(engine, use("remember", fact="f"), DONE)
    assert result_of(messages).content == "noted\n\nnote"
    assert [ctx.tool_result_output for ctx in heard] == ["put /a", "noted"]


def test_a_tool_s_exception_is_raised_on_as_without_hooks(run: Agent, engine: Engine) -> None:
    """Hooks that only observe do not change the agent's behaviour."""
    heard = listen(engine, "post_tool_failure")
    with pytest.raises(OSError, match="no such program"):
        run(engine, use("bash", command="fail"), DONE)
    assert heard[0].tool_result_error == "OSError: no such program"


def test_a_hook_with_something_to_say_makes_it_the_model_s(run: Agent, engine: Engine) -> None:
    """The error and the hook's text about it; the turn continues."""
    answering(engine, "post_tool_failure", Verdict.with_context("use make"))
    messages, _ = run(engine, use("bash", command="fail"), DONE)
    assert result_of(messages).content == "OSError: no such program\n\nuse make"
    assert result_of(messages).status == "error"


@rows("turn", [use("bash", command="fail"), use("bash", cmd="x")], ids=["raised", "reported"])
def test_a_replaced_error_is_the_model_s(run: Agent, turn: AIMessage) -> None:
    """As with a text beside it; also that of arguments that do not fit, of which LangChain makes a message."""
    engine = Engine()
    answering(engine, "post_tool_failure", Verdict.replace_output("no luck"))
    result = result_of(run(engine, turn, AIMessage("ok"))[0])
    assert (result.text, result.status) == ("no luck", "error")


def test_arguments_that_do_not_fit_are_a_failure(run: Agent, engine: Engine) -> None:
    """LangChain makes a message of it, which is unchanged; hooks see a failure and not a success."""
    heard = listen(engine, "post_tool_use", "post_tool_failure")
    messages, _ = run(engine, use("bash", cmd="ls"), DONE)
    assert [ctx.event for ctx in heard] == ["post_tool_failure"]
    assert result_of(messages).status == "error"
    assert result_of(messages).content == heard[0].tool_result_error
    assert "command" in str(heard[0].tool_result_error)


def test_a_tool_that_nobody_has_is_seen_by_its_name(run: Agent, engine: Engine) -> None:
    """Models invent tools: it is a failure of the call."""
    heard = listen(engine, "pre_tool_use", "post_tool_failure")
    messages, _ = run(engine, use("teleport", to="x"), DONE)
    assert [(ctx.event, ctx.tool_name) for ctx in heard] == [
        ("pre_tool_use", "teleport"),
        ("post_tool_failure", "teleport"),
    ]
    assert "teleport is not a valid tool" in result_of(messages).content


def test_a_failed_call_is_tried_again_where_a_hook_says_so(run: Agent, engine: Engine) -> None:
    """The tool itself runs again, as often as the rule allows."""
    engine.use(Retry([RetryRule("bash", "*no such*", attempts=3, delay=0.001)]))
    run(engine, use("bash", command="fail"), DONE)
    assert CALLS == ["fail"] * 3


def test_names_of_one_s_own_are_hookrun_s_to_hooks(run: Agent, engine: Engine) -> None:
    """Both ways; a tool that is called `write` here changes a file."""
    heard = listen(engine, "file_changed")
    engine.register("pre_tool_use", _elsewhere, matcher="write", name="elsewhere")
    messages, _ = run(
        engine, use("put", path="/a"), DONE, names=NameMap({"put": "write"}, {"put": {"path": "file_path"}})
    )
    assert result_of(messages).content == [{"type": "text", "text": "put /b/a"}]
    assert [ctx.file_path for ctx in heard] == ["/b/a"]


def _elsewhere(ctx: PreToolUse) -> Verdict:
    return Verdict.patch({"file_path": f"/b{ctx.file_path}"})


class TestPrompts:
    """Hooks at a prompt, and at the start of a session."""

    @rows(
        "verdict, reason",
        [
            (Verdict.block("no keys"), "no keys"),
            (Verdict.stop("no keys"), "no keys"),
            (Verdict.skip("no keys"), "skipped by guard: no keys"),
            (Verdict.ask("no keys"), "needs the user's approval: no keys"),
        ],
    )
    def test_a_refused_prompt_never_reaches_the_model(
        self, run: Agent, engine: Engine, verdict: Verdict, reason: str
    ) -> None:
        """Not even later: it is removed from the conversation."""
        answering(engine, "user_prompt_submit", verdict)
        saver = InMemorySaver()
        messages, model = run(engine, DONE, prompt="my key is sk-123", saver=saver)
        assert model.asked == []
        assert [message.content for message in messages] == ["(a hook withheld this prompt)", reason]
        engine.remove("guard")
        _, model = run(engine, DONE, prompt="hello again", saver=saver)
        assert "sk-123" not in model.heard
        assert "hello again" in model.heard

    def test_context_comes_after_the_prompt(self, run: Agent, engine: Engine) -> None:
        """That of the session's start first."""
        answering(engine, "session_start", Verdict.with_context("branch main"), name="start")
        answering(engine, "user_prompt_submit", Verdict.with_context("be brief"))
        _, model = run(engine, DONE)
        assert [(message.type, message.content) for message in model.asked[0]] == [
            ("human", "do it"),
            ("human", "branch main\n\nbe brief"),
        ]

    def test_a_session_starts_once(self, run: Agent, engine: Engine) -> None:
        """A conversation that has an answer is no new one; every prompt is submitted."""
        heard, saver = listen(engine, "session_start", "user_prompt_submit"), InMemorySaver()
        run(engine, DONE, saver=saver)
        run(engine, DONE, prompt="more", saver=saver)
        assert [ctx.event for ctx in heard] == ["session_start", "user_prompt_submit", "user_prompt_submit"]
        assert heard[2].user_prompt == "more"

    @pytest.mark.slow
    def test_a_stop_at_the_start_ends_it(self, run: Agent, engine: Engine) -> None:
        """The model is not asked."""
        answering(engine, "session_start", Verdict.stop("closed today"))
        messages, model = run(engine, DONE)
        assert (model.asked, messages[-1].content) == ([], "closed today")


class TestEnds:
    """Hooks at the end of a turn."""

    def test_a_block_goes_on_with_the_reason(self, run: Agent, engine: Engine) -> None:
        """The hook sees that it continues already; other words of hooks in the turn do not count."""
        heard = listen(engine, "stop")
        answering(engine, "user_prompt_submit", Verdict.with_context("be brief"))
        engine.register(
            "stop", lambda ctx: None if ctx["stop_hook_active"] else Verdict.block("run the tests"), name="tests"
        )
        messages, model = run(engine, AIMessage("one"), AIMessage("two"))
        assert [message.content for message in messages] == ["do it", "be brief", "one", "run the tests", "two"]
        assert "run the tests" in model.heard
        assert [ctx["stop_hook_active"] for ctx in heard] == [False, True]

    def test_not_for_ever(self, run: Agent, engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
        """Eight times in one turn; the next turn gets eight more."""
        answering(engine, "stop", Verdict.block("never"))
        saver = InMemorySaver()
        for _ in range(2):
            _, model = run(engine, *[DONE] * 20, saver=saver)
            assert len(model.asked) == 9
        assert "the turn ends after 8 blocks: never" in caplog.text

    @rows("verdict", [Verdict.stop("x"), Verdict.skip("x"), Verdict.ask("x"), Verdict.with_context("x")])
    def test_nothing_else_does(self, run: Agent, engine: Engine, verdict: Verdict) -> None:
        """The turn ends; the user gets the verdict's text."""
        messages_to_user: list[str] = []
        answering(engine, "stop", verdict)
        messages, model = run(engine, DONE, AIMessage("two"), tell_person=messages_to_user.append)
        assert (len(model.asked), messages[-1].content) == (1, "done")
        assert messages_to_user == {"stop": [], "skip": ["skipped by guard: x"]}.get(verdict.action, ["x"])


class TestApproval:
    """Asks, which are left to the user."""

    def test_a_yes_runs_it(self, run: Agent, engine: Engine) -> None:
        """With the arguments that the user saw."""
        answering(engine, "pre_tool_use", Verdict("ask", "sure?", modified_args={"command": "ls -l"}))
        asked: list[object] = []

        def approve(*question: object) -> bool:
            asked.append(question)
            return True

        messages, _ = run(engine, LS, DONE, approve=approve)
        assert asked == [("bash", {"command": "ls -l"}, "sure?")]
        assert result_of(messages).content == "ran ls -l"

    @pytest.mark.parametrize(("agreed", "ran"), [(True, ["ls"]), (False, [])])
    def test_langgraph_s_interrupt_asks(self, run: Agent, engine: Engine, agreed: bool, ran: list[str]) -> None:
        """The graph waits for its answer, as long as it takes."""
        answering(engine, "pre_tool_use", Verdict.ask("sure?"))
        saver = InMemorySaver()

        def approve(name: str, args: dict[str, object], reason: str) -> bool:
            return bool(interrupt({"tool": name, "args": args, "why": reason}))

        messages, _ = run(engine, LS, saver=saver, approve=approve)
        assert (CALLS, messages[-1].type) == ([], "ai")
        messages, _ = run(engine, DONE, saver=saver, approve=approve, command=Command(resume=agreed))
        assert (CALLS, messages[-1].content) == (ran, "done")


def test_own_trouble_refuses_only_if_asked_for(
    run: Agent, engine: Engine, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tool runs, and the log and the user get the error; or the prompt is refused at once."""
    listen(engine, "session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use")
    monkeypatch.setattr("hookrun.library.embedded_engine.EngineFire", int)
    messages_to_user: list[str] = []
    run(engine, LS, DONE, tell_person=messages_to_user.append)
    assert CALLS == ["ls"]
    assert [text.split(":")[0].rpartition("(")[2] for text in messages_to_user] == [
        "session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use",
    ]  # fmt: skip
    assert all(text.startswith("hookrun failed (") for text in messages_to_user)
    assert "continues without hooks" in caplog.text
    messages, model = run(engine, LS, DONE, on_error="block")
    assert model.asked == []
    assert str(messages[-1].content).startswith("hookrun failed")


@rows("fields", [{"cwd": "/x"}, {"assistant_response": b"x"}, {"session_id": ["s"]}, {"deadline": 0}])
def test_fields_that_the_engine_refuses_are_refused_at_once(engine: Engine, fields: dict[str, Any]) -> None:
    """By the middleware's constructor: the guards of a tool would not be asked."""
    with pytest.raises(ValueError, match=next(iter(fields))):
        HookrunMiddleware(engine, **fields)


def test_marks_survive_being_stored(run: Agent, engine: Engine) -> None:
    """What hookrun leaves in a conversation is plain JSON in messages."""
    answering(engine, "pre_tool_use", Verdict.stop("enough"))
    messages, _ = run(engine, LS, DONE)
    assert json.loads(json.dumps([message.model_dump() for message in messages]))
    assert all(isinstance(message, (HumanMessage, AIMessage, ToolMessage)) for message in messages)


@pytest.mark.slow
def test_the_example() -> None:
    """`examples/library/langchain_agent.py` as a user runs it."""
    path = ROOT / "examples" / "library" / "langchain_agent.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60, check=True)
    assert "tool: No sudo here." in done.stdout
    assert "tool: sent to outbox@example.com: All well.\n\nMail to others goes to the outbox" in done.stdout
    assert done.stdout.endswith("ai: Done.\n")


def test_a_replaced_result_and_prompt_are_what_the_model_gets(run: Agent, engine: Engine) -> None:
    """The message keeps its place and its call; a command keeps its other updates."""
    answering(engine, "post_tool_use", Verdict.replace_output("[hidden]"))
    answering(engine, "user_prompt_submit", Verdict.replace_prompt("a better prompt"), name="prompts")
    messages, model = run(engine, LS, DONE)
    assert (result_of(messages).content, result_of(messages).tool_call_id) == ("[hidden]", "call-bash")
    assert [message.content for message in messages if message.type == "human"] == ["a better prompt"]
    assert "ran ls" not in model.heard
    messages, model = run(engine, use("remember", fact="hunter2"), DONE)
    assert (result_of(messages).content, "hunter2" in model.heard.replace("\n", "")) == ("[hidden]", False)


def test_the_result_is_the_message_of_the_call(run: Agent, engine: Engine) -> None:
    """A tool may return several commands, with messages of other calls."""
    heard = listen(engine, "post_tool_use")
    answering(engine, "post_tool_use", Verdict.replace_output("[hidden]"))
    messages, model = run(engine, use("hand_over", fact="hunter2"), DONE)
    assert [context.tool_result_output for context in heard] == ["[hidden]"]
    assert [each.content for each in messages if each.type == "tool"] == ["of an earlier call", "[hidden]"]
    assert "hunter2" not in model.heard.replace("\n", "")


def test_a_withheld_error_is_not_raised_with_its_text(run: Agent, engine: Engine) -> None:
    """The model gets that it was withheld."""
    engine.register("post_tool_failure", lambda _: {"action": 1}, name="guard", on_failure="block")
    messages, _ = run(engine, use("bash", command="fail"), DONE)
    assert "withheld by hookrun" in str(result_of(messages).content)
    assert "no such program" not in str(result_of(messages).content)
