"""What a recipe is: hooks ready to be declared, the options that they take, and what they catch and miss, in words."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Check = Callable[["Recipe", str], object]

PREFIX = "HOOKRUN_OPTION_"
"""What the variable of an option begins with; the rest is its name in capitals."""


class Option:
    """Something that can be set about a recipe: its default, and what it means, for people.

    `check` reads it from a recipe by its name, as the recipe does, and raises WrongOptionError; None: any text will do.
    """

    __slots__ = ("check", "default", "description", "name")

    def __init__(self, name: str, default: str, description: str, check: Check | None = None) -> None:
        self.check = check
        self.name = name
        self.default = default
        self.description = description

    @property
    def variable(self) -> str:
        """The environment variable that a declaration's `env` sets it by."""
        return PREFIX + self.name.upper()


class WrongOptionError(SystemExit):
    """An option is not what was `expected`: it ends the hook as failed."""

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.expected = expected


class Recipe:
    """A ready-made hook, or several that belong together; the first has the recipe's name.

    `hooks` are declarations as they stand in coder.json. `catches` and `misses` are plain sentences. `environment` is
    where its options are set.
    """

    __slots__ = ("catches", "environment", "hooks", "misses", "name", "options", "summary")

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        hooks: tuple[Mapping[str, object], ...],
        options: tuple[Option, ...] = (),
        catches: tuple[str, ...] = (),
        misses: tuple[str, ...] = (),
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.name = name
        self.summary = summary
        self.hooks = hooks
        self.options = options
        self.catches = catches
        self.misses = misses
        self.environment = environment

    def wrong_value(self, name: str, value: str) -> str | None:
        """Return what is expected of an option that a value is not; None if it may have it, or there is no such one."""
        found = next((each for each in self.options if each.name == name), None)
        if found is None or found.check is None:
            return None
        given = Recipe(self.name, self.summary, hooks=(), options=self.options, environment={found.variable: value})
        try:
            found.check(given, name)
        except WrongOptionError as error:
            return error.expected
        return None


def option(recipe: Recipe, name: str) -> str:
    """Return the value of an option: that of the environment, else the default. Raises KeyError for one it has not."""
    for each in recipe.options:
        if each.name == name:
            return recipe.environment.get(each.variable, each.default)
    raise KeyError(f"{recipe.name} has no option {name!r}")
