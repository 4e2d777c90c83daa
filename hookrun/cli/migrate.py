"""`hookrun migrate`: convert hooks in Claude Code's settings into hookrun's own form; show the result, or write it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

import click

from hookrun.cli.commands import FAILED, command, home_option, json_option, resolve_home, working_directory
from hookrun.cli.printing import is_interactive, print_json, print_message, warn
from hookrun.config import claude_settings
from hookrun.config.claude_migrate import Migrated, migrate
from hookrun.config.config_file import ConfigFile, included_path, load_file
from hookrun.config.discovery import CLAUDE_DIRECTORY, CLAUDE_FILES, find
from hookrun.config.load import load_config
from hookrun.config.parse import ParseError
from hookrun.edit.file_change import ExistingFile, FileChange, FileError, apply_all, existing
from hookrun.edit.json_edit import Json
from hookrun.files import relative_path
from hookrun.state import CONFIG_DIR
from hookrun.text import escape, quote

REST = "claude-hooks.json"
"""The file for hooks that stay in Claude Code's form; the config file beside it includes it."""

OTHERS = ("hookrun.yaml", "hookrun.yml", "hooks.yaml", "hooks.yml")


@command(
    "migrate",
    "config migrate",
    "config migrate ~/.claude/settings.json --write",
    "config migrate .claude/settings.json --json",
    note="Exit status: 0 shown or written, 1 it cannot be.",
)
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--write", is_flag=True, help="Write the files; on a terminal asks before changing one.")
@click.option("--yes", is_flag=True, help="With --write: change existing files without asking.")
@json_option
@home_option
def migrate_command(file: str | None, home: str | None, *, write: bool, yes: bool, as_json: bool) -> int:
    """Convert the hooks in Claude Code's settings (FILE, or the project's) into hookrun's own form.

    Shows the new files as a diff, and on stderr what behaves differently. Hooks that hookrun's form cannot express stay
    in Claude Code's, in a file that is included. FILE itself does not change.
    """
    own_home = resolve_home(home)
    path = os.path.normpath(os.path.join(working_directory(), file or f"{CLAUDE_DIRECTORY}/{CLAUDE_FILES[0]}"))
    if file is None and not os.path.lexists(path):
        raise click.ClickException("no Claude Code settings here\nhint: name the file: `hookrun config migrate FILE`")
    settings = _read(path)
    target = _target(path, own_home) if settings.plugin is None else _beside_project(settings.plugin, own_home)
    now = existing(target)
    declared = _parsed(now).at(("hooks",))
    migrated = migrate(settings, declared if isinstance(declared, list) else [])
    changes = _planned(now, migrated, path, own_home) if write or not as_json else []
    if as_json:
        report = {
            "target": target,
            "hooks": migrated.hooks,
            "rest": migrated.rest,
            "env": migrated.env,
            "notes": migrated.notes,
        }
        print_json(report)
    else:
        click.echo("\n".join(change.diff() for change in changes) or "no hooks to convert")
        for note in migrated.notes:
            warn(note)
    return FAILED if write and changes and not _write(changes, yes=yes) else 0


def _read(path: str) -> ConfigFile:
    """Return a file in Claude Code's form. Raises click.ClickException for any other."""
    file = load_file(path, "project", claudes=True)
    errors = [problem for problem in file.problems if problem.severity == "error"]
    if errors and not file.handlers:
        raise click.ClickException(str(errors[0]))
    if file.handlers is None:
        where = relative_path(path)
        raise click.ClickException(
            f"{where}: no hooks in Claude Code's format\nhint: name a settings file that has some"
        )
    for mark in (claude_settings.PLUGIN_FILE, f"/{claude_settings.PLUGIN_MARK}"):
        if path.endswith(mark):  # a plugin needs no manifest
            file.plugin = path.removesuffix(mark)
    if file.data.get("disableAllHooks") is True:
        msg = f"{relative_path(path)}: `disableAllHooks` is true\nhint: remove it first; converted hooks would run"
        raise click.ClickException(msg)
    return file


def _target(path: str, home: str) -> str:
    """Return the declaration file for the hooks of a settings file, in the same layer."""
    if claude_settings.is_settings(path):
        base = claude_settings.project_of(path)
        if os.path.realpath(base) == os.path.realpath(home):
            return f"{home}{CONFIG_DIR}/hooks.json"
        return f"{base}/coder.json" if path.endswith(f"/{CLAUDE_FILES[0]}") else f"{base}/coder.local.json"
    return f"{os.path.dirname(path)}/coder.json"


def _beside_project(plugin: str, home: str) -> str:
    """Return the declaration file of the project around the working directory, for hooks of a plugin.

    Raises click.ClickException where that is the plugin itself, whose files belong to Claude Code.
    """
    root = load_config(find(working_directory(), home)).project
    real, inside = os.path.realpath(root), os.path.realpath(plugin)
    if real == inside or real.startswith(f"{inside}/"):
        msg = f"{relative_path(plugin)}: a plugin's hooks are not written into the plugin"
        raise click.ClickException(f"{msg}\nhint: run this in the project that is to have them")
    return f"{root.rstrip('/')}/coder.json"


def _parsed(now: ExistingFile) -> Json:
    try:
        return Json(now.text(), "json")
    except ParseError as error:
        raise FileError(f"{relative_path(now.path)}: {error}\nhint: fix it first") from error


def _planned(now: ExistingFile, migrated: Migrated, path: str, home: str) -> list[FileChange]:
    """Return the files to write for the settings at `path`. Raises FileError where they cannot be added to."""
    directory = os.path.dirname(now.path)
    for name in OTHERS:
        if os.path.exists(f"{directory}/{name}"):
            msg = f"{relative_path(directory)}/{name}: cannot add to YAML\nhint: add the output of `--json` by hand"
            raise FileError(msg)
    text = _parsed(now)
    if not isinstance(text.data, dict):
        raise FileError(f"{relative_path(now.path)}: not an object with hooks\nhint: correct the file first")
    changes: list[FileChange] = []
    if migrated.hooks:
        text = _with(text, ("hooks",), migrated.hooks, now)
    if migrated.rest:
        name = REST if not now.path.endswith("local.json") else REST.replace(".json", ".local.json")
        rest = existing(f"{directory}/{name}")
        rest_data: dict[str, object] = {"hooks": migrated.rest}
        if migrated.env:
            rest_data["hookrun"] = {"defaults": {"env": migrated.env}}
        rest_text = json.dumps(rest_data, indent=2, ensure_ascii=False) + "\n"
        changes.append(FileChange(rest.path, rest, rest.encoded(rest_text)))
        if "hookrun" not in (text.data if isinstance(text.data, dict) else {}):
            text = text.add((), {}, "hookrun")
        text = _with(text, ("hookrun", "include"), [name], now)
    if migrated.hooks or migrated.rest:
        text = _not_included(text, now.path, path, home, migrated)
    if text.data != _parsed(now).data:
        written = text.text if text.text.endswith("\n") else text.text + "\n"
        changes.insert(0, FileChange(now.path, now, now.encoded(written)))
    return [change for change in changes if change.has_effect]


def _not_included(text: Json, declarations: str, path: str, home: str, migrated: Migrated) -> Json:
    """Return the declarations without an `include` of the settings whose hooks they have now; note what is done."""
    listed = text.at(("hookrun", "include"))
    for index in reversed(range(len(listed) if isinstance(listed, list) else 0)):
        included = included_path(declarations, str(listed[index]), home)  # type: ignore[index]  # it is a list
        if os.path.realpath(included) == os.path.realpath(path):
            text = text.remove(("hookrun", "include", index))
            migrated.notes.append(f"{declarations}: {path} leaves include, or these hooks would run twice")
    if text.at(("hookrun", "include_claude")) is True and claude_settings.is_settings(path):
        directory = f"{os.path.dirname(declarations)}/{CLAUDE_DIRECTORY}"
        beside = [f"{directory}/{name}" for name in CLAUDE_FILES if os.path.exists(f"{directory}/{name}")]
        others = [each for each in beside if os.path.realpath(each) != os.path.realpath(path)]
        others = [each for each in others if load_file(each, "project", claudes=True).handlers]
        if others or declarations.startswith(f"{home}{CONFIG_DIR}/"):
            besides = ", and ".join([path, *others]) if others else f"{path}, and the settings of every project"
            raise FileError(
                f"{declarations}: include_claude includes {besides}: these hooks would run twice; "
                "remove include_claude, and list the other files under include"
            )
        text = text.remove(("hookrun", "include_claude"))
        migrated.notes.append(f"{declarations}: include_claude is left out, or these hooks would run twice")
    return text


def _with(text: Json, path: tuple[str, ...], items: Sequence[object], now: ExistingFile) -> Json:
    """Return the text with items at the end of the list at a path, which is created if missing."""
    listed = text.at(path)
    if listed is None:
        return text.add(path[:-1], list(items), path[-1])
    if not isinstance(listed, list):
        msg = f"{relative_path(now.path)}: `{'.'.join(path)}` is not a list\nhint: add the output of `--json` by hand"
        raise FileError(msg)
    for item in items:
        if item not in listed:
            text = text.add(path, item)
    return text


def _write(changes: list[FileChange], *, yes: bool) -> bool:
    there = [change.path for change in changes if change.now.data is not None]
    if there and not yes:
        question = f"Change {' and '.join(there)}?"
        if not is_interactive():
            print_message(f"{quote(there[0])} exists\nhint: add `--yes` to change it")
            return False
        if not click.confirm(escape(question)):
            return False
    apply_all(changes)
    for change in changes:
        click.echo(escape(f"written: {change.path}"), err=True)
    return True
