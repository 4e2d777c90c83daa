"""All output of a hook is read as an answer, as text or as a failure, and nothing is invented."""

from __future__ import annotations

import json

from hypothesis import given, strategies as st

from hookrun.claude import answer
from hookrun.claude.answer import Interpretation
from hookrun.claude.hook_protocol import EVENTS, RULES, TOP
from hookrun.core.model import Failure, Hook, Outcome, Verdict

HOOK = Hook(name="h", events=["pre_tool_use"], dialect="claude")
CONTEXT = {"tool_name": "bash", "tool_args": {"command": "ls"}}

WORDS = ("allow", "deny", "ask", "defer", "approve", "block", *RULES)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
OWN = st.fixed_dictionaries(
    {"hookEventName": st.sampled_from([*RULES])},
    optional={name: VALUES for rules in RULES.values() for name in rules.fields or ()},
)
ANSWERS = st.fixed_dictionaries(
    {}, optional={**dict.fromkeys(TOP, VALUES), "hookSpecificOutput": OWN | VALUES, "async": st.booleans()}
)


def run(stdout: bytes, code: int, event: str = "pre_tool_use", stderr: bytes = b"") -> Verdict | Failure:
    """Return what a run with this output answered."""
    outcome = Outcome()
    outcome.stdout, outcome.stderr, outcome.exit_code = stdout, stderr, code
    return Interpretation(HOOK, event, CONTEXT, outcome).result


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: ("{" + text + "}").encode()))
def test_any_bytes_are_an_answer_or_text_or_unreadable(stdout: bytes) -> None:
    """Nothing else is raised."""
    try:
        said: object = answer.read_output(stdout, "PreToolUse")
    except answer.UnreadableOutputError as error:
        said = str(error)
    assert isinstance(said, (dict, str))


@given(ANSWERS, st.sampled_from([0, 1, 2, 127, -9]), st.sampled_from([*EVENTS]))
def test_any_answer_at_any_event_is_a_verdict_or_a_failure(answer: dict[str, object], code: int, event: str) -> None:
    """Whatever is in it, at every exit status; and a veto where there can be one is never weaker than a block."""
    given_ = run(json.dumps(answer).encode(), code, event)
    if isinstance(given_, Failure):
        assert given_.kind in ("bad_verdict", "signal")
        assert code != 2  # a veto is never a failure
        return
    if code == 2 and RULES[EVENTS[event]].exit_2 == "block":  # a veto
        assert given_.action in ("block", "stop")
        assert given_.message
    assert given_.modified_args is None or event in ("pre_tool_use", "permission_request")


@given(st.text(min_size=1, max_size=40).filter(lambda text: not text.lstrip().startswith("{")))
def test_text_decides_nothing(text: str) -> None:
    """At exit status 0 and at the event before a tool."""
    given_ = run(text.encode("utf-8", "replace"), 0)
    assert isinstance(given_, Verdict)
    assert given_.to_dict() == {"action": "continue"}


def test_of_a_hook_that_was_killed_only_a_refusal_counts() -> None:
    """An allow that it had printed is worth nothing."""
    allow = b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'
    killed = run(allow, -9)
    assert isinstance(killed, Failure)
    assert killed.kind == "signal"
    refused = run(allow.replace(b'"allow"', b'"deny"'), -9)
    assert isinstance(refused, Verdict)
    assert refused.action == "block"


def test_an_answer_that_was_cut_off_is_a_failure_and_not_text() -> None:
    """Longer than `max_output`."""
    outcome = Outcome()
    outcome.stdout, outcome.exit_code, outcome.truncated = b'{"systemMessage": "xxx', 0, True
    given_ = Interpretation(HOOK, "user_prompt_submit", {}, outcome).result
    assert isinstance(given_, Failure)
    assert "max_output" in given_.detail
