"""Approves what a command has just written, as exactly that, where a person is at the terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from hookrun.cli.deciding import approve
from hookrun.cli.project import Project, ProjectHook, not_by_an_agent
from hookrun.cli.showing import texts_of
from hookrun.cli.trust import TO_ASK, go_through
from hookrun.config.config_file import load_file
from hookrun.config.diagnostics import printable
from hookrun.trust.digest import SYSTEM
from hookrun.trust.hook_files import within

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hookrun.cli.report import Report
    from hookrun.edit.file_change import FileChange


def at_terminal() -> bool:
    """Tell whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def approve_written(
    root: str,
    home: str,
    names: Collection[str],
    changes: Iterable[FileChange],
    report: Report,
    *,
    changed: Collection[str] = (),
) -> bool:
    """Approve the hooks of the project at `root` that were just declared; tell whether all of them are approved.

    A person at the terminal has asked for them, so that nothing is asked again. What somebody else has a part in is
    shown, and asked about: a file that was not written by us, the file's own defaults, a hook that was declared before
    and that we have only `changed`. Without a terminal, or where an agent runs us, nothing is approved.
    """
    written = {os.path.realpath(each.path): each.after for each in changes}
    project = Project(root, None, home)
    hooks = [found for found in project.hooks() if found.hook.name in {*names, *changed}]
    undecided = [found for found in hooks if found.state in TO_ASK]
    if report.as_json:
        approved = [found.hook.name for found in hooks if found.state == "approved"]
        report.decided(approved, [found.hook.name for found in hooks if found.state != "approved"])
    if not undecided:
        return all(found.state == "approved" for found in hooks)
    if report.as_json or not at_terminal():
        return False
    try:
        not_by_an_agent("approve hooks")
    except click.ClickException as error:
        click.echo(f"hookrun: nothing is approved: {error.message}", err=True)
        return False
    of_others = []
    for found in undecided:
        texts = texts_of(found)
        if found.hook.name in names and _is_as_written(found, project, written):
            approve(project, found, texts)
            click.echo(printable(f"approved {found.hook.name}: agents may run it as it is now"))
        else:
            of_others.append(found)
    if of_others:
        hooks = go_through(project, of_others)
        return all(found.state == "approved" for found in hooks if found.hook.name in {*names, *changed})
    return True


def _is_as_written(found: ProjectHook, project: Project, written: dict[str, bytes | None]) -> bool:
    """Tell whether a hook is what was written and nothing else: its declaration, and every file that belongs to it."""
    source = os.path.realpath(found.hook.source)
    if source not in written or load_file(source, found.hook.layer).defaults:
        return False
    root = os.path.realpath(project.root)
    paths = [source, *(os.path.realpath(file.path) for file in found.examined.files)]
    counted = [path for path in paths if within(path, root) or not path.startswith(SYSTEM)]
    as_written = all(path in written and _read(path) == written[path] for path in counted)
    return as_written and project.look(found.hook).digest == found.digest


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
