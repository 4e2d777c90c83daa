"""The effects of output and exit status of a hook in Claude's dialect: Claude Code's rules 3.1 to 3.3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.claude import answers, failure, hook_line, notes, own
from tests.fire.agents import Agent
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

DENY = own("PreToolUse", permissionDecision="deny", permissionDecisionReason="not here")


# --- 3.1: how stdout is read


@rows("around", ["{}", "\n\n  {}  \n\n", "\ufeff{}"], ids=["bare", "white space", "byte-order mark"])
def test_3_1_an_object_is_an_answer_whatever_white_space_is_around_it(place: Project, around: str) -> None:
    """White space and a byte-order mark are trimmed before anything else."""
    line = '{"decision": "block", "reason": "no"}'
    fired = answers(place, around.replace("{}", line))
    assert (fired.action, fired.verdict["message"]) == ("block", "no")


@rows(
    "text", ["checking...\n{}", "{}\ndone", "[{}]", '"{}"', "{}x"], ids=["before", "after", "list", "string", "suffix"]
)
def test_3_1_what_does_not_begin_and_end_like_an_object_is_plain_text(place: Project, text: str) -> None:
    """Text around an answer makes it plain text: the tool runs, no failure; the audit names what was lost."""
    fired = answers(place, text.replace("{}", '{"decision":"block"}'))
    assert (fired.action, failure(fired)) == ("continue", None)
    assert "several JSON objects" in notes(fired)


def test_3_1_what_begins_and_ends_like_an_object_and_does_not_parse_is_a_failure(place: Project) -> None:
    """It does not count as plain text, not even where that would be text for the model."""
    fired = answers(place, "{not json}", event="user_prompt_submit")
    assert (fired.action, failure(fired)) == ("continue", "bad_verdict")
    assert "additional_context" not in fired.verdict


def test_3_1_lines_of_json_that_say_nothing_are_plain_text(place: Project) -> None:
    """A log in JSON lines is text."""
    fired = answers(place, '{"level":"info"}\n{"level":"warn"}', event="user_prompt_submit")
    assert fired.verdict["additional_context"] == '{"level":"info"}\n{"level":"warn"}'


def test_3_1_lines_of_json_of_which_one_is_an_answer_are_a_failure(place: Project) -> None:
    """Two objects are no answer, even if one of them alone would be."""
    fired = answers(place, '{}\n{"decision":"block"}')
    assert (fired.action, failure(fired)) == ("continue", "bad_verdict")


# --- 3.2: exit status and stdout


def test_3_2_exit_0_and_nothing_is_no_decision(place: Project) -> None:
    """It is no approval either."""
    fired = answers(place)
    assert (fired.action, failure(fired)) == ("continue", None)


@rows("event", ["user_prompt_submit", "session_start"])
def test_3_2_exit_0_and_plain_text_is_context_at_these_events(place: Project, event: str) -> None:
    """The model is given it."""
    fired = answers(place, "mind the gap\n", event=event)
    assert (fired.action, fired.verdict["additional_context"]) == ("continue", "mind the gap")


@rows("event", ["pre_tool_use", "post_tool_use", "post_tool_failure", "stop", "session_end"])
def test_3_2_exit_0_and_plain_text_is_for_nobody_elsewhere(place: Project, event: str) -> None:
    """It is in the audit."""
    fired = answers(place, "all is well", event=event)
    assert fired.verdict.keys() == {"action", "request_id", "hooks"}
    assert fired.action == "continue"
    assert "all is well" in notes(fired)


def test_3_2_exit_0_and_stderr_is_for_nobody(place: Project) -> None:
    """Stderr of a hook that succeeds is no message."""
    assert answers(place, stderr="debugging").verdict.keys() == {"action", "request_id", "hooks"}


def test_3_2_exit_2_blocks_with_stderr(place: Project) -> None:
    """The model gets stderr."""
    fired = answers(place, stderr="not on Fridays", code=2)
    assert (fired.action, fired.verdict["message"]) == ("block", "not on Fridays")


def test_3_2_the_command_says_by_its_exit_status_whether_to_go_on(project: Project) -> None:
    """2 for a refusal, 0 for a failure that refuses nothing."""
    project.hooks({"dialect": "claude", "command": hook_line(stderr="no", code=2)})
    fired = project.fire()
    assert (fired.status, fired.action, fired.verdict["message"]) == (2, "block", "no")
    project.hooks({"dialect": "claude", "command": hook_line(stderr="oops", code=1)})
    fired = project.fire()
    assert (fired.status, fired.action, failure(fired)) == (0, "continue", "exit_code")


def test_3_2_exit_2_and_plain_text_blocks_with_stderr_and_the_text_is_lost(place: Project) -> None:
    """Stdout is no reason."""
    fired = answers(place, "no", code=2)
    assert fired.action == "block"
    assert fired.verdict["message"] == "blocked by hook (exit 2, no reason given)"
    assert '"no"' in notes(fired)


def test_3_2_exit_2_and_a_refusal_in_json_blocks_with_the_reason_of_the_json(place: Project) -> None:
    """Stderr is not looked at then."""
    fired = answers(place, DENY, stderr="something else", code=2)
    assert (fired.action, fired.verdict["message"]) == ("block", "not here")
    assert "something else" in notes(fired)


def test_3_2_exit_2_and_json_without_a_refusal_blocks_with_stderr_and_the_rest_is_read(place: Project) -> None:
    """An allow beside it, and its arguments, do not count; text for the model does."""
    answer = own("PreToolUse", permissionDecision="allow", updatedInput={"command": "id"}, additionalContext="see")
    fired = answers(place, answer, stderr="no", code=2)
    assert (fired.action, fired.verdict["message"]) == ("block", "no")
    assert fired.verdict["additional_context"] == "see"
    assert "modified_args" not in fired.verdict


@rows("stdout", ['{"decision":"deny"}', "{no json}"], ids=["schema", "syntax"])
def test_3_2_exit_2_and_json_that_is_none_blocks_with_stderr(place: Project, stdout: str) -> None:
    """Neither the schema nor the syntax undoes a veto."""
    fired = answers(place, stdout, stderr="no", code=2)
    assert (fired.action, fired.verdict["message"], failure(fired)) == ("block", "no", None)


@rows("code", [1, 3, 127])
@rows("stdout", ["", "text"])
def test_3_2_another_exit_status_is_a_failure_that_blocks_nothing(place: Project, code: int, stdout: str) -> None:
    """Its text is not added anywhere; the user sees the failure."""
    fired = answers(place, stdout, stderr="oops", code=code, event="user_prompt_submit")
    assert (fired.action, failure(fired)) == ("continue", "exit_code")
    assert "additional_context" not in fired.verdict
    assert "oops" in str(fired.verdict["system_message"])


def test_3_2_exit_1_with_valid_json_lets_the_json_decide(place: Project) -> None:
    """It is no failure."""
    fired = answers(place, DENY, code=1)
    assert (fired.action, fired.verdict["message"], failure(fired)) == ("block", "not here", None)


def test_3_2_exit_1_with_new_arguments_changes_them(place: Project) -> None:
    """Any answer decides, not only a refusal."""
    fired = answers(place, own("PreToolUse", updatedInput={"command": "id"}), code=1)
    assert (fired.action, fired.verdict["modified_args"]) == ("modify", {"command": "id"})


@rows("code", [0, 1])
@rows("stdout", ['{"decision":"deny"}', "{no json}"], ids=["schema", "syntax"])
def test_3_2_json_that_is_none_is_a_failure_that_blocks_nothing(place: Project, stdout: str, code: int) -> None:
    """At exit status 0 and at any but 2."""
    fired = answers(place, stdout, code=code)
    assert (fired.action, failure(fired)) == ("continue", "bad_verdict")


@pytest.mark.slow
def test_3_2_what_was_printed_before_a_timeout_does_not_count(project: Project) -> None:
    """Not even a refusal: the run is a failure and blocks nothing."""
    project.hooks({"dialect": "claude", "command": """echo '{"decision":"block"}'; sleep 30""", "timeout": 2})
    fired = project.fire()
    assert (fired.action, failure(fired)) == ("continue", "timeout")
    assert "is ignored" in notes(fired)


@rows(
    "answer, found",
    [
        ({"continue": "false"}, 'continue is "false", not true or false'),
        ({"decision": "deny"}, 'decision is "deny", not "approve" or "block"'),
        ({"systemMessage": 1}, "systemMessage is 1, not a string"),
        ({"reason": None, "decision": "block"}, "reason is null, not a string"),
        ({"hookSpecificOutput": []}, "hookSpecificOutput is a list, not an object"),
        ({"hookSpecificOutput": {"permissionDecision": "deny"}}, "has no hookEventName"),
        (own("PostToolUse", additionalContext="x"), 'hookEventName is "PostToolUse", not "PreToolUse"'),
        (own("PreToolUse", permissionDecision="Deny"), 'permissionDecision is "Deny", not "allow" or "deny"'),
        (own("PreToolUse", permissionDecision="block"), 'permissionDecision is "block"'),
        (own("PreToolUse", updatedInput="ls"), 'updatedInput is "ls", not an object'),
        (own("PreToolUse", additionalContext=["x"]), "additionalContext is a list, not a string"),
    ],
)
def test_3_2_a_wrong_type_or_word_voids_the_whole_answer(place: Project, answer: dict[str, object], found: str) -> None:
    """The failure names the actual and the expected type."""
    fired = answers(place, answer)
    assert (fired.action, failure(fired)) == ("continue", "bad_verdict")
    assert found in str(fired.verdict["system_message"])


def test_3_2_unknown_keys_are_no_failure(place: Project) -> None:
    """At the top and in `hookSpecificOutput`."""
    answer = {**own("PreToolUse", permissionDecision="deny", permissionDecisionReason="R", extra=1), "mine": True}
    assert answers(place, answer).action == "block"


def test_3_2_a_field_in_the_wrong_place_decides_nothing(place: Project) -> None:
    """The answer is valid, and the audit names the misplaced field."""
    fired = answers(place, {"permissionDecision": "deny"})
    assert (fired.action, failure(fired)) == ("continue", None)
    assert "permissionDecision" in notes(fired)


def test_3_2_an_answer_in_the_words_of_several_agents_is_one_in_claude_s(project: Project) -> None:
    """Fields for other events are noted, and not reported."""
    answer = {"decision": "block", "reason": "R", "permissionDecision": "deny", "permissionDecisionReason": "R"}
    project.hooks({"dialect": "claude", "command": hook_line(answer, stderr="R", code=2)})
    agent = Agent("codex", project)
    told = agent.fire(agent.shell())
    assert (told.reason, told.person) == ("R", "")


# --- 3.3: the fields


def test_3_3_an_approval_at_the_top_is_an_allow(place: Project) -> None:
    """Its reason is dropped."""
    fired = answers(place, {"decision": "approve", "reason": "R"})
    assert fired.action == "allow"
    assert "message" not in fired.verdict


def test_3_3_an_approval_at_the_top_grants_new_arguments_too(place: Project) -> None:
    """As an allow beside them does."""
    fired = answers(place, {"decision": "approve", **own("PreToolUse", updatedInput={"command": "id"})})
    assert (fired.action, fired.verdict["modified_args"]) == ("allow", {"command": "id"})


def test_3_3_an_answer_in_hookrun_s_own_words_decides_nothing_and_is_told(place: Project) -> None:
    """It fits Claude Code's schema, which knows none of its fields."""
    fired = answers(place, {"action": "block", "message": "no"})
    assert (fired.action, failure(fired)) == ("continue", None)
    assert "hookrun's dialect" in notes(fired)


def test_3_3_a_block_at_the_top_outweighs_an_allow_beside_it(place: Project) -> None:
    """As measured."""
    answer = {"decision": "block", "reason": "R", **own("PreToolUse", permissionDecision="allow")}
    assert answers(place, answer).action == "block"


def test_3_3_a_denial_without_a_reason_is_one(place: Project) -> None:
    """The model sees which hook refused."""
    fired = answers(place, own("PreToolUse", permissionDecision="deny"))
    assert (fired.action, fired.verdict["message"]) == ("block", "blocked by hook (no reason given)")


@rows("event", ["pre_tool_use", "post_tool_use", "user_prompt_submit", "stop"])
def test_3_3_continue_false_ends_the_turn(place: Project, event: str) -> None:
    """With the reason that it gives."""
    fired = answers(place, {"continue": False, "stopReason": "enough"}, event=event)
    assert (fired.action, fired.verdict["message"]) == ("stop", "enough")


def test_3_3_continue_false_beats_what_the_event_s_own_field_says(place: Project) -> None:
    """An allow beside it does not count; the reason of a denial is shown too."""
    assert answers(place, {"continue": False, **own("PreToolUse", permissionDecision="allow")}).action == "stop"
    fired = answers(place, {"continue": False, "stopReason": "S", **DENY})
    assert (fired.action, fired.verdict["message"]) == ("stop", "not here\nS")


def test_3_3_continue_true_and_suppress_output_have_no_effect(place: Project) -> None:
    """They are accepted."""
    fired = answers(place, {"continue": True, "suppressOutput": True})
    assert (fired.action, failure(fired), notes(fired)) == ("continue", None, "")


def test_3_3_a_system_message_is_for_the_person(place: Project) -> None:
    """Beside any decision."""
    fired = answers(place, {"systemMessage": "look", **DENY})
    assert (fired.action, fired.verdict["system_message"]) == ("block", "look")


def test_3_3_what_only_claude_code_can_do_is_told(place: Project) -> None:
    """Nothing is lost silently."""
    fired = answers(
        place, {"terminalSequence": "\x07", **own("SessionStart", watchPaths=["/a"])}, event="session_start"
    )
    assert "terminalSequence, watchPaths of its answer cannot be passed on" in notes(fired)


def test_3_3_async_on_stdout_decides_nothing(place: Project) -> None:
    """As measured; here the hook is awaited."""
    fired = answers(place, {"async": True, "decision": "block"})
    assert (fired.action, failure(fired)) == ("continue", None)
    assert "continue in the background" in notes(fired)
