"""What is kept: without credentials, cut, and such that SQLite and JSON take it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hookrun.observe import stored_texts
from hookrun.observe.context_fields import stored_name

TOKEN = "ghp_" + "a1B2c3D4" * 5
ANY_TEXT = st.text(st.characters())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
)


def test_credentials_go_before_the_text_is_cut() -> None:
    """A token is hidden also where the cut would leave half of it, which no longer looks like one."""
    for longest in (10, 30, 45):
        for value in (f"{'x' * 20} {TOKEN} {'y' * 200}", f"{TOKEN} and more"):
            assert "ghp_" not in stored_texts.clean_text(value, longest)
            assert "ghp_" not in stored_texts.clean_line(value, longest)


def test_a_long_text_keeps_both_ends() -> None:
    """What an error says first and what it says last are kept, and how much is missing is said."""
    assert stored_texts.clean_text("short", 10) == "short"
    cut = stored_texts.clean_text("first" + "." * 1000 + "last", 90)
    assert cut.startswith("first")
    assert cut.endswith("last")
    assert "(919 characters left out)" in cut


def test_a_line() -> None:
    """It has no line breaks and is cut at its end."""
    assert stored_texts.clean_line("a\n\n b\tc", 10) == "a b c"
    assert stored_texts.clean_line("x" * 20, 10) == "xxxxxxx..."


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
    """They go by their form, and by the name that they stand under, at any depth; what is no JSON is described."""
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


@pytest.mark.parametrize(("name", "wanted"), [(None, ""), ("s1", "s1"), ("x" * 900, "x" * 500), ("\ud800", "?")])
def test_names(name: str | None, wanted: str) -> None:
    """An identifier is kept as it is unless that cannot be."""
    assert stored_name(name) == wanted
