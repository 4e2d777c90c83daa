"""`hookrun completion`, and what a shell is offered on Tab: events, hooks, agents, recipes and files.

Only config files are read for it. A name that is more than one plain word to a shell is not offered: in an untrusted
project it may be an attack.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from hookrun.agents import AGENTS
from hookrun.cli.commands import COMMANDS, command, topics
from hookrun.events import ALIASES, EVENTS
from hookrun.state import home_directory
from hookrun.text import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.config.discovery import CompiledConfig

    Names = Callable[[], Iterable[tuple[str, str]]]
    """Returns the names to offer, each with a short help."""

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_HOOKRUN_COMPLETE"
"""The environment variable by which a shell asks for completions; the name is click's."""

HARMLESS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@%+/-")


@command(
    "completion",
    "config completion bash >> ~/.bash_completion",
    'config completion zsh > "${fpath[1]}/_hookrun"',
    "config completion fish > ~/.config/fish/completions/hookrun.fish",
)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@click.pass_context
def completion_command(ctx: click.Context, shell: str | None) -> None:
    """Print the completion script for SHELL, by default the one that SHELL in the environment names.

    It completes commands, options, events, agents, recipes and the names of hooks. It runs nothing of a project.
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    kind = get_completion_class(name) if name in SHELLS else None
    if kind is None:
        fault = f"unsupported shell {quote(name)}" if name else "no SHELL in the environment"
        raise click.ClickException(f"{fault}\nhint: name one of {', '.join(SHELLS)}")
    complete = kind(ctx.find_root().command, {}, "hookrun", VARIABLE)
    click.echo(complete.source_template % complete.source_vars())


class OneOf(click.types.StringParamType):
    """A parameter that offers names, and accepts any text."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002  # click's signature
        """Return the names that begin with what is typed already."""
        return completions(self.names, incomplete)


def completions(names: Names, incomplete: str) -> list[CompletionItem]:
    """Return the names that begin like this and are harmless to a shell; none where they cannot be found out."""
    try:
        found = list(names())
    except Exception:  # the command itself reports it; an error would only disturb the typing
        return []
    return [
        CompletionItem(name, help=help_)
        for name, help_ in found
        if name.startswith(incomplete) and name and HARMLESS.issuperset(name) and not name.startswith("-")
    ]


def _events() -> Iterable[tuple[str, str]]:
    yield from ((event, "") for event in ALIASES)
    yield from ((name, f"also called {event}") for name, event in EVENTS.items() if name != event)
    compiled = _compiled()
    yield from ((own, "declared here") for own in (compiled.events if compiled is not None else ()))


def _hooks() -> Iterable[tuple[str, str]]:
    compiled = _compiled()
    return [(each.name, ", ".join(each.events)) for each in compiled.hooks()] if compiled is not None else []


def _compiled() -> CompiledConfig | None:
    """Return the config in force here, from the cache that runs use as well: to read the files takes longer."""
    from hookrun.config.cache_writer import load_compiled  # to complete a command is quicker without
    from hookrun.config.discovery import find

    home = home_directory()
    return load_compiled(find(os.getcwd(), home, own_environment=True))


def _recipes() -> Iterable[tuple[str, str]]:
    from hookrun.recipes import RECIPES  # only where a recipe is completed

    return ((name.replace("_", "-"), "") for name in RECIPES)


def _declared_recipes() -> Iterable[tuple[str, str]]:
    from hookrun.cli.recipes import layers_of_declared  # only where a recipe is completed

    return ((name, ", ".join(layers)) for name, layers in layers_of_declared(None).items())


def _help() -> Iterable[tuple[str, str]]:
    yield from ((name, purpose) for name, (_, purpose) in COMMANDS.items())
    yield from ((name, "") for name in topics() if name not in COMMANDS)


EVENT, RECIPE, DECLARED_RECIPE = OneOf(_events), OneOf(_recipes), OneOf(_declared_recipes)
AGENT = OneOf(lambda: ((name, "") for name in AGENTS))
HOOK = OneOf(_hooks)
FILE, DIRECTORY = click.Path(dir_okay=False), click.Path(file_okay=False)
BY_NAME: dict[str, click.ParamType[Any]] = {
    **dict.fromkeys(("agent", "agents"), AGENT),
    **dict.fromkeys(("config", "db", "source"), FILE),
    **dict.fromkeys(("home", "project"), DIRECTORY),
    **dict.fromkeys(("hook", "hooks"), HOOK),
    **dict.fromkeys(("recipe", "recipes"), RECIPE),
    "declared_recipe": DECLARED_RECIPE,
    "event": EVENT,
    "topic": OneOf(_help),
    "what": DIRECTORY,
}
"""A parameter of any command -> what is offered for it."""

FIRE_VALUES: dict[str, click.ParamType[Any]] = {
    "--agent": AGENT,
    **dict.fromkeys(("--config", "--ctx"), FILE),
    **dict.fromkeys(("--home", "--probe"), DIRECTORY),
}
"""An option of `fire`, which parses its command line itself -> what is offered after it."""


def attach(command: click.Command) -> None:
    """Set what the parameters of a command, and of its subcommands, offer."""
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        attach(each)
    for param in command.params:
        kind = BY_NAME.get(param.name or "")
        if kind is not None and not isinstance(param.type, click.Choice) and not getattr(param, "is_flag", False):
            param.type = kind


def complete_fire(ctx: click.Context, before: tuple[str, ...], incomplete: str) -> list[CompletionItem]:
    """Return what is offered for `fire` after these words."""
    if incomplete.startswith("-"):
        from hookrun.fire.command import TAKE_VALUE  # as above

        options = sorted({*TAKE_VALUE, "--explain", "--help"})
        return [CompletionItem(option) for option in options if option.startswith(incomplete)]
    after = FIRE_VALUES.get(before[-1]) if before else None
    return after.shell_complete(ctx, ctx.command.params[0], incomplete) if after else completions(_events, incomplete)
