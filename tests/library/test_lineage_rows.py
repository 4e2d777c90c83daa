"""Rows of docs/appendix/lineage.md that need a test in the terms of earlier engines."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import hookrun
from hookrun import ContextError, Engine, Verdict
from hookrun.compat.oats import HookContext, HookEvent, HookResult
from hookrun.compat.stackbench import HookManager
from hookrun.core.literals import EventName
from hookrun.events import CLASSES, PreSearchQuery
from hookrun.integrations.tool_loop import run_tool_sync
from hookrun.library.encoding import as_text, dumps
from hookrun.recipes.quality_gate import QualityGate
from tests.compat.logs import log_of
from tests.library.firing import Fire
from tests.rows import rows

EVENTS = {
    "oats": ("pre_tool_use post_tool_use user_prompt_submit session_start file_changed assistant_response"),
    "session_buddy": (
        "pre_checkpoint pre_tool_execution pre_reflection_store pre_session_end pre_search_query post_checkpoint "
        "post_tool_execution post_file_edit post_error session_start session_end user_prompt_submit"
    ),
    "synwire": (
        "PreToolUse PostToolUse PostToolUseFailure Notification SubagentStart SubagentStop PreCompact PostCompact "
        "SessionStart SessionEnd"
    ),
    "stakpak": (
        "BeforeRequest AfterRequest BeforeInference AfterInference ToolCallRequested BeforeToolExecution "
        "AfterToolExecution ToolCallAborted Error"
    ),
    "stackbench": "PreToolUse PostToolUse",
}
"""The events of each engine, by its own names."""

FIELDS: dict[str, dict[str, Any]] = {
    "pre_tool_use": {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}, "tool_use_id": "t1"},
    "post_tool_use": {"tool_name": "bash", "tool_args": {"command": "ls"}, "tool_result_output": "a b"},
    "post_tool_failure": {"tool_name": "bash", "tool_args": {}, "tool_result_error": "no such file"},
    "user_prompt_submit": {"user_prompt": "go on", "root_session_id": "s0"},
    "assistant_response": {"assistant_response": "done"},
    "file_changed": {"file_path": "/repo/a.py", "working_dir": "/repo"},
    "notification": {"message": "done", "level": "info"},
    "subagent_start": {"agent_name": "explorer", "initial_message": "look around"},
    "subagent_stop": {"agent_name": "explorer", "reason": "it is done"},
    "pre_compact": {"message_count": 90, "token_count": 180_000},
    "post_compact": {"message_count": 4, "token_count": 9_000},
    "session_start": {"session_id": "s1", "resumed": True},
    "session_end": {"session_id": "s1", "reason": "logout"},
    "error": {"session_id": "s1", "error_info": {"error_message": "disk full", "context": {"tool": "bash"}}},
    "pre_checkpoint": {"checkpoint_data": {"quality_score": 80}, "metadata": {"branch": "main"}},
    "post_checkpoint": {"checkpoint_data": {"quality_score": 80}, "timestamp": "2026-03-01T09:00:00Z"},
}
"""The fields of their contexts, by hookrun's names, with a value each."""


@rows("name", sorted({name for names in EVENTS.values() for name in names.split()}))
def test_an_event_of_theirs_is_registered_and_fired_by_its_own_name(name: str, fire: Fire, engine: Engine) -> None:
    """Registered and fired as they called it; the handler gets that event's class, by its canonical name."""
    seen: list[Any] = []
    engine.register(name, seen.append)  # type: ignore[arg-type]
    fire(engine, name, session_id="s1")
    assert [type(each) for each in seen] == [CLASSES[seen[0].event]]
    assert seen[0].event in CLASSES


@rows("event", FIELDS)
def test_every_field_of_their_contexts_is_read_by_its_name(event: EventName, fire: Fire, engine: Engine) -> None:
    """As an attribute of the event's class, and as a key of the context."""
    seen: list[Any] = []
    engine.register(event, seen.append)
    fire(engine, event, FIELDS[event])
    (ctx,) = seen
    for name, value in FIELDS[event].items():
        assert (getattr(ctx, name), ctx[name]) == (value, value)


def test_a_context_is_plain_data(fire: Fire, engine: Engine) -> None:
    """`to_dict` is JSON, and the caller's own copy; its class and fields can be seen in a debugger."""
    seen: list[Any] = []
    engine.register("pre_tool_use", seen.append)
    fire(engine)
    assert repr(seen[0]).startswith("PreToolUse({")
    data = seen[0].to_dict()
    assert json.loads(json.dumps(data))["tool_args"] == {"command": "ls", "n": 1}
    data["tool_args"]["n"] = 2
    assert seen[0].tool_args["n"] == 1


def test_a_search_query_is_rewritten(fire: Fire, engine: Engine) -> None:
    """Of `pre_search_query` the arguments can be changed, as those of a tool."""

    @engine.on(PreSearchQuery)
    def clearer(ctx: PreSearchQuery) -> Verdict | None:
        return Verdict.patch({"query": f"{ctx.query} in this repository"}) if "it" in ctx.query.split() else None

    result = fire(engine, "pre_search_query", {"tool_args": {"query": "where is it", "limit": 5}})
    assert result.modified_args == {"query": "where is it in this repository", "limit": 5}


JSON_VALUES: tuple[object, ...] = ({"a": [1, {"b": None}]}, [1, "x"], "text", 3, 2.5, True, None)
"""One of each type."""


@rows("value", JSON_VALUES)
def test_a_payload_holds_any_json_value(value: object, tmp_path: Path) -> None:
    """Within the arguments and as a field of the program's own, for handlers and configured hooks; a result as text."""
    seen: list[Any] = []
    keep = {"event": "post_tool_use", "command": f"cat > {tmp_path}/seen.json"}
    with Engine(hooks=[keep], directory=tmp_path) as engine:
        engine.register("post_tool_use", lambda ctx: seen.append((ctx.tool_args, ctx["output"], ctx["arguments"])))
        fields: dict[str, Any] = {"tool_args": {"x": value}, "output": value, "arguments": value}
        engine.fire_sync("post_tool_use", tool_name="mine", **fields)
        outcome = run_tool_sync(engine, "mine", {"x": value}, lambda x: x, output=value, arguments=value)
    read = json.loads((tmp_path / "seen.json").read_text())
    assert seen == [({"x": value}, value, value)] * 2
    assert (read["tool_args"], read["output"], read["arguments"]) == ({"x": value}, value, value)
    assert (outcome.result, outcome.content) == (value, read["tool_result_output"] or "")


@rows("value", JSON_VALUES[1:-1])
def test_arguments_and_a_result_are_any_json_value(value: object, tmp_path: Path) -> None:
    """Every hook can read them: what is no object is `value`, a result is its JSON; known tools take objects."""
    seen: list[Any] = []
    keep = {"event": "post_tool_use", "command": f"cat > {tmp_path}/seen.json"}
    with Engine(hooks=[keep], directory=tmp_path) as engine:
        engine.register("post_tool_use", lambda ctx: seen.append((ctx.tool_args, ctx.tool_result_output)))
        fields = {"tool_args": value, "tool_result_output": value}
        engine.fire_sync("post_tool_use", {"tool_name": "mine", **fields})
        for tool in ("bash", "exec_command", None):
            with pytest.raises(ContextError, match="tool_args is"):
                engine.fire_sync("post_tool_use", {"tool_name": tool, **fields})
    read = json.loads((tmp_path / "seen.json").read_text())
    assert seen == [({"value": value}, as_text(value))]
    assert (read["tool_args"], read["tool_result_output"]) == seen[0]


def test_ids_and_state_are_serialised(tmp_path: Path) -> None:
    """UUIDs are text, a `None` stays one; state goes along the chain, and in `metadata` to every hook and back."""
    seen: list[Any] = []
    session, checkpoint = UUID(int=1), UUID(int=2)
    keep = {"event": "before_request", "command": f"cat > {tmp_path}/seen.json", "priority": 900}
    with Engine(hooks=[keep], directory=tmp_path) as engine:
        engine.register("before_request", seen.append)
        engine.register("before_request", lambda ctx: Verdict.with_metadata(n=ctx.state["n"]), name="gives-state")
        fields: dict[str, Any] = {"session_id": str(session), "new_checkpoint_id": checkpoint}
        result = engine.fire_sync("before_request", fields, state={"n": 1})
        none: dict[str, Any] = {"session_id": None, "new_checkpoint_id": None}
        engine.fire_sync("before_request", none, state={"n": 2})
    read = json.loads((tmp_path / "seen.json").read_text())
    assert (read["session_id"], read["new_checkpoint_id"], read["metadata"]) == (None, None, {"n": 2})
    first = json.loads(dumps(seen[0].to_dict()))
    assert (first["session_id"], first["new_checkpoint_id"]) == (str(session), str(checkpoint))
    assert first["request_id"] == result.request_id != read["request_id"]
    assert seen[0].state == {"n": 1}
    assert result.context is not None
    assert result.context.metadata == {"n": 1}


def test_a_program_that_seeds_its_random_numbers_repeats_no_request_id(engine: Engine) -> None:
    """Its processes would share them: what ends one's hooks by their marker would end the other's."""
    engine.register("stop", lambda _: None, name="any")
    ids = set()
    for _ in range(2):
        random.seed(42)
        ids.add(engine.fire_sync("stop").request_id)
    assert len(ids) == 2


def test_a_context_is_made_with_its_state(fire: Fire, engine: Engine) -> None:
    """It is used when the context is fired, as the event or beside it, and by a clone; `state=` takes precedence."""
    seen: list[object] = []
    engine.register("before_request", lambda ctx: seen.append(ctx.state))
    context = hookrun.events.BeforeRequest(session_id="s1")
    context.state = {"n": 1}
    fire(engine, context)
    fire(engine, context, {"session_id": "s2"})
    fire(engine, "before_request", context)
    fire(engine, context.clone())
    fire(engine, context, state={"n": 2})
    assert seen == [{"n": 1}] * 4 + [{"n": 2}]
    assert seen[0] is context.state is not seen[3]


def test_the_words_of_the_first_engine_are_what_they_were() -> None:
    """Its events are texts as well; its results have short forms."""
    assert str.__eq__(HookEvent.PRE_TOOL_USE, "pre_tool_use")
    assert HookEvent("file_changed") is HookEvent.FILE_CHANGED
    assert {event.value for event in HookEvent} == {*EVENTS["oats"].split()}
    assert HookResult.continue_result() == HookResult() == HookResult.from_dict({})
    assert HookResult.block_result("no") == HookResult.from_dict({"action": "block", "message": "no"})
    assert HookContext("s1", HookEvent.SESSION_START).to_dict()["event"] == "session_start"


def test_the_hooks_of_an_agent_go_to_claude_as_one_object(tmp_path: Path) -> None:
    """Validation and log, put together by the agent's type, are what `ClaudeAgentOptions(hooks=...)` takes."""
    sdk = pytest.importorskip("claude_agent_sdk", reason="it needs the package claude-agent-sdk")
    from hookrun.integrations.claude_agent_sdk import hooks_for

    log = log_of(tmp_path / "logs" / "extraction", "quickstart")
    hooks = hooks_for(Engine().use(HookManager("extraction", log, tmp_path / "out")))
    assert {"PreToolUse", "PostToolUse"} <= set(hooks)
    sdk.ClaudeAgentOptions(allowed_tools=["Read", "Write"], permission_mode="acceptEdits", hooks=hooks)


def test_a_handler_can_be_called_without_an_engine() -> None:
    """It is a function of a context: a unit test needs nothing else."""
    context = hookrun.events.PreCheckpoint(checkpoint_data={"quality_score": 10})
    assert asyncio.run(QualityGate(60).check(context)).action == "block"
