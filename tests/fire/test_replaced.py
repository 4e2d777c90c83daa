"""Hooks replace a tool's output and the user's prompt: what later hooks, the agent and the log get, by processes."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Fired, Project
from tests.fire.agents import Agent, says
from tests.rows import rows

REDACTS = """jq -c '{action: "modify", modified_output: (.tool_result_output | gsub("hunter2"; "[hidden]"))}'"""
SEES = "cat >> seen.jsonl"

OUTPUT = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "x"}, "tool_result_output": "hunter2 here"}
BASH = {"tool_name": "Bash", "tool_input": {"command": "x"}, "session_id": "s1"}
RESPONSE = {"stdout": "hunter2 here", "stderr": "", "interrupted": False, "isImage": False}


def after(project: Project, *hooks: dict[str, Any], context: object = OUTPUT, event: str = "post_tool_use") -> Fired:
    """Run these hooks at an event, by default on the output of a command."""
    project.hooks(*({"event": event, **hook} for hook in hooks))
    return project.fire(context, event=event)


def as_claude(project: Project, event: str = "PostToolUse", **fields: object) -> dict[str, Any]:
    """Return the answer to a message of Claude Code."""
    message = {"hook_event_name": event, "cwd": str(project.root), **BASH, **fields}
    answer: dict[str, Any] = Agent("claude", project).fire(message).json
    return answer


def seen(project: Project) -> list[dict[str, Any]]:
    """Return what the hook SEES has read."""
    return [json.loads(line) for line in (project.root / "seen.jsonl").read_text().splitlines()]


def test_the_next_hook_sees_the_replaced_output(project: Project) -> None:
    """And the next one replaces that; the result is the last."""
    fired = after(
        project,
        {"name": "first", "command": REDACTS},
        {"name": "second", "command": """jq -c '{action: "modify", modified_output: ("> " + .tool_result_output)}'"""},
        {"name": "listener", "command": SEES, "priority": 900},
    )
    assert (fired.status, fired.verdict["action"]) == (0, "modify")
    assert fired.verdict["modified_output"] == "> [hidden] here"
    assert seen(project)[0]["tool_result_output"] == "> [hidden] here"
    assert [fired.record(name)["changed"] for name in ("first", "second")] == [["tool_result_output"]] * 2


@rows(
    "event, field, new",
    [
        ("post_tool_use", "tool_result_output", "modified_output"),
        ("post_tool_failure", "tool_result_error", "modified_output"),
        ("user_prompt_submit", "user_prompt", "modified_prompt"),
    ],
)
def test_each_event_has_its_text(project: Project, event: str, field: str, new: str) -> None:
    """The error of a tool is replaced as its output is; an empty text replaces, too."""
    for text in ("new", ""):  # an empty one, too
        fired = after(
            project,
            {"name": "replaces", "command": says(action="modify", **{new: text})},
            {"name": "listener", "command": SEES},
            context={"tool_name": "bash", field: "old"},
            event=event,
        )
        assert fired.verdict[new] == text
        assert seen(project)[-1][field] == text


@rows(
    "event, answer, why",
    [
        ("post_tool_use", {"action": "modify"}, "modify needs modified_output"),
        ("post_tool_use", {"action": "modify", "modified_args": {"a": 1}}, "modify needs modified_output"),
        (
            "post_tool_use",
            {"action": "modify", "modified_output": {"a": 1}},
            "modified_output is an object, not a string",
        ),
        (
            "post_tool_use",
            {"action": "continue", "modified_prompt": "x"},
            "modified_prompt has no effect at this event",
        ),
        ("user_prompt_submit", {"action": "modify"}, "modify needs modified_prompt"),
        ("pre_tool_use", {"action": "allow", "modified_output": "x"}, "modified_output has no effect at this event"),
        ("stop", {"action": "continue", "modified_output": "x"}, "modified_output has no effect at this event"),
    ],
)
def test_a_change_that_the_event_does_not_have_is_a_bad_verdict(
    project: Project, event: str, answer: dict[str, object], why: str
) -> None:
    """Nothing of it counts; `on_failure` decides."""
    fired = after(project, {"name": "wrong", "command": says(**answer)}, context={"tool_name": "bash"}, event=event)
    record = fired.record("wrong")
    assert (record["failure"], record["detail"]) == ("bad_verdict", why)


@rows(
    "action, counts_as",
    [("continue", "modify"), ("allow", "modify"), *((each, each) for each in ("ask", "skip", "block", "stop"))],
)
def test_a_new_output_counts_beside_any_action(project: Project, action: str, counts_as: str) -> None:
    """No output is given away because of another word."""
    fired = after(project, {"name": "odd", "command": says(action=action, modified_output="new", message="R")})
    assert fired.verdict["modified_output"] == "new"
    assert fired.verdict["action"] == counts_as


def test_an_advising_hook_replaces_nothing(project: Project) -> None:
    """The user gets what it would have done."""
    fired = after(project, {"name": "adviser", "command": REDACTS, "mode": "advise"})
    assert "modified_output" not in fired.verdict
    assert 'would modify (output: "[hidden] here")' in str(fired.verdict["system_message"])


def test_the_users_guard_sees_what_a_project_puts_in(project: Project) -> None:
    """It runs again on the new output; without a change it does not."""
    project.user_hooks({"name": "guard", "event": "post_tool_use", "command": REDACTS})
    project.hooks(
        {"name": "adds", "event": "post_tool_use", "command": says(action="modify", modified_output="hunter2 again")}
    )
    fired = project.fire(OUTPUT, event="post_tool_use")
    assert fired.verdict["modified_output"] == "[hidden] again"
    assert [hook.get("recheck") for hook in fired.verdict["hooks"]] == [None, None, True]  # type: ignore[attr-defined]


def test_of_two_side_by_side_the_later_counts(project: Project) -> None:
    """As with arguments, the conflict is for the user and the log."""
    hooks = [
        {"name": name, "command": says(action="modify", modified_output=name), "parallel": True} for name in ("a", "b")
    ]
    fired = after(project, *hooks)
    assert fired.verdict["modified_output"] == "b"
    assert "hooks a and b both changed tool_result_output; b, the later, wins" in str(fired.verdict["system_message"])


# --- a guard that fails

FAILS = {"name": "guard", "command": "exit 7", "on_failure": "block"}
WITHHELD = "(withheld by hookrun: a hook that checks it has failed)"


@rows("event, field", [("post_tool_use", "tool_result_output"), ("post_tool_failure", "tool_result_error")])
def test_a_guard_that_fails_withholds_the_output(project: Project, event: str, field: str) -> None:
    """Hooks that run in any case see it withheld, too; the reason says so."""
    fired = after(project, FAILS, {"name": "listener", "command": SEES, "always": True}, event=event)
    assert (fired.verdict["action"], fired.verdict["modified_output"]) == ("block", WITHHELD)
    line = "hook guard failed (exit_code): it exited with status 7, so the output was withheld"
    assert fired.verdict["message"] == line
    assert seen(project)[-1][field] == WITHHELD
    assert fired.record("guard")["changed"] == [field]


@rows(
    "command, says",
    [
        ("cat >&2; exit 7", "(exit_code): it exited with status 7"),
        ("jq -r .tool_result_output", "(bad_verdict)"),
        ('echo \'{"action": "hunter2 here"}\'', "(bad_verdict)"),
    ],
)
def test_what_the_guard_said_is_withheld_with_it(project: Project, command: str, says: str) -> None:
    """It may quote the output; the log has it, for the user."""
    fired = after(project, {**FAILS, "command": command})
    assert fired.verdict["message"] == f"hook guard failed {says}, so the output was withheld"
    assert "hunter2" in str(fired.record("guard")["detail"])
    project.hooks({**FAILS, "event": "post_tool_use", "command": command})
    assert "hunter2" not in str(as_claude(project, tool_response=RESPONSE))


@rows("name", ["codex", "copilot", "gemini", "kilo", "opencode", "pi", "vibe"])
def test_each_agent_that_withholds_the_output_withholds_what_the_guard_said(project: Project, name: str) -> None:
    """Also one that cannot block after a tool, but replaces what came back."""
    project.hooks({**FAILS, "event": "post_tool_use", "command": "cat >&2; exit 7"})
    agent = Agent(name, project)
    answer = json.dumps(agent.fire(agent.ran(output="hunter2 here")).json)
    assert "hook guard failed (exit_code): it exited with status 7, so the output was withheld" in answer
    assert WITHHELD in answer
    assert "hunter2" not in answer


def test_a_stop_beside_a_failed_guard_leaves_the_output_withheld(project: Project) -> None:
    """The log says so."""
    stops = {"name": "stops", "command": says(action="stop", message="enough"), "parallel": True}
    fired = after(project, {**FAILS, "command": "cat >&2; exit 7", "parallel": True}, stops)
    assert (fired.verdict["action"], fired.verdict["modified_output"]) == ("stop", WITHHELD)
    assert fired.record("guard")["consequence"] == "so the output was withheld"


def test_without_that_policy_the_output_is_given(project: Project) -> None:
    """A failed observer is reported."""
    fired = after(project, {**FAILS, "on_failure": "continue"})
    assert "modified_output" not in fired.verdict
    assert "withheld" not in str(fired.verdict["system_message"])


def test_what_replaces_beside_a_failed_guard_is_withheld(project: Project) -> None:
    """It saw the output that the guard did not check."""
    fired = after(
        project,
        {**FAILS, "parallel": True},
        {"name": "beside", "command": says(action="modify", modified_output="seen"), "parallel": True},
    )
    assert fired.verdict["modified_output"] == WITHHELD


def test_a_guard_that_cannot_check_a_projects_output_withholds_it(project: Project) -> None:
    """Whatever its `on_failure`, as it answered before."""
    once = "cat > /dev/null; [ -e ran ] && exit 7; touch ran"
    project.user_hooks({"name": "guard", "event": "post_tool_use", "command": once})
    project.hooks({"name": "adds", "event": "post_tool_use", "command": says(action="modify", modified_output="new")})
    fired = project.fire(OUTPUT, event="post_tool_use")
    assert (fired.verdict["action"], fired.verdict["modified_output"]) == ("block", WITHHELD)
    assert "hook guard could not check the changed output" in str(fired.verdict["message"])


def test_where_the_agent_cannot_withhold_it_the_reason_says_so(project: Project) -> None:
    """Claude Code has no answer that replaces the error of a tool."""
    project.hooks({**FAILS, "event": "post_tool_failure"})
    answer = as_claude(project, "PostToolUseFailure", error="hunter2")
    assert "it exited with status 7; this agent's hooks cannot withhold the output" in answer["reason"]
    assert WITHHELD in answer["hookSpecificOutput"]["additionalContext"]
    assert "output -> context" in answer["systemMessage"]


# --- the agent


@rows(
    "tool, response, updated",
    [
        ("Bash", RESPONSE, {**RESPONSE, "stdout": "[hidden] here"}),
        (
            "Bash",
            {**RESPONSE, "stdout": "out", "stderr": "hunter2", "persistedOutputPath": "/tmp/x"},
            {**RESPONSE, "stdout": "out\n[hidden]", "stderr": ""},
        ),
        (
            "Read",
            {"type": "text", "file": {"filePath": "/a", "content": "hunter2", "numLines": 1}},
            {"type": "text", "file": {"filePath": "/a", "content": "[hidden]", "numLines": 1}},
        ),
        ("Glob", {"filenames": ["hunter2"], "numFiles": 1}, {"filenames": ["[hidden]"], "numFiles": 1}),
        ("mcp__db__query", [{"type": "text", "text": "hunter2"}], [{"type": "text", "text": "[hidden]"}]),
        ("mcp__db__query", "hunter2", "[hidden]"),
        (
            "Bash",
            {**RESPONSE, "structuredContent": [{"type": "text", "text": "hunter2"}], "viewedImages": {"blocks": []}},
            {**RESPONSE, "stdout": "[hidden] here"},
        ),
    ],
)
def test_claude_code_gets_the_output_in_the_form_of_its_tool(
    project: Project, tool: str, response: object, updated: object
) -> None:
    """It ignores another form."""
    project.hooks({"name": "redacts", "event": "post_tool_use", "command": REDACTS})
    answer = as_claude(project, tool_name=tool, tool_response=response)
    assert answer["hookSpecificOutput"]["updatedToolOutput"] == updated


def test_a_text_takes_the_place_of_what_is_not_only_text(project: Project) -> None:
    """Of an MCP server's images, too: a guard that failed could not check them."""
    project.hooks({**FAILS, "event": "post_tool_use"})
    response = [{"type": "text", "text": "hunter2"}, {"type": "image", "source": {"data": "hunter2"}}]
    answer = as_claude(project, tool_name="mcp__db__query", tool_response=response)
    assert answer["hookSpecificOutput"]["updatedToolOutput"] == [{"type": "text", "text": WITHHELD}]
    assert "so the output was withheld" in answer["reason"]


def test_an_output_without_a_place_in_that_form_is_told_beside_it(project: Project) -> None:
    """A file name is no place for a text."""
    project.hooks({"name": "hides", "event": "post_tool_use", "command": says(action="modify", modified_output="none")})
    answer = as_claude(project, tool_name="Glob", tool_response={"filenames": ["hunter2"], "numFiles": 1})
    assert "go by this instead: none" in answer["hookSpecificOutput"]["additionalContext"]
    assert "updatedToolOutput" not in answer["hookSpecificOutput"]


def test_hooks_of_a_changed_file_get_the_replaced_output(project: Project) -> None:
    """They run after those of the tool, on the same output."""
    project.hooks(
        {"name": "redacts", "event": "post_tool_use", "command": REDACTS},
        {"name": "listener", "event": "file_changed", "command": SEES},
    )
    as_claude(project, tool_name="Write", tool_input={"file_path": "/a", "content": "x"}, tool_response="hunter2")
    assert seen(project)[0]["tool_result_output"] == "[hidden]"


def test_a_hook_for_claude_code_replaces_an_output_anywhere(project: Project) -> None:
    """In the form of Claude's tool, or as a text; the next one reads it in Claude's message."""
    answer = {
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": {**RESPONSE, "stdout": "new"}}
    }
    project.hooks(
        {"name": "a", "event": "post_tool_use", "dialect": "claude", "command": f"echo '{json.dumps(answer)}'"},
        {"name": "b", "event": "post_tool_use", "dialect": "claude", "command": SEES},
    )
    assert as_claude(project, tool_response=RESPONSE)["hookSpecificOutput"]["updatedToolOutput"]["stdout"] == "new"
    assert project.fire(OUTPUT, event="post_tool_use").verdict["modified_output"] == "new"
    assert [each["tool_response"]["stdout"] for each in seen(project)] == ["new", "new"]


def test_a_prompt_that_cannot_be_changed_is_blocked(project: Project) -> None:
    """The user reads what to send instead."""
    project.hooks(
        {"name": "fixes", "event": "user_prompt_submit", "command": says(action="modify", modified_prompt="better")}
    )
    answer = as_claude(project, "UserPromptSubmit", prompt="worse")
    assert (answer["decision"], answer["reason"]) == ("block", "a hook wants this to be sent instead: better")


# --- the log


@rows("details", ["none", "summary", "full"])
def test_the_log_never_has_what_was_replaced(project: Project, details: str) -> None:
    """It says that it was; of the whole context it keeps the new text."""
    project.user_hooks({"name": "redacts", "event": "post_tool_use", "command": REDACTS}, audit={"details": details})
    as_claude(project, tool_response=RESPONSE)
    log = project.audit_path.read_text()
    assert "hunter2" not in log
    assert "tool_result_output" in log
    assert ("[hidden] here" in log) == (details == "full")
