"""Test files are edited by spans: the rest keeps its exact characters, and what cannot be edited is reported."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given, settings, strategies as st

from hookrun.edit import editor_for
from hookrun.edit.json_edit import EditError

YAML = """\
# top
cases:
  - name: a   # one
    event: stop
    expect:
      message: |
        several
        lines
      # between
      action: [block,
               ask]
  # the next
  - {name: b, event: stop, expect: {action: block}}  # in braces
  - name: c
    event: stop   # last
"""


TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def set_expectations(text: str, *changes: tuple[tuple[str | int, ...], object], name: str = "a.hooktest.yaml") -> str:
    """Return the text with expectations changed: (index of the case, key) -> value."""
    document = editor_for(name, text)
    for path, value in changes:
        document = document.put(("cases", *path), value)
    return document.text


def test_values_are_replaced_in_their_place() -> None:
    """Blocks, lists over several lines, braces."""
    done = set_expectations(
        YAML,
        ((0, "expect", "message"), "no: # way"),
        ((0, "expect", "action"), "continue"),
        ((1, "expect", "action"), ["ask", "block"]),
    )
    assert done == YAML.replace("|\n        several\n        lines\n", "'no: # way'\n").replace(
        "[block,\n               ask]", "continue"
    ).replace("{action: block}", "{action: [ask, block]}")


def test_what_is_missing_is_added() -> None:
    """Below the last line of a block, before the closing brace of another."""
    done = set_expectations(
        YAML,
        ((0, "expect", "fired"), []),
        ((1, "expect", "failure"), None),
        ((2, "expect"), {"action": "block", "message": "é\n"}),
    )
    assert done == YAML.replace("ask]\n", "ask]\n      fired: []\n").replace(
        "{action: block}", "{action: block, failure: null}"
    ).replace("stop   # last\n", "stop   # last\n    expect:\n      action: block\n      message: |\n        é\n")


def test_items_are_added_to_lists() -> None:
    """In the form that the list has."""
    case = {"name": "d", "event": "stop"}
    assert set_expectations(YAML, ((3,), case)) == YAML + "  - name: d\n    event: stop\n"
    assert set_expectations("cases: []", ((0,), case)) == "cases:\n  - name: d\n    event: stop\n"
    assert set_expectations('{"cases": [1]}', ((1,), case), name="a.json") == (
        '{"cases": [1, {"name": "d", "event": "stop"}]}'
    )


def test_texts_stay_texts() -> None:
    """Whatever YAML would take them for."""
    values = ["true", "No", "null", "1", "1e3", "~", "a: b", "a #b", " a", "", "- a", "2026-01-01"]
    written = [yaml.safe_load(set_expectations(YAML, ((1, "name"), value))) for value in values]
    assert [done["cases"][1]["name"] for done in written] == values


def test_json_keeps_its_form() -> None:
    """Members are added in a line of their own where the others have one."""
    lines = (
        "{",
        '\t"cases": [',
        "\t\t{",
        '\t\t\t"name": "a",',
        '\t\t\t"expect": {"action":"block"}',
        "\t\t}, {}",
        "\t]",
        "}",
    )
    text = "\r\n".join(lines) + "\r\n"
    done = set_expectations(
        text,
        ((0, "expect", "action"), "ask"),
        ((0, "expect", "failure"), None),
        ((0, "context"), {"a": [1, "é"]}),
        ((1, "name"), "b"),
        name="a.hooktest.json",
    )
    assert done == text.replace(
        '{"action":"block"}',
        '{"action":"ask", "failure": null},\r\n\t\t\t"context": '
        '{\r\n\t\t\t\t"a": [\r\n\t\t\t\t\t1,\r\n\t\t\t\t\t"é"\r\n\t\t\t\t]\r\n\t\t\t}',
    ).replace("{}", '{\r\n\t\t\t"name": "b"\r\n\t\t}')


@pytest.mark.parametrize(
    "text",
    [
        "x: &x {action: block}\ncases: [{name: a, event: stop, expect: *x}]\n",
        "x: &x {expect: {action: block}}\ncases: [{<<: *x, name: a, event: stop}]\n",
    ],
)
def test_what_stands_elsewhere_is_not_edited(text: str) -> None:
    """An alias and merged values belong to other places too."""
    with pytest.raises(EditError, match="by hand"):
        set_expectations(text, ((0, "expect", "action"), "ask"))


@example(value="\n", name="a.yaml")
@example(value=["a\n\n"], name="a.yaml")
@given(value=VALUES, name=st.sampled_from(["a.yaml", "a.json"]))
@settings(max_examples=80)
def test_any_value_can_be_written(value: object, name: str) -> None:
    """Changed and added, in braces and in blocks; the editor itself verifies the resulting text."""
    text = YAML if name == "a.yaml" else '{"cases": [{}, {"expect": {"action": 1}}]}'
    for path in ((1, "expect", "action"), (0, "args")):
        assert set_expectations(text, (path, value), name=name)
