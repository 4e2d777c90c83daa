"""Options of recipes as what they stand for: numbers, words, yes or no. One that is none ends the hook, with why."""

from __future__ import annotations

import math
import re

from hookrun.recipes.recipe import PREFIX, Recipe, WrongOptionError, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn

YES, NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


def number(recipe: Recipe, name: str) -> float:
    """Return an option that is a number, 0 or more."""
    value = option(recipe, name)
    try:
        given = float(value)
    except ValueError:
        given = math.nan
    if not 0 <= given < math.inf:
        wrong(recipe, name, "a number, 0 or more")
    return given


def count(recipe: Recipe, name: str) -> int:
    """Return an option that is a whole number, 0 or more."""
    value = option(recipe, name).strip()
    if not (value.isascii() and value.isdigit()):
        wrong(recipe, name, "a whole number, 0 or more")
    return int(value)


def words(recipe: Recipe, name: str) -> list[str]:
    """Return an option that is words with spaces or line ends between."""
    return option(recipe, name).split()


def known_words(recipe: Recipe, name: str, known: Iterable[str]) -> list[str]:
    """Return an option that is words out of those that are known."""
    known = list(known)
    given = words(recipe, name)
    if any(each not in known for each in given):
        wrong(recipe, name, f"words out of {', '.join(known)}")
    return given


def one_of(recipe: Recipe, name: str, known: Iterable[str]) -> str:
    """Return an option that is one of these words."""
    known = list(known)
    value = option(recipe, name).strip()
    if value not in known:
        wrong(recipe, name, f"{', '.join(known[:-1])} or {known[-1]}")
    return value


def pattern(recipe: Recipe, name: str) -> re.Pattern[str] | None:
    """Return an option that is a regular expression, None if it is empty."""
    text = option(recipe, name)
    try:
        return re.compile(text) if text else None
    except re.error as error:
        wrong(recipe, name, f"a regular expression ({error})")


def among(*known: str) -> Callable[[Recipe, str], str]:
    """Return the check of an option that is one of these words."""
    return lambda recipe, name: one_of(recipe, name, known)


def out_of(known: Iterable[str]) -> Callable[[Recipe, str], list[str]]:
    """Return the check of an option that is words out of these."""
    return lambda recipe, name: known_words(recipe, name, known)


def yes(recipe: Recipe, name: str) -> bool:
    """Return an option that is yes or no."""
    value = option(recipe, name).strip().lower()
    if value not in YES + NO:
        wrong(recipe, name, "yes or no")
    return value in YES


def wrong(recipe: Recipe, name: str, expected: str) -> NoReturn:
    """End the hook as failed: an option is not what was expected. The value is not told: it may be a secret URL."""
    raise WrongOptionError(
        f"{recipe.name}: the option {name} is not what it should be, expected {expected}: "
        f"correct {PREFIX}{name.upper()} in the hook's `env`",
        expected,
    )
