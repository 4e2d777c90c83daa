"""Details of agents' messages that the golden files do not cover, and which agent is taken for the sender."""

from __future__ import annotations

from typing import Any

import pytest

from hookrun.agents import claude, cline, copilot, gemini, load, opencode, qwen
from hookrun.agents.base import CUT_OFF, UnreadableMessageError, native_event
from tests.agents.senders import detect
from tests.golden import golden
from tests.rows import rows

Json = dict[str, Any]
CLAUDES = golden.recorded("claude")
COPILOTS = golden.recorded("copilot")
OTHERS = {name: golden.recorded(name) for name in ("codex", "gemini", "qwen", "cline", "opencode")}


@rows("name", CLAUDES)
def test_a_message_of_claude_s_is_told_to_be_claude_s(name: str) -> None:
    """Every one that was recorded, and every one that is documented."""
    assert detect(claude, CLAUDES[name][1]) == "claude"


@rows("name", COPILOTS)
def test_a_message_of_copilot_s_is_told_from_claude_s(name: str) -> None:
    """In both dialects, every one that was recorded."""
    assert detect(claude, COPILOTS[name][1]) == "copilot"


def test_a_later_claude_may_tell_the_time() -> None:
    """One field alone makes no message Copilot's."""
    _, data = CLAUDES["claude/shell.02.PreToolUse.json"]
    assert detect(claude, {**data, "timestamp": "2027-01-01T00:00:00Z"}) == "claude"


@rows("agent", OTHERS)
def test_through_its_own_wiring_nobody_is_taken_for_another(agent: str) -> None:
    """Only Claude's settings are read by others."""
    assert {detect(load(agent), data) for _, data in OTHERS[agent].values()} == {agent}


def before(tool: str, **more: object) -> Json:
    """Return Gemini's message before a tool is called."""
    return {"hook_event_name": "BeforeTool", "tool_name": tool, "tool_input": {}, **more}


@rows(
    "message, name",
    [
        (before("mcp_db_run_query"), "mcp__db__run_query"),
        (before("mcp_my_db_query", mcp_context={"server_name": "my_db", "tool_name": "query"}), "mcp__my_db__query"),
        (before("mcp__db__query"), "mcp__db__query"),
        (before("mcp_odd"), "mcp_odd"),
        (before("google_web_search"), "web_search"),
        (before("ask_user"), "ask_user"),
    ],
)
def test_gemini_s_tools(message: Json, name: str) -> None:
    """An MCP tool has one name on every agent; where Gemini names the server, its name may contain a `_`."""
    assert gemini.read(message, "").calls[0].fields["tool_name"] == name


@rows("error", ["it broke", {"message": "it broke", "type": "edit_failed"}])
def test_a_failure_of_gemini_s_is_one(error: object) -> None:
    """It has one event for both; no file has changed then."""
    response = {"llmContent": "Error", "returnDisplay": "Error", "error": error}
    message = {**before("write_file"), "hook_event_name": "AfterTool", "tool_input": {"file_path": "/a"}}
    (call,) = gemini.read({**message, "tool_response": response}, "").calls
    assert (call.event, call.fields["tool_result_error"]) == ("post_tool_failure", "it broke")
    assert [each.event for each in gemini.read({**message, "tool_response": {"llmContent": "ok"}}, "").calls] == [
        "post_tool_use",
        "file_changed",
    ]


@rows(
    "fields, fired",
    [
        ({"prompt": "do it", "submitted_prompt": "do it"}, True),
        ({"prompt": "do it"}, True),
        ({"prompt": ""}, False),
        ({}, False),
        ({"prompt": "", "submitted_prompt": "do it"}, True),
    ],
)
def test_a_prompt_that_nobody_wrote_is_not_fired(fields: Json, fired: bool) -> None:
    """Qwen Code sends one after each tool call."""
    assert bool(qwen.read({"hook_event_name": "UserPromptSubmit", **fields}, "").calls) is fired


@rows(
    "arguments, seen", [({"command": "ls"}, {"command": "ls"}), ('{"command": "ls"}', {"command": "ls"}), ("{", None)]
)
def test_copilot_s_arguments_may_be_a_text(arguments: object, seen: object) -> None:
    """Older versions give JSON within JSON; one that is none hides the tool from no matcher."""
    (call,) = copilot.read({"toolName": "bash", "toolArgs": arguments}, "PreToolUse").calls
    assert (call.fields["tool_name"], call.fields["tool_args"]) == ("bash", seen)


def test_copilot_s_failure_is_no_changed_file() -> None:
    """Its result says whether it succeeded."""
    message: Json = {"toolName": "create", "toolArgs": {"path": "/a", "file_text": "x"}}
    for kind, events in (("success", ["post_tool_use", "file_changed"]), ("failure", ["post_tool_use"])):
        result = {"resultType": kind, "textResultForLlm": "t"}
        read = copilot.read({**message, "toolResult": result}, "PostToolUse")
        assert [call.event for call in read.calls] == events


@rows(
    "native, camel, of_session, of_subagent",
    [
        ("UserPromptSubmit", "userPromptSubmitted", "user_prompt_submit", "subagent_start"),
        ("Stop", "agentStop", "stop", "subagent_stop"),
    ],
)
def test_copilot_s_prompt_and_stop_of_a_subagent_are_no_prompt_and_no_end_of_a_turn(
    native: str, camel: str, of_session: str, of_subagent: str
) -> None:
    """It has an agent's id then; the names of its fields differ in its two dialects."""
    about: Json = {"hook_event_name": native, "session_id": "s2"}
    of_one = {"agent_id": "s2", "agent_type": "general-purpose", "parent_agent_id": "s1"}
    assert [call.event for call in copilot.read(about, "").calls] == [of_session]
    assert [call.event for call in copilot.read({**about, **of_one}, "").calls] == [of_subagent]
    assert [call.event for call in copilot.read({"sessionId": "s2", "agentId": "s2"}, camel).calls] == [of_subagent]


@rows(
    "name, of_session, of_subagent",
    [("agent_start", "session_start", "subagent_start"), ("agent_end", "stop", "subagent_stop")],
)
def test_cline_s_start_and_end_of_a_subagent_are_its_own(name: str, of_session: str, of_subagent: str) -> None:
    """It has a parent then."""
    about: Json = {"hookName": name, "taskId": "s2", "agent_id": "a2"}
    for parent, event in ((None, of_session), ("a1", of_subagent)):
        (call,) = cline.read({**about, "parent_agent_id": parent}, "").calls
        assert call.event == event


def test_opencode_s_patch_is_read_into_its_files() -> None:
    """As Codex's is."""
    text = "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch"
    output = {"args": {"patchText": text}}
    message = opencode.read({"hook": "tool.execute.before", "input": {"tool": "patch"}, "output": output}, "")
    assert [call.fields["tool_name"] for call in message.calls] == ["write", "delete"]
    assert message.to_native_args([{"file_path": "c"}, None]) is None


@rows(
    "module, message",
    [
        (cline, {"hookName": "tool_call", "tool_call": {"name": "editor", "input": "rm -rf /"}}),
        (copilot, {"toolName": "bash", "toolArgs": "rm -rf /"}),
        (copilot, {"toolName": "bash", "toolArgs": '["rm", "-rf", "/"]'}),
        (opencode, {"input": {"tool": "bash"}, "output": {"args": "rm -rf /"}}),
    ],
)
def test_arguments_that_are_no_object_are_not_taken_for_none(module: Any, message: Json) -> None:
    """Hooks do not get them, so that a guard has to block the call; a patch or a list of items is read into calls."""
    (call,) = module.read(message, native_event(module, "pre_tool_use")).calls
    assert (call.fields["tool_args"], call.fields.get("arguments_cut_off")) == (None, CUT_OFF)


@rows(
    "module, message",
    [
        (cline, {"hookName": "tool_call", "tool_call": {"name": "run_commands", "input": ["ls"]}}),
        (copilot, {"toolName": "apply_patch", "toolArgs": "*** Begin Patch\n*** Delete File: b\n*** End Patch"}),
        (copilot, {"toolName": "list_bash", "toolArgs": ""}),
    ],
)
def test_arguments_that_are_read_are_not_cut_off(module: Any, message: Json) -> None:
    """Though the agent sends them as a string or a list."""
    (call,) = module.read(message, native_event(module, "pre_tool_use")).calls
    assert "arguments_cut_off" not in call.fields


@rows("module", [copilot, gemini, opencode, qwen])
def test_a_message_without_an_event_is_one_of_the_wiring_s_or_cannot_be_read(module: Any) -> None:
    """The installed line names the event after --agent where the message does not."""
    assert module.read({}, native_event(module, "pre_tool_use")).native == native_event(module, "pre_tool_use")
    with pytest.raises(UnreadableMessageError, match=r"not the name of|no event"):
        module.read({}, "")
