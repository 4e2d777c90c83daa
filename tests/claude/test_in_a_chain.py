"""Hooks in Claude's dialect in one chain with others: whose change counts, the reports, what the guards above see."""

from __future__ import annotations

from hookrun.core.model import Hook
from tests.test_engine import Answer, Fire, Json, blocks, hook, parallel, sets


def claude(name: str, **fields: object) -> Hook:
    """Return a hook in Claude's dialect that may run beside its neighbours."""
    return parallel(name, dialect="claude", **fields)


def updates(**arguments: object) -> Json:
    """Return the answer that replaces all arguments with these."""
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": arguments}}


def test_both_read_what_is_theirs() -> None:
    """The context, and Claude's message without anything of hookrun's."""
    fire = Fire(parallel("a"), claude("b"))
    assert fire.seen("a")[0]["tool_args"] == {"command": "ls", "n": 1}
    message = {"session_id": "", "transcript_path": "", "cwd": "/w", "hook_event_name": "PreToolUse"}
    assert fire.seen("b") == [{**message, "tool_name": "Bash", "tool_input": {"command": "ls", "n": 1}}]


def test_a_change_of_everything_undoes_an_earlier_one_beside_it_and_that_is_told() -> None:
    """Also where it was made in hookrun's dialect, and to another argument."""
    fire = Fire(parallel("a"), claude("b"), answers={"a": sets(n=2), "b": updates(command="two", n=1)})
    assert fire.args == {"command": "two", "n": 1}
    assert fire.verdict.system_message == "hooks a and b both changed tool_args; b, the later, wins"


def test_a_change_of_everything_that_keeps_an_earlier_one_is_no_conflict() -> None:
    """They are of one mind."""
    fire = Fire(claude("a"), claude("b"), answers={"a": updates(command="x"), "b": updates(command="x")})
    assert (fire.args, fire.verdict.system_message) == ({"command": "x"}, None)


def test_a_patch_after_it_is_made_on_top_of_it() -> None:
    """In hookrun's dialect a change is one of what it names."""
    fire = Fire(claude("a"), parallel("b"), answers={"a": updates(command="one"), "b": sets(m=3)})
    assert (fire.args, fire.verdict.system_message) == ({"command": "one", "m": 3}, None)


def test_arguments_that_are_given_back_as_they_were_change_nothing() -> None:
    """A hook that echoes its input does not undo what the one beside it has changed."""
    fire = Fire(claude("a"), claude("b"), answers={"a": updates(command="one"), "b": updates(command="ls", n=1)})
    assert (fire.args, fire.verdict.system_message) == ({"command": "one"}, None)


def test_a_path_that_is_given_back_as_it_was_read_is_the_one_that_it_was_made_of() -> None:
    """Also where a hook beside it has changed the path meanwhile."""
    given: Json = {"tool_name": "write", "tool_args": {"file_path": "a.txt", "content": "x"}, "file_path": "/w/a.txt"}
    answers = {"a": sets(file_path="b.txt"), "b": updates(file_path="/w/a.txt", content="y")}
    fire = Fire(parallel("a"), claude("b"), answers=answers, context=given)
    assert fire.args == {"file_path": "a.txt", "content": "y"}
    assert fire.chain.context["file_path"] == "/w/a.txt"


def test_one_after_the_other_each_sees_what_those_before_have_made() -> None:
    """The message is made anew."""
    answers = {"a": updates(command="one"), "b": updates(command="two")}
    fire = Fire(hook("a", dialect="claude"), hook("b", dialect="claude"), answers=answers)
    assert fire.seen("b")[0]["tool_input"] == {"command": "one"}
    assert (fire.args, fire.verdict.system_message) == ({"command": "two"}, None)


def test_a_guard_of_the_user_s_sees_what_a_project_s_hook_has_changed() -> None:
    """It runs once more, and refuses in its own words."""

    def guard(message: Json) -> Json:
        tool_input = message["tool_input"]
        assert isinstance(tool_input, dict)
        return {"decision": "block", "reason": "no"} if tool_input["command"] == "evil" else {}

    answers: dict[str, Answer] = {"guard": guard, "change": updates(command="evil")}
    fire = Fire(claude("guard", layer="user"), claude("change"), answers=answers)
    assert fire.order == ["guard", "change", "guard"]
    assert (fire.action, fire.verdict.message) == ("block", "no")


def test_a_refusal_in_hookrun_s_words_counts_and_the_right_form_is_told() -> None:
    """The text is for the user, once a session: `lost`."""
    fire = Fire(claude("a"), answers={"a": blocks()})
    assert fire.action == "block"
    [run] = fire.chain.runs
    assert ['"permissionDecision": "deny"' in each for each in run.lost] == [False, True]
    assert run.lost[1] in run.notes


def test_advice_is_told_and_not_done() -> None:
    """As of any hook."""
    fire = Fire(claude("a", mode="advise"), answers={"a": {"decision": "block", "reason": "no"}})
    assert (fire.action, fire.verdict.message) == ("continue", "hook a (advise) would block: no")
