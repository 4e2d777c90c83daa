"""The names of events: the canonical ones, every alias, and which events carry a tool or arguments."""

from __future__ import annotations

from collections import Counter

import pytest

from hookrun import events
from hookrun.text import quote
from tests.rows import rows

DESIGN = [
    "session_start", "session_end", "user_prompt_submit", "assistant_response", "pre_tool_use", "post_tool_use",
    "post_tool_failure", "tool_call_requested", "tool_call_aborted", "permission_request", "file_changed", "stop",
    "subagent_start", "subagent_stop", "pre_compact", "post_compact", "notification", "error", "before_request",
    "after_request", "before_inference", "after_inference", "pre_checkpoint", "post_checkpoint",
    "pre_reflection_store", "pre_search_query", "pre_session_end",
]  # fmt: skip
"""The events of DESIGN section 3."""

OLDER_ENGINES = {
    "session_buddy": {
        "pre_checkpoint": "pre_checkpoint", "pre_tool_execution": "pre_tool_use",
        "pre_reflection_store": "pre_reflection_store", "pre_session_end": "pre_session_end",
        "pre_search_query": "pre_search_query", "post_checkpoint": "post_checkpoint",
        "post_tool_execution": "post_tool_use", "post_file_edit": "file_changed", "post_error": "error",
        "session_start": "session_start", "session_end": "session_end", "user_prompt_submit": "user_prompt_submit",
    },
    "synwire": {
        "PreToolUse": "pre_tool_use", "PostToolUse": "post_tool_use", "PostToolUseFailure": "post_tool_failure",
        "Notification": "notification", "SubagentStart": "subagent_start", "SubagentStop": "subagent_stop",
        "PreCompact": "pre_compact", "PostCompact": "post_compact", "SessionStart": "session_start",
        "SessionEnd": "session_end",
    },
    "oats": {
        "pre_tool_use": "pre_tool_use", "post_tool_use": "post_tool_use",
        "user_prompt_submit": "user_prompt_submit", "session_start": "session_start",
        "file_changed": "file_changed", "assistant_response": "assistant_response",
    },
    "stakpak": {
        "BeforeRequest": "before_request", "AfterRequest": "after_request", "BeforeInference": "before_inference",
        "AfterInference": "after_inference", "ToolCallRequested": "tool_call_requested",
        "BeforeToolExecution": "pre_tool_use", "AfterToolExecution": "post_tool_use",
        "ToolCallAborted": "tool_call_aborted", "Error": "error",
    },
    "stackbench": {"PreToolUse": "pre_tool_use", "PostToolUse": "post_tool_use"},
}  # fmt: skip
"""Engine -> the name it has for an event -> the canonical one. Sources: the documents these engines were read from."""


def test_the_canonical_events_are_those_of_the_design() -> None:
    """None is missing, none is made up."""
    assert sorted(events.ALIASES) == sorted(DESIGN)


def test_no_name_means_two_events() -> None:
    """Every name, canonical or not, is claimed once: else the table would decide by its order."""
    claims = Counter(name for event, aliases in events.ALIASES.items() for name in (event, *aliases))
    assert [name for name, count in claims.items() if count > 1] == []


@rows("event", DESIGN)
def test_every_name_of_an_event_resolves_to_it(event: str) -> None:
    """The canonical name and all its aliases give the canonical name."""
    assert {name: events.canonical(name) for name in (event, *events.ALIASES[event])} == dict.fromkeys(
        (event, *events.ALIASES[event]), event
    )


@rows("event", DESIGN)
def test_the_camel_case_forms_of_an_event_resolve(event: str) -> None:
    """Agents write pre_tool_use as PreToolUse or preToolUse: every event of two words and more resolves in both."""
    words = event.split("_")
    upper = "".join(word.capitalize() for word in words)
    assert events.canonical(upper) == event
    if len(words) > 1:
        assert events.canonical(upper[0].lower() + upper[1:]) == event


@rows("engine", OLDER_ENGINES)
def test_the_names_of_older_engines_resolve(engine: str) -> None:
    """Hooks written for them name their events as they did."""
    names = OLDER_ENGINES[engine]
    assert {name: events.canonical(name) for name in names} == names


@rows("name", ["", "pretooluse", "PRE_TOOL_USE", "pre-tool-use", " pre_tool_use", "tool", "*"])
def test_no_other_name_resolves(name: str) -> None:
    """An unknown name is no event, not the nearest one."""
    assert events.canonical(name) is None


@rows(
    "name, own, native, closest",
    [
        ("PRE_TOOL_USE", (), {}, "pre_tool_use"),
        ("pre_tool_usee", (), {}, "pre_tool_use"),
        ("PretoolUse", (), {}, "pre_tool_use"),
        ("deploied", ("deployed",), {}, "deployed"),
        ("TaskComplet", (), {"TaskComplete": "stop"}, "stop"),
    ],
)
def test_an_unknown_event_is_named_with_what_may_have_been_meant(
    name: str, own: tuple[str, ...], native: dict[str, str], closest: str
) -> None:
    """The message quotes the name and suggests the canonical one that is closest."""
    with pytest.raises(events.UnknownEventError) as caught:
        events.resolve_event(name, own, native)
    assert caught.value.closest == closest
    assert str(caught.value) == f'unknown event {quote(name)}\nhint: did you mean "{closest}"?'


def test_an_unknown_event_that_is_close_to_none_is_named_with_the_page_of_all() -> None:
    """A control character in its name is escaped."""
    with pytest.raises(events.UnknownEventError) as caught:
        events.resolve_event("zzz\n")
    assert caught.value.closest is None
    assert str(caught.value) == f"unknown event {quote('zzz' + chr(10))}\nhint: `hookrun help events` lists the events"


def test_an_event_resolves_by_any_name_and_the_agents_own_comes_first() -> None:
    """A program's own events have one name; `AfterAgent` means what the agent defines."""
    assert events.resolve_event("AfterTool") == "post_tool_use"
    assert events.resolve_event("deployed", ["deployed"]) == "deployed"
    assert events.resolve_event("Stop", (), {"Stop": "subagent_stop"}) == "subagent_stop"


def test_which_events_can_carry_a_tool() -> None:
    """A matcher can match on events about a tool, and on no other."""
    assert sorted(events.WITH_TOOL) == [
        "error", "file_changed", "permission_request", "post_tool_failure", "post_tool_use", "pre_tool_use",
        "tool_call_aborted", "tool_call_requested",
    ]  # fmt: skip


@rows("event", DESIGN)
@rows("arguments", [None, {}, {"command": "ls"}])
def test_arguments_can_be_changed_before_something_is_done(event: str, arguments: dict[str, object] | None) -> None:
    """Only events before the deed have arguments to change, whatever the context carries."""
    expected = event in {"pre_tool_use", "tool_call_requested", "permission_request", "pre_search_query"}
    assert events.can_modify(event, arguments) is expected


@rows("arguments, expected", [(None, False), ({}, True), ({"a": 1}, True)])
def test_a_programs_own_event_has_arguments_when_it_carries_some(
    arguments: dict[str, object] | None, expected: bool
) -> None:
    """An event that is not in the table can be modified when its context has tool_args, empty ones too."""
    assert events.can_modify("before_deploy", arguments) is expected
