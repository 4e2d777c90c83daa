"""Groups of commands that are imported when they are used, not when they are listed."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

import click

from hookrun.cli.commands import COMMANDS, OLD_NAMES, POSITIONAL
from hookrun.cli.common import FAILED
from hookrun.terminal import CHOICES, ColorChoice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from click.shell_completion import CompletionItem


def _set_color(ctx: click.Context, param: click.Parameter, value: str | None) -> None:  # noqa: ARG001  # click's
    if value is not None:
        ColorChoice.value = value
        ctx.find_root().color = {"always": True, "never": False}.get(value)


def color_option(*, hidden: bool) -> click.Option:
    """Return `--color`, which every command takes and only `hookrun --help` lists."""
    return click.Option(
        ["--color"],
        type=click.Choice(CHOICES),
        expose_value=False,
        is_eager=True,
        hidden=hidden,
        callback=_set_color,
        help="When to use color; default auto: on a terminal, unless NO_COLOR is set.",
    )


def load_command(name: str, table: Mapping[str, tuple[str, str]] = COMMANDS) -> click.Command:
    """Import a command and return it. Raises KeyError for an unknown name."""
    command: click.Command = getattr(importlib.import_module(f"hookrun.cli.{table[name][0]}"), f"{name}_command")
    return command


def require_command(ctx: click.Context) -> None:
    """Print the help of a group on stderr and exit with 1 where no command was given."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(FAILED)


class Commands(click.Group):
    """A group with the commands of a table; `sections` are the parts of it that the help lists, by their titles."""

    def __init__(
        self,
        *arguments: object,
        table: Mapping[str, tuple[str, str]] = COMMANDS,
        sections: Mapping[str, Mapping[str, tuple[str, str]]] | None = None,
        **options: object,
    ) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]  # those of click.Group
        self.table = table
        self.sections = sections or {"Commands": table}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Return the names of all commands."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command and return it, also by a former name; None for an unknown one."""
        if cmd_name not in self.table:
            old = OLD_NAMES.get(cmd_name) if self.table is COMMANDS else None
            command: click.Command | None = self if old else None
            for word in (old or "").split():
                command = command.get_command(ctx, word) if isinstance(command, click.Group) else None
            return command
        command = load_command(cmd_name, self.table)
        if cmd_name != "fire":  # it parses its own options
            add_color(command)
        if "_HOOKRUN_COMPLETE" in os.environ:
            from hookrun.cli.completion import attach  # only where a shell asks

            attach(command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin like this, without importing any of them."""
        from hookrun.cli.completion import completions  # only where a shell asks

        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*completions(lambda: ((name, entry[1]) for name, entry in self.table.items()), incomplete), *options]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is meant; the error for an unknown one suggests what was meant."""
        name = args[0]
        known = name in self.table or (self.table is COMMANDS and name in OLD_NAMES)
        if not known and not ctx.resilient_parsing and not name.startswith("-"):
            from hookrun.cli.usage import unknown_command  # only for an error

            ctx.fail(unknown_command(ctx, name, self.table))
        option = POSITIONAL.get(name) if self.table is COMMANDS else None
        if option is not None:
            args = [word.removeprefix(f"{option}=") for word in args if word != option]
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, then the options."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's
        """List the commands in their groups without importing any of them."""
        width = max(len(name) for section in self.sections.values() for name in section)
        for title, section in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), entry[1]) for name, entry in section.items()])


def add_color(command: click.Command) -> None:
    """Let a command and its subcommands take `--color`, once."""
    if not any("--color" in param.opts for param in command.params):
        command.params.append(color_option(hidden=True))
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        add_color(each)
