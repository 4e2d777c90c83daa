"""Agents that run the hooks in Claude Code's settings: how the sender, its tool and its arguments are recognised."""

from __future__ import annotations

from typing import Any

from hookrun.agents import claude, load_sender
from hookrun.agents.base import Message, knows_tool
from hookrun.agents.callers import CALLERS, take_unknown_tool
from hookrun.agents.known_tools import MORE_TOOLS, native_tools
from tests.agents.senders import detect
from tests.golden import golden
from tests.rows import rows

Json = dict[str, Any]

GROKS = {name: data for name, (_, data) in golden.recorded("grok").items()}
ABOUT: dict[str, Json] = {
    "grok": {
        "hookEventName": "pre_tool_use",
        "hook_event_name": "PreToolUse",
        "workspaceRoot": "/p/",
        "sessionId": "s1",
        "session_id": "s1",
        "cwd": "/p",
        "timestamp": "2026-11-22T10:34:59Z",
        "permissionMode": "default",
    },
    "cursor": {
        "hook_event_name": "preToolUse",
        "conversation_id": "s1",
        "cursor_version": "3.11.25",
        "workspace_roots": ["/p"],
        "transcript_path": None,
    },
    "devin": {},
    "vscode": {
        "hookEventName": "PreToolUse",
        "sessionId": "s1",
        "cwd": "/p",
        "timestamp": "2026-02-09T10:30:00.000Z",
        "transcript_path": "/w/transcript.json",
    },
    "unknown": {
        "hook_event_name": "PreToolUse",
        "session_id": "s1",
        "cwd": "/p",
        "transcript_path": "/home/dev/.other/t.jsonl",
    },
}
"""What messages of each caller have beside the tool, as recorded or documented."""


def message(caller: str, tool: str, **args: object) -> Json:
    """Return the message before a tool is called."""
    return {**ABOUT[caller], "tool_name": tool, "tool_input": args}


def read(payload: Json) -> Message:
    """Return a message as `hookrun fire --agent claude` reads it."""
    agent = load_sender(detect(claude, payload))
    found = agent.read(payload, "")
    if "read_by" in agent.INSTALL and not knows_tool(agent, found):
        take_unknown_tool(found, payload)
    return found


@rows("name", GROKS)
def test_every_message_of_grok_s_is_told_to_be_grok_s(name: str) -> None:
    """Those before the first prompt included, which have no transcript."""
    assert detect(claude, GROKS[name]) == "grok"


@rows("caller", CALLERS)
def test_a_caller_is_told_by_its_message(caller: str) -> None:
    """Without a tool, Devin's messages cannot be distinguished from Claude Code's, whose format they use."""
    own = next(iter(CALLERS[caller].TOOLS))
    assert detect(claude, message(caller, own)) == caller


def test_a_message_of_grok_s_has_hookrun_s_names() -> None:
    """Of the session, the event, the tool, its arguments and its result."""
    found = read(next(data for name, data in GROKS.items() if "PostToolUse" in name))
    (call,) = found.calls
    fields = call.fields
    assert (found.native, call.event) == ("PostToolUse", "post_tool_use")
    assert fields["agent"] == "grok"
    assert (fields["tool_name"], fields["agent_tool_name"]) == ("bash", "run_terminal_command")
    assert fields["tool_args"] == {"command": "echo hi > out.txt", "description": "w"}
    assert fields["tool_result_output"] == "exit: 0\n"
    assert fields["session_id"] == "01a202d2-cf06-7443-a00e-5c28472fb8ae"


def test_grok_s_subagents_have_claude_s_names() -> None:
    """Hooks for one kind of subagent get its start and end; its calls name the kind alone (1.0.41, live)."""
    about = {"hookEventName": "subagent_stop", "hook_event_name": "SubagentStop", "subagentType": "looker"}
    (call,) = read({**GROKS[next(iter(GROKS))], **about, "subagentId": "s2"}).calls
    assert (call.event, call.fields["agent_name"], call.fields["agent_id"]) == ("subagent_stop", "looker", "s2")


def test_the_end_of_grok_s_session_is_no_end_of_a_turn() -> None:
    """It sends a Stop after SessionEnd, which nothing can keep from ending."""
    stops = {data["reason"]: read(data).calls for name, data in GROKS.items() if name.endswith("Stop.json")}
    assert [call.fields["assistant_response"] for call in stops["end_turn"]] == ["done"]
    assert stops["shutdown"] == []


CALLS: list[tuple[str, str, Json, str, Json | None]] = [
    ("grok", "run_terminal_command", {"command": "ls"}, "bash", None),
    ("grok", "monitor", {"command": "ls"}, "bash", None),
    ("grok", "write", {"file_path": "/a", "content": "x"}, "write", None),
    ("grok", "read_file", {"target_file": "/a"}, "read", {"file_path": "/a"}),
    ("grok", "search_replace", {"file_path": "/a", "old_string": "x", "new_string": "y"}, "edit", None),
    (
        "grok",
        "search_replace",
        {"file_path": "/a", "old_string": "", "new_string": "y"},
        "write",
        {"file_path": "/a", "old_string": "", "content": "y"},
    ),
    ("cursor", "Shell", {"command": "ls", "working_directory": "/"}, "bash", None),
    ("cursor", "Write", {"file_path": "/a", "contents": "x"}, "write", {"file_path": "/a", "content": "x"}),
    ("cursor", "Delete", {"path": "/a"}, "delete", {"file_path": "/a"}),
    ("devin", "exec", {"command": "ls", "shell_id": "main"}, "bash", None),
    ("devin", "write", {"path": "/a", "content": "x"}, "write", {"file_path": "/a", "content": "x"}),
    ("vscode", "run_in_terminal", {"command": "ls"}, "bash", None),
    ("vscode", "create_file", {"filePath": "/a", "content": "x"}, "write", {"file_path": "/a", "content": "x"}),
    (
        "vscode",
        "replace_string_in_file",
        {"filePath": "/a", "oldString": "x", "newString": "y"},
        "edit",
        {"file_path": "/a", "old_string": "x", "new_string": "y"},
    ),
    ("unknown", "run_it", {"command": "ls"}, "bash", None),
    ("unknown", "run_it", {"cmd": ["rm", "-rf", "a b"]}, "bash", {"command": "rm -rf 'a b'"}),
    (
        "unknown",
        "run_it",
        {"command": "rm", "args": ["-rf", "a b"]},
        "bash",
        {"command": "rm -rf 'a b'", "args": ["-rf", "a b"]},
    ),
    (
        "vscode",
        "create_and_run_task",
        {"task": {"label": "x", "command": "ls"}},
        "bash",
        {"task": {"label": "x", "command": "ls"}, "label": "x", "command": "ls"},
    ),
    ("unknown", "editor", {"command": "view", "path": "/a"}, "read", {"command": "view", "file_path": "/a"}),
    ("unknown", "editor", {"command": "rm x", "path": "/a"}, "bash", {"command": "rm x", "file_path": "/a"}),
    ("unknown", "put", {"path": "/a", "content": "x"}, "write", {"file_path": "/a", "content": "x"}),
    ("unknown", "change", {"filePath": "/a", "newText": "x"}, "edit", {"file_path": "/a", "new_string": "x"}),
    ("unknown", "remove_file", {"path": "/a"}, "delete", {"file_path": "/a"}),
    ("unknown", "look", {"path": "/a"}, "read", {"file_path": "/a"}),
    ("unknown", "get", {"url": "http://a"}, "web_fetch", None),
    ("unknown", "look", {"pattern": "x", "path": "/a"}, "grep", {"pattern": "x", "file_path": "/a"}),
    ("unknown", "delegate_task", {"prompt": "do"}, "task", None),
    ("unknown", "think", {"thought": "hm"}, "think", None),
]
"""A caller's tool and its arguments -> hookrun's names, None where the arguments have those already."""


@rows("caller, tool, args, ours, named", CALLS)
def test_a_tool_and_its_arguments_have_hookrun_s_names(
    caller: str, tool: str, args: Json, ours: str, named: Json | None
) -> None:
    """By the caller's table, or by the arguments alone."""
    fields = read(message(caller, tool, **args)).calls[0].fields
    assert (fields["tool_name"], fields["tool_args"], fields["agent_tool_name"]) == (ours, named or args, tool)


RENAMED = [(caller, tool, args, named) for caller, tool, args, _, named in CALLS if named is not None]
SEVERAL_WORDS = [each for each in RENAMED if not {"cmd", "args", "task"}.isdisjoint(each[2])]


@rows("caller, tool, args, named", [each for each in RENAMED if each not in SEVERAL_WORDS])
def test_changed_arguments_have_the_caller_s_names_again(caller: str, tool: str, args: Json, named: Json) -> None:
    """The agent is given them as it named them."""
    assert read(message(caller, tool, **args)).to_native_args([named]) == args


@rows("caller, tool, args, named", SEVERAL_WORDS)
def test_several_words_of_a_command_are_not_changed(caller: str, tool: str, args: Json, named: Json) -> None:
    """They cannot be distinguished from one line."""
    assert read(message(caller, tool, **args)).to_native_args([named]) is None


def test_a_message_that_names_no_event_of_claude_code_s_is_an_unknown_agent_s() -> None:
    """It may name everything in other ways; a tool that is called like Claude Code's is that."""
    for tool, ours in (("Write", "write"), ("run_it", "bash")):
        args = {"command": "ls"} if ours == "bash" else {"path": "/a", "content": "x"}
        payload: Json = {"hookEventName": "pre_tool_use", "sessionId": "s1", "toolName": tool, "toolInput": args}
        assert detect(claude, payload) == "unknown"
        (call,) = read(payload).calls
        assert (call.event, call.fields["tool_name"], call.fields["session_id"]) == ("pre_tool_use", ours, "s1")


def test_the_arguments_of_a_server_s_tool_are_not_those_of_the_tool_that_calls_it() -> None:
    """Grok Build has one tool that calls those of MCP servers."""
    inner = {"path": "/a"}
    found = read(message("grok", "files__make", tool_name="files__make", tool_input=inner))
    assert found.calls[0].fields["tool_args"] == inner
    assert found.to_native_args([{"path": "/b"}]) == {"tool_name": "files__make", "tool_input": {"path": "/b"}}


def test_a_call_about_several_files_is_one_for_each() -> None:
    """Whatever the list holds, and in a patch."""
    texts = "*** Begin Patch\n*** Add File: /a\n+x\n*** Delete File: /b\n*** End Patch"
    two = [{"filePath": "/a", "oldString": "x", "newString": "y"}, {"filePath": "/b", "oldString": "x"}]
    for found, tools in (
        (read(message("vscode", "editFiles", files=["/a", "/b"])), ["edit", "edit"]),
        (read(message("vscode", "multi_replace_string_in_file", replacements=two)), ["edit", "edit"]),
        (read(message("vscode", "apply_patch", input=texts)), ["write", "delete"]),
        (read(message("unknown", "apply", patch=texts)), ["write", "delete"]),
    ):
        assert [call.fields["tool_name"] for call in found.calls] == tools
        assert [call.fields["tool_args"]["file_path"] for call in found.calls] == ["/a", "/b"]  # type: ignore[index]
        assert found.to_native_args([{"file_path": "/c"}, None]) is None


@rows("tool", sorted({*native_tools("claude"), "mcp__a__b"}))
def test_a_tool_of_claude_code_s_is_not_told_by_its_arguments(tool: str) -> None:
    """One that has no name of hookrun's keeps its own, whatever its arguments."""
    payload = {**message("unknown", tool, command="ls", file_path="/a", content="x"), "transcript_path": "/t"}
    fields = read(payload).calls[0].fields
    assert fields["tool_name"] == claude.TOOLS.get(tool, tool)
    assert fields["agent"] == "claude"


def test_a_new_tool_of_claude_code_s_is_claude_code_s() -> None:
    """Its transcript is in Claude Code's directory: it obeys everything that Claude does."""
    payload = {
        **message("unknown", "NewShell", command="ls"),
        "transcript_path": "/home/dev/.claude/projects/p/t.jsonl",
    }
    found = claude.read(payload, "")
    caller, text = take_unknown_tool(found, payload)
    assert caller is None
    assert "`NewShell` is treated as `bash`" in str(text)
    assert (found.calls[0].fields["tool_name"], found.calls[0].fields["agent"]) == ("bash", "claude")


@rows("tool", ["server__run", "mcp_server_run", "MCP:run"])
@rows("caller", ["grok", "cursor", "vscode", "unknown"])
def test_a_tool_of_a_server_is_not_told_by_its_arguments(caller: str, tool: str) -> None:
    """A guard on shell commands is not about it."""
    assert read(message(caller, tool, command="ls")).calls[0].fields["tool_name"] == tool


@rows("value", [None, "x", 5, ["x"], {}, {"command": None}, {"files": [1]}, {"path": {}}])
def test_odd_arguments_are_no_error(value: object) -> None:
    """The tool keeps its name, or gets the canonical one if that is known."""
    for caller, tool in (("grok", "run_terminal_command"), ("unknown", "x"), ("vscode", "editFiles")):
        payload = {**ABOUT[caller], "tool_name": tool, "tool_input": value}
        assert read(payload).calls[0].fields["tool_name"] in ("bash", "x", "edit")


def test_the_tables_of_tools_do_not_contradict_each_other() -> None:
    """No caller's tool has a name of Claude Code's for something else."""
    for caller in CALLERS.values():
        for tool, ours in caller.TOOLS.items():
            assert claude.TOOLS.get(tool, ours) == ours
            assert tool not in MORE_TOOLS["claude"]
