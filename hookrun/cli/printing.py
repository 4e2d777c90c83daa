"""Print what the commands show: lines, tables, JSON, and the report of a command that writes."""

from __future__ import annotations

import os
import shlex
import sys
from itertools import zip_longest
from typing import TYPE_CHECKING

import click

from hookrun.terminal import render_for
from hookrun.text import escape, message_lines, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrun.edit.file_change import FileChange

    Line = tuple[str, str]
    """A line of text and its style on a terminal, empty for none."""

OK, ERROR, WARNING, DIM, BOLD = "green", "red", "yellow", "dim", "bold"


def is_interactive() -> bool:
    """Return whether a question would be seen and could be answered."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def count(number: int, noun: str) -> str:
    """Return a number of things, the noun in the plural unless it is one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_line(text: str) -> None:
    """Print one line, control characters escaped."""
    click.echo(escape(text))


def print_message(message: str, label: str = "error") -> None:
    """Print `error: MESSAGE` and its hints on stderr; `label` may be `warning` or `note`."""
    click.echo(render_for(2, message_lines(message, label)), err=True, color=True)


def warn(message: str) -> None:
    """Print `warning: MESSAGE` and its hints on stderr."""
    print_message(message, "warning")


def print_json(data: object) -> None:
    """Print an object as indented JSON."""
    import json  # `hookrun --help` is quick without

    click.echo(json.dumps(data, indent=2))


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines, in colour on a terminal. rich leaves colours out where NO_COLOR is set or the terminal has none."""
    if not sys.stdout.isatty():
        for text, _ in lines:
            print_line(text)
        return
    from rich.console import Console  # only for a terminal
    from rich.text import Text  # only for a terminal

    console = Console(highlight=False)
    for text, style in lines:
        console.print(Text(escape(text), style=style), soft_wrap=True)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines with aligned columns, control characters escaped."""
    cells = [[escape(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str | None = None,
    errors: Sequence[str | None] = (),
) -> None:
    """Print a table, on a terminal in colour with long cells folded; `errors` has an entry for each row, if any."""
    if not sys.stdout.isatty():
        heading, *lines = aligned([columns, *rows])
        click.echo(heading if title is None else f"{title}\n{heading}")
        for line, error in zip_longest(lines, errors):
            click.echo(line if error is None else f"{line}\n  error: {escape(error)}")
        return
    from rich.console import Console  # only for a terminal
    from rich.table import Table  # only for a terminal
    from rich.text import Text  # only for a terminal

    table = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style=BOLD)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row, error in zip_longest(rows, errors):
        table.add_row(*(Text(escape(cell)) for cell in row), style=ERROR if error is not None else None)
    Console().print(table)
    print_lines((f"{row[0]}: {error}", ERROR) for row, error in zip(rows, errors, strict=False) if error is not None)


def relative_path(path: str) -> str:
    """Return a path relative to the working directory if it lies below it, else as it is."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else path


# --- reports of commands that write

KEYS = ("written", "removed", "hooks", "approved", "not_approved", "conflicts", "next", "notes", "diff")
"""The keys of a report's JSON object besides `ok` and `dry_run`; each holds a list."""


class CommandReport:
    """Report what a command writes: line by line, or with `as_json` as one object at the end.

    `home` is what `--home` names. `ok` decides the exit status.
    """

    def __init__(self, home: str | None, *, as_json: bool, dry_run: bool) -> None:
        self.home = home
        self.as_json = as_json
        self.dry_run = dry_run
        self.ok = True
        self._lists: dict[str, list[object]] = {key: [] for key in KEYS}

    def note(self, text: str) -> None:
        """Report something on stdout."""
        self._lists["notes"].append(text)
        if not self.as_json:
            print_line(text)

    def warn(self, message: str) -> None:
        """Report a possible mistake on stderr."""
        self._lists["notes"].append(one_line(message))
        if not self.as_json:
            warn(message)

    def fail(self, message: str) -> None:
        """Report an error on stderr; the command goes on and exits with 1."""
        self.ok = False
        self._lists["notes"].append(one_line(message))
        if not self.as_json:
            print_message(message)

    def add_files(self, changes: Iterable[FileChange]) -> None:
        """Add the files that are written and removed to the JSON object."""
        for each in changes:
            if each.has_effect:
                self._lists["removed" if each.after is None else "written"].append(each.path)

    def show_diff(self, changes: Iterable[FileChange], otherwise: str = "nothing to change") -> None:
        """Show as a diff what would be written."""
        would = [each for each in changes if each.has_effect]
        self.add_files(would)
        if self.as_json:
            self._lists["diff"] += [line for each in would for line in each.diff().splitlines()]
        else:
            click.echo("\n".join(each.diff() for each in would) if would else otherwise)

    def add_hook(self, name: str, state: str, difference: str = "", *, conflict: bool = False) -> None:
        """Report the new state of a hook, and how it differs from what it would be."""
        self._lists["hooks"].append({"name": name, "state": state, "difference": difference})
        self._lists["conflicts"] += [name] if conflict else []
        if not self.as_json:
            print_line(f"{name}: {state}")
            for line in difference.splitlines():
                print_line(f"  {line}")

    def add_approvals(self, approved: Iterable[str], not_approved: Iterable[str] = ()) -> None:
        """Add which hooks agents run as they are now, and which await the user's approval, to the JSON object."""
        self._lists["approved"] += approved
        self._lists["not_approved"] += not_approved

    def with_home(self, command: str) -> str:
        """Return a command that the user is to run next, for the home that this one was run for."""
        return command if self.home is None else f"{command} --home {shlex.quote(self.home)}"

    def next_steps(self, steps: Iterable[tuple[str, str]]) -> None:
        """Report what to do next: commands and the purpose of each."""
        rows = list(steps)
        self._lists["next"] += [command for command, _ in rows]
        if self.as_json:
            return
        width = max((len(command) for command, _ in rows), default=0)
        for index, (command, purpose) in enumerate(rows):
            print_line(f"{'next:' if index == 0 else '':<5} {command.ljust(width)}  {purpose}")

    def end(self) -> None:
        """Print the JSON object if that is asked for, and exit."""
        if self.as_json:
            print_json({"ok": self.ok, "dry_run": self.dry_run, **self._lists})
        click.get_current_context().exit(0 if self.ok else 1)
