"""An entry that names a recipe: `{"recipe": "no-force-push@1"}`."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun import __version__
from hookrun.config import recipe_entries
from hookrun.recipes import catalog
from tests.cli.command import hookrun
from tests.conftest import ROOT
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Project

sys.path.insert(0, str(ROOT / "scripts"))

text = importlib.import_module("record_recipe_versions").text

PUSH = {"tool_name": "bash", "tool_args": {"command": "git push --force"}}


def write(project: Project, *entries: dict[str, object]) -> None:
    """Declare these entries unchanged."""
    (project.root / "coder.json").write_text(json.dumps({"hooks": entries}))


def problems(project: Project) -> str:
    """Return what `validate` reports."""
    return hookrun(project, "validate").stdout


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, object]], None]]:
    """Return a function that changes the recorded data of the recipe `no-force-push`."""

    def change(versions: dict[str, object]) -> None:
        known = json.loads(Path(recipe_entries.VERSIONS_FILE).read_text())
        known["no-force-push"]["versions"] = versions
        path = tmp_path / "versions.json"
        path.write_text(json.dumps(known))
        monkeypatch.setattr(recipe_entries, "VERSIONS_FILE", str(path))
        recipe_entries.recipes.cache_clear()

    yield change
    recipe_entries.recipes.cache_clear()


def test_the_recorded_versions_are_those_of_the_recipes() -> None:
    """A recipe with changed declarations gets a new version: teams have pinned the old one."""
    assert Path(recipe_entries.VERSIONS_FILE).read_text() == text(), "run scripts/record_recipe_versions.py"


def test_an_entry_that_names_a_recipe_runs_its_hooks(project: Project) -> None:
    """With or without a version, with its own fields and options beside those of the recipe."""
    for pinned in ("no-force-push", "no-force-push@1"):
        write(project, {"recipe": pinned, "timeout": 7, "options": {"branches": ["main", "release/*"], "lease": True}})
        project.approve()
        (hook,) = json.loads(hookrun(project, "list", "--json").stdout)["hooks"]
        assert (hook["name"], hook["timeout"], hook["matcher"]) == ("no-force-push", 7.0, ["bash", "mcp__*"])
        assert hook["env"] == {"HOOKRUN_OPTION_BRANCHES": "main release/*", "HOOKRUN_OPTION_LEASE": "true"}
        assert hook["metadata"] == {"recipe": "no-force-push", "version": "1"}
        assert project.fire(PUSH).action == "block"
        assert problems(project) == "checked 1 hook in 1 file: 0 errors, 0 warnings\n"


def test_a_recipe_of_several_hooks_is_one_entry(project: Project) -> None:
    """Each hook of it has its own name; a field of the entry is each one's."""
    name = next(name for name in catalog.names() if len(catalog.find(name).hooks) > 1)
    write(project, {"recipe": name, "mode": "off"}, {"event": "stop", "command": "exit 0"})
    hooks = json.loads(hookrun(project, "list", "--json").stdout)["hooks"]
    expected = [str(hook["name"]) for hook in catalog.find(name).hooks]
    assert sorted(hook["name"] for hook in hooks if hook["mode"] == "off") == sorted(expected)
    write(project, {"recipe": name, "name": "mine"})
    assert "`name` beside `recipe`" in problems(project)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"recipe": "no-force-pushh"}, 'unknown recipe "no-force-pushh"'),
        ({"recipe": "no-force-push@7"}, f'this hookrun ({__version__}) has no version "7" of `no-force-push`'),
        ({"recipe": ["no-force-push"]}, "`recipe` must be"),
        ({"recipe": "no-force-push@1", "event": "stop"}, "`event` beside `recipe`: the recipe sets it"),
        ({"recipe": "no-force-push@1", "command": "exit 0"}, "`command` beside `recipe`: the recipe sets it"),
        ({"recipe": "no-force-push@1", "options": {"leese": "yes"}}, 'unknown option of no-force-push "leese"'),
        ({"recipe": "no-force-push@1", "options": "lease"}, "`options` must be"),
        ({"recipe": "no-force-push@1", "timeot": 3}, 'unknown hook field "timeot"'),
    ],
)
def test_a_wrong_entry_is_an_error(project: Project, entry: dict[str, object], message: str) -> None:
    """It is reported once, and the guard that it was meant to be is not open in silence."""
    project.user_hooks(on_error="block")
    write(project, entry)
    assert problems(project).count(message) == 1, problems(project)
    assert project.fire(PUSH).status != 0


@rows(
    "entry, messages",
    [
        ({"event": "stop", "recpe": "no-force-push@1"}, ['did you mean "recipe"?']),
        (
            {"recipe": "no-force-push@1", "options": {"lease": "perhaps"}},
            ["invalid value of the option `lease`", "1 warning"],
        ),
    ],
)
def test_a_slip_is_pointed_out(project: Project, entry: dict[str, object], messages: list[str]) -> None:
    """A misspelled `recipe` as every other field; the recipe itself checks its options, as those in the environment."""
    write(project, entry)
    shown = problems(project)
    assert [each for each in messages if each not in shown] == []


def test_an_old_version_works_and_says_until_when(
    project: Project, versions: Callable[[dict[str, object]], None]
) -> None:
    """`update` shows the differences of the newest version, and moves the pin."""
    old = dict(catalog.find("no-force-push").hooks[0])
    versions({"1": {"until": "0.3", "hooks": [old]}, "2": {"hooks": [{**old, "timeout": 99}]}})
    write(project, {"recipe": "no-force-push@1", "priority": 3})
    assert "`no-force-push@1` is an old version that works up to hookrun 0.3" in problems(project)
    (hook,) = json.loads(hookrun(project, "list", "--json").stdout)["hooks"]
    assert hook["timeout"] == 10.0
    shown = hookrun(project, "update", "--dry-run").stdout
    assert '-    "timeout": 10' in shown
    assert '+    "timeout": 99' in shown
    assert hookrun(project, "update").status == 0
    assert json.loads((project.root / "coder.json").read_text())["hooks"] == [
        {"recipe": "no-force-push@2", "priority": 3}
    ]
    assert problems(project) == "checked 1 hook in 1 file: 0 errors, 0 warnings\n"


def test_what_it_stands_for_is_shown(project: Project) -> None:
    """`config show` names the recipe as the source of a field that the entry does not have."""
    write(project, {"recipe": "no-force-push@1", "timeout": 7})
    lines = hookrun(project, "config", "show").stdout.splitlines()
    assert any("timeout" in line and "coder.json:1" in line for line in lines)
    assert any("matcher" in line and "recipe" in line for line in lines), lines
