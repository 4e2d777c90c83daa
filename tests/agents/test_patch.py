"""Which files a patch touches, whoever reads it: a hook sees each that any agent would have touched."""

from __future__ import annotations

import pytest

from hookrun.agents import copilot
from hookrun.agents.patch import calls

BEGIN, END = "*** Begin Patch\n", "\n*** End Patch"


def touched(body: str) -> list[tuple[str, object]]:
    """Return each tool and path."""
    return [(tool, args["file_path"]) for tool, args in calls(BEGIN + body + END)]


def test_each_file_is_a_call_with_its_lines() -> None:
    """Added, changed and deleted, in the order of the patch."""
    patch = "*** Add File: a\n+1\n+2\n*** Update File: b\n@@ def f\n same\n-old\n+new\n*** Delete File: c"
    assert calls(BEGIN + patch + END) == [
        ("write", {"file_path": "a", "content": "1\n2\n"}),
        ("edit", {"file_path": "b", "old_string": "same\nold", "new_string": "same\nnew"}),
        ("delete", {"file_path": "c"}),
    ]


def test_a_moved_file_is_an_edit_and_a_delete() -> None:
    """The lines belong to where it goes."""
    assert calls(BEGIN + "*** Update File: a\n*** Move to: b\n-old\n+new" + END) == [
        ("delete", {"file_path": "a"}),
        ("edit", {"file_path": "b", "old_string": "old", "new_string": "new"}),
    ]


@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0", "   \t"])
@pytest.mark.parametrize(("header", "tool"), [("Add", "write"), ("Update", "edit"), ("Delete", "delete")])
def test_blanks_before_a_header_hide_no_file(blank: str, header: str, tool: str) -> None:
    """Codex 0.169.0 and Copilot 1.0.102 take them: seen on disk."""
    assert touched(f"{blank}*** {header} File: guarded") == [(tool, "guarded")]
    assert (tool, "guarded") in touched(f"*** Add File: a\n+1\n{blank}*** {header} File: guarded\n+2")


def test_a_header_needs_no_blank_before_the_path() -> None:
    """OpenCode 1.18.33 takes it without: seen on disk."""
    assert touched("*** Add File:guarded\n+1") == [("write", "guarded")]


@pytest.mark.parametrize("move", [" *** Move to: b\n-old\n+new", "-old\n+new\n*** Move to: b"])
def test_a_move_that_not_every_agent_would_make_hides_neither_place(move: str) -> None:
    """Copilot takes the first for a move, OpenCode and Codex do not: the file is changed where it is, or goes."""
    found = calls(BEGIN + "*** Update File: a\n" + move + END)
    assert {args["file_path"] for tool, args in found if tool == "edit"} == {"a", "b"}
    assert ("edit", {"file_path": "a", "old_string": "old", "new_string": "new"}) in found


def test_a_file_that_cannot_be_moved_is_told_of_where_it_is() -> None:
    """One that is added, or nothing at all."""
    assert ("write", "a") in touched("*** Add File: a\n*** Move to: b\n+1")
    assert touched("*** Move to: b") == [("edit", "b")]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_lines_end_as_agents_have_them(ends: str) -> None:
    """Either way; no other character ends a line."""
    patch = f"*** Begin Patch{ends}*** Add File: a{ends}+1\u2028\x0b2{ends}*** End Patch{ends}"
    assert calls(patch) == [("write", {"file_path": "a", "content": "1\u2028\x0b2\n"})]


TEXT = BEGIN + "*** Update File: p.txt\n@@\n-hello\n+bye\n*** Add File: q.txt\n+q" + END


@pytest.mark.parametrize(
    "payload",
    [
        {"sessionId": "s", "timestamp": 1795295232787, "cwd": "/p", "toolName": "apply_patch", "toolArgs": TEXT},
        {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Edit", "tool_input": TEXT},
    ],
)
def test_copilot_sends_patches_as_texts(payload: dict[str, object]) -> None:
    """As Copilot 1.0.102 sent it, in both dialects, with a model called gpt-5.5."""
    message = copilot.read(payload, "preToolUse")
    assert [(call.event, call.fields["tool_name"]) for call in message.calls] == [
        ("pre_tool_use", "edit"),
        ("pre_tool_use", "write"),
    ]


@pytest.mark.parametrize(("result", "changes"), [("success", 2), ("failure", 0)])
def test_copilot_s_patches_change_files_when_they_could_be_applied(result: str, changes: int) -> None:
    """Then there is a `file_changed` for each."""
    told = {"result_type": result, "text_result_for_llm": "said"}
    payload = {"hook_event_name": "PostToolUse", "cwd": "/p", "tool_name": "Edit", "tool_input": TEXT}
    message = copilot.read({**payload, "tool_result": told}, "")
    assert [call.event for call in message.calls].count("file_changed") == changes
