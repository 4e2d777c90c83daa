"""A patch in Codex's grammar, parsed into the files that it touches: a guard on files has to see all of them."""

from __future__ import annotations

from hypothesis import given, strategies as st

from hookrun.agents import codex, copilot, patch
from tests.rows import rows


def of(*lines: str) -> list[tuple[str, dict[str, object]]]:
    """Return the calls that a patch of these lines comes to."""
    return patch.calls("\n".join(("*** Begin Patch", *lines, "*** End Patch", "")))


@rows(
    "lines, calls",
    [
        (
            ("*** Add File: src/a.py", "+x = 1", "+", "+y = 2"),
            [("write", {"file_path": "src/a.py", "content": "x = 1\n\ny = 2\n"})],
        ),
        (("*** Add File: empty",), [("write", {"file_path": "empty", "content": ""})]),
        (
            ("*** Update File: a", "@@ def f", " one", "-two", "+2", "@@", "-three", "+3", " four"),
            [("edit", {"file_path": "a", "old_string": "one\ntwo\nthree\nfour", "new_string": "one\n2\n3\nfour"})],
        ),
        (("*** Delete File: a",), [("delete", {"file_path": "a"})]),
        (
            ("*** Update File: a", "*** Move to: b", "@@", "-x", "+y"),
            [("delete", {"file_path": "a"}), ("edit", {"file_path": "b", "old_string": "x", "new_string": "y"})],
        ),
        (
            ("*** Add File: a", "+1", "*** Update File: b", "-2", "+3", "*** End of File", "*** Delete File: c"),
            [
                ("write", {"file_path": "a", "content": "1\n"}),
                ("edit", {"file_path": "b", "old_string": "2", "new_string": "3"}),
                ("delete", {"file_path": "c"}),
            ],
        ),
        (("*** Move to: b",), [("edit", {"file_path": "b", "old_string": "", "new_string": ""})]),
        (("  *** Delete File: secret  ",), [("delete", {"file_path": "secret"})]),
        (("*** Delete File: secret\r",), [("delete", {"file_path": "secret"})]),
        (("*** Add File: a\u2028b",), [("write", {"file_path": "a\u2028b", "content": ""})]),
        (
            ("*** Add File: a", "+*** Delete File: b", "+x"),
            [("write", {"file_path": "a", "content": "*** Delete File: b\nx\n"})],
        ),
    ],
)
def test_every_file_of_a_patch_is_a_call(lines: tuple[str, ...], calls: list[tuple[str, dict[str, object]]]) -> None:
    """In their order, each with its lines; a moved one is seen in both places, and no header can be hidden."""
    assert of(*lines) == calls


@rows("blank", [" ", "\t", "\u00a0", "   \t"])
@rows("header, tool", [("Add", "write"), ("Update", "edit"), ("Delete", "delete")])
def test_blanks_before_a_header_hide_no_file(blank: str, header: str, tool: str) -> None:
    """Codex 0.169.0 and Copilot 1.0.102 take them: seen on disk."""
    guarded = f"{blank}*** {header} File: guarded"
    assert [(name, args["file_path"]) for name, args in of(guarded)] == [(tool, "guarded")]
    assert [name for name, args in of("*** Add File: a", "+1", guarded, "+2") if args["file_path"] == "guarded"] == [
        tool
    ]


@rows("path", ["guarded", " guarded", "   guarded  "])
def test_blanks_around_a_path_hide_no_file(path: str) -> None:
    """OpenCode 1.18.33 takes a header without any, Copilot, Cline and OpenCode drop those there are: seen on disk."""
    assert of(f"*** Add File:{path}", "+1")[0] == ("write", {"file_path": "guarded", "content": "1\n"})


@rows("lines", [(" *** Move to: b", "-x", "+y"), ("-x", "+y", "*** Move to: b")])
def test_a_move_that_not_every_agent_would_make_hides_neither_place(lines: tuple[str, ...]) -> None:
    """Copilot reads the first as a move, OpenCode and Codex do not: the file is changed in place, or deleted."""
    found = of("*** Update File: a", *lines)
    assert {args["file_path"] for tool, args in found if tool == "edit"} == {"a", "b"}
    assert ("edit", {"file_path": "a", "old_string": "x", "new_string": "y"}) in found


def test_a_file_that_cannot_be_moved_is_told_of_where_it_is() -> None:
    """One that is added."""
    assert ("write", {"file_path": "a", "content": "1\n"}) in of("*** Add File: a", "*** Move to: b", "+1")


@rows("end", ["\n", "\r\n"])
def test_lines_end_as_agents_have_them(end: str) -> None:
    """Either way; no other character ends a line."""
    text = end.join(("*** Begin Patch", "*** Add File: a", "+1\u2028\x0b2", "*** End Patch", ""))
    assert patch.calls(text) == [("write", {"file_path": "a", "content": "1\u2028\x0b2\n"})]


TEXT = "*** Begin Patch\n*** Update File: p.txt\n@@\n-hello\n+bye\n*** Add File: q.txt\n+q\n*** End Patch"


@rows(
    "payload",
    [
        {"sessionId": "s", "timestamp": 1795295232787, "cwd": "/p", "toolName": "apply_patch", "toolArgs": TEXT},
        {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Edit", "tool_input": TEXT},
    ],
)
def test_copilot_sends_patches_as_texts(payload: dict[str, object]) -> None:
    """As Copilot 1.0.102 sent it, in both dialects, with a model called gpt-5.5."""
    message = copilot.read(payload, "preToolUse")
    seen = [(call.event, call.fields["tool_name"]) for call in message.calls]
    assert seen == [("pre_tool_use", "edit"), ("pre_tool_use", "write")]


@rows("result, changes", [("success", 2), ("failure", 0)])
def test_copilot_s_patches_change_files_when_they_could_be_applied(result: str, changes: int) -> None:
    """Then there is a `file_changed` for each."""
    told = {"result_type": result, "text_result_for_llm": "said"}
    payload = {"hook_event_name": "PostToolUse", "cwd": "/p", "tool_name": "Edit", "tool_input": TEXT}
    message = copilot.read({**payload, "tool_result": told}, "")
    assert [call.event for call in message.calls].count("file_changed") == changes


@given(st.lists(st.sampled_from(["*** Add File: a", "*** Update File: b", "*** Delete File: c", "*** Move to: d",
                                 "@@", "+x", "-y", " z", "", "***", "noise"])))  # fmt: skip
def test_every_file_that_is_named_is_seen(lines: list[str]) -> None:
    """Whatever else a patch contains, or lacks."""
    found = of(*lines)
    seen = {args["file_path"] for _, args in found}
    named = {line.partition(": ")[2] for line in lines if ": " in line and "Move" not in line}
    assert named - seen <= ({"a", "b", "c"} if "*** Move to: d" in lines else set())
    assert all(set(args) <= {"file_path", "content", "old_string", "new_string"} for _, args in found)


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    """A malformed patch touches no file, and the event is fired unchanged."""
    message = codex.read(
        {"hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": {"command": text}}, ""
    )
    assert len(message.calls) >= 1
    if "***" not in text:
        assert message.calls[0].fields["tool_name"] == "apply_patch"
