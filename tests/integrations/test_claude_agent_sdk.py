"""The adapter for the Claude Agent SDK, called as the SDK calls it, against the SDK's own types."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from hookrun import Context, Engine, Result, Verdict
from hookrun.core.literals import Action, EventName
from hookrun.library.awaiting import CANCEL_GRACE
from tests.rows import rows
from tests.waiting import hang_async

sdk = pytest.importorskip("claude_agent_sdk", reason="the package claude-agent-sdk is not installed")

from claude_agent_sdk import types  # noqa: E402

from hookrun.integrations.claude_agent_sdk import hooks_for  # noqa: E402

Json = dict[str, Any]

COMMON: Json = {"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": "/w", "permission_mode": "default"}
BASH: Json = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1"}
PAYLOADS: dict[str, Json] = {
    "PreToolUse": BASH,
    "PostToolUse": {**BASH, "tool_response": {"stdout": "a\nb", "stderr": "", "interrupted": False}},
    "PostToolUseFailure": {**BASH, "error": "Exit code 1", "is_interrupt": False},
    "PermissionRequest": {"tool_name": "Bash", "tool_input": {"command": "ls"}},
    "UserPromptSubmit": {"prompt": "do it"},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "done"},
    "SubagentStop": {"stop_hook_active": False, "agent_id": "a1", "agent_type": "Explore"},
    "SubagentStart": {"agent_id": "a1", "agent_type": "Explore"},
    "PreCompact": {"trigger": "auto", "custom_instructions": None},
    "Notification": {"message": "waiting", "notification_type": "idle_prompt"},
}


def payload(event: str, **more: Any) -> Json:
    """Return what Claude gives to a hook of this event."""
    return {**COMMON, "hook_event_name": event, **PAYLOADS[event], **more}


def ask(engine: Engine, data: Json, **options: Any) -> Json:
    """Return the answer to the SDK, checked against its types."""
    event = data["hook_event_name"]
    (matcher,) = hooks_for(engine, events=[event], **options)[event]
    answer = called(matcher, data)
    fits(answer, types.SyncHookJSONOutput)
    if "hookSpecificOutput" in answer:
        assert answer["hookSpecificOutput"]["hookEventName"] == event
        fits(answer["hookSpecificOutput"], getattr(types, f"{event}HookSpecificOutput"))
    return answer


async def never_returns(_: Context) -> None:
    """Do not answer before the deadline."""
    await hang_async()


def called(matcher: Any, data: Json) -> Json:
    """Call a matcher's one callback as the SDK does."""
    (callback,) = matcher.hooks
    answer: Json = asyncio.run(callback(data, data.get("tool_use_id"), {"signal": None}))
    return answer


def asked_of(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the deadlines in seconds that the engine gets in later fires, in order."""
    deadlines: list[float] = []
    fire = engine.fire

    async def noted(event: EventName, **fields: Any) -> Result:
        deadlines.append(fields["deadline"])
        return await fire(event, **fields)

    monkeypatch.setattr(engine, "fire", noted)
    return deadlines


def fits(value: Json, kind: Any) -> None:
    """Check that an object has only keys of its TypedDict, and only values of its Literals."""
    hints = get_type_hints(kind)
    assert set(value) <= set(hints), (set(value) - set(hints), kind)
    for key, hint in hints.items():
        if get_origin(hint) is Literal and key in value:
            assert value[key] in get_args(hint), (key, value[key])


def specific(event: str, **fields: Any) -> Json:
    """Return an answer that only has a part of the event's own."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def denied(reason: str) -> Json:
    """Return the answer that refuses a tool."""
    return specific("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason)


def decision(**fields: Any) -> Json:
    """Return the answer to a request for permission."""
    return specific("PermissionRequest", decision=fields)


def blocked(reason: str) -> Json:
    """Return the answer that blocks at the top."""
    return {"decision": "block", "reason": reason}


def ended(reason: str) -> Json:
    """Return what ends the turn."""
    return {"continue_": False, "stopReason": reason}


BOTH = Verdict("block", "R", additional_context="C", system_message="P")
SKIPPED = "skipped by guard: R"
NEEDS_APPROVAL = "needs the user's approval: R"
NEW: dict[str, object] = {"command": "ls -l"}
WANTED = 'Bash may run with these arguments instead: {"command": "ls -l"}'

ANSWERS: list[tuple[str, Verdict, Json]] = [
    ("PreToolUse", Verdict(), {}),
    ("PreToolUse", Verdict.block("R"), denied("R")),
    ("PreToolUse", Verdict.skip("R"), denied(SKIPPED)),
    ("PreToolUse", Verdict.stop("R"), denied("R") | ended("R")),
    (
        "PreToolUse",
        Verdict.ask("R"),
        specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="R"),
    ),
    ("PreToolUse", Verdict.allow("R"), specific("PreToolUse", permissionDecision="allow", additionalContext="R")),
    (
        "PreToolUse",
        Verdict("allow", modified_args=NEW),
        specific("PreToolUse", permissionDecision="allow", updatedInput=NEW),
    ),
    ("PreToolUse", Verdict.modify(NEW), specific("PreToolUse", updatedInput=NEW)),
    ("PreToolUse", Verdict.patch({"timeout": 5}), specific("PreToolUse", updatedInput={"command": "ls", "timeout": 5})),
    ("PreToolUse", Verdict.with_context("C"), specific("PreToolUse", additionalContext="C")),
    (
        "PreToolUse",
        BOTH,
        {
            "systemMessage": "P",
            **specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="R", additionalContext="C"),
        },
    ),
    ("PermissionRequest", Verdict(), {}),
    ("PermissionRequest", Verdict.allow(), decision(behavior="allow")),
    ("PermissionRequest", Verdict("allow", modified_args=NEW), decision(behavior="allow", updatedInput=NEW)),
    ("PermissionRequest", Verdict.modify(NEW), decision(behavior="deny", message=WANTED)),
    ("PermissionRequest", Verdict("ask", "R", modified_args=NEW), decision(behavior="deny", message=f"R\n\n{WANTED}")),
    ("PermissionRequest", Verdict.ask("R"), {"systemMessage": "R"}),
    ("PermissionRequest", Verdict.block("R"), decision(behavior="deny", message="R")),
    ("PermissionRequest", BOTH, {"systemMessage": "P", **decision(behavior="deny", message="R\n\nC")}),
    ("PermissionRequest", Verdict.skip("R"), decision(behavior="deny", message=SKIPPED)),
    ("PermissionRequest", Verdict.stop("R"), decision(behavior="deny", message="R", interrupt=True)),
    *(
        (event, verdict, answer)
        for event in ("PostToolUse", "PostToolUseFailure", "UserPromptSubmit")
        for verdict, answer in (
            (Verdict(), {}),
            (Verdict.with_context("C"), specific(event, additionalContext="C")),
            (Verdict.block("R"), blocked("R")),
            (Verdict.skip("R"), blocked(SKIPPED)),
            (Verdict.ask("R"), blocked(NEEDS_APPROVAL)),
            (Verdict.stop("R"), blocked("R") | ended("R")),
            (BOTH, {**blocked("R"), "systemMessage": "P", **specific(event, additionalContext="C")}),
        )
    ),
    *(
        (event, verdict, answer)
        for event in ("Stop", "SubagentStop")
        for verdict, answer in (
            (Verdict(), {}),
            (Verdict.with_context("C"), {}),
            (Verdict.block("R"), blocked("R")),
            (BOTH, {**blocked("R\n\nC"), "systemMessage": "P"}),
            (Verdict.stop("R"), ended("R")),
            (Verdict.skip("R"), {"systemMessage": SKIPPED}),
            (Verdict.ask("R"), {"systemMessage": "R"}),
            (Verdict("ask", "R", system_message="P"), {"systemMessage": "R\n\nP"}),
        )
    ),
    ("PreCompact", Verdict.block("R"), blocked("R")),
    ("PreCompact", Verdict.ask("R"), blocked(NEEDS_APPROVAL)),
    ("PreCompact", Verdict.with_context("C"), {}),
    *(
        (event, verdict, answer)
        for event in ("SubagentStart", "Notification")
        for verdict, answer in (
            (Verdict(), {}),
            (Verdict.with_context("C"), specific(event, additionalContext="C")),
            (Verdict.block("R"), specific(event, additionalContext="R")),
            (Verdict.stop("R"), ended("R") | specific(event, additionalContext="R")),
        )
    ),
]


@rows("event, verdict, answer", ANSWERS, ids=[f"{event}-{verdict.to_dict()}" for event, verdict, _ in ANSWERS])
def test_every_verdict_is_said_as_claude_understands_it(
    engine: Engine, event: EventName, verdict: Verdict, answer: Json
) -> None:
    """Event by event, in the SDK's own fields."""
    engine.register(event, lambda _: verdict, name="guard", replace=True)
    assert ask(engine, payload(event)) == answer


@rows("event", ["Stop", "SubagentStop", "PreCompact", "PermissionRequest"])
def test_what_nobody_is_told_is_in_the_log(engine: Engine, event: EventName, caplog: pytest.LogCaptureFixture) -> None:
    """Text for the model that this event cannot carry (at Stop it would make Claude go on) is not lost in silence."""
    engine.register(event, lambda _: Verdict.with_context("by the way"), name="talker", replace=True)
    ask(engine, payload(event))
    assert f"{event}: no text reaches the model here: it is only in the audit log: by the way" in caplog.text


def test_an_output_that_the_model_gets_all_the_same_is_in_the_log(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """The error of a tool cannot be replaced: who redacts it must know."""
    engine.register("post_tool_failure", lambda _: Verdict.replace_output("[hidden]"), name="redacts")
    ask(engine, payload("PostToolUseFailure"))
    assert "PostToolUseFailure: the output cannot be replaced: the model gets it" in caplog.text


@rows("event", [event for event in PAYLOADS if event not in ("Stop", "SubagentStop")])
@rows("action", ["ask", "skip", "block", "stop"])
def test_no_refusal_becomes_a_go_on(engine: Engine, event: EventName, action: Action) -> None:
    """Whatever the words: an answer that refuses is never an empty one, nor an allowance."""
    engine.register(event, lambda _: Verdict(action, "R"), name="guard", replace=True)
    answer = ask(engine, payload(event))
    assert answer
    assert "allow" not in str(answer)


class TestWhatHooksSee:
    """Claude's message, by hookrun's names."""

    def seen(self, engine: Engine, data: Json) -> Context:
        """Return the context of the one hook that runs."""
        heard: list[Context] = []
        engine.register(data["hook_event_name"], heard.append, name="listener", replace=True)
        ask(engine, data)
        (ctx,) = heard
        return ctx

    def test_a_tool_call(self, engine: Engine) -> None:
        """Names of tool and event are hookrun's; Claude's are there too, and its other fields."""
        ctx = self.seen(engine, payload("PreToolUse", effort={"level": "high"}))
        assert (ctx.event, ctx.tool_name, ctx.tool_args) == ("pre_tool_use", "bash", {"command": "ls"})
        assert (ctx.agent, ctx.agent_event, ctx.agent_tool_name) == ("claude", "PreToolUse", "Bash")
        assert (ctx.session_id, ctx.working_dir, ctx.tool_use_id) == ("s1", "/w", "toolu_1")
        assert (ctx.transcript_path, ctx.permission_mode) == ("/t.jsonl", "default")
        assert ctx["effort"] == {"level": "high"}
        assert "tool_input" not in ctx
        assert ctx["payload"] == payload("PreToolUse", effort={"level": "high"})

    @rows(
        "event, fields",
        [
            ("PostToolUse", {"tool_result_output": "a\nb", "tool_name": "bash"}),
            ("PostToolUseFailure", {"tool_result_error": "Exit code 1", "is_interrupt": False}),
            ("UserPromptSubmit", {"user_prompt": "do it", "tool_name": None}),
            ("Stop", {"assistant_response": "done", "stop_hook_active": False}),
            ("SubagentStart", {"agent_name": "Explore", "agent_id": "a1"}),
            ("PreCompact", {"trigger": "auto"}),
            ("Notification", {"message": "waiting"}),
        ],
    )
    def test_the_other_events(self, engine: Engine, event: str, fields: Json) -> None:
        """Each by the fields that hookrun's hooks read."""
        ctx = self.seen(engine, payload(event))
        assert {key: ctx.get(key) for key in fields} == fields

    @rows(
        "tool, args, seen",
        [
            ("Write", {"file_path": "/w/a", "content": "x"}, ("write", {"file_path": "/w/a", "content": "x"}, "/w/a")),
            (
                "NotebookEdit",
                {"notebook_path": "/w/n.ipynb", "new_source": "x", "cell_id": "1"},
                ("edit", {"file_path": "/w/n.ipynb", "new_string": "x", "cell_id": "1"}, "/w/n.ipynb"),
            ),
            ("Agent", {"prompt": "look"}, ("task", {"prompt": "look"}, None)),
            ("mcp__db__query", {"sql": "x"}, ("mcp__db__query", {"sql": "x"}, None)),
            ("TodoWrite", {"todos": []}, ("TodoWrite", {"todos": []}, None)),
        ],
    )
    def test_tools(self, engine: Engine, tool: str, args: Json, seen: tuple[str, Json, str | None]) -> None:
        """By canonical name and arguments; the file is known too."""
        ctx = self.seen(engine, payload("PreToolUse", tool_name=tool, tool_input=args))
        assert (ctx.tool_name, ctx.tool_args, ctx.file_path) == seen

    def test_changed_arguments_go_back_by_claude_s_names(self, engine: Engine) -> None:
        """A hook changes canonical arguments; the tool gets its own."""
        engine.register("pre_tool_use", lambda _: Verdict.patch({"new_string": "y"}), matcher="edit", name="edit")
        args = {"notebook_path": "/w/n.ipynb", "new_source": "x", "cell_id": "1"}
        answer = ask(engine, payload("PreToolUse", tool_name="NotebookEdit", tool_input=args))
        assert answer == specific("PreToolUse", updatedInput={**args, "new_source": "y"})

    @rows(
        "tool, response, text",
        [
            ("Bash", {"stdout": "out", "stderr": "err", "interrupted": False}, "out\nerr"),
            ("Bash", {"stdout": "", "stderr": ""}, ""),
            ("Read", {"type": "text", "file": {"filePath": "/w/a", "content": "alpha\n"}}, "alpha\n"),
            ("Read", {"type": "image", "file": {"base64": "x"}}, '{"type":"image","file":{"base64":"x"}}'),
            ("Agent", {"status": "completed", "content": [{"type": "text", "text": "found"}]}, "found"),
            ("mcp__db__query", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
            ("mcp__db__query", [{"type": "image", "data": "x"}], '[{"type":"image","data":"x"}]'),
            ("Write", {"type": "create", "filePath": "/w/a"}, '{"type":"create","filePath":"/w/a"}'),
            ("Skill", "plain", "plain"),
            ("Skill", None, "null"),
        ],
    )
    def test_what_a_tool_gave_is_text(self, engine: Engine, tool: str, response: object, text: str) -> None:
        """The text where it is known to lie, else all of it."""
        data = payload("PostToolUse", tool_name=tool, tool_response=response)
        assert self.seen(engine, data).tool_result_output == text


class TestFileChanged:
    """Claude's SDK has no such event: it is derived from the tools that change files."""

    def test_it_follows_a_write(self, engine: Engine) -> None:
        """With the file's path; both events' answers are one."""
        heard: list[Context] = []
        engine.register("post_tool_use", lambda _: Verdict.with_context("one"), name="post")
        engine.register("file_changed", heard.append, name="listener", always=True)
        engine.register("file_changed", lambda _: Verdict.block("two"), name="changed")
        data = payload("PostToolUse", tool_name="Write", tool_input={"file_path": "/w/a.py", "content": "x"})
        assert ask(engine, data) == {**blocked("two"), **specific("PostToolUse", additionalContext="one")}
        assert [(ctx.event, ctx.file_path) for ctx in heard] == [("file_changed", "/w/a.py")]

    def test_it_follows_nothing_else(self, engine: Engine) -> None:
        """Reading a file or running a command is no change that is known of."""
        engine.register("file_changed", lambda _: Verdict.block("two"), name="changed")
        assert ask(engine, payload("PostToolUse")) == {}
        assert ask(engine, payload("PostToolUse", tool_name="Read", tool_input={"file_path": "/w/a.py"})) == {}

    def test_its_hooks_wire_the_tools(self, engine: Engine) -> None:
        """An engine that only has such hooks gets the events of the tools."""
        engine.register("file_changed", lambda _: None, name="changed")
        assert list(hooks_for(engine)) == ["PostToolUse"]


class TestWiring:
    """Which events the SDK is asked for."""

    def test_only_those_that_have_hooks(self, engine: Engine) -> None:
        """Claude waits for no callback that has nothing to do."""
        assert hooks_for(engine) == {}
        engine.register(["pre_tool_use", "Stop"], lambda _: None, name="two")  # type: ignore[list-item]
        assert sorted(hooks_for(engine)) == ["PreSkillShellCommand", "PreToolUse", "Stop"]

    def test_or_those_that_are_asked_for(self, engine: Engine) -> None:
        """By any name that hookrun knows; each once."""
        hooks = hooks_for(engine, events=["pre_tool_use", "PreToolUse", "file_changed", "post_tool_use"], timeout=5)
        assert sorted(hooks) == ["PostToolUse", "PreSkillShellCommand", "PreToolUse"]
        assert sorted(hooks_for(engine, events=["PreSkillShellCommand"])) == ["PreSkillShellCommand", "PreToolUse"]
        (matcher,) = hooks["PreToolUse"]
        assert isinstance(matcher, sdk.HookMatcher)
        assert (matcher.matcher, matcher.timeout) == (None, 5)

    @rows("event", ["session_start", "SessionEnd", "after_inference", "my_event"])
    def test_what_the_sdk_does_not_deliver_is_an_error(self, engine: Engine, event: str) -> None:
        """A hook that can never run is an error instead of a false sense of safety."""
        with pytest.raises(ValueError, match=f"'{event}': the Claude Agent SDK does not deliver this event; use pre"):
            hooks_for(engine, events=[event])

    def test_hooks_that_will_not_run_are_named(self, engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
        """In the log, with the event."""
        engine.register(["session_start", "pre_tool_use"], lambda _: None, name="starter")
        assert list(hooks_for(engine)) == ["PreToolUse", "PreSkillShellCommand"]
        assert "starter: the Claude Agent SDK does not deliver session_start" in caplog.text

    def test_every_event_of_the_sdk_has_a_form(self) -> None:
        """A new SDK with a new event is noticed here."""
        assert set(PAYLOADS) == set(_literals(types.HookEvent))

    def test_the_options_take_it(self, engine: Engine) -> None:
        """As documented."""
        engine.register("pre_tool_use", lambda _: None, name="one")
        options = sdk.ClaudeAgentOptions(hooks=hooks_for(engine))
        assert list(options.hooks) == ["PreToolUse", "PreSkillShellCommand"]


class TestTrouble:
    """Neither hookrun nor a hook may keep Claude waiting, or answer what cannot be read."""

    @pytest.mark.slow
    def test_a_late_hook_is_decided_about_before_claude_does(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The deadline lies below Claude's own limit, so that `on_failure` counts."""
        engine.register("pre_tool_use", never_returns, name="slow", on_failure="block")
        deadlines = asked_of(engine, monkeypatch)
        answer = ask(engine, payload("PreToolUse"), timeout=1)
        (deadline,) = deadlines
        assert 0 < deadline <= 0.9
        assert "slow" in answer["hookSpecificOutput"]["permissionDecisionReason"]
        assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"

    @rows("timeout", [5.0, 8.0, 20.0, 60.0])
    def test_a_hook_that_does_not_end_leaves_time_to_answer(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch, timeout: float
    ) -> None:
        """Each fire may last CANCEL_GRACE beyond its deadline, and there is still time to send the answer."""
        engine.register(["post_tool_use", "file_changed"], lambda _: None, name="quick")
        deadlines = asked_of(engine, monkeypatch)
        written = {"file_path": "/w/a.py", "content": "x"}
        ask(engine, payload("PostToolUse", tool_name="Write", tool_input=written), timeout=timeout)
        assert len(deadlines) == 2
        assert timeout / 3 < deadlines[0] <= min(timeout * 0.9, timeout - len(deadlines) * CANCEL_GRACE)

    @pytest.mark.slow
    def test_two_fires_share_the_time(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        """A write is reported twice, within the one limit that Claude has."""
        engine.register(["post_tool_use", "file_changed"], never_returns, name="slow", on_failure="block")
        deadlines = asked_of(engine, monkeypatch)
        written = {"file_path": "/w/a.py", "content": "x"}
        answer = ask(engine, payload("PostToolUse", tool_name="Write", tool_input=written), timeout=1)
        first, second = deadlines
        assert 0 < second < 0.05 < first <= 0.9, "the first fire has used up the time of both"
        assert answer["reason"].count("slow") == 2

    @pytest.mark.parametrize(
        ("on_failure", "on_error", "decided"),
        [
            ("continue", None, None),
            ("block", None, "deny"),
            ("block", "continue", None),
            ("continue", "block", "deny"),
        ],
    )
    def test_hookrun_s_own_trouble(  # noqa: PLR0917  # a table of cases and fixtures
        self,
        engine: Engine,
        on_failure: Literal["continue", "block"],
        on_error: str | None,
        decided: str | None,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The user is notified, the log is written, and Claude continues unless a guard or `on_error` blocks."""
        engine.register("pre_tool_use", lambda _: None, name="one", on_failure=on_failure)
        monkeypatch.setattr("hookrun.library.embedded_engine.EngineFire", int)
        answer = ask(engine, payload("PreToolUse"), on_error=on_error)
        assert answer.get("hookSpecificOutput", {}).get("permissionDecision") == decided
        assert "hookrun failed" in answer["systemMessage"]
        assert [record.levelno for record in caplog.records] == [logging.ERROR]

    def test_a_field_of_claude_s_that_resembles_one_of_ours_is_no_mistake(self, engine: Engine) -> None:
        """The guard is asked, with that field in the whole message only."""
        seen: list[Context] = []
        engine.register("pre_tool_use", seen.append, name="listener", priority=1)
        engine.register("pre_tool_use", lambda _: Verdict.block("no"), name="guard", on_failure="block")
        answer = ask(engine, payload("PreToolUse", agent_ids="a1"))
        assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert ["agent_ids" in ctx for ctx in seen] == [False]
        assert ["'agent_ids': 'a1'" in str(ctx["payload"]) for ctx in seen] == [True]

    @rows("event, denied, why", [("PreToolUse", True, "names no tool"), ("PostToolUse", False, "tool_args is a list")])
    def test_fields_that_the_engine_refuses_deny(self, engine: Engine, event: str, *, denied: bool, why: str) -> None:
        """Before a tool, whatever `on_error` says: a callback that raises lets the tool run."""
        engine.register(["pre_tool_use", "post_tool_use"], lambda _: None, name="guard", on_failure="block")
        answer = ask(engine, payload(event, tool_name=5, tool_args=[1]))
        assert (answer.get("hookSpecificOutput", {}).get("permissionDecision") == "deny") is denied
        assert why in answer["systemMessage"]

    @rows("on_error, decided, on_failure", [("continue", None, None), ("block", "deny", "block")])
    def test_a_message_that_cannot_be_read(
        self, engine: Engine, on_error: str, decided: str | None, on_failure: str | None
    ) -> None:
        """The callback never raises: that would let the tool run whatever was asked for."""
        data = payload("PostToolUse", tool_response={"stdout": object()})
        (matcher,) = hooks_for(engine, events=["PreToolUse"], on_error=on_error)["PreToolUse"]  # type: ignore[arg-type]
        answer = called(matcher, data | {"hook_event_name": "PreToolUse"})
        assert answer.get("hookSpecificOutput", {}).get("permissionDecision") == decided
        ended = called(matcher, data | {"hook_event_name": "Stop"})  # where a block would mean to go on
        assert ended == {"systemMessage": ended["systemMessage"]}
        assert getattr(matcher, "on_failure", on_failure) == on_failure  # older versions of the SDK have no such field


def _literals(of: Any) -> list[str]:
    return [of] if isinstance(of, str) else [name for each in get_args(of) for name in _literals(each)]
