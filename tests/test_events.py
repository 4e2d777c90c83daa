"""The names of events: the canonical ones, every alias, and which events carry a tool or arguments."""

from __future__ import annotations

from collections import Counter

import pytest

from hookrun.core import events
from hookrun.core.text import quote
from tests.rows import rows

DESIGN = [
    "session_start", "session_end", "user_prompt_submit", "assistant_response", "pre_tool_use", "post_tool_use",
    "post_tool_failure", "tool_call_requested", "tool_call_aborted", "permission_request", "file_changed", "stop",
    "subagent_start", "subagent_stop", "pre_compact", "post_compact", "notification", "error", "before_request",
    "after_request", "before_inference", "after_inference", "pre_checkpoint", "post_checkpoint",
    "pre_reflection_store", "pre_search_query", "pre_session_end",
]  # fmt: skip
"""The events of DESIGN section 3."""

OF_OLDER_ENGINES = {
    "pre_tool_execution": "pre_tool_use", "post_tool_execution": "post_tool_use", "post_file_edit": "file_changed",
    "post_error": "error", "PostToolUseFailure": "post_tool_failure", "BeforeToolExecution": "pre_tool_use",
    "AfterToolExecution": "post_tool_use",
}  # fmt: skip
"""The names that older engines have for an event, beside the canonical ones and those in camel case."""


def test_the_canonical_events_are_those_of_the_design() -> None:
    """None is missing, none is made up."""
    assert sorted(events.ALIASES) == sorted(DESIGN)


def test_no_name_means_two_events() -> None:
    """Every name, canonical or not, is claimed once: else the table would decide by its order."""
    claims = Counter(name for event, aliases in events.ALIASES.items() for name in (event, *aliases))
    assert [name for name, count in claims.items() if count > 1] == []


@rows("event", DESIGN)
def test_every_name_of_an_event_resolves_to_it(event: str) -> None:
    """The canonical one, its aliases, and both camel case forms: PreToolUse and preToolUse."""
    upper = "".join(word.capitalize() for word in event.split("_"))
    names = {event, upper, *events.ALIASES[event], upper[0].lower() + upper[1:]}
    assert {name: events.canonical(name) for name in names} == dict.fromkeys(names, event)


def test_the_names_of_older_engines_resolve() -> None:
    """Hooks written for them name their events as they did."""
    assert {name: events.canonical(name) for name in OF_OLDER_ENGINES} == OF_OLDER_ENGINES


@rows("name", ["", "pretooluse", "PRE_TOOL_USE", "pre-tool-use", " pre_tool_use", "tool", "*"])
def test_no_other_name_resolves(name: str) -> None:
    """An unknown name is no event, not the nearest one."""
    assert events.canonical(name) is None


@rows(
    "name, own, native, closest, hint",
    [
        ("PRE_TOOL_USE", (), {}, "pre_tool_use", 'did you mean "pre_tool_use"?'),
        ("pre_tool_usee", (), {}, "pre_tool_use", 'did you mean "pre_tool_use"?'),
        ("PretoolUse", (), {}, "pre_tool_use", 'did you mean "pre_tool_use"?'),
        ("deploied", ("deployed",), {}, "deployed", 'did you mean "deployed"?'),
        ("TaskComplet", (), {"TaskComplete": "stop"}, "stop", 'did you mean "stop"?'),
        ("zzz\n", (), {}, None, "`hookrun help events` lists the events"),
    ],
)
def test_an_unknown_event_is_named_with_what_may_have_been_meant(
    name: str, own: tuple[str, ...], native: dict[str, str], closest: str | None, hint: str
) -> None:
    """The message quotes the name, control characters escaped, and suggests the closest one, else the page of all."""
    with pytest.raises(events.UnknownEventError) as caught:
        events.resolve_event(name, own, native)
    assert caught.value.closest == closest
    assert str(caught.value) == f"unknown event {quote(name)}\nhint: {hint}"


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


@rows("arguments, own", [(None, ""), ({}, "modified_args"), ({"command": "ls"}, "modified_args")])
def test_arguments_can_be_changed_before_something_is_done(arguments: dict[str, object] | None, own: str) -> None:
    """Only events before the deed have arguments to change, and a program's own if it carries some, even empty ones."""
    can_modify = [event for event in DESIGN if events.changed_by(event, arguments) == "modified_args"]
    assert can_modify == ["pre_tool_use", "tool_call_requested", "permission_request", "pre_search_query"]
    assert events.changed_by("before_deploy", arguments) == own
