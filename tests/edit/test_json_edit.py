"""Edits of JSON by spans: exactly what was meant changes, everything else keeps its characters."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hookrun.config.parse import ParseError
from hookrun.edit.json_edit import EditError, Json
from tests.wiring.texts import FEWER_EXAMPLES, written

OURS = {"hooks": [{"type": "command", "command": "x", "timeout": 5}]}


@pytest.mark.slow
@FEWER_EXAMPLES
@given(written(comments=True), st.sampled_from(["one", "two"]))
def test_added_and_removed_leaves_what_was_there(text: str, key: str) -> None:
    """A member that is added and removed leaves all other data and comments in place, in any text."""
    before = Json(text, "jsonc")
    added = before.put((key,), OURS)
    assert added.at((key,)) == OURS
    removed = added.remove((key,))
    assert removed.data == before.data
    assert _solid(removed.text) == _solid(text)


@pytest.mark.slow
@FEWER_EXAMPLES
@given(written(comments=True))
def test_a_new_member_leaves_every_character_that_was_there(text: str) -> None:
    """The addition is inserted between the existing characters: all of them remain, in order."""
    added = iter(Json(text, "jsonc").put(("ours",), OURS).text)
    assert all(character in added for character in text)


@pytest.mark.slow
@FEWER_EXAMPLES
@given(written(comments=True))
def test_set_changes_one_value(text: str) -> None:
    """Replacing one value changes no character outside of it."""
    before = Json(text, "jsonc")
    data = before.data
    assert isinstance(data, dict)
    for key in data:
        after = before.put((key,), OURS)
        assert after.data == {**data, key: OURS}
        assert list(after.data) == list(data)


def _solid(text: str) -> str:
    return "".join(text.split())


def test_a_member_is_added_as_the_text_is_written() -> None:
    """Indentation, line ends, comments and trailing commas of the text are followed."""
    rows = [
        ("{}", '{\n  "k": 1\n}'),
        ("{ }", '{\n  "k": 1\n }'),
        ("{\n}\n", '{\n  "k": 1\n}\n'),
        ('{"a":1}', '{"a":1,"k":1}'),
        ('{"a": 1}', '{"a": 1, "k": 1}'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"k": 1\n}'),
        ('{\r\n    "a": 1\r\n}\r\n', '{\r\n    "a": 1,\r\n    "k": 1\r\n}\r\n'),
        ('{\n  "a": 1 // note\n}', '{\n  "a": 1, // note\n  "k": 1\n}'),
        ('{\n  "a": 1, // note\n}', '{\n  "a": 1, // note\n  "k": 1,\n}'),
        ('{\n  "a": 1\n  // last\n}', '{\n  "a": 1,\n  // last\n  "k": 1\n}'),
        ('{"a": 1, /* z */}', '{"a": 1, /* z */ "k": 1,}'),
        ("", '{\n  "k": 1\n}\n'),
        ("\n\n", '\n\n{\n  "k": 1\n}\n'),
        ("// only\n{ // here\n}", '// only\n{ // here\n  "k": 1\n}'),
    ]
    added = {text: Json(text, "jsonc").put(("k",), 1).text for text, _ in rows}
    assert added == dict(rows)


def test_a_member_is_removed_with_its_comma() -> None:
    """The remaining text is valid, and still has every comment."""
    rows = [
        ('{"a": 1, "k": 2, "b": 3}', '{"a": 1, "b": 3}'),
        ('{"k": 2, "b": 3}', '{ "b": 3}'),
        ('{"a": 1, "k": 2}', '{"a": 1}'),
        ('{"a": 1, "k": 2,}', '{"a": 1,}'),
        ('{\n  "k": 2\n}\n', "{}\n"),
        ('{\n  "a": 1, // of a\n  "k": 2\n}\n', '{\n  "a": 1 // of a\n}\n'),
        ('{\n  // of k\n  "k": 2, "b": 3\n}\n', '{\n  // of k\n   "b": 3\n}\n'),
    ]
    removed = {text: Json(text, "jsonc").remove(("k",)).text for text, _ in rows}
    assert removed == dict(rows)


@pytest.mark.parametrize(
    ("text", "form", "line_end"),
    [
        ('{"a": 1,}', "json", '{"a": 1'),
        ("{} // c", "json", "{} "),
        ('{"a": 1 "b": 2}', "jsonc", '{"a": 1 '),
        ('{"a": 1, /* never ends', "jsonc", '{"a": 1, '),
        ("{'a': 1}", "jsonc", "{"),
        ('{"a": 1, "a": 2}', "jsonc", '{"a": 1, '),
        ("[1,,2]", "jsonc", "[1,"),
        ("{,}", "jsonc", "{"),
    ],
)
def test_what_is_not_valid_is_refused_with_its_place(text: str, form: str, line_end: str) -> None:
    """The error has the offset of what does not belong there."""
    with pytest.raises(ParseError) as caught:
        Json(text, form)
    assert caught.value.offset == len(line_end)


@pytest.mark.parametrize(("text", "length"), [("[]", 0), ("[1]", 1), ("[1, 2, 3]", 3)])
def test_a_list_grows_at_its_end_only(text: str, length: int) -> None:
    """An item further on would get another place than the one named."""
    before = Json(text, "json")
    assert before.put((length,), 4).at((length,)) == 4
    with pytest.raises(EditError):
        before.put((length + 1,), 4)
