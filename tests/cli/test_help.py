"""The help of every command: examples that work, and colour only where it is wanted."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click

from hookrun.cli import cli
from hookrun.cli.commands import COMMANDS
from hookrun.fire.command import help_text, parse_arguments
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Project

ASIDE = re.compile(r"\s{2,}\(.*\)$")
"""Annotations beside an example, for readers only."""


def examples(text: str) -> list[list[str]]:
    """Return the command lines of hookrun in the examples of a help, each as its words after `hookrun`."""
    shown = text.partition("Examples:\n")[2].partition("\n\n")[0]
    lines = [ASIDE.sub("", line.strip()) for line in shown.splitlines()]
    parts = [part for line in lines for part in line.split(" | ") if part.startswith("hookrun ")]
    return [shlex.split(re.split(r" [<>]", part)[0])[1:] for part in parts]


def commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command of a group, and of those within it, with the words that name it."""
    with click.Context(group, **cli.context_settings) as ctx:
        for name in group.list_commands(ctx):
            command = group.get_command(ctx, name)
            assert command is not None
            yield (*path, name), command
            if isinstance(command, click.Group):
                yield from commands(command, (*path, name))


def help_of(name: str) -> str:
    """Return the help of a command."""
    return (
        help_text()
        if name == "fire"
        else EVERY[name].get_help(click.Context(EVERY[name], info_name=f"hookrun {name}", **cli.context_settings))
    )


EVERY = {" ".join(path): command for path, command in commands(cli, ())}


@rows("name", sorted(EVERY))
def test_every_command_has_examples_that_can_be_read(name: str) -> None:
    """Each is a command line that its command takes; one is of this command, in its own help."""
    lines = examples(help_of(name))
    assert any(" ".join(words).startswith(name) for words in lines), lines
    for words in lines:
        if words[0] == "fire":
            assert parse_arguments(words[1:])
            continue
        found, command, rest = cli.resolve_command(click.Context(cli, **cli.context_settings), words)
        assert command is not None
        with command.make_context(found, rest, parent=click.Context(cli, **cli.context_settings)) as ctx:
            assert ctx.command is command


def test_the_first_help_has_examples_too(project: Project) -> None:
    """Of several commands, each of which exists."""
    lines = examples(hookrun(project, "--help").stdout)
    assert len(lines) > 1
    assert hookrun(project, "explain", "--help").stdout.count("Examples:") == 1
    assert {words[0] for words in lines} <= set(COMMANDS)


COLOUR = re.compile("\x1b\\[[0-9;]*(?:3[0-9]|9[0-9])[0-9;]*m")


@rows("command", [("list",), ("explain", "pre_tool_use")])
def test_colour_only_on_a_terminal_and_only_where_it_is_wanted(project: Project, command: tuple[str, ...]) -> None:
    """On a terminal there is; with NO_COLOR there is none; into a file there is no escape at all."""
    project.hooks({"name": "wrong", "command": "true", "timeout": 0})
    colours = {"TERM": "xterm-256color"}
    assert COLOUR.search(at_terminal(project, *command, env=colours).screen)
    assert not COLOUR.search(at_terminal(project, *command, env={**colours, "NO_COLOR": "1"}).screen)
    assert "\x1b" not in at_terminal(project, *command).screen
    assert "\x1b" not in hookrun(project, *command).stdout


def test_what_is_piped_does_not_depend_on_a_width(project: Project) -> None:
    """Nothing is cut or folded where a program reads."""
    project.hooks({"name": "n" * 150, "command": "true", "when": {"tool_args.command": "x" * 200}})
    for command in ("list",), ("explain", "pre_tool_use"):
        narrow = hookrun(project, *command, COLUMNS="20").stdout
        assert narrow == hookrun(project, *command, COLUMNS="300").stdout
        assert "n" * 150 in narrow


def test_the_help_of_fire_fits_a_narrow_screen() -> None:
    """It is not wrapped when it is shown."""
    assert [line for line in help_text().splitlines() if len(line) > 79] == []
