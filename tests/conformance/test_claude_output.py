"""The effects of output and exit status of a hook in Claude's dialect: Claude Code's rules 3.1 to 3.3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.claude import answers, check, failure, hook_line, notes, own
from tests.fire.agents import Agent
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

BLOCK = '{"decision":"block","reason":"no"}'
DENY_HERE = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not here"}
DENY = {"hookSpecificOutput": DENY_HERE}
ALLOW = own("PreToolUse", permissionDecision="allow")
SEE = own("PreToolUse", permissionDecision="allow", updatedInput={"command": "id"}, additionalContext="see")
CHANGE = own("PreToolUse", updatedInput={"command": "id"})
CHANGED: dict[str, object] = {"modified_args": {"command": "id"}}
BAD: dict[str, object] = {"failure": "bad_verdict"}
FAILED: dict[str, object] = {"failure": "exit_code"}
EXTRA = {"mine": True, "hookSpecificOutput": {**DENY_HERE, "extra": 1}}
NO: dict[str, object] = {"message": "no"}
UNSAID: dict[str, object] = {"message": "blocked by hook (no reason given)"}
ALLOWS = '{"decision": "approve"}'
NOT_HERE: dict[str, object] = {"message": "not here"}
KEPT: dict[str, object] = {"notes": "wrong_field: its block counts"}
NO_EFFECT: dict[str, object] = {"notes": "its reason has no effect"}
NOT_1 = {"notes": "its exit status 1 is ignored"}
NOT_READ = {"notes": "its stdout is ignored"}
NO_REASON = "blocked by hook (exit 2, no reason given)"
DENY_ALONE = own("PreToolUse", permissionDecision="deny")
MISPLACED = {"permissionDecision": "deny"}
ENOUGH = {"continue": False, "stopReason": "enough"}
LOOK = {"systemMessage": "look", **DENY}
ASYNC = {"async": True, "decision": "block"}
MIND: dict[str, object] = {"additional_context": "mind it"}
LOG = '{"level":"info"}\n{"level":"warn"}'

OUTPUTS: dict[str, tuple[object, int, str, str, dict[str, object]]] = {
    # 3.1: how stdout is read
    "an object is an answer": (BLOCK, 0, "", "block", NO),
    "white space around it is trimmed": (f"\n\n  {BLOCK}  \n\n", 0, "", "block", NO),
    "so is a byte-order mark": (f"\ufeff{BLOCK}", 0, "", "block", NO),
    "it may be over several lines": ('{\n  "decision": "block",\n  "reason": "no"\n}', 0, "", "block", NO),
    "text before it loses no refusal": (f"checking...\n{BLOCK}", 0, "", "block", {**NO, **KEPT}),
    "nor does text after it": (f"{BLOCK}\ndone", 0, "", "block", {**NO, **KEPT}),
    "nor does a list around it": (f"[{BLOCK}]", 0, "", "block", {**NO, **KEPT}),
    "quotes around it do": (f'"{BLOCK}"', 0, "", "continue", {"notes": "several JSON objects"}),
    "a suffix does not": (f"{BLOCK}x", 0, "", "block", {**NO, **KEPT}),
    "nor another object": (f"{{}}\n{BLOCK}", 0, "", "block", {**NO, **KEPT}),
    "lines of which one is an answer are a failure": (f"{{}}\n{ALLOWS}", 0, "", "continue", BAD),
    # 3.2: exit status and stdout
    "0 and nothing is no decision, nor an approval": ("", 0, "", "continue", {}),
    "0 and stderr is for nobody": ("", 0, "debugging", "continue", {}),
    "0 and another schema is a failure": ('{"decision":"go"}', 0, "", "continue", BAD),
    "but for a refusal": ('{"decision":"deny"}', 0, "", "block", {**UNSAID, **KEPT}),
    "0 and no JSON is a failure": ("{no json}", 0, "", "continue", BAD),
    "1 and another schema is a failure": ('{"decision":"go"}', 1, "", "continue", BAD),
    "but for a refusal at 1": ('{"decision":"deny"}', 1, "", "block", {**UNSAID, **KEPT}),
    "1 and no JSON is a failure": ("{no json}", 1, "", "continue", BAD),
    "1 with valid JSON lets the JSON decide": (DENY, 1, "", "block", {**NOT_HERE, **NOT_1}),
    "1 with new arguments changes them": (CHANGE, 1, "", "modify", {**CHANGED, **NOT_1}),
    "2 blocks with stderr": ("", 2, "not on Fridays", "block", {"message": "not on Fridays"}),
    "2 and plain text blocks, and the text is lost": ("no", 2, "", "block", {"message": NO_REASON, "notes": '"no"'}),
    "2 and a refusal in JSON blocks with its reason": (DENY, 2, "else", "block", {**NOT_HERE, "notes": "else"}),
    "2 and an allow blocks, text for the model counts": (SEE, 2, "no", "block", {**NO, "additional_context": "see"}),
    "2 and another schema blocks with stderr": ('{"decision":"deny"}', 2, "no", "block", {**NO, **NOT_READ}),
    "2 and no JSON blocks with stderr": ("{no json}", 2, "no", "block", {**NO, **NOT_READ}),
    "unknown keys are no failure": (EXTRA, 0, "", "block", {**NOT_HERE, "notes": "unknown keys"}),
    "a field in the wrong place counts if it refuses": (MISPLACED, 0, "", "block", {**UNSAID, **KEPT}),
    "and else is noted": ({"permissionDecision": "allow"}, 0, "", "continue", {"notes": "permissionDecision"}),
    # 3.3: the fields
    "an approval at the top is an allow": ({"decision": "approve", "reason": "R"}, 0, "", "allow", NO_EFFECT),
    "it grants new arguments too": ({"decision": "approve", **CHANGE}, 0, "", "allow", CHANGED),
    "a refusal in hookrun's own words counts": ({"action": "block"}, 0, "", "block", {**UNSAID, **KEPT}),
    "others decide nothing": ({"action": "allow"}, 0, "", "continue", {"notes": "hookrun's dialect"}),
    "in any dialect": ({"cancel": True, "reason": "no"}, 0, "", "block", {**NO, **KEPT}),
    "at any status": ({"permission": "deny"}, 7, "", "block", {**UNSAID, **KEPT}),
    "in a code fence": (f"```json\n{BLOCK}\n```", 0, "", "block", {**NO, **KEPT}),
    "as a word": ('"BLOCK"', 0, "", "block", {**UNSAID, **KEPT}),
    "not within another object": ({"seen": {"decision": "block"}}, 0, "", "continue", {"notes": "unknown keys"}),
    "a block at the top outweighs an allow": ({"decision": "block", "reason": "no", **ALLOW}, 0, "", "block", NO),
    "a denial without a reason is one": (DENY_ALONE, 0, "", "block", {"message": "blocked by hook (no reason given)"}),
    "continue: false beats an allow": ({**ENOUGH, **ALLOW}, 0, "", "stop", {"message": "enough"}),
    "the reason of a denial is shown, too": ({**ENOUGH, **DENY}, 0, "", "stop", {"message": "not here\nenough"}),
    "continue: true has no effect": ({"continue": True, "suppressOutput": True}, 0, "", "continue", {}),
    "a system message is for the person": (LOOK, 0, "", "block", {**NOT_HERE, "system_message": "look"}),
    "async on stdout decides nothing but a refusal": (ASYNC, 0, "", "block", {**UNSAID, **KEPT}),
}
"""What is printed, the exit status and stderr; the action, and all else that is in the verdict."""

PROMPT = ("user_prompt_submit",)
NOT_TOLD = ("pre_tool_use", "post_tool_use", "post_tool_failure", "stop", "session_end")
ENDS = ("pre_tool_use", "post_tool_use", "user_prompt_submit", "stop")
WATCHES = {"terminalSequence": "x", **own("SessionStart", watchPaths=["/a"])}
NOT_PASSED_ON = "terminalSequence, watchPaths of its answer cannot be passed on"

AT_EVENTS: dict[str, tuple[tuple[str, ...], object, int, str, dict[str, object]]] = {
    "what only looks like an object is no text": (PROMPT, "{not json}", 0, "continue", BAD),
    "a log in JSON lines is text": (PROMPT, LOG, 0, "continue", {"additional_context": LOG}),
    "plain text is for the model": ((*PROMPT, "session_start"), "mind it\n", 0, "continue", MIND),
    "elsewhere it is in the audit": (NOT_TOLD, "all is well", 0, "continue", {"notes": "all is well"}),
    "a failure adds no text": (PROMPT, "text", 1, "continue", FAILED),
    "no more does a missing program": (PROMPT, "", 127, "continue", FAILED),
    "continue: false ends the turn": (ENDS, ENOUGH, 0, "stop", {"message": "enough"}),
    "what only Claude Code can do is told": (("session_start",), WATCHES, 0, "continue", {"notes": NOT_PASSED_ON}),
}
"""The events; what is printed there and the exit status; the action, and all else that is in the verdict."""


@rows("stdout, code, stderr, action, others", OUTPUTS.values(), ids=OUTPUTS)
def test_3_1_to_3_3_what_output_and_exit_status_come_to(  # noqa: PLR0917  # a table of cases
    place: Project, stdout: object, code: int, stderr: str, action: str, others: dict[str, object]
) -> None:
    """Before a tool."""
    check(answers(place, stdout, stderr=stderr, code=code), action, others)


@rows("events, stdout, code, action, others", AT_EVENTS.values(), ids=AT_EVENTS)
def test_3_1_to_3_3_what_they_come_to_at_other_events(  # noqa: PLR0917  # a table of cases
    place: Project, events: tuple[str, ...], stdout: object, code: int, action: str, others: dict[str, object]
) -> None:
    """Where there is text for the model, or no decision about a tool."""
    for event in events:
        check(answers(place, stdout, code=code, event=event), action, others)  # type: ignore[arg-type]


def test_3_2_the_command_says_by_its_exit_status_whether_to_go_on(project: Project) -> None:
    """2 for a refusal, 0 for a failure that refuses nothing."""
    project.hooks({"dialect": "claude", "command": hook_line(stderr="no", code=2)})
    fired = project.fire()
    assert (fired.status, fired.action, fired.verdict["message"]) == (2, "block", "no")
    project.hooks({"dialect": "claude", "command": hook_line(stderr="oops", code=1)})
    fired = project.fire()
    assert (fired.status, fired.action, failure(fired)) == (0, "continue", "exit_code")


RUN: dict[str, tuple[object, int, str, str | None, str]] = {
    "text": ("all is well", 0, "continue", None, "all is well"),
    "json": (DENY, 0, "block", None, ""),
    "json-and-1": (BLOCK, 1, "block", None, NOT_1["notes"]),
    "stderr-and-2": ("", 2, "block", None, ""),
    "wrong-type": ({"continue": "false"}, 0, "continue", "bad_verdict", ""),
    "ignored-field": (MISPLACED, 0, "block", None, "permissionDecision"),
}
"""A hook's name; what it prints and its exit status; its action, its failure, and what the audit notes."""


def test_3_1_to_3_3_they_come_to_the_same_in_a_run(project: Project) -> None:
    """One hook of each class, by the command."""
    lines = {name: hook_line(stdout, stderr="no", code=code) for name, (stdout, code, *_) in RUN.items()}
    declared: dict[str, object] = {"dialect": "claude", "always": True}
    project.hooks(*({**declared, "name": name, "command": line} for name, line in lines.items()))
    fired = project.fire()
    assert fired.action == "block"
    for name, (_, _, action, failed, noted) in RUN.items():
        found = fired.hook(name)
        assert (name, found["action"], found["failure"]) == (name, action, failed)
        assert noted in str(fired.record(name).get("notes", "")), name


@pytest.mark.slow
def test_3_2_what_was_printed_before_a_timeout_does_not_count_but_for_a_refusal(project: Project) -> None:
    """The run is a failure and allows nothing."""
    line = """echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'; sleep 30"""
    project.hooks({"dialect": "claude", "command": line, "timeout": 2})
    fired = project.fire()
    assert (fired.action, failure(fired)) == ("continue", "timeout")
    assert "is ignored" in notes(fired)
    project.hooks({"dialect": "claude", "command": """echo '{"decision":"block"}'; sleep 30""", "timeout": 2})
    fired = project.fire()
    assert (fired.action, failure(fired)) == ("block", None)


@rows(
    "answer, found",
    [
        ({"continue": "false"}, 'continue is "false", not true or false'),
        ({"decision": "go"}, 'decision is "go", not "approve" or "block"'),
        ({"systemMessage": 1}, "systemMessage is 1, not a string"),
        ({"reason": None, "decision": "approve"}, "reason is null, not a string"),
        ({"hookSpecificOutput": []}, "hookSpecificOutput is a list, not an object"),
        ({"hookSpecificOutput": {"permissionDecision": "allow"}}, "has no hookEventName"),
        (own("PostToolUse", additionalContext="x"), 'hookEventName is "PostToolUse", not "PreToolUse"'),
        (own("PreToolUse", permissionDecision="Allow"), 'permissionDecision is "Allow", not "allow" or "deny"'),
        (own("PreToolUse", updatedInput="ls"), 'updatedInput is "ls", not an object'),
        (own("PreToolUse", additionalContext=["x"]), "additionalContext is a list, not a string"),
    ],
)
def test_3_2_a_wrong_type_or_word_voids_the_whole_answer(place: Project, answer: dict[str, object], found: str) -> None:
    """The failure names the actual and the expected type."""
    fired = answers(place, answer)
    assert (fired.action, failure(fired)) == ("continue", "bad_verdict")
    assert found in str(fired.verdict["system_message"])


@rows(
    "event, answer, form",
    [
        ("pre_tool_use", {"decision": "deny"}, '"permissionDecision": "deny"}}'),
        ("pre_tool_use", {"reason": None, "decision": "block"}, '"permissionDecision": "deny"}}'),
        ("pre_tool_use", {"hookSpecificOutput": {"permissionDecision": "deny"}}, '"permissionDecision": "deny"}}'),
        ("pre_tool_use", own("PreToolUse", permissionDecision="Deny"), '"permissionDecision": "deny"}}'),
        ("pre_tool_use", own("PreToolUse", permissionDecision="block"), '"permissionDecision": "deny"}}'),
        ("pre_tool_use", own("PostToolUse", permissionDecision="deny"), '"permissionDecision": "deny"}}'),
        ("permission_request", {"decision": "block"}, '"decision": {"behavior": "deny"}}}'),
        ("permission_request", {"action": "deny"}, '"decision": {"behavior": "deny"}}}'),
        ("user_prompt_submit", {"permissionDecision": "deny"}, '{"decision": "block"}'),
    ],
)
def test_3_2_a_refusal_in_a_wrong_form_is_one(place: Project, event: str, answer: dict[str, object], form: str) -> None:
    """The audit and the user get the right form of the event."""
    fired = answers(place, answer, event=event)  # type: ignore[arg-type]
    assert (fired.action, failure(fired)) == ("block", None)
    assert form in notes(fired).replace("\\", "")


def test_3_2_an_answer_in_the_words_of_several_agents_is_one_in_claude_s(project: Project) -> None:
    """Fields for other events are noted, and not reported."""
    answer = {"decision": "block", "reason": "R", "permissionDecision": "deny", "permissionDecisionReason": "R"}
    project.hooks({"dialect": "claude", "command": hook_line(answer, stderr="R", code=2)})
    agent = Agent("codex", project)
    told = agent.fire(agent.shell())
    assert (told.reason, told.person) == ("R", "")
