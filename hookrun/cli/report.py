"""What a command that writes has done: told as it goes to a person, at the end as one JSON object to a program."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from hookrun.config.diagnostics import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.edit.file_change import FileChange

json_option = click.option("--json", "as_json", is_flag=True, help="What was done as JSON, for programs; asks nothing.")

KEYS = ("written", "removed", "hooks", "approved", "not_approved", "conflicts", "next", "notes", "diff")
"""The keys of the JSON object beside `ok` and `dry_run`; each holds a list."""


class Report:
    """Takes what a command does. For a program (`as_json`) all of it is kept until `end`, for a person nothing is."""

    def __init__(self, *, as_json: bool, dry_run: bool) -> None:
        self.as_json = as_json
        self._dry_run = dry_run
        self._kept: dict[str, list[object]] = {key: [] for key in KEYS}

    def say(self, text: str) -> None:
        """Tell something."""
        if self.as_json:
            self._kept["notes"].append(text)
        else:
            click.echo(printable(text))

    def warn(self, text: str) -> None:
        """Tell something that may be wrong: on stderr."""
        if self.as_json:
            self._kept["notes"].append(text)
        else:
            click.echo(f"hookrun: {printable(text)}", err=True)

    def files(self, changes: Iterable[FileChange]) -> None:
        """Take the files that were written and removed; a person is told by who knows more of them."""
        for each in changes:
            if each.has_effect:
                self._kept["removed" if each.after is None else "written"].append(each.path)

    def show(self, changes: Iterable[FileChange], otherwise: str = "nothing to change") -> None:
        """Tell what would be written as a diff."""
        would = [each for each in changes if each.has_effect]
        self.files(would)
        if self.as_json:
            self._kept["diff"] += [line for each in would for line in each.diff().splitlines()]
        else:
            click.echo("\n".join(each.diff() for each in would) if would else otherwise)

    def hook(self, name: str, state: str, difference: str = "", *, conflict: bool = False) -> None:
        """Tell what became of a hook, and how it differs from what it would be."""
        self._kept["hooks"].append({"name": name, "state": state, "difference": difference})
        self._kept["conflicts"] += [name] if conflict else []
        if not self.as_json:
            click.echo(printable(f"{name}: {state}"))
            for line in difference.splitlines():
                click.echo(printable(f"  {line}"))

    def decided(self, approved: Iterable[str], not_approved: Iterable[str] = ()) -> None:
        """Take which hooks agents run as they are now, and which only once a person has approved them."""
        self._kept["approved"] += approved
        self._kept["not_approved"] += not_approved

    def next_steps(self, steps: Iterable[tuple[str, str]]) -> None:
        """Tell what there is to do next: commands, and what each is for."""
        rows = list(steps)
        self._kept["next"] += [command for command, _ in rows]
        if self.as_json:
            return
        width = max((len(command) for command, _ in rows), default=0)
        for index, (command, purpose) in enumerate(rows):
            click.echo(printable(f"{'next:' if index == 0 else '':<5} {command.ljust(width)}  {purpose}"))

    def end(self, *, ok: bool = True) -> bool:
        """Print the object for a program; return whether all is well."""
        if self.as_json:
            click.echo(json.dumps({"ok": ok, "dry_run": self._dry_run, **self._kept}, indent=2))
        return ok


def near(path: str) -> str:
    """Return a path as it is called from here, unless that is longer."""
    nearer = os.path.relpath(path)
    return nearer if not nearer.startswith("..") else path
