"""What a recipe is: hooks ready to be declared, the options that they take, and what they catch and miss, in words."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "HOOKRUN_OPTION_"
"""What the variable of an option begins with; the rest is its name in capitals."""


class Option:
    """Something that can be set about a recipe: its default, and what it means, for people."""

    __slots__ = ("default", "description", "name")

    def __init__(self, name: str, default: str, description: str) -> None:
        self.name = name
        self.default = default
        self.description = description

    @property
    def variable(self) -> str:
        """The environment variable that a declaration's `env` sets it by."""
        return PREFIX + self.name.upper()


class Recipe:
    """A ready-made hook, or several that belong together; the first has the recipe's name.

    `hooks` are declarations as they stand in coder.json. `catches` and `misses` are plain sentences.
    """

    __slots__ = ("catches", "hooks", "misses", "name", "options", "summary")

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        hooks: tuple[Mapping[str, object], ...],
        options: tuple[Option, ...] = (),
        catches: tuple[str, ...] = (),
        misses: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.summary = summary
        self.hooks = hooks
        self.options = options
        self.catches = catches
        self.misses = misses


def option(recipe: Recipe, name: str) -> str:
    """Return the value of an option: that of the environment, else the default. Raises KeyError for one it has not."""
    for each in recipe.options:
        if each.name == name:
            return os.environ.get(each.variable, each.default)
    raise KeyError(f"{recipe.name} has no option {name!r}")
