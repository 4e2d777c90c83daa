"""`hookrun add guards`: the recipes of a level, in one step, and away again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import LEVELS, RECIPES, catalog
from tests.cli.command import hookrun, states
from tests.cli.terminal import at_terminal

if TYPE_CHECKING:
    from tests.conftest import Project

# A file as someone may have written it: no editor would.
WRITTEN = """\
{"hooks": [
    {"name": "one",   "event": "stop", "command": "true"} ,
  {"recipe": "protect-files@1", "options": {"read": "yes"}}
]}
"""


def declared(project: Project) -> list[str]:
    """Return the recipes in the project's config, in order."""
    hooks = project.config()["hooks"]
    return [each["recipe"] for each in hooks if "recipe" in each]


def test_every_level_has_recipes_and_those_of_the_level_before() -> None:
    """The names are those of recipes, each in one level."""
    names = [name for level in LEVELS.values() for name in level]
    assert len(names) == len(set(names))
    assert {name.replace("-", "_") for name in names} <= set(RECIPES)
    assert set(catalog.of_level("standard")) < set(catalog.of_level("strict"))


@pytest.mark.slow
def test_what_was_added_is_removed_and_nothing_else(project: Project) -> None:
    """The file is as before, byte by byte: with a recipe of the level that was there, its options and the spaces."""
    config = project.root / "coder.json"
    config.write_text(WRITTEN)
    done = hookrun(project, "add", "guards", "--json")
    assert done.status == 0, done.stderr
    found = {each["name"]: each["state"] for each in done.json["hooks"]}  # type: ignore[attr-defined]
    others = [name for name in catalog.of_level("standard") if name != "protect-files"]
    assert found == {**dict.fromkeys(others, "added"), "protect-files": "up to date"}
    assert declared(project) == ["protect-files@1", *(f"{name}@1" for name in others)]
    assert hookrun(project, "validate").status == 0
    assert hookrun(project, "remove", "guards").status == 0
    assert config.read_text() == WRITTEN
    assert hookrun(project, "remove", "guards").status == 1


@pytest.mark.slow
def test_a_level_is_raised_and_kept(project: Project) -> None:
    """`strict` adds to `standard`; going back removes nothing, and says so. A dry run writes nothing."""
    assert hookrun(project, "add", "guards", "--level", "strict", "--dry-run").status == 0
    assert not (project.root / "hookrun.yaml").exists()
    assert hookrun(project, "add", "guards").status == 0
    assert len(declared(project)) == len(catalog.of_level("standard"))
    assert hookrun(project, "add", "guards", "--level", "strict").status == 0
    assert len(declared(project)) == len(catalog.of_level("strict"))
    done = hookrun(project, "add", "guards")
    assert (done.status, "kept, as guards of another level: no-verify" in done.stdout) == (0, True)
    removed = hookrun(project, "remove", "guards", "--json")
    assert (removed.status, declared(project)) == (0, [])


@pytest.mark.slow
def test_one_approval_is_for_all(project: Project) -> None:
    """On a terminal nothing else is asked, and every guard is approved."""
    session = at_terminal(project, "add", "guards")
    assert session.status == 0, session.screen
    assert set(states(project).values()) == {"approved"}


@pytest.mark.slow
def test_guards_are_no_recipe(project: Project) -> None:
    """They have no options, and no versions; `show` lists them, `list` has each recipe's levels."""
    assert "single recipe" in hookrun(project, "add", "guards", "--option", "read=yes").stderr
    assert "unknown recipe" in hookrun(project, "add", "guards@1").stderr
    assert "`--level` chooses guards" in hookrun(project, "add", "no-force-push", "--level", "strict").stderr
    shown = hookrun(project, "recipes", "show", "guards", "--json").json
    assert shown["levels"] == {level: catalog.of_level(level) for level in LEVELS}
    assert "secret-scan" in hookrun(project, "recipes", "show", "guards").stdout
    listed = {each["name"]: each["levels"] for each in json.loads(hookrun(project, "recipes", "list", "--json").stdout)}
    of_each = {name: listed[name] for name in ("no-force-push", "no-verify", "notify")}
    assert of_each == {"no-force-push": ["standard", "strict"], "no-verify": ["strict"], "notify": []}
