"""Edits of YAML by spans: exactly what was meant changes, comments and everything else keep their characters."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, strategies as st

from hookrun.edit.json_edit import EditError
from hookrun.edit.yaml_edit import Yaml
from tests.rows import rows
from tests.wiring.texts import FEWER_EXAMPLES

HOOK = {"name": "new", "event": "stop", "when": {"a.b": ["x", "y"]}}
LINES = """\
- name: new
  event: stop
  when:
    a.b:
      - x
      - y
"""


def indented(by: int) -> str:
    """Return the new hook's lines, further to the right."""
    return "".join(" " * by + line + "\n" for line in LINES.splitlines())


FILE = """\
# whose hooks these are
hookrun: {min_version: "0.1.0"}   # as it was
hooks:
  # the first
  - name: one   # and only
    event: stop
    command: |
      echo one
      echo two

  - {name: two, event: stop, command: "true"}  # short

# the end
"""


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("hooks:\n  - name: one\n", "hooks:\n  - name: one\n" + indented(2)),
        ("hooks:\n- name: one\n", "hooks:\n- name: one\n" + LINES),
        ("hooks:\n- name: one", "hooks:\n- name: one\n" + LINES),
        ("hooks: []\n", "hooks:\n" + indented(2)),
        ("hooks: []", "hooks:\n" + indented(2)),
        ("hooks: [] # none\n", "hooks: [{name: new, event: stop, when: {a.b: [x, y]}}] # none\n"),
        ("hooks:\n- a: |\n    text\n# end\n", "hooks:\n- a: |\n    text\n" + LINES + "# end\n"),
        ("hooks: [{name: one}]\n", "hooks: [{name: one}, {name: new, event: stop, when: {a.b: [x, y]}}]\n"),
        ("{hooks: []}\n", "{hooks: [{name: new, event: stop, when: {a.b: [x, y]}}]}\n"),
        (FILE, FILE.replace("  # short\n", "  # short\n" + indented(2))),
        ("hooks:\r\n- name: one\r\n", "hooks:\r\n- name: one\r\n" + LINES.replace("\n", "\r\n")),
    ],
)
def test_a_hook_is_added_at_the_end_of_the_list(text: str, added: str) -> None:
    """In the text's own indent, after the last hook and its comment, in lists of lines and in brackets."""
    before = Yaml(text)
    after = before.add(("hooks",), HOOK)
    assert isinstance(before.data, dict)
    assert after.data == {**before.data, "hooks": [*before.data["hooks"], HOOK]}
    assert after.text == added


@pytest.mark.parametrize(
    "text", ["", "hooks:\n", "# nothing yet\n", "a: 1\n", "a: 1", "a:\n  - 1\n# end\n", "{a: 1}\n"]
)
def test_a_list_is_added_where_there_is_none(text: str) -> None:
    """A file without hooks gets the key, and keeps its content."""
    before = Yaml(text)
    after = before.put(("hooks",), [HOOK])
    assert isinstance(before.data, dict)
    assert after.data == {**before.data, "hooks": [HOOK]}
    assert all(line in after.text for line in text.splitlines() if not line.startswith("{"))


def test_one_hook_is_replaced() -> None:
    """The text around it, comments included, stays."""
    text = Yaml(FILE).put(("hooks", 0), {"name": "other"}).text
    assert text == FILE.replace(FILE[FILE.index("- name: one") : FILE.index("echo two")] + "echo two", "- name: other")
    assert "  - {name: other}" not in Yaml(FILE).put(("hooks", 1), {"name": "other"}).text
    assert Yaml("hooks: [{a: 1}, {b: 2}]").put(("hooks", 0), {"c": 3}).text == "hooks: [{c: 3}, {b: 2}]"


def test_one_hook_is_taken_out() -> None:
    """With its lines; a list that becomes empty is written as `[]`."""
    assert Yaml(FILE).remove(("hooks", 1)).text == FILE.replace(
        '  - {name: two, event: stop, command: "true"}  # short\n', ""
    )
    once = Yaml(FILE).remove(("hooks", 0))
    twice = once.remove(("hooks", 0))
    assert "# the first" in twice.text
    assert isinstance(twice.data, dict)
    assert twice.data["hooks"] == []
    for text, left in (("hooks: [{a: 1}, {b: 2}]", "hooks: [{b: 2}]"), ("hooks: [{b: 2}]", "hooks: []")):
        assert Yaml(text).remove(("hooks", 0)).text == left
    assert Yaml("hooks: [{a: 1}, {b: 2}]").remove(("hooks", 1)).text == "hooks: [{a: 1}]"
    assert Yaml("hooks: # note: one\n  - a: 1\n").remove(("hooks", 0)).text == "hooks: [] # note: one\n"


def test_what_is_added_and_removed_leaves_the_text() -> None:
    """The way there and back ends where it began."""
    assert Yaml(FILE).add(("hooks",), HOOK).remove(("hooks", 2)).text == FILE


@pytest.mark.parametrize("text", ["a: &x\n  - name: one\nhooks: *x\n", "<<: {hooks: [{a: 1}]}\nb: 1\n", "hooks: one\n"])
def test_what_cannot_be_edited_by_its_place_is_refused(text: str) -> None:
    """An alias, a merge, something else than a list: an edit would change something else, so there is none."""
    with pytest.raises(EditError):
        Yaml(text).add(("hooks",), HOOK)


WORDS = st.text(st.sampled_from("ab: -#'\"|>\n\u00e4{}[]&*!%"), max_size=12)
HOOKS = st.lists(
    st.dictionaries(
        st.sampled_from(["name", "event", "command", "when"]), WORDS | st.lists(WORDS, max_size=2), max_size=4
    ),
    max_size=4,
)


@pytest.mark.slow
@FEWER_EXAMPLES
@given(HOOKS, st.sampled_from([None, True, False]), st.booleans(), WORDS)
def test_any_text_that_yaml_writes_can_be_edited(
    hooks: list[dict[str, object]], flow: bool | None, after: bool, word: str
) -> None:
    """Whatever the words and however it is written: what was meant changes, every character outside of it stays."""
    data = {"hooks": hooks, **({"hookrun": {"note": word}} if after else {})}
    text = "# first\n" + yaml.dump(data, default_flow_style=flow, allow_unicode=True, sort_keys=False) + "# last\n"
    before = Yaml(text)
    assert before.data == data
    added = before.add(("hooks",), HOOK)
    characters = iter(added.text)
    assert all(character in characters for character in text if character not in "[]{}")
    assert added.remove(("hooks", len(hooks))).data == data
    for index in range(len(hooks)):
        assert before.put(("hooks", index), HOOK).data == {**data, "hooks": [*hooks[:index], HOOK, *hooks[index + 1 :]]}
        assert before.remove(("hooks", index)).data == {**data, "hooks": [*hooks[:index], *hooks[index + 1 :]]}


@rows(
    "before, after",
    [
        ("a: {b: 1}\n", "a: {}\n"),
        ("a:\n  b: 1\n", "a: {}\n"),
        ("a:\n  # about c\n  c: 1\n  b: 2 # ours\n  d: 3\n", "a:\n  # about c\n  c: 1\n  d: 3\n"),
        ("a: {b: 1, c: 2}\n", "a: {c: 2}\n"),
        ("a: {c: 2, b: 1}\n", "a: {c: 2}\n"),
    ],
)
def test_a_key_is_removed_with_its_value(before: str, after: str) -> None:
    """The last one leaves an empty mapping."""
    assert Yaml(before).remove(("a", "b")).text == after
