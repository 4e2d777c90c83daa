"""What a program passes wrongly, to every integration: a guard is asked, or the call raises. The tool never runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from hookrun import Engine, Verdict
from hookrun.core.literals import EventName
from hookrun.events import PreToolUse
from hookrun.integrations.pending import PendingCalls
from hookrun.integrations.tool_loop import run_tool, run_tool_sync
from hookrun.library.calls import NotAsyncioError
from hookrun.process.pool import ClosedError
from tests.conftest import Project
from tests.rows import rows

RAN: list[object] = []


class Name(Enum):
    """An enumeration of a program."""

    SESSION = "s1"


class Text(str):
    """A string of a program's own type."""

    __slots__ = ()


def tool(**args: object) -> str:
    """Note that the tool ran."""
    RAN.append(args)
    return "ran"


Use = Callable[..., bool]


def in_a_loop(engine: Engine, **options: Any) -> bool:
    """Run the tool by `run_tool`; return whether it was refused."""
    return not asyncio.run(run_tool(engine, "bash", {"command": "rm"}, tool, **options)).ran


def without_a_loop(engine: Engine, **options: Any) -> bool:
    """Run the tool by `run_tool_sync`."""
    return not run_tool_sync(engine, "bash", {"command": "rm"}, tool, **options).ran


def by_hand(engine: Engine, on_error: object = None, **fields: Any) -> bool:  # only integrations have it
    """Run the tool after a fire of the program's own."""
    result = engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": "rm"}, **fields)
    if result.go_on:
        tool()
    return not result.go_on


def in_langchain(engine: Engine, **options: Any) -> bool:
    """Run the tool by LangChain's middleware."""
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.messages import ToolMessage

    from hookrun.integrations.langchain import HookrunMiddleware

    def run(request: ToolCallRequest) -> ToolMessage:
        return ToolMessage(tool(**request.tool_call["args"]), tool_call_id="1")

    call: Any = {"name": "bash", "args": {"command": "rm"}, "id": "1", "type": "tool_call"}
    request = ToolCallRequest(tool_call=call, tool=None, state={}, runtime=None)  # type: ignore[arg-type]  # not used
    answer = HookrunMiddleware(engine, **options).wrap_tool_call(request, run)
    return isinstance(answer, ToolMessage) and answer.status == "error"


def in_the_sdk(engine: Engine, on_error: Any = None, **fields: Any) -> bool:
    """Run the tool as Claude does after the SDK's callback, whose message has these fields."""
    from hookrun.integrations.claude_agent_sdk import hooks_for

    hooks: Any = hooks_for(engine, events=["PreToolUse"], on_error=on_error)
    data = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm"}, "cwd": "/w"}
    answer = asyncio.run(hooks["PreToolUse"][0].hooks[0]({**data, **fields}, "1", {"signal": None}))
    refused: bool = answer.get("hookSpecificOutput", {}).get("permissionDecision") == "deny"
    if not refused:
        tool()
    return refused


NEEDS = {in_langchain: "langchain.agents", in_the_sdk: "claude_agent_sdk"}


@pytest.fixture(params=[in_a_loop, without_a_loop, by_hand, in_langchain, in_the_sdk], ids=lambda use: use.__name__)
def use(request: pytest.FixtureRequest) -> Use:
    """Every way in which a program runs a tool with hooks."""
    if request.param in NEEDS:
        pytest.importorskip(NEEDS[request.param], reason="its package is not installed")
    RAN.clear()
    made: Use = request.param
    return made


def guarded(**options: Any) -> Engine:
    """Return an engine with a guard that blocks every call it is asked about."""
    engine = Engine()
    engine.register(
        "pre_tool_use", lambda _: Verdict.block("no"), matcher="bash", on_failure="block", name="guard", **options
    )
    return engine


GOOD: list[dict[str, object]] = [
    {"working_dir": Path("/w")}, {"session_id": UUID(int=5)}, {"session_id": 7}, {"session_id": 1.5},
    {"session_id": Name.SESSION}, {"timestamp": datetime(2026, 1, 2, tzinfo=UTC)}, {"root_session_id": UUID(int=5)},
    {"agent": Name.SESSION}, {"tool_use_id": 5}, {"session_id": Text("s")}, {"own": Path("/x")}, {"own": object()},
]  # fmt: skip
BAD: list[dict[str, object]] = [
    {"cwd": "/x"}, {"metadata": [1]}, {"metadata": "x"}, {"session_id": ["s"]}, {"working_dir": b"/x"},
    {"working_dir": True}, {"tool_result_output": object()}, {"timestamp": {}}, {"working_dirr": "/x"},
    {"sesion_id": "s1"},
]  # fmt: skip


@rows("fields", GOOD)
@rows("on_error", [None, "continue"])
def test_a_guard_is_asked_whatever_type_a_field_has(use: Use, fields: dict[str, object], on_error: str | None) -> None:
    """Paths, UUIDs, dates, enumerations and numbers are texts for it; objects of the program's own change nothing."""
    with guarded() as engine:
        assert use(engine, on_error=on_error, **fields)
    assert RAN == []


@rows("fields", BAD)
@rows("on_error", [None, "continue", "block"])
def test_a_wrong_field_raises_or_refuses(use: Use, fields: dict[str, object], on_error: str | None) -> None:
    """Whatever `on_error` says; the SDK's callback refuses, as Claude runs the tool if it raises."""
    with guarded() as engine:
        if use is in_the_sdk:  # the fields are Claude's, not the program's
            assert use(engine, on_error=on_error, **fields)
        else:
            with pytest.raises(ValueError, match=next(iter(fields))):
                use(engine, on_error=on_error, **fields)
    assert RAN == []


@rows("options", [{"on_error": "contine"}, {"on_error": True}])
def test_a_wrong_on_error_raises(use: Use, options: dict[str, Any]) -> None:
    """A misspelled `block` must not mean the default."""
    if use is not by_hand:
        with guarded() as engine, pytest.raises(ValueError, match="on_error must be"):
            use(engine, **options)
    assert RAN == []


@rows(
    "options, meant",
    [
        ({"on_eror": "block"}, "on_error"),
        ({"aprove": lambda *_: True}, "approve"),
        ({"pendng": PendingCalls()}, "pending"),
    ],
)
def test_a_misspelled_option_raises(use: Use, options: dict[str, Any], meant: str) -> None:
    """It would be a field that no hook reads; a value of another type is one of the program's own."""
    if use in (in_a_loop, without_a_loop, in_langchain):
        with guarded() as engine, pytest.raises(ValueError, match=f'did you mean "{meant}"'):
            use(engine, **options)
        with guarded() as engine:
            assert use(engine, **dict.fromkeys(options, 1.5))
    assert RAN == []


def test_wrong_names_raise(use: Use) -> None:
    """Where they are passed: before the agent runs, in LangChain."""
    if use not in (by_hand, in_the_sdk):  # which have none
        with guarded() as engine, pytest.raises(ValueError, match="names must be a NameMap"):
            use(engine, names={"terminal": "bash"})
    assert RAN == []


@rows("on_error", [None, "continue", "block"])
def test_a_closed_engine_raises(use: Use, on_error: str | None) -> None:
    """At once, also for a tool that no hook matches."""
    for engine in (guarded(), Engine()):
        engine.close_sync()
        with pytest.raises(ClosedError):
            use(engine, on_error=on_error)
    assert RAN == []


def test_one_that_is_closed_after_the_hooks_were_made_refuses() -> None:
    """Claude runs the tool if a callback raises."""
    pytest.importorskip("claude_agent_sdk", reason="the package claude-agent-sdk is not installed")
    from hookrun.integrations.claude_agent_sdk import hooks_for

    for event, denied in (("PreToolUse", True), ("PostToolUse", False)):
        engine = Engine()
        hooks: Any = hooks_for(engine, events=[event], on_error="continue")
        engine.close_sync()
        data = {"hook_event_name": event, "tool_name": "Bash", "tool_input": {}, "tool_response": ""}
        answer = asyncio.run(hooks[event][0].hooks[0](data, "1", {"signal": None}))
        assert (answer.get("hookSpecificOutput", {}).get("permissionDecision") == "deny") is denied, event


CALL = {"tool_name": "Bash", "tool_input": {"command": "rm"}, "cwd": "/w"}
UNKNOWN: list[object] = ["PreToolUseV2", "preToolUse", "BeforeTool", "pre_tool_use", "", None, 5, []]


def sdk_answer(engine: Engine, wired: str, data: Any, on_error: Any = None) -> dict[str, Any]:
    """Return the answer of the callback that is wired for an event of Claude's."""
    pytest.importorskip("claude_agent_sdk", reason="the package claude-agent-sdk is not installed")
    from hookrun.integrations.claude_agent_sdk import hooks_for

    hooks: Any = hooks_for(engine, events=[wired], on_error=on_error)
    answer: dict[str, Any] = asyncio.run(hooks[wired][0].hooks[0](data, "1", {"signal": None}))
    return answer


def is_denied(answer: dict[str, Any]) -> bool:
    """Return whether Claude takes this as a refusal of the tool."""
    own = answer.get("hookSpecificOutput", {})
    return (own.get("hookEventName"), own.get("permissionDecision")) == ("PreToolUse", "deny")


@rows("event", [{}, *({"hook_event_name": name} for name in UNKNOWN)])
@rows("wired", ["PreToolUse", "Stop"])
def test_the_sdk_s_message_of_an_unknown_event_is_judged(
    wired: str, event: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    """It is of the event that the callback is for; a tool call comes before a tool, and the program's log says so."""
    caplog.clear()
    with guarded() as engine:
        engine.register("pre_tool_use", lambda _: Verdict.block("not read"), matcher="read", name="other")
        answer = sdk_answer(engine, wired, {**CALL, **event})
        assert is_denied(answer)
        assert answer["hookSpecificOutput"]["permissionDecisionReason"] == "no"
        assert not is_denied(sdk_answer(engine, wired, {**CALL, **event, "tool_name": "Glob"}))
    assert "an event that hookrun does not know" in caplog.text
    assert "is treated as PreToolUse" in caplog.text


@rows("tool", [{}, {"tool_name": None}, {"tool_name": ""}, {"tool_name": 5}, {"tool_name": ["Bash"]}])
@rows("event", [{"hook_event_name": "PreToolUse"}, {"hook_event_name": "PreToolUseV2"}, {}])
def test_the_sdk_s_call_without_a_tool_s_name_is_refused(tool: dict[str, object], event: dict[str, object]) -> None:
    """Any guard may be for it; without one, or with `on_error`, Claude continues and the user is notified."""
    data = {"tool_input": {"command": "rm"}, **tool, **event}
    with guarded() as engine:
        answer = sdk_answer(engine, "PreToolUse", data)
        assert is_denied(answer)
        assert "names no tool" in answer["systemMessage"]
        assert "names no tool" in sdk_answer(engine, "PreToolUse", data, "continue")["systemMessage"]
        assert not is_denied(sdk_answer(engine, "PreToolUse", data, "continue"))
    with Engine() as engine:
        engine.register("pre_tool_use", lambda _: Verdict.block("no"), matcher="bash", name="not a guard")
        assert "names no tool" in sdk_answer(engine, "PreToolUse", data)["systemMessage"]
        assert is_denied(sdk_answer(engine, "PreToolUse", data, "block"))


def test_the_sdk_s_permission_request_without_a_tool_s_name_is_refused() -> None:
    """As a call, in its own form."""
    with guarded() as engine:
        engine.register("permission_request", lambda _: None, matcher="bash", on_failure="block", name="permission")
        answer = sdk_answer(engine, "PermissionRequest", {"hook_event_name": "PermissionRequest", "tool_input": {}})
    assert answer["hookSpecificOutput"]["decision"]["behavior"] == "deny"


@rows("data", [None, [], "PreToolUse", {}])
def test_what_is_no_message_of_the_sdk_is_refused(data: object) -> None:
    """The callback does not raise: that would let the tool run."""
    with guarded() as engine:
        assert is_denied(sdk_answer(engine, "PreToolUse", data))
        assert not is_denied(sdk_answer(engine, "Stop", data))


@rows("call", [{}, {"tool_name": None}, {"tool_name": ""}])
@rows("event", ["pre_tool_use", "permission_request"])
def test_a_call_without_a_tool_s_name_raises_where_a_guard_may_be_for_it(
    event: EventName, call: dict[str, Any]
) -> None:
    """Its matcher could not be asked; hooks that are no guard, or for any tool, run as ever."""
    with Engine() as engine:
        engine.register(event, lambda _: None, matcher="bash", name="no guard")
        engine.register(event, lambda _: Verdict.block("no"), on_failure="block", name="for any tool")
        assert engine.fire_sync(event, tool_args={"command": "rm"}, **call).message == "no"
        engine.register(event, lambda _: Verdict.block("no"), matcher="bash", on_failure="block", name="guard")
        with pytest.raises(ValueError, match=f"fire {event}: no tool_name: guard may be for the tool"):
            engine.fire_sync(event, tool_args={"command": "rm"}, **call)
        with pytest.raises(ValueError, match="no tool_name"):
            asyncio.run(engine.fire(event, tool_args={"command": "rm"}, **call))
        assert engine.fire_sync("post_tool_use", **call).go_on


@rows("name", [b"bash", ["bash"], {"name": "bash"}, None, "", True, object()])
def test_a_tool_s_name_that_is_no_text_raises(name: Any) -> None:
    """As a text, `b'bash'` would be a tool that no hook is for."""
    RAN.clear()
    with guarded() as engine:
        with pytest.raises(ValueError, match="needs the tool's name"):
            run_tool_sync(engine, name, {"command": "rm"}, tool)
        with pytest.raises(ValueError, match="needs the tool's name"):
            asyncio.run(run_tool(engine, name, {"command": "rm"}, tool))
    assert RAN == []


@rows("option", ["approve", "text", "call"])
def test_a_function_that_is_none_raises_at_once(option: str) -> None:
    """Not when a hook asks, or when the tool has run."""
    RAN.clear()
    options: dict[str, Any] = {"call": tool, option: "yes"}
    with Engine() as engine, pytest.raises(ValueError, match=f"{option} must be a function, not 'yes'"):
        run_tool_sync(engine, "bash", {"command": "rm"}, **options)
    assert RAN == []


@rows("options", [{"approve": "yes"}, {"tell_person": "print"}])
def test_a_function_that_is_none_raises_in_the_middleware_s_constructor(options: dict[str, Any]) -> None:
    """Before an agent is made with it."""
    pytest.importorskip("langchain.agents", reason="its package is not installed")
    from hookrun.integrations.langchain import HookrunMiddleware

    with pytest.raises(ValueError, match="must be a function"):
        HookrunMiddleware(Engine(), **options)


def test_an_engine_can_be_entered_again(use: Use) -> None:
    """It asks its hooks as before; at the end it is closed again."""
    engine = guarded()
    for _ in range(3):
        with engine:
            assert use(engine)
        assert engine.closed
    with pytest.raises(ClosedError):
        use(engine)
    assert RAN == []


def test_it_is_open_until_the_last_one_leaves() -> None:
    """Of several tasks that enter it, and with both kinds of `with`."""

    async def main() -> None:
        engine = guarded()
        async with engine:
            async with engine:
                pass
            with engine:
                assert (await engine.fire("pre_tool_use", tool_name="bash")).refused
            assert (await engine.fire("pre_tool_use", tool_name="bash")).refused
        assert engine.closed
        with pytest.raises(ClosedError):
            await engine.fire("pre_tool_use", tool_name="bash")

    asyncio.run(main())


def test_configured_hooks_and_work_of_an_engine_entered_again(project: Project) -> None:
    """Its pools, threads and audit are there again."""
    project.user_hooks({"event": "pre_tool_use", "matcher": "bash", "command": "echo no >&2; exit 2"})
    engine = Engine.load(project.root, home=project.home)
    engine.register("pre_tool_use", lambda _: None, thread=True, name="thread", priority=1)
    for turn in range(1, 3):
        with engine:
            assert engine.fire_sync("pre_tool_use", tool_name="bash").message == "no"
        assert len([each for each in project.audit() if each["kind"] == "fire"]) == turn


@rows(
    "path, args, file_path",
    [
        ("tool_args.file_path", {"file_path": Path("/w/a.env")}, "/w/a.env"),
        ("file_path", {"file_path": Path("/w/a.env")}, "/w/a.env"),
        ("tool_args.paths", {"paths": [Path("/w/a.env")]}, None),
        ("tool_args.paths", {"paths": (Path("/w/a.env"),)}, None),
    ],
)
def test_conditions_read_objects_in_arguments_as_text(
    path: str, args: dict[str, object], file_path: str | None
) -> None:
    """Else a guard of a file would not be asked about a path; its handler gets the object."""
    seen: list[object] = []

    def block(ctx: PreToolUse) -> Verdict:
        seen.append((ctx.tool_args, ctx.file_path))
        return Verdict.block("no")

    with Engine() as engine:
        engine.register("pre_tool_use", block, when={path: "*.env"})
        assert not run_tool_sync(engine, "write", args, tool).ran
    assert seen == [(args, file_path)]


@pytest.fixture
def unread(project: Project) -> Iterator[Callable[..., Engine]]:
    """Return a function that loads an engine from a user or project file that never could be read."""
    engines: list[Engine] = []

    def load(layer: str = "user", *, on_error: str | None = None, **options: Any) -> Engine:
        directory = project.home / ".config" / "hookrun"
        directory.mkdir(parents=True, exist_ok=True)
        (project.root / "coder.json").write_text('{"hooks": [' if layer == "project" else "{}")
        (directory / "hooks.json").write_text('{"hooks": [' if layer == "user" else "{}")
        if on_error is not None:
            (directory / "hooks.yaml").write_text(f"hookrun: {{on_error: {on_error}}}")
        engines.append(Engine.load(project.root, home=project.home, strict=False, **options))
        return engines[-1]

    yield load
    for engine in engines:
        engine.close_sync()


@rows(
    "how, refused",
    [
        ({"layer": "user"}, True),
        ({"layer": "project"}, False),  # no guard of it was approved
        ({"layer": "project", "trust_project": True}, True),
        ({"layer": "user", "on_error": "continue"}, False),
    ],
)
def test_a_config_that_cannot_be_read_may_have_a_guard(
    use: Use, unread: Callable[..., Engine], how: dict[str, Any], *, refused: bool
) -> None:
    """Without `strict` the rule decides: a gate is shut where the file may guard it, unless the user's setting says."""
    engine = unread(**how)
    engine.register("session_start", lambda _: None, name="other", replace=True)
    assert use(engine) is refused
    assert engine.fire_sync("post_tool_use", tool_name="bash").go_on


def test_on_error_of_a_program_overrides_that(unread: Callable[..., Engine]) -> None:
    """With `continue` the hooks that could be asked decide."""
    assert not in_a_loop(unread(), on_error="continue")
    assert in_a_loop(unread(on_error="continue"), on_error="block")


def test_the_refusal_names_the_file_and_the_way_out(unread: Callable[..., Engine]) -> None:
    """And the result of the hooks that could be asked is kept."""
    engine = unread()
    engine.register("pre_tool_use", lambda _: Verdict.with_context("seen"), name="one")
    result = engine.fire_sync("pre_tool_use", tool_name="bash")
    assert (result.action, result.additional_context) == ("block", "seen")
    assert "hooks.json:1:12" in str(result.message)
    assert "`hookrun disable --all --for 10m`" in str(result.message)
    assert result.unjudged is not None
    assert result.unjudged.go_on


@rows("name", ["missing", "file", "file/in"])
def test_loading_a_directory_that_is_none_raises(tmp_path: Path, name: str) -> None:
    """Its hooks would silently be missing; "" is none either, as of a variable that is not set."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=name):
        Engine.load(tmp_path / name, home=tmp_path)
    with pytest.raises(FileNotFoundError):
        Engine.load("", home=tmp_path)


def test_another_loop_than_asyncio_s_is_a_named_error() -> None:
    """As under trio: no asyncio loop runs. It raises before a hook is asked, and the tool does not run."""
    RAN.clear()
    with guarded() as engine:
        engine.register("pre_tool_use", asyncio.sleep, name="waits", priority=1)
        for on_error in (None, "continue"):
            call = run_tool(engine, "bash", {"command": "rm"}, tool, on_error=on_error)
            for each in (call, engine.fire("pre_tool_use", tool_name="bash"), engine.close(), engine.__aenter__()):
                with pytest.raises(NotAsyncioError, match="fire_sync"):
                    each.send(None)
    assert RAN == []
