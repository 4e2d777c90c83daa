"""`hookrun help`, for commands and topics, and `hookrun version`."""

from __future__ import annotations

import os
import platform
import sys

import click

from hookrun import __version__
from hookrun.cli.commands import COMMANDS, GROUPS, MORE, TOPICS, topics
from hookrun.cli.common import command, json_option
from hookrun.cli.dispatch import Commands
from hookrun.cli.printing import print_json
from hookrun.text import closest, escape


@command("help", "help all", "help trust", "help recipes show", "help matchers")
@click.argument("topic", metavar="[COMMAND|TOPIC]...", nargs=-1)
@click.pass_context
def help_command(ctx: click.Context, topic: tuple[str, ...]) -> None:
    """Show help for a command or a topic. `hookrun help all` lists every command."""
    root, words = ctx.find_root(), topic
    if words in ((), ("all",)):
        if words and isinstance(root.command, Commands):
            root.command.sections = {**GROUPS, "More commands": MORE}
        click.echo(root.command.get_help(root))
        return
    is_topic = len(words) == 1 and words[0] in topics()
    found = _command_help(root, words)
    if found is None and not is_topic:
        name = " ".join(words)
        near = closest(name, [*topics(), *COMMANDS])
        hint = f"did you mean `hookrun help {near}`?" if near else "`hookrun help all` lists commands and topics"
        raise click.ClickException(f'no help for "{escape(name)}"\nhint: {hint}')
    if is_topic:
        with open(os.path.join(TOPICS, f"{words[0]}.txt"), encoding="utf-8") as file:
            click.echo(file.read().rstrip("\n"))
    if found is not None:
        click.echo(f"\n{found}" if is_topic else found)


def _command_help(root: click.Context, words: tuple[str, ...]) -> str | None:
    ctx = root
    for word in words:
        found = ctx.command.get_command(ctx, word) if isinstance(ctx.command, click.Group) else None
        if found is None:
            return None
        ctx = click.Context(found, parent=ctx, info_name=word)
    if words == ("fire",):
        from hookrun.fire.command import help_text  # it parses its own options

        return help_text().rstrip("\n")
    return ctx.command.get_help(ctx)


@command("version", "version", "version --json")
@json_option
def version_command(*, as_json: bool) -> None:
    """Print the version of hookrun, of its Python, and where they are."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if as_json:
        python = {"version": platform.python_version(), "executable": sys.executable}
        print_json({"version": __version__, "python": python, "platform": sys.platform, "package": package})
    else:
        click.echo(f"hookrun {__version__} (Python {platform.python_version()}, {sys.platform}, {package})")
