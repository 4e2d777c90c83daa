"""What each event makes of an answer: Claude Code's rules 1.3 (exit 2, outputs), 3.2 (exceptions) and 3.4."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hookrun.claude.hook_protocol import EVENTS, RULES
from tests.conformance.claude import answers, check, failure, notes, own
from tests.fire.agents import Agent
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Project

    Answer = Callable[[str], dict[str, object]]

REFUSES = ("pre_tool_use", "post_tool_use", "post_tool_failure", "user_prompt_submit", "stop", "subagent_stop",
           "pre_compact")  # fmt: skip
TELLS_THE_PERSON = ("session_start", "session_end", "subagent_start", "post_compact")
IGNORES = ("permission_request", "tool_call_aborted", "notification", "error", "file_changed", "assistant_response")
NOT_SHOWN = ("session_end", "notification", "error", "pre_compact", "post_compact")
TAKES_NO_TEXT = ("permission_request", "tool_call_aborted", "file_changed", "assistant_response", "notification")
TAKES_TEXT = ("session_start", "subagent_start", *REFUSES[:4])
HAS_NOTHING = ("session_end", "error", "pre_compact", "post_compact")
BEFORE, ASKS = ("pre_tool_use",), ("permission_request",)
OBEYS_NOTHING = ("tool_call_aborted", "assistant_response")
TURN_ENDS = ("stop", "subagent_stop")
NEW = {"command": "id"}
RULES_TOO: Any = {"updatedInput": NEW, "updatedPermissions": [{"type": "setMode"}]}
NO_REASON: dict[str, object] = {"notes": "its reason has no effect"}
BAD: dict[str, object] = {"failure": "bad_verdict"}
R: dict[str, object] = {"message": "R"}


def top(**fields: object) -> Answer:
    """Return an answer with these fields, whatever the event."""
    return lambda _: fields


def specific(**fields: object) -> Answer:
    """Return an answer with these fields in `hookSpecificOutput`."""
    return lambda event: own(EVENTS[event], **fields)


def no_effect(field: str) -> dict[str, object]:
    """Return what is noted of a field."""
    return {"notes": f"{field} of its answer has no effect"}


def decided(decision: str, **fields: object) -> Answer:
    """Return the answer to a call of a tool."""
    return specific(permissionDecision=decision, **fields)


def permission(behavior: object, **fields: object) -> Answer:
    """Return the answer to a request for permission."""
    return specific(decision={"behavior": behavior, **fields})


ENDS: Any = {"continue": False, "stopReason": "R"}
BLOCK = top(decision="block", reason="R")
TEXT = specific(additionalContext="R")
CONTEXT: dict[str, object] = {"additional_context": "R"}
DENIED: dict[str, object] = {"message": "blocked by hook (no reason given)"}
UNREAD: dict[str, object] = {"notes": "additionalContext"}
DEFERRED: dict[str, object] = {"message": "approval required by hook (no reason given)", "notes": "defer"}
ELSE: dict[str, object] = {"modified_args": NEW, "notes": "updatedPermissions"}

EXIT_2: dict[str, tuple[tuple[str, ...], str, dict[str, object]]] = {
    "refuses": (REFUSES, "block", R),
    "only tells the person": (TELLS_THE_PERSON, "continue", {"system_message": "hook hook: R"}),
    "has no effect": (IGNORES, "continue", {"notes": "exit status 2 has no effect"}),
}
ANSWERS: dict[str, tuple[tuple[str, ...], Answer, str, dict[str, object]]] = {
    "a block at the top refuses": ((*REFUSES[1:5], "pre_compact"), BLOCK, "block", R),
    "it has no effect elsewhere": ((*TELLS_THE_PERSON, *IGNORES[1:]), BLOCK, "continue", no_effect("decision")),
    "nor has continue: false": (("session_start", *NOT_SHOWN[:-2]), top(**ENDS), "continue", no_effect("continue")),
    "nor has a system message": (NOT_SHOWN, top(systemMessage="look"), "continue", no_effect("systemMessage")),
    "nor both at some": (OBEYS_NOTHING, top(systemMessage="S", **ENDS), "continue", {"notes": "has no effect"}),
    "text for the model reaches it": (TAKES_TEXT, TEXT, "continue", CONTEXT),
    "it has no effect where the event has no such field": (TAKES_NO_TEXT, TEXT, "continue", UNREAD),
    "at the end of a turn it is the next instruction": (TURN_ENDS, TEXT, "block", R),
    "there is nothing specific to some events": (HAS_NOTHING, TEXT, "continue", BAD),
    "continue: false at the end of a turn beats a block": (TURN_ENDS, top(decision="block", **ENDS), "stop", R),
    # 3.4: before a tool
    "the reason of an allow is dropped": (BEFORE, decided("allow", permissionDecisionReason="R"), "allow", NO_REASON),
    "that of a denial is not": (BEFORE, decided("deny", permissionDecisionReason="R"), "block", R),
    "nor that of a question": (BEFORE, decided("ask", permissionDecisionReason="R"), "ask", R),
    "defer asks, without its arguments": (BEFORE, decided("defer", updatedInput=NEW), "ask", DEFERRED),
    "arguments beside a denial change nothing": (BEFORE, decided("deny", updatedInput=NEW), "block", DENIED),
    # 1.3: a request for permission
    "a permission may be given": (ASKS, permission("allow"), "allow", {}),
    "it may be denied": (ASKS, permission("deny", message="R"), "block", R),
    "a denial may end the turn": (ASKS, permission("deny", message="R", interrupt=True), "stop", R),
    "other arguments may be allowed, new rules not": (ASKS, permission("allow", **RULES_TOO), "allow", ELSE),
    "a word is no decision": (ASKS, specific(decision="allow"), "continue", BAD),
    "nor is nothing": (ASKS, specific(decision={}), "continue", BAD),
    "nor is another behavior": (ASKS, permission("go"), "continue", BAD),
    "nor is a message that is none": (ASKS, permission("allow", message=1, updatedInput=1), "continue", BAD),
}
"""The events, the answer, the action and all else that is in the verdict."""


def test_1_3_every_event_is_in_one_of_the_three_lists() -> None:
    """Each has an expected effect of exit status 2."""
    assert sorted(EVENTS) == sorted([*REFUSES, *TELLS_THE_PERSON, *IGNORES])
    assert {*RULES} == {*EVENTS.values()}


@rows("events, action, others", EXIT_2.values(), ids=EXIT_2)
def test_1_3_exit_2(place: Project, events: tuple[str, ...], action: str, others: dict[str, object]) -> None:
    """At the end of a turn a refusal means to continue, after a tool the model gets it."""
    for event in events:
        check(answers(place, stderr="R", code=2, event=event), action, others)  # type: ignore[arg-type]


@rows("events, answer, action, others", ANSWERS.values(), ids=ANSWERS)
def test_1_3_and_3_4_what_an_answer_comes_to(  # a table of cases
    place: Project, events: tuple[str, ...], answer: Answer, action: str, others: dict[str, object]
) -> None:
    """Nothing is said to the user or the model but what the row names."""
    for event in events:
        check(answers(place, answer(event), event=event), action, others)  # type: ignore[arg-type]


@rows(
    "event, field, value",
    [
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
    fired = answers(place, own(EVENTS[event], **{field: value}), event=event)  # type: ignore[arg-type]
    assert failure(fired) is None
    assert f"{field} of its answer cannot be passed on" in notes(fired)


def test_1_3_what_cannot_be_passed_on_is_told_to_the_person_once(project: Project) -> None:
    """In the first answer of a session."""
    line = """echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","classifierContext":"x"}}'"""
    project.hooks({"dialect": "claude", "event": "post_tool_use", "command": line})
    agent = Agent("codex", project)
    assert "classifierContext" in agent.fire(agent.ran()).json["systemMessage"]
    assert agent.fire(agent.ran()).json == {}


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


def test_3_4_updated_input_alone_grants_nothing(project: Project) -> None:
    """Claude Code itself gets the new arguments and no permission."""
    project.hooks(
        {"dialect": "claude", "command": f"echo '{json.dumps(own('PreToolUse', updatedInput={'command': 'id'}))}'"}
    )
    agent = Agent("claude", project)
    told = agent.fire(agent.shell())
    assert told.own == {"hookEventName": "PreToolUse", "updatedInput": {"command": "id"}}
