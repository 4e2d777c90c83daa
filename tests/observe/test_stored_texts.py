"""Stored texts: without credentials, cut, fit for SQLite; and which messages are equal or similar."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from hookrun.observe import stored_texts
from hookrun.observe.spool import stored_name
from hookrun.observe.stored_texts import MAX_MARK, coverage, mark, similarity
from tests.rows import rows

TOKEN = "ghp_" + "a1B2c3D4" * 5
ANY_TEXT = st.text(st.characters())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
)
PLAIN = "abcdefghijklmnopqrstuvwxyz"
NAME = st.text(PLAIN, min_size=1, max_size=8)
QUOTED = st.text(
    st.characters(exclude_characters="\"'`\n\r\\", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20
)

VARYING = {
    "number": st.integers(0, 10**9).map(str) | st.floats(0, 1e6, allow_nan=False).map("{:.3f}".format),
    "hex": st.integers(0, 2**64).map(hex),
    "digest": st.tuples(st.text("0123456789abcdef", min_size=7, max_size=38)).map(lambda it: f"a1{it[0]}"),
    "uuid": st.uuids().map(str),
    "temporary file": NAME.map("/tmp/{}/x.py".format),
}
"""Parts in which two equal errors may differ."""


def test_credentials_go_before_the_text_is_cut() -> None:
    """A token is hidden also where the cut would leave half of it, which no longer looks like one."""
    for longest in (10, 30, 45):
        for value in (f"{'x' * 20} {TOKEN} {'y' * 200}", f"{TOKEN} and more"):
            assert "ghp_" not in stored_texts.clean_text(value, longest)
            assert "ghp_" not in stored_texts.clean_line(value, longest)


def test_a_long_text_keeps_both_ends() -> None:
    """The beginning and the end of an error are kept, with the number of characters left out."""
    assert stored_texts.clean_text("short", 10) == "short"
    cut = stored_texts.clean_text("first" + "." * 1000 + "last", 90)
    assert cut.startswith("first")
    assert cut.endswith("last")
    assert "(919 characters left out)" in cut


def test_a_line() -> None:
    """It has no line breaks and is cut at its end."""
    assert stored_texts.clean_line("a\n\n b\tc", 10) == "a b c"
    assert stored_texts.clean_line("x" * 20, 10) == "xxxxxxx..."


@pytest.mark.slow
@given(ANY_TEXT, JSON)
def test_whatever_comes_can_be_stored(text: str, value: Any) -> None:
    """Half a surrogate pair, NUL, huge numbers: all of it can be bound to a statement and read as JSON."""
    with closing(sqlite3.connect(":memory:")) as db:
        for each in (
            stored_texts.clean_text(text, 50),
            stored_texts.clean_line(text, 50),
            stored_name(text),
            stored_texts.clean_json(value, 200),
        ):
            assert db.execute("SELECT ?", (each,)).fetchone() == (each,)
    json.loads(stored_texts.clean_json(value, 10**9))
    json.loads(stored_texts.clean_json(value, 20))


def test_values_without_credentials() -> None:
    """They are removed by their form, and by the name of their member, at any depth; other values are described."""
    value = {
        "log": [f"pushed with {TOKEN}"],
        "env": {"DB_PASSWORD": "correct horse", "api_key": ["one", "two"], "MODE": "fast"},
        TOKEN: 1,
        "path": {1, 2},
        "token_count": 7,
    }
    text = stored_texts.clean_json(value, 10_000)
    assert not any(secret in text for secret in ("ghp_", "horse", "one", "two"))
    assert json.loads(text)["env"]["MODE"] == "fast"
    assert json.loads(text)["path"] == [1, 2]
    assert json.loads(text)["token_count"] == 7


def test_an_object_too_large_keeps_what_fits() -> None:
    """It is still an object: its small parts, and the names of those that are missing."""
    value = {"files": ["x" * 50] * 100, "summary": "short", "tags": [1]}
    found = json.loads(stored_texts.clean_json(value, 100))
    assert found == {"summary": "short", "tags": [1], "left_out": ["files"]}
    assert json.loads(stored_texts.clean_json(["x" * 50] * 100, 100)).startswith('["xxx')


def test_a_value_that_holds_itself() -> None:
    """Depth has an end."""
    value: list[object] = []
    value.append(value)
    assert len(stored_texts.clean_json(value, 1000)) < 1100


@rows("name, wanted", [(None, ""), ("s1", "s1"), ("x" * 900, "x" * 500), ("\ud800", "?")])
def test_names(name: str | None, wanted: str) -> None:
    """An identifier is kept unchanged if possible."""
    assert stored_name(name) == wanted


@pytest.mark.parametrize("kind", VARYING)
@settings(max_examples=25)
@given(data=st.data(), before=st.lists(NAME, max_size=3), after=st.lists(NAME, max_size=3))
def test_what_varies_does_not_matter(kind: str, data: st.DataObject, before: list[str], after: list[str]) -> None:
    """Two messages that differ in one number, id or temporary file are the same error."""
    one, other = (data.draw(VARYING[kind]) for _ in range(2))
    texts = [" ".join([*before, each, *after]) for each in (one, other)]
    assert mark(texts[0]) == mark(texts[1])


@settings(max_examples=50)
@given(st.lists(NAME, min_size=1, max_size=6), st.lists(NAME, min_size=1, max_size=6))
def test_words_matter(one: list[str], other: list[str]) -> None:
    """Messages of different words differ, however they are spaced and written."""
    plain = [[word.lower() for word in words] for words in (one, other)]
    same = mark(" ".join(["x", *one])) == mark("\t ".join(["X", *other]).upper())
    assert same == (plain[0] == plain[1])


@given(st.text())
def test_any_text_has_a_mark(text: str) -> None:
    """It is one line, and short."""
    found = mark(text)
    assert len(found) <= MAX_MARK
    assert "\n" not in found


@rows(
    "message, wanted",
    [
        ("Traceback (most recent call last):\n  File 'a.py'\nKeyError: 'a'\n", "keyerror: 'a'"),
        (
            'ModuleNotFoundError: No module named "yaml"\nmake: *** [Makefile:3: test] Error 1',
            "modulenotfounderror: no module named 'yaml'",
        ),
        (
            "error: no module `a v1.2`\n  in 'src/x.rs'\nis it installed?\nwarning: stopped",
            "is it installed?, 'a v<n>'",
        ),
        ("npm ERR! code ENOENT\nnpm ERR! A complete log of this run can be found in: /x", "npm err! code enoent"),
        (
            "src/app.ts(3,7): error TS2304: Cannot find name 'foo'.\n\nFound 3 errors.",
            "src/app.ts(<n>): error ts2304: cannot find name 'foo'.",
        ),
        ("can't open `x y.py'", "can't open 'x y.py'"),
        ("\x1b[31mE  assert 3 == 4\x1b[0m", "assert <n> == <n>"),
        ("commit 3f2a9bc1d0 not found", "commit <id> not found"),
        ("error: Command failed with exit code 1.", "command failed with exit code <n>."),
        ("/srv/app/src/a.py: no such file", "src/a.py: no such file"),
        (
            'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    run("SELECT 1")\nDbError: no "a"',
            "dberror: no 'a'",
        ),
        (
            "error: Your changes would be overwritten:\n\tui/a.lock\nPlease commit or stash them.\nAborting",
            "your changes would be overwritten:, 'ui/a.lock'",
        ),
        ("env file .env not found\nerror: Recipe `db` failed on line 4 with exit code 1", "env file .env not found"),
    ],
)
def test_marks(message: str, wanted: str) -> None:
    """The last line that says something, with what it is about; runners' own last lines say nothing."""
    assert mark(message, "/srv/app") == wanted


def test_likeness() -> None:
    """Equal is 1, nothing in common is 0, and more similar is more; the order does not matter."""
    base = "modulenotfounderror: no module named 'yaml'"
    near, far = "importerror: no module named 'yaml'", "permission denied: /x"
    assert similarity(base, base) == 1.0
    assert similarity("", "") == 1.0
    assert similarity("abc", "xyz") == 0.0
    assert 0.6 < similarity(base, near) < 1
    assert similarity(base, far) < 0.3
    assert similarity(base, near) == similarity(near, base)


@settings(max_examples=50)
@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_is_a_share(one: str, other: str) -> None:
    """Any two texts have one, from 0 to 1, the same both ways."""
    assert 0 <= similarity(one, other) == similarity(other, one) <= 1


def test_coverage() -> None:
    """It is the share of the words looked for."""
    text = "Split the parser into two modules"
    assert coverage("parser modules", text) == 1.0
    assert coverage("parser rockets", text) < 0.8
    assert coverage("parsers", text) == 0.0
    assert coverage("", text) == 0.0
    assert coverage("zzz", "") == 0.0
