"""Find recipes and their tests by name."""

from __future__ import annotations

import os
from importlib import import_module

from hookrun.core.text import UserError, did_you_mean, quote
from hookrun.recipes import LEVELS, RECIPES
from hookrun.recipes.recipe import Recipe

# The path of a recipe's tests, relative to its module's directory.
CASES = "cases/{module}.hooktest.yaml"


class UnknownRecipeError(UserError, LookupError):
    """No recipe has this name; the message suggests one."""


def names() -> list[str]:
    """Return the names of all recipes, sorted."""
    return sorted(module.replace("_", "-") for module in RECIPES)


def of_level(level: str) -> list[str]:
    """Return the names of a level's recipes, sorted."""
    upto = list(LEVELS)[: list(LEVELS).index(level) + 1]
    return sorted(name for each in upto for name in LEVELS[each])


def find(name: str) -> Recipe:
    """Return a recipe by its name. Raises UnknownRecipeError."""
    if name not in names():
        hint = did_you_mean(name, names(), "`hookrun recipes` lists them", "`{}`".format)
        raise UnknownRecipeError(f"unknown recipe {quote(name)}\nhint: {hint}")
    recipe: Recipe = import_module(_module(name)).RECIPE
    return recipe


def cases_path(name: str) -> str:
    """Return the path of a recipe's test file, which may not exist."""
    file = import_module(_module(name)).__file__ or ""
    return os.path.join(os.path.dirname(file), CASES.format(module=name.replace("-", "_")))


def _module(name: str) -> str:
    return f"hookrun.recipes.{name.replace('-', '_')}"
