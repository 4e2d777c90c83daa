"""Tables in TOML: added and removed by whole lines, every other line unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hookrun.config.parse import ParseError
from hookrun.edit.json_edit import EditError
from hookrun.edit.toml_edit import Toml, TomlTables
from tests.wiring.texts import FEWER_EXAMPLES

KEY = ("hooks", "state", '/home/o "b"/.codex/hooks.json:pre_tool_use:0:0')
BLOCKS = [
    'model = "gpt"\n',
    "# a [note]\n",
    "\n",
    "[projects.\"/p [x]\"]\ntrust_level = 'trusted'\n",
    "[a] # b\nx = [\n  [1, 2], # ]\n  '[no]',\n]\n",
    "[text]\ny = '''\n[not.a.table]\nz = 1\n'''\n",
    '[more]\ny = """\n\\"""[not.a.table]\nz = 1\n"""\n',
    "[[hooks.Stop]]\n  [[hooks.Stop.hooks]]\n  type = 'command'\n",
    '[hooks.state."/other:stop:0:0"]\n\ttrusted_hash = "sha256:1"\n\tenabled = false\n',
    "dotted.keys.here = {a = 1, b = [2]}\n",
]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return a config.toml with strings, comments, arrays and tables in any order that is valid."""
    blocks = draw(st.lists(st.sampled_from(BLOCKS), max_size=6, unique=True))
    blocks.sort(key=lambda block: block.startswith("["))  # keys without a table come first
    text = "".join(blocks)
    if not draw(st.booleans()):
        text = text.removesuffix("\n")
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@FEWER_EXAMPLES
@given(texts())
def test_put_and_removed_gives_back_every_line(text: str) -> None:
    """Adding and removing a table leaves the text unchanged, except for a line end at its end."""
    before = Toml(text)
    put = before.put(KEY, "trusted_hash", "sha256:2")
    assert put.at(KEY) == {"trusted_hash": "sha256:2"}
    assert put.text.startswith(text)
    removed = put.remove(KEY)
    assert removed.data == before.data
    assert removed.text in {text, text + "\n", text + "\r\n"}


@FEWER_EXAMPLES
@given(texts())
def test_put_twice_changes_nothing(text: str) -> None:
    """An equal value changes nothing; another value changes that line only."""
    put = Toml(text).put(KEY, "trusted_hash", "sha256:2")
    assert put.put(KEY, "trusted_hash", "sha256:2").text == put.text
    assert put.put(KEY, "trusted_hash", "sha256:3").text == put.text.replace("sha256:2", "sha256:3")


def test_other_keys_of_the_table_stay() -> None:
    """An existing table gets the line; its other lines stay."""
    text = '[hooks.state."k"]\nenabled = false # off\n\n[z]\nb = 1\n'
    put = Toml(text).put(("hooks", "state", "k"), "trusted_hash", "s")
    assert put.text == '[hooks.state."k"]\nenabled = false # off\ntrusted_hash = "s"\n\n[z]\nb = 1\n'


def test_a_last_table_without_line_end() -> None:
    """A line is added after a last one that does not end."""
    put = Toml("[hooks.state.k]\r\nenabled = true").put(("hooks", "state", "k"), "trusted_hash", "s")
    assert put.text == '[hooks.state.k]\r\nenabled = true\r\ntrusted_hash = "s"\r\n'


@pytest.mark.parametrize("text", ["hooks = {}\n", "[hooks]\nstate = {}\n"])
def test_inline_tables_are_refused(text: str) -> None:
    """Where a table around it is written inline no text is made that Codex could not read."""
    with pytest.raises(ParseError) as caught:
        Toml(text).put(KEY, "trusted_hash", "s")
    assert "inline" in str(caught.value)


def test_an_error_has_its_place() -> None:
    """Invalid TOML is refused at its line and column."""
    with pytest.raises(ParseError) as caught:
        Toml("a = 1\nb = = 2\n")
    assert caught.value.offset == len("a = 1\nb = ")
    assert str(caught.value).startswith("invalid TOML: Invalid value")


def test_comments_before_the_next_table_stay() -> None:
    """They belong to that one; a header within a long string is text."""
    text = 'a = """\n[k]\nb = 1\n"""\n\n[k]\nb = "s"\n\n# about z\n[z]\nc = 1\n'
    assert Toml(text).remove(("k",)).text == 'a = """\n[k]\nb = 1\n"""\n\n# about z\n[z]\nc = 1\n'
    assert Toml(text).put(("k",), "b", "t").text == text.replace('"s"', '"t"')
    assert Toml(text).remove(("missing",)).text == text


ITEM: dict[str, object] = {"name": 'a "b"', "timeout": 1.5, "strict": True}


@FEWER_EXAMPLES
@given(texts())
def test_a_table_of_an_array_is_added_changed_and_removed(text: str) -> None:
    """Every other line stays, except for a line end at the end."""
    before = TomlTables(text)
    added = before.add(("tools",), ITEM)
    assert (added.at(("tools", 0)), added.text[added.offset(("tools", 0)) :][:9]) == (ITEM, "[[tools]]")
    changed = added.put(("tools", 0), {"name": "c"}).add(("tools",), ITEM)
    assert changed.at(("tools",)) == [{"name": "c"}, ITEM]
    removed = changed.remove(("tools", 0)).remove(("tools",))
    assert removed.text in {text, text + "\n", text + "\r\n"}


def test_tables_of_others_keep_their_comments_and_places() -> None:
    """One between two others is replaced; their tables below and comments stay."""
    text = "# first\n[[a]]\nx = 1\n[a.more]\ny = 2\n\n# ours\n[[a]]\nx = 3 # old\n# last\n[[a]]\nx = 4\n"
    editor = TomlTables(text)
    assert editor.put(("a", 1), {"x": 5}).text == text.replace("x = 3 # old", "x = 5")
    assert editor.remove(("a", 1)).data == {"a": [{"x": 1, "more": {"y": 2}}, {"x": 4}]}


@pytest.mark.parametrize("text", ["a = [{x = 1}]\n", "a = 1\n", "[a]\nx = 1\n"])
def test_what_is_no_array_of_tables_is_not_edited(text: str) -> None:
    """It says so instead of writing a file that holds something else."""
    with pytest.raises(EditError):
        TomlTables(text).add(("a",), {"x": 2})
