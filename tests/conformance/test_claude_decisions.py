"""What each event makes of an answer: Claude Code's rules 1.3 (exit 2, outputs), 3.2 (exceptions) and 3.4."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrun.claude.hook_protocol import EVENTS, RULES
from tests.conformance.claude import answers, failure, notes, own
from tests.fire.agents import Agent
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

REFUSES = ("pre_tool_use", "post_tool_use", "post_tool_failure", "user_prompt_submit", "stop", "subagent_stop",
           "pre_compact")  # fmt: skip
TELLS_THE_PERSON = ("session_start", "session_end", "subagent_start", "post_compact")
IGNORES = ("permission_request", "tool_call_aborted", "notification", "error", "file_changed", "assistant_response")
NOT_SHOWN = ["session_end", "notification", "error", "pre_compact", "post_compact"]


def test_1_3_every_event_is_in_one_of_the_three_lists() -> None:
    """Each has an expected effect of exit status 2."""
    assert sorted(EVENTS) == sorted([*REFUSES, *TELLS_THE_PERSON, *IGNORES])
    assert {*RULES} == {*EVENTS.values()}


@rows("event", REFUSES)
def test_1_3_exit_2_refuses(place: Project, event: str) -> None:
    """At the end of a turn that means to continue, after a tool that the model gets it."""
    fired = answers(place, stderr="R", code=2, event=event)
    assert (fired.action, fired.verdict["message"]) == ("block", "R")


@rows("event", TELLS_THE_PERSON)
def test_1_3_exit_2_only_tells_the_person(place: Project, event: str) -> None:
    """Nothing can be refused there."""
    fired = answers(place, stderr="R", code=2, event=event)
    assert (fired.action, fired.verdict["system_message"], failure(fired)) == ("continue", "hook hook: R", None)


@rows("event", IGNORES)
def test_1_3_exit_2_has_no_effect(place: Project, event: str) -> None:
    """The audit records it."""
    fired = answers(place, stderr="R", code=2, event=event)
    assert (fired.action, failure(fired)) == ("continue", None)
    assert "system_message" not in fired.verdict
    assert "exit status 2 has no effect" in notes(fired)


@rows("event", ["post_tool_use", "post_tool_failure", "user_prompt_submit", "stop", "pre_compact"])
def test_1_3_a_block_at_the_top_refuses(place: Project, event: str) -> None:
    """With its reason."""
    fired = answers(place, {"decision": "block", "reason": "R"}, event=event)
    assert (fired.action, fired.verdict["message"]) == ("block", "R")


@rows(
    "field, answer, events",
    [
        ("decision", {"decision": "block", "reason": "R"}, [*TELLS_THE_PERSON, *IGNORES]),
        ("continue", {"continue": False, "stopReason": "R"}, ["session_start", *NOT_SHOWN[:-1]]),
        ("systemMessage", {"systemMessage": "look"}, NOT_SHOWN),
    ],
)
def test_1_3_what_has_no_effect_at_an_event_is_recorded(
    place: Project, field: str, answer: dict[str, object], events: list[str]
) -> None:
    """The action does not change, and the user is not notified."""
    for event in events:
        fired = answers(place, answer, event=event)
        assert (fired.action, "system_message" in fired.verdict) == ("continue", False), event
        assert f"{field} of its answer has no effect" in notes(fired), event


@rows("event", ["permission_request", "tool_call_aborted", "file_changed", "assistant_response", "notification"])
def test_3_3_additional_context_has_no_effect_where_the_event_has_no_such_field(place: Project, event: str) -> None:
    """A note says so; the text is dropped."""
    fired = answers(place, own(EVENTS[event], additionalContext="x"), event=event)
    assert "additional_context" not in fired.verdict
    assert "additionalContext" in notes(fired)


@rows(
    "event",
    ["pre_tool_use", "post_tool_use", "post_tool_failure", "user_prompt_submit", "session_start", "subagent_start"],
)
def test_1_3_additional_context_reaches_the_model(place: Project, event: str) -> None:
    """Beside no decision."""
    fired = answers(place, own(EVENTS[event], additionalContext="mind the gap"), event=event)
    assert (fired.action, fired.verdict["additional_context"]) == ("continue", "mind the gap")


@rows("event", ["stop", "subagent_stop"])
def test_1_3_additional_context_at_the_end_of_a_turn_makes_it_go_on(place: Project, event: str) -> None:
    """It is the next instruction."""
    fired = answers(place, own(EVENTS[event], additionalContext="run the tests"), event=event)
    assert (fired.action, fired.verdict["message"]) == ("block", "run the tests")


def test_1_3_continue_false_at_the_end_of_a_turn_beats_a_block(place: Project) -> None:
    """It ends."""
    assert answers(place, {"continue": False, "decision": "block", "reason": "R"}, event="stop").action == "stop"


@rows("event", ["tool_call_aborted", "assistant_response"])
def test_1_3_these_events_obey_nothing_at_the_top(place: Project, event: str) -> None:
    """Claude Code takes `retry` and `displayContent` only."""
    fired = answers(place, {"continue": False, "stopReason": "R", "systemMessage": "S"}, event=event)
    assert (fired.action, "system_message" in fired.verdict) == ("continue", False)
    assert "has no effect" in notes(fired)


@rows("event", ["session_end", "error", "pre_compact", "post_compact"])
def test_3_3_there_is_nothing_specific_to_these_events(place: Project, event: str) -> None:
    """`hookSpecificOutput` does not fit there."""
    fired = answers(place, own(EVENTS[event], additionalContext="x"), event=event)
    assert failure(fired) == "bad_verdict"


@rows(
    "event, field, value",
    [
        ("post_tool_use", "updatedToolOutput", {"stdout": ""}),
        ("post_tool_use", "updatedMCPToolOutput", []),
        ("post_tool_use", "classifierContext", "x"),
        ("user_prompt_submit", "sessionTitle", "x"),
        ("user_prompt_submit", "suppressOriginalPrompt", True),
        ("session_start", "initialUserMessage", "x"),
        ("session_start", "reloadSkills", True),
        ("tool_call_aborted", "retry", True),
        ("file_changed", "watchPaths", ["/a"]),
        ("assistant_response", "displayContent", "x"),
        ("notification", "additionalContext", "x"),
    ],
)
def test_1_3_what_cannot_be_passed_on_is_told(place: Project, event: str, field: str, value: object) -> None:
    """The answer counts otherwise."""
    fired = answers(place, own(EVENTS[event], **{field: value}), event=event)
    assert failure(fired) is None
    assert f"{field} of its answer cannot be passed on" in notes(fired)


def test_1_3_what_cannot_be_passed_on_is_told_to_the_person_once(project: Project) -> None:
    """In the first answer of a session."""
    line = """echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":"x"}}'"""
    project.hooks({"dialect": "claude", "event": "post_tool_use", "command": line})
    agent = Agent("codex", project)
    assert "updatedToolOutput" in agent.fire(agent.ran()).json["systemMessage"]
    assert agent.fire(agent.ran()).json == {}


# --- 3.4: before a tool


@rows("decision, action, message", [("allow", "allow", None), ("deny", "block", "R"), ("ask", "ask", "R")])
def test_3_4_a_permission_decision(place: Project, decision: str, action: str, message: str | None) -> None:
    """The reason of an allow is dropped."""
    fired = answers(place, own("PreToolUse", permissionDecision=decision, permissionDecisionReason="R"))
    assert (fired.action, fired.verdict.get("message")) == (action, message)


def test_3_4_defer_asks_a_person_and_its_arguments_do_not_count(place: Project) -> None:
    """Only Claude Code can defer a call: that is reported, and the call does not run unasked."""
    fired = answers(place, own("PreToolUse", permissionDecision="defer", updatedInput={"command": "id"}))
    assert fired.action == "ask"
    assert "modified_args" not in fired.verdict
    assert "defer" in notes(fired)


@rows(
    "fields, action",
    [({}, "modify"), ({"permissionDecision": "allow"}, "allow"), ({"permissionDecision": "ask"}, "ask")],
)
def test_3_4_updated_input_replaces_the_whole_input(project: Project, fields: dict[str, str], action: str) -> None:
    """With or without a decision: an argument that is not in it is gone."""
    line = own("PreToolUse", updatedInput={"command": "id"}, **fields)
    project.hooks({"dialect": "claude", "command": f"echo '{json.dumps(line)}'"})
    fired = project.fire({"tool_name": "bash", "tool_args": {"command": "ls", "timeout": 5}})
    assert (fired.action, fired.verdict["modified_args"]) == (action, {"command": "id"})


def test_3_4_updated_input_beside_a_denial_changes_nothing(place: Project) -> None:
    """The call is refused."""
    fired = answers(place, own("PreToolUse", permissionDecision="deny", updatedInput={"command": "id"}))
    assert (fired.action, "modified_args" in fired.verdict) == ("block", False)


def test_3_4_updated_input_alone_grants_nothing(project: Project) -> None:
    """Claude Code itself gets the new arguments and no permission."""
    project.hooks(
        {"dialect": "claude", "command": f"echo '{json.dumps(own('PreToolUse', updatedInput={'command': 'id'}))}'"}
    )
    agent = Agent("claude", project)
    told = agent.fire(agent.shell())
    assert told.own == {"hookEventName": "PreToolUse", "updatedInput": {"command": "id"}}


# --- 1.3: a request for permission


@rows(
    "decision, action, message",
    [
        ({"behavior": "allow"}, "allow", None),
        ({"behavior": "deny", "message": "M"}, "block", "M"),
        ({"behavior": "deny", "message": "M", "interrupt": True}, "stop", "M"),
    ],
)
def test_1_3_a_permission_request_is_decided_by_its_own_field(
    place: Project, decision: dict[str, object], action: str, message: str | None
) -> None:
    """`decision` is an object there."""
    fired = answers(place, own("PermissionRequest", decision=decision), event="permission_request")
    assert (fired.action, fired.verdict.get("message")) == (action, message)


def test_1_3_a_permission_request_may_be_allowed_with_other_arguments(place: Project) -> None:
    """Rules that it would add besides cannot be passed on."""
    decision = {"behavior": "allow", "updatedInput": {"command": "id"}, "updatedPermissions": [{"type": "setMode"}]}
    fired = answers(place, own("PermissionRequest", decision=decision), event="permission_request")
    assert (fired.action, fired.verdict["modified_args"]) == ("allow", {"command": "id"})
    assert "updatedPermissions" in notes(fired)


@rows("decision", ["allow", {}, {"behavior": "ask"}, {"behavior": "deny", "message": 1}])
def test_1_3_a_permission_request_that_is_decided_otherwise_is_not(place: Project, decision: object) -> None:
    """The answer does not fit."""
    fired = answers(place, own("PermissionRequest", decision=decision), event="permission_request")
    assert (fired.action, failure(fired)) == ("continue", "bad_verdict")
