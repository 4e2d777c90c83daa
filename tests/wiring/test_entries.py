"""hookrun's handlers among other programs': added once, updated in place, removed individually."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, strategies as st

from hookrun.agents import claude, copilot, vibe
from hookrun.config.document import field_name
from hookrun.edit.file_change import ExistingFile, FileError
from hookrun.edit.json_edit import Json
from hookrun.wiring.forms import TomlFile
from hookrun.wiring.targets import SettingsFile, WiredLine
from tests.rows import rows
from tests.wiring.texts import FEWER_EXAMPLES, wired, written

NESTED = SettingsFile("claude", "/settings.json", claude.INSTALL)
FLAT = SettingsFile("copilot", "/hookrun.json", copilot.INSTALL)
WANTED = {
    event: {"type": "command", "command": wired("claude", event, "/new"), "timeout": 600}
    for event in ("PreToolUse", "Stop")
}


@pytest.mark.slow
@FEWER_EXAMPLES
@given(written(comments=True), st.sampled_from([{}, {"Odd": WANTED["Stop"]}, WANTED]))
def test_put_in_and_taken_out_leaves_all_else(text: str, first: dict[str, dict[str, object]]) -> None:
    """In any settings our handlers can be added, in one step or two, and removed: the text is unchanged."""
    before = Json(text, "jsonc")
    put = NESTED.add_handlers(NESTED.add_handlers(before, first), WANTED)
    assert {found.event: found.handler for found in NESTED.find_own(put)} == {**first, **WANTED}
    again = NESTED.add_handlers(put, WANTED)
    assert again.text == put.text
    out = NESTED.remove_handlers(put, before)
    assert out.data == before.data
    assert "".join(out.text.split()) == "".join(text.split())


def test_an_old_handler_is_replaced_where_it_stands() -> None:
    """A handler of another hookrun is updated in place, between other programs' handlers; a duplicate is removed."""
    old = json.dumps({"type": "command", "command": wired("claude", "Stop")})
    text = f"""{{
  "hooks": {{
    "Stop": [
      {{"hooks": [{{"type": "command", "command": "first"}}]}},
      {{"hooks": [{old}], "note": 1}},
      {{"hooks": [{{"type": "command", "command": "last"}}, {old}]}}
    ]
  }}
}}
"""
    new = WANTED["Stop"]
    put = NESTED.add_handlers(Json(text, "json"), {"Stop": new})
    hooks = put.at(("hooks", "Stop"))
    assert hooks == [
        {"hooks": [{"type": "command", "command": "first"}]},
        {"hooks": [new], "note": 1},
        {"hooks": [{"type": "command", "command": "last"}]},
    ]
    assert NESTED.remove_handlers(put, Json(text, "json")).at(("hooks", "Stop")) == [hooks[0], hooks[2]]


OTHERS = [{"type": "command", "command": "other"}]


@rows("beside, left", [([], []), (OTHERS, [{"matcher": "Write", "hooks": OTHERS}])])
def test_a_matcher_around_our_handler_goes(beside: list[dict[str, object]], left: list[dict[str, object]]) -> None:
    """Where we are alone in the group the matcher is removed; other handlers keep theirs, and ours gets a new group."""
    new = WANTED["Stop"]
    text = json.dumps({"hooks": {"Stop": [{"matcher": "Write", "hooks": [new, *beside]}]}})
    put = NESTED.add_handlers(Json(text, "json"), {"Stop": new})
    assert put.at(("hooks", "Stop")) == [*left, {"hooks": [new]}]
    assert NESTED.add_handlers(put, {"Stop": new}).text == put.text


@rows("matcher", ["", "*", ".*"])
def test_a_matcher_that_matches_everything_stays(matcher: str) -> None:
    """A matcher that excludes nothing stays as the user wrote it."""
    new = WANTED["Stop"]
    text = json.dumps({"hooks": {"Stop": [{"matcher": matcher, "hooks": [new]}]}})
    assert NESTED.add_handlers(Json(text, "json"), {"Stop": new}).text == text


def test_another_agents_handler_is_foreign() -> None:
    """A handler that runs hookrun for another agent is left alone."""
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": wired("qwen", "Stop")}]}]}})
    assert NESTED.find_own(Json(text, "json")) == []
    assert NESTED.remove_handlers(Json(text, "json"), None).text == text


@rows(
    "line",
    [
        "touch PWNED; hookrun fire --agent claude",
        "hookrun fire --agent claude; touch PWNED",
        "HOOKRUN=0 hookrun fire --agent claude",
        f"{wired('claude', 'Stop')}; touch PWNED",
    ],
)
def test_a_line_written_by_hand_is_found_and_never_edited(line: str) -> None:
    """It counts when looking for who answers; ours is added beside it, and removed individually."""
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}})
    json_text = Json(text, "json")
    assert [each.command.is_ours for each in NESTED.find_all(json_text)] == [False]
    assert NESTED.find_own(json_text) == []
    put = NESTED.add_handlers(json_text, {"Stop": WANTED["Stop"]})
    assert put.at(("hooks", "Stop", 0)) == json_text.at(("hooks", "Stop", 0))
    assert NESTED.remove_handlers(put, json_text).text == text


def test_flat_entries_and_a_file_of_ones_own() -> None:
    """Copilot's form: handlers without groups, in a file that begins with a version and is gone when they are."""
    handler: dict[str, object] = {"type": "command", "bash": wired("copilot", "Stop"), "timeoutSec": 600}
    put = FLAT.add_handlers(Json("", "json"), {"Stop": handler})
    assert put.data == {"version": 1, "hooks": {"Stop": [handler]}}
    assert FLAT.remove_handlers(put, None).data == {}
    foreign = put.add(("hooks", "Stop"), {"type": "command", "bash": "mine"})
    assert FLAT.remove_handlers(foreign, None).data == {
        "version": 1,
        "hooks": {"Stop": [{"type": "command", "bash": "mine"}]},
    }


def test_empty_lists_that_were_there_stay() -> None:
    """A list that was empty before install is not mistaken for one that install emptied."""
    text = '{"hooks": {"Stop": [], "PreToolUse": [{"hooks": []}]}}'
    before = Json(text, "json")
    assert NESTED.remove_handlers(NESTED.add_handlers(before, WANTED), before).text == text


@rows(
    "text, path",
    [
        ("[]", ()),
        ('{"hooks": []}', ("hooks",)),
        ('{"hooks": null}', ("hooks",)),
        ('{"hooks": {"Stop": {}}}', ("hooks", "Stop")),
        ('{"hooks": {"Stop": "x"}}', ("hooks", "Stop")),
    ],
)
def test_another_form_is_refused(text: str, path: tuple[str, ...]) -> None:
    """Where the agent itself could not read hooks, nothing is added, and the error names the location."""
    place = f"{field_name(path)} must be "
    with pytest.raises(FileError, match=re.escape(place)):
        NESTED.add_handlers(Json(text, "json"), WANTED)


VIBES = """\
# mine
[[hooks]]
name = "guard"
type = "pre_tool"
command = "./guard.sh"
"""


def vibe_line(event: str) -> WiredLine:
    """Return the line for an event of Mistral Vibe."""
    return WiredLine(wired("vibe", event), [], 600.0)


def test_in_toml_each_entry_is_a_table_and_only_ours_change() -> None:
    """A matcher of ours goes, the entry before a tool is strict, a name is unique; removed, the rest is as it was."""
    file = TomlFile("vibe", "/hooks.toml", vibe.INSTALL, "project")
    now = ExistingFile("/hooks.toml", VIBES.encode())
    lines = {event: vibe_line(event) for event in vibe.EVENTS}
    put = now.of(file.add(now, lines).encode())
    assert put.text().startswith(VIBES)
    found = file.wired(put)
    assert [(each.event, each.limit, each.command.is_ours, each.line) for each in found] == [
        ("pre_tool", 600, True, 7), ("post_tool", 600, True, 14), ("post_agent", 600, True, 20)
    ]  # fmt: skip
    assert [each.handler.get("strict") for each in found] == [True, None, None]
    assert found[0].handler["name"] == "hookrun-project-pre_tool"
    narrowed = now.of(put.text().replace("strict = true", 'match = "bash"').encode())
    assert [each.only for each in file.wired(narrowed)] == ['match "bash"', "", ""]
    assert file.add(narrowed, lines) == put.text() == file.add(put, lines)
    assert file.remove(put, VIBES) == VIBES
    alone = now.of(file.add(now.of(None), lines).encode())
    assert (file.remove(alone, None), file.remove(alone, "")) == (None, "")


def test_an_inline_list_in_toml_is_left_alone() -> None:
    """It cannot be extended by tables."""
    now = ExistingFile("/hooks.toml", b"hooks = []\n")
    file = TomlFile("vibe", "/hooks.toml", vibe.INSTALL)
    with pytest.raises(FileError, match=r"write each as \[\[hooks\]\]; nothing was changed"):
        file.add(now, {"pre_tool": vibe_line("pre_tool")})
