"""Reading a file: the data, the location of each part, and errors that say what to do."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from hookrun.config import document, parse, parse_yaml
from hookrun.config.document import Diagnostic, SourceError, key_text, read
from hookrun.config.parse import MAX_DEPTH, ParseError
from hookrun.core.text import escape
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)
BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def trouble(path: Path, text: str | bytes) -> Diagnostic:
    """Write the text to the file and return the error."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SourceError) as caught:
        read(str(path))
    assert "\n" not in caught.value.problem.text
    return caught.value.problem


@given(JSON, st.sampled_from([None, 1]))
def test_json_is_read_as_json_says(value: object, indent: int | None) -> None:
    """Whatever JSON can hold comes back as the standard parser would give it."""
    assert parse.parse_json(json.dumps(value, indent=indent)).data == value
    assert parse.parse_json(json.dumps(value, ensure_ascii=False)).data == value


@pytest.mark.slow
@settings(max_examples=500)
@given(st.text(st.sampled_from('{}[]",:0123456789.-+eEtrufalsn \n\t\\u"x/*#'), max_size=20))
def test_json_is_refused_where_json_refuses_it(text: str) -> None:
    """A text is accepted exactly if the standard parser accepts it, duplicate keys and lone surrogates apart."""
    try:
        expected = json.loads(text, parse_constant=lambda _: pytest.fail("not generated"))
    except ValueError:
        with pytest.raises(ParseError):
            parse.parse_json(text)
        return
    try:
        assert parse.parse_json(text).data == expected
    except ParseError as error:
        assert any(reason in error.message for reason in ("duplicate", "surrogate", "out of range"))  # noqa: PT017


@pytest.mark.slow
@given(JSON)
def test_yaml_is_read_as_yaml_says(value: object) -> None:
    """Whatever plain data PyYAML writes comes back the same."""
    text = yaml.safe_dump(value, allow_unicode=True)
    assert parse_yaml.parse_yaml(text).data == yaml.safe_load(text)


def test_positions_of_keys_and_values(tmp_path: Path) -> None:
    """Line and column of a value are those of its first character, of a key those of its opening quote."""
    path = tmp_path / "a.json"
    path.write_text('{\n  "é": [1,\n    {"b" :  "x"}]\n}')
    document = read(str(path))
    assert (document.position(("é",)), document.position(("é",), key=True)) == ((2, 8), (2, 3))
    assert (document.position(("é", 1, "b")), document.position(("é", 1, "b"), key=True)) == ((3, 13), (3, 6))
    assert document.position(("é", 1, "missing", 3)) == (3, 5)


def test_positions_in_yaml(tmp_path: Path) -> None:
    """YAML has the same positions, merged and aliased values included."""
    path = tmp_path / "a.yaml"
    path.write_text("base: &base\n  timeout: 5\nhooks:\n  - <<: *base\n    event: stop\n")
    document = read(str(path))
    assert document.data == {"base": {"timeout": 5}, "hooks": [{"timeout": 5, "event": "stop"}]}
    assert document.position(("hooks", 0, "event")) == (5, 12)
    assert document.position(("hooks", 0, "timeout"), key=True) == (2, 3)


def test_byte_order_mark_is_tolerated(tmp_path: Path) -> None:
    """A UTF-8 byte-order mark changes neither data nor columns."""
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read(str(path)).data == {"a": 1}
    assert read(str(path)).position(("a",)) == (1, 7)


@rows(
    "text, position, message, hint",
    [
        ("", (1, 1), "the file is empty", '{"hooks": []}'),
        (" \n\t", (1, 1), "the file is empty", '{"hooks": []}'),
        ('{"a": 1,}', (1, 8), 'trailing comma before "}"', "remove the comma"),
        ("[1,\n]", (1, 3), 'trailing comma before "]"', "remove the comma"),
        ('{\n// why\n"a": 1}', (2, 1), "JSON has no comments", "use YAML"),
        ('{"a": 1 /* why */}', (1, 9), "JSON has no comments", "use YAML"),
        ('{"a": 1, # why\n}', (1, 10), "JSON has no comments", "use YAML"),
        ("{'a': 1}", (1, 2), '"\'"', "double quotes"),
        ("{a: 1}", (1, 2), '"a"', "put the key in double quotes"),
        ('{"a": True}', (1, 7), '"True"', "write true"),
        ('{"a": NaN}', (1, 7), '"NaN"', "finite"),
        ('{"a": -Infinity}', (1, 7), '"-Infinity"', "finite"),
        ('{"a": 1e999}', (1, 7), "number out of range: 1e999", "smaller"),
        ('{"a": 01}', (1, 8), '"1"', 'put ","'),
        ('{"a": 1, "a": 2}', (1, 10), 'duplicate key "a"', "remove one"),
        ('{"a" 1}', (1, 6), '"1"', 'put ":"'),
        ('{"a": "x\ny"}', (1, 9), "control character", "\\\\n"),
        ('{"a": "x', (1, 7), "unterminated string", "close the string"),
        ('{"a": "\\x"}', (1, 8), "invalid escape", "\\\\\\\\"),
        ('{"a": "\\ud800"}', (1, 7), "surrogate", "both halves"),
        ('{"a": [1', (1, 9), "unexpected end of file", "close every bracket"),
        ('{"a": 1} {"b": 2}', (1, 10), '"{"', "remove everything after"),
        ("[" * (MAX_DEPTH + 1), (1, MAX_DEPTH + 1), "levels deep", "flatten"),
        ("[" + "1," * 200_000 + "1]", (1, 100_000), "values", "another file"),
        ("9" * 5000, (1, 1), "number out of range: 999", "smaller"),
    ],
)
def test_json_errors_say_what_to_do(
    tmp_path: Path, text: str, position: tuple[int, int], message: str, hint: str
) -> None:
    """An error in JSON names the location, the fault and the fix."""
    problem = trouble(tmp_path / "a.json", text)
    assert (problem.line, problem.column) == position
    assert message in problem.message
    assert hint.replace("\\\\", "\\") in (problem.hint or "")


@rows(
    "text, line, column, message",
    [
        ("# only a comment\n", 1, 1, "the file is empty"),
        ("a: 1\na: 2\n", 2, 1, 'duplicate key "a"'),
        ("a: b: c\n", 1, 5, 'unexpected ":" in a value'),
        ("a:\n\t- b\n", 2, 1, "tab in the indentation"),
        ("a: 1\n---\nb: 2\n", 2, 1, "more than one YAML document"),
        ("a: &a [*a]\n", 1, 4, "an alias refers to a value that contains it"),
        ("a: &a\n  <<: *a\n", 1, 4, "an alias refers to a value that contains it"),
        ("a: *b\n", 1, 4, "alias"),
        ("on: stop\n", 1, 1, "YAML reads the key `on` as a boolean: true"),
        ("? [a]\n: b\n", 1, 3, "a list or mapping cannot be a key"),
        ("a: .nan\n", 1, 4, "number out of range: .nan"),
        ("a: .inf\n", 1, 4, "number out of range: .inf"),
        ("a: !!binary aGk=\n", 1, 4, 'unsupported YAML tag "binary"'),
        ("a: !!python/object/apply:os.system [x]\n", 1, 4, "unsupported YAML tag"),
        ("a: !!int x\n", 1, 4, 'invalid YAML value "x"'),
        ("hooks:\n  - event: stop\n   command: x\n", 3, 4, "wrong indentation"),
        ("a:\n  b: 1\n c: 2\n", 3, 2, "wrong indentation"),
        ('a: "x" y\n', 1, 8, "invalid YAML: "),
        ("a: 'x\n", 2, 1, "unexpected end"),
        ("a: " + "[" * 100 + "]" * 100, 1, MAX_DEPTH + 3, "levels"),
        ("a: [" + "1," * 100_001 + "]", 1, None, "values"),
        (BOMB, None, None, "values"),
    ],
)
def test_yaml_errors_say_where(tmp_path: Path, text: str, line: int | None, column: int | None, message: str) -> None:
    """An error in YAML names the location and the fault; neither bombs nor cycles hang it."""
    problem = trouble(tmp_path / "a.yaml", text)
    assert line is None or problem.line == line
    assert column is None or problem.column == column
    assert message in problem.message
    assert problem.hint


def test_aliases_and_dates_are_plain_data(tmp_path: Path) -> None:
    """An alias becomes its value, a date its text."""
    path = tmp_path / "a.yml"
    path.write_text("a: &x [1]\nb: *x\nc: 2024-01-01\nd: null\n")
    assert read(str(path)).data == {"a": [1], "b": [1], "c": "2024-01-01", "d": None}


@rows("name", ["a.json", "a.yaml"])
def test_text_that_is_not_utf8_is_located(tmp_path: Path, name: str) -> None:
    """The byte that is not UTF-8 is named with its place; a file in UTF-16 is called that."""
    problem = trouble(tmp_path / name, b'{"a":\n "\xff"}')
    assert (problem.line, problem.column, problem.message) == (2, 3, "invalid UTF-8 byte 0xff")
    assert trouble(tmp_path / name, '{"a": 1}'.encode("utf-16")).message == "the file is UTF-16"


def test_what_is_no_file(tmp_path: Path) -> None:
    """Each is named as such, one that the system cannot open with its reason; none blocks, or is parsed."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", document.MAX_BYTES + 1)
    for path, found in (
        (tmp_path, "is a directory"),
        (tmp_path / "pipe", "not a regular file"),
        (tmp_path / "no", "no such file"),
        (tmp_path / "loop", "cannot read the file"),
        (tmp_path / "large", "larger than 16 MiB"),
    ):
        with pytest.raises(SourceError, match=found):
            read(str(path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_unreadable_file(tmp_path: Path) -> None:
    """A file without read permission is reported as such."""
    path = tmp_path / "a.json"
    path.write_text("{}")
    path.chmod(0)
    with pytest.raises(SourceError, match="Permission denied"):
        read(str(path))


def test_messages_cannot_reach_the_terminal(tmp_path: Path) -> None:
    """An escape sequence in a file is made visible in the message about it."""
    problem = trouble(tmp_path / "a.json", '{"\\u001b[2J\u009b": 1, "\\u001b[2J\u009b": 2}')
    assert problem.text.isprintable()
    assert "\\u001b" in str(problem)
    assert escape("a\x1b\u202e\udc80é") == "a\\x1b\\u202e\\udc80é"


def test_key_paths_are_written_as_people_write_them() -> None:
    """Indexes are in brackets, plain keys after a dot, others quoted."""
    assert key_text(("hooks", 2, "when", "tool_args.command")) == 'hooks[2].when["tool_args.command"]'
