"""Common properties of all recipes: declarations that are valid in each layer, options that are read, documentation."""

from __future__ import annotations

import importlib
import inspect
import json
from typing import TYPE_CHECKING

import pytest

from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.recipes import RECIPES, catalog, recipe as options
from hookrun.recipes.recipe import PREFIX, Option, Recipe, option
from tests.cli.command import hookrun
from tests.recipes.shipped import recipe

if TYPE_CHECKING:
    from tests.conftest import Project


@pytest.mark.parametrize("layer", ["user_hooks", "hooks"])
def test_all_declarations_are_right_in_every_layer(project: Project, layer: str) -> None:
    """All recipes at once, with options set, in the user's and the project's config: no errors, and no warnings."""
    hooks = [dict(hook) for module in RECIPES for hook in recipe(module).hooks]
    declared = [{**hook, "env": {f"{PREFIX}SECONDS": "5"}} for hook in hooks]
    getattr(project, layer)(*declared)
    found = find(str(project.root), str(project.home), managed=str(project.home / "none"))
    examined = load_config(found)
    assert [str(problem) for problem in examined.problems] == []
    assert [hook.error for hook in examined.declarations.hooks] == [None] * len(hooks)


def test_a_recipe_is_of_its_form() -> None:
    """The first hook has its name, each declares its `on_failure`, and its functions take a context."""
    names = {module.replace("_", "-"): recipe(module).name for module in RECIPES}
    assert [name for name, made in names.items() if name != made] == []
    assert [name for name in names if catalog.find(name).hooks[0]["name"] != name] == []
    hooks = [(module, hook, str(hook["python"]).partition(":")) for module in RECIPES for hook in recipe(module).hooks]
    json.dumps([hook for _, hook, _ in hooks])
    assert [hook for module, hook, place in hooks if place[0] != f"hookrun.recipes.{module}"] == []
    functions = [getattr(importlib.import_module(where), name) for _, _, (where, _, name) in hooks]
    assert [each for each in functions if [*inspect.signature(each).parameters] != ["context"]] == []
    assert [hook for _, hook, _ in hooks if hook["on_failure"] not in {"continue", "block"} or hook["cwd"] != "/"] == []


def test_a_recipe_says_what_it_does_in_sentences() -> None:
    """What it catches, what it misses and each option end with a full stop, and none is left out."""
    recipes = [recipe(module) for module in RECIPES]
    texts = [text for made in recipes for text in (made.summary, *made.catches, *made.misses)]
    texts += [each.description for made in recipes for each in made.options]
    assert [text for text in texts if not text.endswith(".")] == []
    assert [made.name for made in recipes if min(len(made.catches), len(made.misses)) < 2] == []


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (options.number, "soon"), (options.number, "-1"), (options.number, "nan"), (options.number, "inf"),
        (options.count, "1.5"), (options.count, "-1"), (options.count, "²"), (options.count, ""),
        (options.yes, "maybe"),
    ],
)  # fmt: skip
def test_an_option_that_is_none_ends_the_hook_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, read: object, value: str
) -> None:
    """The variable is named, the value is not: it may be a secret."""
    monkeypatch.setenv("HOOKRUN_OPTION_MOST", value)
    assert callable(read)
    with pytest.raises(SystemExit, match=r"one: option `most` must be .*; fix HOOKRUN_OPTION_MOST"):
        read(Recipe("one", "One.", hooks=(), options=(Option("most", "1", "How many."),)), "most")


def test_an_option_has_its_default_and_only_those_that_are_there_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that the recipe does not have is a mistake in the recipe."""
    made = Recipe("one", "One.", hooks=(), options=(Option("two_words", "1", "How many."),))
    assert option(made, "two_words") == "1"
    monkeypatch.setenv("HOOKRUN_OPTION_TWO_WORDS", "2")
    assert option(made, "two_words") == "2"
    with pytest.raises(KeyError, match="most"):
        option(made, "most")


WRONG = [
    ("block-destructive-commands", "git", "cleen"),
    ("commit-message-check", "pattern", "("),
    ("commit-message-check", "subject", "many"),
    ("cost-tracker", "budget", "-1"),
    ("format-on-edit", "formatters", "blak"),
    ("lint-on-edit", "project_tools", "perhaps"),
    ("no-force-push", "lease", "maybe"),
    ("notify", "style", "xml"),
    ("package-manager", "node", "pnmp"),
    ("rate-limit", "calls", "lots"),
    ("rate-limit", "calls", "99999999999"),
    ("secret-scan", "prompt", "warn"),
    ("ticket-from-branch", "pattern", "["),
]


def test_a_default_is_right() -> None:
    """The documented default of an option is its value when it is not set."""
    options = [(made, option) for made in map(recipe, RECIPES) for option in made.options]
    assert [(made.name, it.name) for made, it in options if made.wrong_value(it.name, it.default)] == []


def test_a_wrong_value_is_told() -> None:
    """A wrong value gets a message, a value of an unknown option none."""
    assert [row for row in WRONG if not catalog.find(row[0]).wrong_value(*row[1:])] == []
    assert [row for row in WRONG if catalog.find(row[0]).wrong_value("none", row[2]) is not None] == []


def test_a_wrong_value_is_not_declared(project: Project) -> None:
    """One line, status 1, nothing written."""
    done = hookrun(project, "add", "no-force-push", "--option", "lease=maybe")
    assert (done.status, done.stdout) == (1, "")
    assert 'option "lease" of recipe "no-force-push" cannot be "maybe"' in done.stderr
    assert not (project.root / "hookrun.yaml").exists()
    assert hookrun(project, "add", "no-force-push", "--option", "lease=yes").status == 0
