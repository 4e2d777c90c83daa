"""The input of a hook in Claude's dialect, whichever agent sends the event: Claude Code's rules 1.1 to 1.3."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrun import Engine
from hookrun.agents import claude as agent_claude
from hookrun.claude import hook_protocol as tables
from hookrun.claude.hook_protocol import FIELDS, MORE, WORDS, build_payload
from hookrun.core.events import CLAUDE_TOOLS
from hookrun.core.literals import EventName
from tests.conformance.claude import CONTEXTS
from tests.fire.agents import AGENTS, Agent, AgentOf, Json
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

KEEP = "cat > read.json"


def read(project: Project) -> Json:
    """Return the hook's input."""
    text = (project.root / "read.json").read_text()
    assert text.endswith("}\n")
    data: Json = json.loads(text)
    return data


def fired(project: Project, event: EventName, **context: object) -> Json:
    """Fire an event and return a hook's input."""
    project.hooks({"dialect": "claude", "event": event, "command": KEEP})
    context = {"session_id": "s1", **CONTEXTS.get(event, {}), **context}
    with Engine.load(project.root, home=project.home, trust_project=True) as engine:
        result = engine.fire_sync(event, context)
    assert [run.failure for run in result.runs] == [None]
    return read(project)


def test_1_1_every_event_has_the_name_by_which_claude_fires_it() -> None:
    """Both tables agree, and events that Claude does not have are in neither.

    The shell lines of skills and commands have an event of their own, hooks read it as PreToolUse.
    """
    again = {"PreSkillShellCommand": "pre_tool_use"}
    assert {native: event for event, native in tables.EVENTS.items()} | again == agent_claude.EVENTS
    assert {*FIELDS, *MORE, *WORDS} <= set(agent_claude.EVENTS)


def test_1_3_every_tool_has_the_name_that_claude_gives_it() -> None:
    """A tool of Claude's that is several here stands for the first of them."""
    assert all(agent_claude.NAMES.tool(native) == tool for tool, native in CLAUDE_TOOLS.items())
    assert {*CLAUDE_TOOLS} == {*agent_claude.TOOLS.values()}
    there_and_back = {
        tool: {ours: theirs for theirs, ours in table.items()} for tool, table in tables.ARGUMENTS.items()
    }
    assert there_and_back == agent_claude.ARGUMENTS


def test_1_2_the_common_fields_are_always_there(place: Project) -> None:
    """An unknown transcript is an empty string; other unknown fields are left out."""
    assert fired(place, "session_end") == {
        "session_id": "s1",
        "transcript_path": "",
        "cwd": str(place.root),
        "hook_event_name": "SessionEnd",
        "reason": "other",
    }


def test_1_2_the_mode_is_said_in_claude_s_words_where_claude_says_it(place: Project) -> None:
    """Not at every event, and not where it is none of Claude's."""
    assert fired(place, "pre_tool_use", permission_mode="yolo")["permission_mode"] == "bypassPermissions"
    assert "permission_mode" not in fired(place, "pre_tool_use", permission_mode="turbo")
    assert "permission_mode" not in fired(place, "session_start", permission_mode="plan")


def test_1_2_a_subagent_is_told_by_its_id(place: Project) -> None:
    """`agent_type` is the name that hookrun knows."""
    seen = fired(place, "pre_tool_use", agent_id="a7", agent_name="Explore")
    assert (seen["agent_id"], seen["agent_type"]) == ("a7", "Explore")


@rows(
    "event, context, expected",
    [
        (
            "pre_tool_use",
            {"tool_use_id": "t1"},
            {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"},
        ),
        (
            "pre_tool_use",
            {"tool_name": "mcp__memory__find", "tool_args": {"file_path": "x"}},
            {"tool_name": "mcp__memory__find", "tool_input": {"file_path": "x"}},
        ),
        ("permission_request", {}, {"tool_name": "Bash", "tool_input": {"command": "ls"}}),
        (
            "post_tool_use",
            {},
            {"tool_response": {"stdout": "a.txt\n", "stderr": "", "interrupted": False, "isImage": False}},
        ),
        ("post_tool_failure", {}, {"tool_name": "Bash", "error": "Exit code 1"}),
        ("tool_call_aborted", {"tool_name": "bash", "tool_args": {}, "tool_result_error": "no"}, {"reason": "no"}),
        ("user_prompt_submit", {}, {"prompt": "do it"}),
        ("session_start", {"source": "resume", "model": "m"}, {"source": "resume", "model": "m"}),
        ("session_start", {"source": "new"}, {"source": "startup"}),
        ("session_end", {"reason": "logout"}, {"reason": "logout"}),
        ("stop", {"assistant_response": "done"}, {"stop_hook_active": False, "last_assistant_message": "done"}),
        ("stop", {"stop_hook_active": True}, {"stop_hook_active": True}),
        ("subagent_stop", {"agent_id": "a7"}, {"stop_hook_active": False, "agent_id": "a7", "agent_type": ""}),
        ("subagent_start", {"agent_id": "a7", "agent_name": "Plan"}, {"agent_id": "a7", "agent_type": "Plan"}),
        ("pre_compact", {"trigger": "manual"}, {"trigger": "manual", "custom_instructions": None}),
        ("post_compact", {"compact_summary": "S"}, {"trigger": "auto", "compact_summary": "S"}),
        (
            "notification",
            {"message": "M", "notification_type": "idle_prompt"},
            {"message": "M", "notification_type": "idle_prompt"},
        ),
        ("error", {"error_info": {"error_message": "429"}}, {"error": "unknown", "error_details": "429"}),
        ("assistant_response", {"assistant_response": "Hi"}, {"delta": "Hi"}),
        ("file_changed", {"tool_name": "delete", "file_path": "/a/b"}, {"file_path": "/a/b", "event": "unlink"}),
        ("tool_call_requested", {"tool_name": "bash", "tool_args": {}}, {"tool_name": "Bash", "tool_input": {}}),
    ],
)
def test_1_3_what_an_event_tells(
    place: Project, event: str, context: dict[str, object], expected: dict[str, object]
) -> None:
    """The fields of the event's row, by Claude's names; an event that Claude has not keeps its name."""
    seen = fired(place, event, **context)  # type: ignore[arg-type]
    assert seen["hook_event_name"] == tables.native_event(event)
    assert {name: seen.get(name, "missing") for name in expected} == expected


def test_1_3_the_path_of_a_file_is_absolute(project: Project) -> None:
    """Whatever the agent has; a hook that gives it back has not changed it."""
    seen = fired(project, "pre_tool_use", tool_name="write", tool_args={"file_path": "a/../b.txt", "content": "x"})
    assert seen["tool_input"] == {"file_path": str(project.root / "b.txt"), "content": "x"}
    answer = '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":%s}}'
    changed = json.dumps({**seen["tool_input"], "content": "y"})
    project.hooks({"dialect": "claude", "command": f"echo '{answer % changed}'"})
    context = {"tool_name": "write", "tool_args": {"file_path": "a/../b.txt", "content": "x"}}
    assert project.fire(context).verdict["modified_args"] == {"file_path": "a/../b.txt", "content": "y"}


@rows(
    "tool, args, expected",
    [
        ("write", {"file_path": "/a", "content": "x"}, {"filePath": "/a", "content": "x"}),
        (
            "edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
            {"filePath": "/a", "oldString": "x", "newString": "y", "replaceAll": False},
        ),
        ("read", {"file_path": "/a"}, {"type": "text", "file": {"filePath": "/a", "content": "out"}}),
        ("mcp__a__b", {}, [{"type": "text", "text": "out"}]),
        ("grep", {"pattern": "x"}, "out"),
    ],
)
def test_1_3_a_response_has_the_shape_of_claude_s_tool(tool: str, args: dict[str, object], expected: object) -> None:
    """As far as it can be known; of all other tools it is the text."""
    context = {"tool_name": tool, "tool_args": args, "tool_result_output": "out", "file_path": args.get("file_path")}
    assert build_payload("post_tool_use", context)["tool_response"] == expected


def test_1_2_claude_s_own_message_is_passed_on_whole(project: Project) -> None:
    """With fields that hookrun does not know."""
    project.hooks({"dialect": "claude", "command": KEEP})
    agent = Agent("claude", project)
    message = {**agent.shell("ls"), "tool_use_id": "t1", "effort": {"level": "high"}, "of_tomorrow": [1]}
    assert agent.fire(message).status == 0
    assert read(project) == message


def test_1_2_claude_s_own_message_has_the_arguments_as_hooks_before_left_them(project: Project) -> None:
    """By Claude's names of them, also where hookrun has others."""
    change = """echo '{"action": "modify", "args_patch": {"new_string": "z"}}'"""
    project.hooks({"name": "first", "command": change}, {"dialect": "claude", "command": KEEP})
    agent = Agent("claude", project)
    message = agent.shell()
    message |= {"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/n.ipynb", "new_source": "y"}}
    told = agent.fire(message)
    assert read(project)["tool_input"] == {"notebook_path": "/n.ipynb", "new_source": "z"}
    assert told.own["updatedInput"] == {"notebook_path": "/n.ipynb", "new_source": "z"}


@rows("name", AGENTS)
def test_every_agent_s_shell_call_is_a_call_of_bash(agent_of: AgentOf, name: str) -> None:
    """Before it, with the command; and a refusal in the form of Claude's hooks reaches the agent in its own format."""
    agent = agent_of(name)
    agent.project.hooks({"dialect": "claude", "command": f"{KEEP}; echo never >&2; exit 2"})
    told = agent.fire(agent.shell("rm -rf /"))
    seen = read(agent.project)
    assert (seen["hook_event_name"], seen["tool_name"]) == ("PreToolUse", "Bash")
    assert seen["tool_input"]["command"] == "rm -rf /"
    assert "never" in str(told.reason)


ONCE = """grep -q '"stop_hook_active":true' || echo '{"decision":"block","reason":"run the tests"}'"""


@rows("name", [name for name in AGENTS if name not in ("cline", "opencode")])
def test_a_stop_hook_that_looks_whether_it_is_active_blocks_once(agent_of: AgentOf, name: str) -> None:
    """As users write it. Cline cannot be kept from ending."""
    agent = agent_of(name)
    agent.project.hooks({"dialect": "claude", "event": "stop", "command": ONCE})
    assert b"run the tests" in agent.fire(agent.stop()).stdout
    assert b"run the tests" not in agent.fire({**agent.stop(), "stop_hook_active": True}).stdout


def test_whether_a_stop_hook_is_active_is_remembered_for_an_agent_that_does_not_send_it(project: Project) -> None:
    """By its earlier blocks."""
    opencode = Agent("opencode", project)
    project.hooks({"dialect": "claude", "event": "stop", "command": ONCE})
    told = [b"run the tests" in opencode.fire(opencode.stop()).stdout for _ in range(3)]
    assert told == [True, False, True]
