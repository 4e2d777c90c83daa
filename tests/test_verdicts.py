"""What a run of a hook comes to: the table of exit status and stdout, on_failure and mode, many answers made one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import example, given, settings, strategies as st

from hookrun.core import verdicts
from hookrun.core.engine import combine_into
from hookrun.core.literals import Action
from hookrun.core.model import FAILURES, AnyVerdict, Failure, Hook, HookResult, Outcome, Verdict
from tests.rows import rows

ORDER = ("stop", "block", "skip", "ask", "modify/allow", "continue")
"""The actions as DESIGN section 4 orders them, the strongest first."""
ACTIONS = ("continue", "allow", "ask", "modify", "block", "skip", "stop")
GUARDING = ("block", "skip", "ask", "stop")
"""Answers that count even if the hook fails afterwards."""


def hook(**fields: object) -> Hook:
    """Return a hook called `guard`."""
    return Hook.from_dict({"name": "guard", "events": ["pre_tool_use"], **fields})


def ended(
    stdout: bytes | str | Mapping[str, object] = b"",
    *,
    exit_code: int | None = 0,
    stderr: bytes = b"",
    failure: Failure | None = None,
    truncated: bool = False,
) -> Outcome:
    """Return what is left of a run; stdout is bytes, text, or an object to be written as JSON."""
    outcome = Outcome(failure)
    text = json.dumps(stdout) if isinstance(stdout, Mapping) else stdout
    outcome.stdout = text.encode() if isinstance(text, str) else text
    outcome.stderr = stderr
    outcome.exit_code = exit_code
    outcome.truncated = truncated
    return outcome


def said(action: str) -> dict[str, object]:
    """Return a fitting answer of this action."""
    return {"action": action, "message": "why", **({"modified_args": {"a": 1}} if action == "modify" else {})}


def read(outcome: Outcome, *, change: str = "modified_args") -> Verdict | Failure:
    """Return what the run answered."""
    return verdicts.from_process(hook(), outcome, change=change)[0]


def answer(outcome: Outcome, *, change: str = "modified_args") -> dict[str, object]:
    """Return the verdict of the run as JSON has it; a failure is an error of the test."""
    result = read(outcome, change=change)
    assert isinstance(result, Verdict), result
    return result.to_dict()


def failure(outcome: Outcome, *, change: str = "modified_args") -> Failure:
    """Return the failure of the run; a verdict is an error of the test."""
    result = read(outcome, change=change)
    assert isinstance(result, Failure), result
    return result


# --- the table: exit 0


@rows("stdout", [b"", b"\n", b" \t\r\n", b"\xef\xbb\xbf"])
def test_exit_0_and_nothing_is_continue(stdout: bytes) -> None:
    """A hook that succeeds without output continues."""
    assert answer(ended(stdout)) == {"action": "continue"}


@rows("action", ACTIONS)
@rows("around", ["{}", "\n {}\r\n", "\ufeff{}\n"])
def test_exit_0_and_one_fitting_object_is_as_it_says(action: str, around: str) -> None:
    """White space and a byte-order mark around it aside, the object is the verdict, every field of it."""
    stdout = {**said(action), "additional_context": "c", "system_message": "s", "modified_context": {"k": [1]}}
    assert answer(ended(around.replace("{}", json.dumps(stdout)))) == stdout


def test_unknown_keys_are_a_warning_and_known_ones_are_none() -> None:
    """The verdict counts, and the note names the keys that mean nothing; every field, null too, is known."""
    result, notes = verdicts.from_process(
        hook(), ended({"action": "block", "mesage": "x", "zz": 1}), change="modified_args"
    )
    assert isinstance(result, Verdict)
    assert result.action == "block"
    assert len(notes) == 1
    assert "mesage, zz" in notes[0]
    known = dict.fromkeys(("message", "additional_context", "system_message", "args_patch", "modified_context"))
    stdout: dict[str, object] = {"action": "modify", "modified_args": {}, **known}
    result, notes = verdicts.from_process(hook(), ended(stdout), change="modified_args")
    assert isinstance(result, Verdict)
    assert notes == []


BAD = {
    "text": "ok",
    "a list": '[{"action": "continue"}]',
    "a string": '"continue"',
    "a number": "0",
    "null": "null",
    "true": "true",
    "two values": '{"action": "continue"}{"action": "continue"}',
    "two lines": '{"action": "continue"}\n{"action": "continue"}\n',
    "noise before": 'checking...\n{"action": "continue"}',
    "noise after": '{"action": "continue"}\ndone',
    "cut": '{"action": "continue"',
    "a comma too many": '{"action": "continue",}',
    "single quotes": "{'action': 'continue'}",
    "NaN": '{"action": "continue", "modified_context": {"a": NaN}}',
    "an infinite number": '{"action": "continue", "modified_context": {"a": 1e999}}',
    "an infinite number without an e": '{"action": "continue", "modified_context": {"a": ' + "9" * 400 + ".0}}",
    "nested too deeply": '{"action": "continue", "modified_context": {"a": ' + "[" * 5000 + "]" * 5000 + "}}",
    "a number too long": '{"action": "continue", "modified_context": {"a": ' + "9" * 5000 + "}}",
    "a NUL": '{"action": "continue"}\0',
    "two byte-order marks": '\ufeff\ufeff{"action": "continue"}',
    "no action": "{}",
    "an unknown action": '{"action": "approve"}',
    "an action in capitals": '{"action": "Continue"}',
    "an action with a space": '{"action": "continue "}',
    "an action that is null": '{"action": null}',
    "an action that is true": '{"action": true}',
    "an action that is a list": '{"action": ["continue"]}',
    "an action that is an object": '{"action": {"continue": 1}}',
    "another key for it": '{"decision": "continue"}',
    "a message that is no string": '{"action": "continue", "message": 1}',
    "a message that is a list": '{"action": "allow", "message": ["no"]}',
    "a system_message that is no string": '{"action": "continue", "system_message": {}}',
    "an additional_context that is no string": '{"action": "continue", "additional_context": false}',
    "arguments that are a list": '{"action": "modify", "modified_args": []}',
    "arguments that are a string": '{"action": "continue", "modified_args": "{}"}',
    "a patch that is no object": '{"action": "modify", "args_patch": "x"}',
    "a modified_context that is no object": '{"action": "continue", "modified_context": 1}',
    "a change without arguments": '{"action": "modify"}',
    "a change of null": '{"action": "modify", "modified_args": null, "args_patch": null}',
    "arguments and a patch": '{"action": "modify", "modified_args": {}, "args_patch": {}}',
    "allow with arguments and a patch": '{"action": "allow", "modified_args": {}, "args_patch": {}}',
}


BLOCK = '{"action": "block", "message": "no"}'
REFUSALS = {
    "noise before": f"checking...\n{BLOCK}",
    "noise after": f"{BLOCK}\ndone",
    "noise around it in one object of many lines": 'checking\n{\n  "action": "block",\n  "message": "no"\n}\ndone',
    "a code fence": f"Verdict:\n```json\n{BLOCK}\n```\n",
    "colours": f"\x1b[31m{BLOCK}\x1b[0m",
    "colours around noise": f"\x1b[32mok\x1b[0m\n\x1b[31m{BLOCK}\x1b[0m\n",
    "the second of two objects": f'{{"action": "continue"}}\n{BLOCK}',
    "the first of two objects": f'{BLOCK}\n{{"action": "continue"}}',
    "the second on one line": f'{{"action": "continue"}} {BLOCK}',
    "a list": f'[{{"action": "continue"}}, {BLOCK}]',
    "a list of many lines": f'[\n  {{"action": "continue"}},\n  {BLOCK}\n]',
    "another word": '{"action": "deny", "message": "no"}',
    "capitals": '{"action": "BLOCK", "message": "no"}',
    "a space": '{"action": "block ", "message": "no"}',
    "a reason": '{"action": "deny", "reason": "no"}',
    "decision": '{"decision": "block", "reason": "no"}',
    "permissionDecision": '{"permissionDecision": "deny", "permissionDecisionReason": "no"}',
    "hookSpecificOutput": '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", '
    '"permissionDecisionReason": "no"}}',
    "a permission request's": '{"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "no"}}}',
    "permission": '{"permission": "deny", "user_message": "no"}',
    "cancel": '{"cancel": true, "errorMessage": "no"}',
}


@rows("stdout", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_never_lost_to_noise_or_spelling(stdout: str) -> None:
    """Any object on its own is one, in whatever known dialect; a note says what the right form is."""
    result, notes = verdicts.from_process(hook(), ended(stdout), change="modified_args")
    assert isinstance(result, Verdict)
    assert (result.action, result.message) == ("block", "no")
    assert [note.partition(":")[0] for note in notes] == [verdicts.WRONG_FIELD]


NO_REFUSALS = {
    "within another": f'{{"action": "continue", "tool": {BLOCK}}}x',
    "within a list of lists": f"[[{BLOCK}]]",
    "in a string": '{"seen": "{\\"action\\": \\"block\\"}"}',
    "the context, printed": '{"event": "pre_tool_use", "tool_name": "bash", "decision": "block"}\nok',
    "another agent's consent": '{"hookSpecificOutput": {"permissionDecision": "allow"}}',
    "in the middle of a line": f"it printed {BLOCK}",
}


@rows("stdout", NO_REFUSALS.values(), ids=NO_REFUSALS)
def test_what_only_quotes_a_refusal_is_a_bad_verdict(stdout: str) -> None:
    """The hook may have printed what it looked at."""
    assert failure(ended(stdout)).kind == "bad_verdict"


@rows("stdout", BAD.values(), ids=BAD)
def test_exit_0_and_anything_else_is_a_bad_verdict(stdout: str) -> None:
    """What is not exactly one object that fits is failure bad_verdict, and never continue."""
    assert failure(ended(stdout)).kind == "bad_verdict"


@rows("stdout", [b"\xff", b'{"action": "continue", "message": "\xff"}', '{"action":"continue"}'.encode("utf-16")])
def test_what_is_not_utf_8_is_a_bad_verdict(stdout: bytes) -> None:
    """Bytes that are no UTF-8 are not repaired."""
    assert failure(ended(stdout)).kind == "bad_verdict"
    assert answer(ended(stdout, exit_code=2))["action"] == "block"


@rows("action", ["modify", "allow"])
@rows("field", ["modified_args", "args_patch"])
def test_a_change_where_there_is_nothing_to_change_is_a_bad_verdict(action: str, field: str) -> None:
    """On an event without arguments a change is an error, not silently ignored."""
    stdout = {"action": action, field: {}}
    assert failure(ended(stdout), change="").kind == "bad_verdict"
    assert answer(ended(stdout)) == stdout


@rows("action", ["allow", "ask"])
def test_allow_and_ask_need_no_arguments(action: str) -> None:
    """They may come with a change, and without one they fit every event."""
    assert answer(ended({"action": action}), change="") == {"action": action}


@rows("action", ["continue", "block", "skip", "stop"])
@rows("field", ["modified_args", "args_patch"])
@rows("change", ["modified_args", ""])
def test_arguments_beside_another_action_are_not_used_and_told(action: str, field: str, change: str) -> None:
    """Only modify, allow and ask change anything; what else brings arguments gets a note, empty ones none."""
    result, notes = verdicts.from_process(hook(), ended({"action": action, field: {"a": 1}}), change=change)
    assert isinstance(result, Verdict)
    assert result.to_dict() == {"action": action}
    assert len(notes) == 1
    assert action in notes[0]
    result, notes = verdicts.from_process(hook(), ended({"action": action, field: {}}), change=change)
    assert isinstance(result, Verdict)
    assert (result.to_dict(), notes) == ({"action": action}, [])


@rows("action", ["continue", "allow", "modify"])
def test_a_cut_answer_at_exit_0_is_a_bad_verdict(action: str) -> None:
    """What was cut at max_output may have continued in any way: nothing of it counts."""
    result = failure(ended(said(action), truncated=True))
    assert result.kind == "bad_verdict"
    assert "max_output" in result.detail


@rows("action", GUARDING)
def test_a_cut_answer_loses_no_refusal(action: str) -> None:
    """It is no more than noise that was cut, or what is said beside it."""
    for stdout in (json.dumps(said(action)).encode() + b"\nnoi", json.dumps(said(action)).encode()[:-1]):
        result, notes = verdicts.from_process(hook(), ended(stdout, truncated=True), change="modified_args")
        assert isinstance(result, Verdict)
        assert result.action == action
        assert "max_output" in notes[0]


def test_the_detail_of_a_bad_verdict_shows_what_was_found() -> None:
    """The reason quotes the output, control characters escaped, and the last lines of stderr."""
    result = failure(ended(b"\x1b[31mred", stderr=b"\n".join(b"line %d" % n for n in range(10))))
    assert '"\\u001b[31mred"' in result.detail
    assert result.detail.endswith("stderr: line 5\nline 6\nline 7\nline 8\nline 9")


@rows(
    "stdout, parts",
    [
        ('{"action": "approve"}', ["approve", *ACTIONS]),
        ("{}", ["no action", *ACTIONS]),
        ('{"action": "allow", "message": 1}', ["message", "a number", "a string"]),
        ('{"action": "modify", "modified_args": [1]}', ["modified_args", "a list", "an object"]),
        ("[1]", ["a list", "one JSON object", '"[1]"']),
        ("null", ["null", "one JSON object"]),
        ('{"action": "modify"}', ["modified_args", "args_patch"]),
    ],
)
def test_the_detail_says_what_was_found_and_what_was_expected(stdout: str, parts: list[str]) -> None:
    """Whoever reads the reason knows what to mend."""
    detail = failure(ended(stdout)).detail
    assert [part for part in parts if part not in detail] == []


# --- the table: exit 2


@rows(
    "action, expected",
    [
        *((action, said(action)) for action in ("block", "stop")),
        *((action, {"action": "block", "message": "why"}) for action in ("continue", "allow", "ask", "modify", "skip")),
    ],
)
def test_exit_2_is_never_weaker_than_block(action: str, expected: dict[str, object]) -> None:
    """A stronger action counts; a weaker one becomes a block with its message, without its change."""
    assert answer(ended(said(action), exit_code=2, stderr=b"other")) == expected


def test_exit_2_keeps_what_else_the_answer_says() -> None:
    """Contexts and messages of an answer that becomes a block are kept."""
    stdout = {"action": "allow", "additional_context": "c", "system_message": "s", "modified_context": {"k": 1}}
    assert answer(ended(stdout, exit_code=2, stderr=b"why\n")) == {**stdout, "action": "block", "message": "why"}


@rows(
    "stdout, stderr, message",
    [
        (b"", b" no\xff \n", "no\ufffd"),
        (b"out", b"err", "err"),
        (b"out\n", b" \n", "out"),
        (b'{"action": "nonsense"}', b"", '{"action": "nonsense"}'),
        (b'{"action": "block"}', b"err", "err"),
        (b'{"action": "block", "message": ""}', b"err", "err"),
        (b'{"action": "block"}', b"", "blocked by guard (exit 2, no reason given)"),
        (b"", b"", "blocked by guard (exit 2, no reason given)"),
        (b"\n", b"\n", "blocked by guard (exit 2, no reason given)"),
    ],
)
def test_exit_2_is_a_block_with_a_reason(stdout: bytes, stderr: bytes, message: str) -> None:
    """The message is stderr, else stdout where that is no verdict, else a sentence with the hook's name."""
    assert answer(ended(stdout, stderr=stderr, exit_code=2)) == {"action": "block", "message": message}


def test_exit_2_and_an_answer_that_does_not_count_is_a_block() -> None:
    """Neither an answer that does not fit the event nor one that was cut weakens the exit status."""
    block = {"action": "block", "message": "no"}
    assert answer(ended(said("modify"), exit_code=2, stderr=b"no"), change="") == block
    assert answer(ended(said("allow"), exit_code=2, stderr=b"no", truncated=True)) == block


def test_a_long_reason_keeps_its_beginning_and_its_end() -> None:
    """With the number of characters left out. A short reason is unchanged."""
    message = answer(ended(exit_code=2, stderr=b"first " + b"x" * 20_000 + b" last"))["message"]
    assert isinstance(message, str)
    assert message.startswith("first xxx")
    assert message.endswith("xxx last")
    assert "\n[10011 characters omitted]\n" in message
    assert len(message) < 10_100
    assert answer(ended(exit_code=2, stderr=b"x" * 10_000))["message"] == "x" * 10_000


# --- the table: everything else

BADLY_ENDED = {
    "exit 1": (1, None, "exit_code"),
    "exit 3": (3, None, "exit_code"),
    "exit 127": (127, None, "exit_code"),
    "exit 255": (255, None, "exit_code"),
    "SIGHUP": (-1, None, "signal"),
    "SIGINT": (-2, None, "signal"),
    "SIGKILL": (-9, None, "signal"),
    **{f"{kind}, never run": (None, kind, kind) for kind in FAILURES},
    **{f"{kind}, exit 0": (0, kind, kind) for kind in FAILURES},
    **{f"{kind}, exit 2": (2, kind, kind) for kind in FAILURES},
    "timeout, killed": (-9, "timeout", "timeout"),
}
each_bad_end = rows("exit_code, kind, expected", BADLY_ENDED.values(), ids=BADLY_ENDED)


def of_kind(kind: str | None) -> Failure | None:
    """Return a failure of this kind."""
    return Failure(kind, "what happened") if kind is not None else None


@each_bad_end
@rows("stdout", [b"", b"text", b"{}", *(json.dumps(said(a)).encode() for a in ("continue", "allow", "modify"))])
def test_a_bad_end_is_a_failure(exit_code: int | None, kind: str | None, expected: str, stdout: bytes) -> None:
    """Other exit statuses, signals and the runner's errors are failures: only a guard's answer counts then."""
    assert failure(ended(stdout, exit_code=exit_code, failure=of_kind(kind))).kind == expected


@each_bad_end
@rows("action", GUARDING)
def test_a_guards_word_counts_whatever_came_after_it(
    exit_code: int | None, kind: str | None, expected: str, action: str
) -> None:
    """A valid block, skip, ask or stop is not lost because the hook crashed, hung or was killed; a note reports it."""
    outcome = ended(said(action), exit_code=exit_code, failure=of_kind(kind))
    result, notes = verdicts.from_process(hook(), outcome, change="modified_args")
    assert isinstance(result, Verdict), expected
    assert result.to_dict() == said(action)
    assert len(notes) == 1
    assert f"its {action} counts although" in notes[0]


@each_bad_end
def test_a_cut_answer_counts_nowhere(exit_code: int | None, kind: str | None, expected: str) -> None:
    """What was cut at max_output is no fitting answer, unless it refuses."""
    outcome = ended(said("allow"), exit_code=exit_code, failure=of_kind(kind), truncated=True)
    assert failure(outcome).kind == expected


def test_the_reason_of_a_bad_end_names_it() -> None:
    """The detail has the status or the signal and the last lines of stderr; the runner's own detail is unchanged."""
    assert failure(ended(exit_code=7, stderr=b"a\nb\n")).detail == "it exited with status 7; stderr: a\nb"
    assert failure(ended(exit_code=-11)).detail == "it was killed by signal 11"
    assert failure(ended(exit_code=None, failure=of_kind("missing"))).detail == "what happened"


# --- any bytes, any end

texts = st.text(st.characters(), max_size=8)
small = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)
fields = st.fixed_dictionaries(
    {"action": st.sampled_from(ACTIONS) | st.just("continue")},
    optional={
        "message": texts | small,
        "additional_context": texts,
        "system_message": texts,
        "modified_args": st.dictionaries(texts, small, max_size=2) | small,
        "args_patch": st.dictionaries(texts, small, max_size=2) | small,
        "modified_context": st.dictionaries(texts, small, max_size=2) | small,
        "continue": small,
    },
)
NOISE = [
    "{", "}", "[", "]", '"', ",", ":", "x", "0", "\\", "\0", "\n", " ", "\x0b", "\u00a0", "\ufeff", "null", "NaN",
    "1e999",
]  # fmt: skip


@st.composite
def near_misses(draw: st.DrawFn) -> bytes:
    """Return a verdict, or what had nearly been one."""
    text = json.dumps(draw(fields), ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    place = draw(st.integers(0, len(text)))
    noise = draw(st.sampled_from(NOISE))
    kind = draw(st.sampled_from(["as is", "as is", "cut", "double", "within", "replace", "before", "after", "action"]))
    changed = {
        "as is": text,
        "cut": text[:place],
        "double": text + draw(st.sampled_from(["", "\n", ","])) + text,
        "within": text[:place] + noise + text[place:],
        "replace": text[:place] + noise + text[place + 1 :],
        "before": noise + text,
        "after": text + noise,
        "action": text.replace('"action"', draw(st.sampled_from(['"Action"', '"action "', '"decision"', '"a"'])), 1),
    }[kind]
    data = changed.encode("utf-8", "surrogatepass")
    return data + draw(st.sampled_from([b"", b"", b"\xff", b"\xe2\x82"]))


endings = st.one_of(st.just(0), st.just(2), st.integers(-64, 255), st.none())
failures = st.none() | st.builds(Failure, st.sampled_from(sorted(FAILURES)), texts)


def refuse(name: str) -> object:
    """Refuse a constant that is not JSON."""
    raise ValueError(name)


def says_continue(stdout: bytes) -> bool:
    """Return whether stdout is empty, or one JSON object whose action is continue, without hookrun's own reader."""
    try:
        text = stdout.decode("utf-8").removeprefix("\ufeff").strip()
        if not text:
            return True
        data = json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return isinstance(data, dict) and data.get("action") == "continue"


@pytest.mark.slow
@settings(max_examples=600)
@given(
    st.binary(max_size=40) | near_misses() | st.sampled_from([b"", b" \n"]),
    st.binary(max_size=20),
    endings,
    failures,
    st.booleans(),
    st.booleans(),
    st.sampled_from(["continue", "block"]),
    st.sampled_from(["enforce", "enforce", "enforce", "advise"]),
)
@example(b'{"action":"continue"}', b"", 0, None, False, False, "block", "enforce")
@example(b"", b"", 0, None, True, False, "block", "enforce")
def test_nothing_quietly_becomes_continue(  # noqa: PLR0917  # hypothesis gives them by position
    stdout: bytes,
    stderr: bytes,
    exit_code: int | None,
    failed: Failure | None,
    truncated: bool,
    change: str,
    on_failure: str,
    mode: str,
) -> None:
    """Any output and end are read without an error, and continue has one of four causes: the hook answered so,
    explicitly or by silence, its `on_failure` says so, or it only advises.
    """
    guard = hook(on_failure=on_failure, mode=mode)
    outcome = ended(stdout, stderr=stderr, exit_code=exit_code, failure=failed, truncated=truncated)
    result, _ = verdicts.from_process(guard, outcome, change=change)
    settled = verdicts.apply_policies(guard, result)
    assert settled.action in ACTIONS
    json.dumps(settled.to_dict(), allow_nan=False)
    said_so = exit_code == 0 and failed is None and not truncated and says_continue(stdout)
    if settled.action == "continue":
        assert said_so or mode == "advise" or (isinstance(result, Failure) and on_failure == "continue")
    if isinstance(result, Failure):
        assert result.kind in FAILURES
        assert failed is None or result.kind == failed.kind
    if exit_code == 2 and failed is None:
        assert isinstance(result, Verdict)
        assert result.action in {"block", "stop"}
        assert result.message


# --- on_failure and mode

BLOCKING = hook(on_failure="block")


@rows("kind", FAILURES)
def test_on_failure_says_what_a_failure_means(kind: str) -> None:
    """Continue notifies the user, block refuses; the reason names the hook, the failure and the detail."""
    reason = {"untrusted": "hook guard did not run: the detail"}.get(kind, f"hook guard failed ({kind}): the detail")
    told, blocked = (verdicts.apply_policies(each, Failure(kind, "the detail")) for each in (hook(), BLOCKING))
    assert told.to_dict() == {"action": "continue", "system_message": reason}
    assert blocked.to_dict() == {"action": "block", "message": reason}


@rows("action", ACTIONS)
@rows("on_failure", ["continue", "block"])
def test_in_mode_enforce_a_verdict_is_as_it_is(action: Action, on_failure: str) -> None:
    """The answer is used unchanged; on_failure has no effect on it."""
    given_answer = Verdict(action, "m", additional_context="c", modified_args={"a": 1})
    assert verdicts.apply_policies(hook(on_failure=on_failure), given_answer) is given_answer


@rows("action", [action for action in ACTIONS if action != "continue"])
def test_advice_is_told_and_not_done(action: Action) -> None:
    """In mode advise any deed is reported to the user and to the model, its own words and contexts kept."""
    wanted = Verdict(action, "why", additional_context="c", system_message="s", modified_context={"k": 1})
    advice = verdicts.apply_policies(hook(mode="advise"), wanted)
    note = f"hook guard (advise) would {action}: why"
    assert advice.to_dict() == {
        "action": "continue",
        "message": note,
        "additional_context": "c",
        "system_message": f"{note}\ns",
        "modified_context": {"k": 1},
    }


@rows("field", ["modified_args", "args_patch"])
def test_an_advised_change_is_shown_and_not_made(field: str) -> None:
    """The arguments that an advising hook wanted are shown to the user, and nowhere else."""
    wanted = Verdict("modify", **{field: {"command": "ls \x1b"}})  # type: ignore[arg-type]  # one of the two fields
    advice = verdicts.apply_policies(hook(mode="advise"), wanted)
    assert advice.system_message is not None
    assert advice.system_message.startswith('hook guard (advise) would modify (arguments: {"command":')
    assert advice.system_message.isprintable()
    message = "hook guard (advise) would modify"
    assert advice.to_dict() == {"action": "continue", "message": message, "system_message": advice.system_message}


def test_an_adviser_that_has_no_objection_is_left_alone() -> None:
    """Continue in mode advise stays continue, with all its texts."""
    silent = Verdict("continue", "m", additional_context="c")
    assert verdicts.apply_policies(hook(mode="advise"), silent) is silent


def test_a_failing_adviser_only_tells() -> None:
    """With on_failure block the failure of an advising hook is shown as advice."""
    advice = verdicts.apply_policies(hook(mode="advise", on_failure="block"), Failure("timeout", "after 5 s"))
    note = "hook guard (advise) would block: hook guard failed (timeout): after 5 s"
    assert advice.to_dict() == {"action": "continue", "message": note, "system_message": note}
    assert verdicts.apply_policies(hook(mode="advise"), Failure("timeout", "after 5 s")).action == "continue"


# --- combining


def combine(runs: list[HookResult], args: dict[str, object] | None = None) -> Verdict:
    """Return the verdict of all runs."""
    return combine_into(AnyVerdict(), runs, args).replace()


def ran(*verdicts: Verdict) -> list[HookResult]:
    """Return runs with these verdicts."""
    return [HookResult(hook(), Outcome(), one) for one in verdicts]


def rank(action: str) -> int:
    """Return the place of an action in the order of strength, 0 for the strongest."""
    return next(place for place, names in enumerate(ORDER) if action in names.split("/"))


@rows("actions", [*product(ACTIONS, repeat=2), *product(ACTIONS, repeat=3)])
def test_the_strongest_action_wins_with_its_messages(actions: tuple[str, ...]) -> None:
    """Of any two or three answers the strongest is the verdict, with the messages of those that gave it, in order."""
    combined = combine(ran(*(Verdict(action, f"{number} {action}") for number, action in enumerate(actions))), {"a": 1})  # type: ignore[arg-type]
    strongest = min(map(rank, actions))
    winners = [f"{number} {action}" for number, action in enumerate(actions) if rank(action) == strongest]
    assert rank(combined.action) == strongest
    assert combined.message == "\n".join(winners)
    may_run = combined.action in {"allow", "modify", "ask"}
    assert combined.modified_args == ({"a": 1} if may_run else None)


@rows("actions", [("allow", "modify"), ("modify", "allow")])
def test_allow_and_modify_are_both_kept(actions: tuple[str, ...]) -> None:
    """Of equal strength, an allow and a change come out as allow with the changed arguments. No run is continue."""
    assert combine([]).to_dict() == {"action": "continue"}
    combined = combine(ran(*map(Verdict, actions)), {"a": 2})  # type: ignore[arg-type]
    assert combined.to_dict() == {"action": "allow", "modified_args": {"a": 2}}


@given(
    st.lists(
        st.builds(
            lambda action, message, context, system: Verdict(
                action, message, additional_context=context, system_message=system
            ),
            st.sampled_from(ACTIONS),
            *[st.none() | st.sampled_from(["", "one", "two\nlines", "x"])] * 3,
        ),
        max_size=5,
    )
)
def test_contexts_and_system_messages_are_all_kept_in_order(answers: list[Verdict]) -> None:
    """Whatever action wins, all text for the model and for the user is there, in order of the runs."""
    combined = combine(ran(*answers))
    assert combined.additional_context == (
        "\n".join(v.additional_context for v in answers if v.additional_context) or None
    )
    assert combined.system_message == ("\n".join(v.system_message for v in answers if v.system_message) or None)


def test_modified_contexts_are_merged_the_later_over_the_earlier() -> None:
    """The combined modified_context has every key, of the same key the later value."""
    first, last = Verdict(modified_context={"a": 1, "b": 1}), Verdict("allow", modified_context={"b": 2, "c": None})
    assert combine(ran(first, Verdict("block"), last)).modified_context == {"a": 1, "b": 2, "c": None}


@rows("action, expected", [*product(ACTIONS[:1] + ACTIONS[4:], [None]), *product(ACTIONS[1:4], [{"a": 1}])])
def test_arguments_are_there_only_when_changed_and_the_tool_may_run(action: Action, expected: object) -> None:
    """The whole arguments come with modify, allow and ask after a change, and with nothing else."""
    changed, unchanged = combine(ran(Verdict(action)), {"a": 1}), combine(ran(Verdict(action)), None)
    assert (changed.modified_args, changed.args_patch) == (expected, None)
    assert (unchanged.modified_args, unchanged.args_patch) == (None, None)
