"""What a recipe is: declarations as they stand in a file, options, and what it catches and misses, said plainly."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

OPTION = "HOOKRUN_OPTION_"
"""How the variables are called in which a hook finds its options: this, and the option's name in capitals."""


class Option:
    """Something that can be chosen: its `name`, its `default`, and what it means."""

    __slots__ = ("default", "description", "name")

    def __init__(self, name: str, default: str, description: str) -> None:
        self.name = name
        self.default = default
        self.description = description


class Recipe:
    """A ready-made hook, or several that belong together; the first one is called as the recipe is.

    `hooks` are declarations as they stand in coder.json. `catches` and `misses` are plain sentences.
    """

    __slots__ = ("catches", "hooks", "misses", "name", "options", "summary")

    def __init__(
        self,
        *,
        name: str,
        summary: str,
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


def variable(name: str) -> str:
    """Return the environment variable in which the option `name` is given."""
    return OPTION + name.upper().replace("-", "_")


def option(recipe: Recipe, name: str) -> str:
    """Return the value of an option: that in the environment, else the default. Raises KeyError for an unknown one."""
    for each in recipe.options:
        if each.name == name:
            return os.environ.get(variable(name), each.default)
    raise KeyError(name)
