"""A patch in Codex's grammar, read into the files that it touches: what a guard on files has to see of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookrun.agents import codex, patch


def of(*lines: str) -> list[tuple[str, dict[str, object]]]:
    """Return the calls that a patch of these lines comes to."""
    return patch.calls("\n".join(("*** Begin Patch", *lines, "*** End Patch", "")))


def test_a_new_file_is_a_write() -> None:
    """With all of its lines."""
    assert of("*** Add File: src/a.py", "+x = 1", "+", "+y = 2") == [
        ("write", {"file_path": "src/a.py", "content": "x = 1\n\ny = 2\n"})
    ]
    assert of("*** Add File: empty") == [("write", {"file_path": "empty", "content": ""})]


def test_a_changed_file_is_an_edit() -> None:
    """Of the lines of all its hunks, those around them included."""
    assert of("*** Update File: a", "@@ def f", " one", "-two", "+2", "@@", "-three", "+3", " four") == [
        ("edit", {"file_path": "a", "old_string": "one\ntwo\nthree\nfour", "new_string": "one\n2\n3\nfour"})
    ]


def test_a_deleted_file_is_a_delete() -> None:
    """It has no lines."""
    assert of("*** Delete File: a") == [("delete", {"file_path": "a"})]


def test_a_moved_file_is_deleted_and_edited_where_it_goes() -> None:
    """A guard of either place sees it."""
    assert of("*** Update File: a", "*** Move to: b", "@@", "-x", "+y") == [
        ("delete", {"file_path": "a"}),
        ("edit", {"file_path": "b", "old_string": "x", "new_string": "y"}),
    ]


def test_files_are_told_apart() -> None:
    """In their order, each with its own lines."""
    found = of("*** Add File: a", "+1", "*** Update File: b", "-2", "+3", "*** End of File", "*** Delete File: c")
    assert [(tool, args["file_path"]) for tool, args in found] == [("write", "a"), ("edit", "b"), ("delete", "c")]
    assert found[1][1]["new_string"] == "3"


def test_a_header_cannot_be_hidden() -> None:
    """White space before and after it, a carriage return, and lines that look like one in a file's text."""
    assert of("  *** Delete File: secret  ")[0][1] == {"file_path": "secret"}
    assert of("*** Delete File: secret\r")[0][1] == {"file_path": "secret"}
    assert of("*** Add File: a\u2028b")[0][1]["file_path"] == "a\u2028b"
    assert len(of("*** Add File: a", "+*** Delete File: b", "+x")) == 1


@given(st.lists(st.sampled_from(["*** Add File: a", "*** Update File: b", "*** Delete File: c", "*** Move to: d",
                                 "@@", "+x", "-y", " z", "", "***", "noise"])))  # fmt: skip
def test_every_file_that_is_named_is_seen(lines: list[str]) -> None:
    """Whatever else stands in a patch, or is missing from it."""
    found = of(*lines)
    seen = {args["file_path"] for _, args in found}
    named = {line.partition(": ")[2] for line in lines if ": " in line and "Move" not in line}
    assert named - seen <= ({"a", "b", "c"} if "*** Move to: d" in lines else set())
    assert all(set(args) <= {"file_path", "content", "old_string", "new_string"} for _, args in found)


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    """A patch that is none touches no file, and then the call is fired as it is."""
    message = codex.read(
        {"hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": {"command": text}}, ""
    )
    assert len(message.calls) >= 1
    if "***" not in text:
        assert message.calls[0].fields["tool_name"] == "apply_patch"
