"""What a shell offers on Tab: events, hooks of this project, agents, recipes, files. Declarations are read, never more.

A name that a shell would take for more than a word is not offered: a stranger may have chosen it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from hookrun.agents import AGENTS
from hookrun.cli.declared import read
from hookrun.config.discovery import home_directory
from hookrun.events import ALIASES, EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.config.load import Declarations

    Names = Callable[[], Iterable[tuple[str, str]]]
    """Gives what can be offered, each with a word about it."""

HARMLESS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@%+/-")


class OneOf(click.types.StringParamType):
    """A parameter whose values can be offered; it takes any text."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002  # click's signature
        """Return what begins with what is there already."""
        return offered(self.names, incomplete)


def offered(names: Names, incomplete: str) -> list[CompletionItem]:
    """Return those of the names that begin like this and are only words to a shell; none where there is any trouble."""
    try:
        found = list(names())
    except Exception:  # Tab is no place for a complaint: the command itself has one
        return []
    return [
        CompletionItem(name, help=help_)
        for name, help_ in found
        if name.startswith(incomplete) and name and HARMLESS.issuperset(name) and not name.startswith("-")
    ]


def _declared() -> Declarations:
    return read(None, home_directory()).declarations


def events() -> Iterable[tuple[str, str]]:
    """Give every name of an event, hookrun's own and this project's first."""
    yield from ((event, "") for event in ALIASES)
    yield from ((name, f"also called {event}") for name, event in EVENTS.items() if name != event)
    yield from ((own, "declared here") for own in _declared().events)


def hooks() -> Iterable[tuple[str, str]]:
    """Give the names of the hooks that are declared here."""
    for hook in _declared().hooks:
        yield hook.name, ", ".join(hook.events)


def agents() -> Iterable[tuple[str, str]]:
    """Give the agents that hookrun knows."""
    return ((name, "") for name in AGENTS)


def recipes() -> Iterable[tuple[str, str]]:
    """Give the recipes that this hookrun has."""
    from hookrun import recipes as room

    return ((str(name).replace("_", "-"), "") for name in getattr(room, "RECIPES", ()))


def declared_recipes() -> Iterable[tuple[str, str]]:
    """Give the recipes that are declared here, each with the layers in which it is."""
    from hookrun.cli.recipe_files import declared_where

    return ((name, ", ".join(layers)) for name, layers in declared_where(None).items())


def commands() -> Iterable[tuple[str, str]]:
    """Give the commands, each with what it does."""
    from hookrun.cli import COMMANDS

    return ((name, about) for name, (_, about) in COMMANDS.items())


EVENT, HOOK, AGENT, RECIPE = OneOf(events), OneOf(hooks), OneOf(agents), OneOf(recipes)
DECLARED_RECIPE = OneOf(declared_recipes)
FILE, DIRECTORY = click.Path(dir_okay=False), click.Path(file_okay=False)
BY_NAME: dict[str, click.ParamType[Any]] = {
    "agent": AGENT,
    "config": FILE,
    "db": FILE,
    "event": EVENT,
    "events": EVENT,
    "home": DIRECTORY,
    "hook": HOOK,
    "recipe": RECIPE,
    "source": FILE,
}
"""A parameter of any command -> what can be offered for it."""

BY_COMMAND: dict[tuple[str, str], click.ParamType[Any]] = {
    **dict.fromkeys((("deny", "name"), ("disable", "name"), ("enable", "name")), HOOK),
    **dict.fromkeys((("explain", "name"), ("log", "name")), HOOK),
    **dict.fromkeys((("doctor", "names"), ("install", "names"), ("uninstall", "names")), AGENT),
    **dict.fromkeys((("add", "names"), ("recipes show", "name"), ("recipes add", "names")), RECIPE),
    **dict.fromkeys((("recipes update", "name"), ("recipes remove", "name")), DECLARED_RECIPE),
    ("trust", "what"): DIRECTORY,
}
"""The same for a parameter whose name says less."""


def attach(name: str, command: click.Command) -> None:
    """Let the parameters of a command, and of those within it, know what can be offered for them."""
    for within, each in command.commands.items() if isinstance(command, click.Group) else ():
        attach(f"{name} {within}", each)
    for param in command.params:
        kind = BY_COMMAND.get((name, param.name or ""), BY_NAME.get(param.name or ""))
        if kind is not None and not isinstance(param.type, click.Choice) and not getattr(param, "is_flag", False):
            param.type = kind


FIRE_OPTIONS: dict[str, click.ParamType[Any] | None] = {
    "--agent": AGENT,
    "--config": FILE,
    "--ctx": FILE,
    "--deadline": None,
    "--explain": None,
    "--help": None,
    "--home": DIRECTORY,
    "--probe": DIRECTORY,
    "--scope": None,
    "--trust": None,
}
"""The options of `fire`, which reads its command line itself, and what can be offered after each."""


def for_fire(ctx: click.Context, before: tuple[str, ...], incomplete: str) -> list[CompletionItem]:
    """Return what can be offered for `fire`, after these words."""
    after = FIRE_OPTIONS.get(before[-1]) if before else None
    if after is not None:
        return after.shell_complete(ctx, ctx.command.params[0], incomplete)
    if incomplete.startswith("-"):
        return [CompletionItem(option) for option in FIRE_OPTIONS if option.startswith(incomplete)]
    return offered(events, incomplete)
