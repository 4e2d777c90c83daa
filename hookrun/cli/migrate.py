"""Convert hooks of others into hookrun's form: `hookrun migrate`."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from hookrun.cli.commands import Workspace, command, json_options
from hookrun.cli.printing import json_text, print_json, warn
from hookrun.config import claude_settings
from hookrun.config.claude_migrate import Migrated, migrate
from hookrun.config.config_file import ConfigFile, included_path, load_file
from hookrun.config.discovery import CLAUDE_DIRECTORY, CLAUDE_FILES, LAYER_FILES
from hookrun.config.document import errors_in
from hookrun.config.parse import ParseError
from hookrun.core.files import is_within, relative_path
from hookrun.core.state import CONFIG_DIR
from hookrun.core.text import escape
from hookrun.edit import editor_for
from hookrun.edit.file_change import ExistingFile, FileChange, FileError, apply_all, existing
from hookrun.edit.json_edit import EditError, SpanEditor
from hookrun.scaffold import git_hooks
from hookrun.scaffold.declaration_file import config_in
from hookrun.trust.project import refuse_if_run_by_agent

# The file for hooks that stay in Claude Code's form; the config file beside it includes it.
REST = "claude-hooks.json"


@command(
    "migrate",
    "migrate --dry-run",
    "migrate ~/.claude/settings.json",
    "migrate lefthook.yml",
    "migrate .pre-commit-config.yaml --json",
    note="Exit status: 0 on success, 1 on errors.",
)
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--dry-run", is_flag=True, help="Show the changes as a diff, and write nothing.")
@json_options
def migrate_command(file: str | None, at: Workspace, *, dry_run: bool, as_json: bool) -> None:
    """Convert the hooks in FILE into hookrun's own form, in the config file at the project's root.

    FILE is Claude Code's settings (default: the project's), lefthook.yml, .pre-commit-config.yaml or a script in
    .husky, and does not change. What is not converted, and which lines to remove so that nothing runs twice, is on
    stderr.

    Hooks that hookrun's form cannot express stay in Claude Code's, in a file that is included. Other agents' files run
    as they are: `hookrun init --include FILE`.
    """
    path = os.path.normpath(os.path.join(at.directory, file or f"{CLAUDE_DIRECTORY}/{CLAUDE_FILES[0]}"))
    if file is None and not os.path.lexists(path):
        raise click.ClickException("no Claude Code settings here\nhint: name the file: `hookrun migrate FILE`")
    manager = git_hooks.manager_of(path)
    settings = _read(path) if not manager else None
    target = _target(path, settings.plugin if settings is not None else None, at)
    now = existing(target)
    text = _parsed(now, path)
    declared = text.at(("hooks",))
    there = declared if isinstance(declared, list) else []
    migrated = git_hooks.converted(manager, path, there) if settings is None else migrate(settings, there)
    try:
        changes = _planned(now, text, migrated, path, at.home)
    except EditError as error:
        raise FileError(f"{relative_path(target)}: {error}\nhint: add the output of `--json` by hand") from None
    if not dry_run:
        if changes and target.startswith(f"{at.home}{CONFIG_DIR}/"):
            refuse_if_run_by_agent("change your own hooks")
        apply_all(changes)
    written = [change.path for change in changes if not dry_run]
    if as_json:
        made = {name: getattr(migrated, name) for name in ("hooks", "rest", "env", "notes")}
        print_json({"target": target, **made, "written": written})
        return
    if dry_run or not changes:
        click.echo("\n".join(change.diff() for change in changes) or "no hooks to convert")
    for each in written:
        click.echo(escape(f"written: {relative_path(each)}"))
    for note in migrated.notes:
        warn(note)


def _read(path: str) -> ConfigFile:
    """Return a file in Claude Code's form. Raises click.ClickException for others."""
    file = load_file(path, "project", claudes=True)
    errors = errors_in(file.problems)
    if errors and not file.handlers:
        raise click.ClickException(str(errors[0]))
    if file.handlers is None:
        where = relative_path(path)
        hint = "name a settings file that has some"
        raise click.ClickException(f"{where}: no hooks in Claude Code's format\nhint: {hint}")
    for mark in (claude_settings.PLUGIN_FILE, f"/{claude_settings.PLUGIN_MARK}"):
        if path.endswith(mark):  # a plugin needs no manifest
            file.plugin = path.removesuffix(mark)
    if file.data.get("disableAllHooks") is True:
        msg = f"{relative_path(path)}: `disableAllHooks` is true\nhint: remove it first; converted hooks would run"
        raise click.ClickException(msg)
    return file


def _target(path: str, plugin: str | None, at: Workspace) -> str:
    """Return the config file for a file's hooks: of a settings file in its layer, else of the project here.

    Raises click.ClickException if that is in the `plugin` itself, whose files belong to Claude Code.
    """
    if plugin is None and claude_settings.is_settings(path):
        base = claude_settings.project_of(path)
        if os.path.realpath(base) == os.path.realpath(at.home):
            return config_in(f"{at.home}{CONFIG_DIR}", LAYER_FILES)
        return config_in(base) if path.endswith(f"/{CLAUDE_FILES[0]}") else f"{base}/coder.local.json"
    root = at.load(for_agents=True).project
    if plugin is not None and is_within(os.path.realpath(root), os.path.realpath(plugin)):
        msg = f"{relative_path(plugin)}: a plugin's hooks are not written into the plugin"
        raise click.ClickException(f"{msg}\nhint: run this in the project that is to have them")
    return config_in(root)


def _parsed(now: ExistingFile, path: str) -> SpanEditor:
    """Return the file to add to, without hooks if it is itself the one that is converted."""
    try:
        text = editor_for(now.path, now.text())
    except ParseError as error:
        raise FileError(f"{relative_path(now.path)}: {error}\nhint: fix it first") from error
    return text.put(("hooks",), []) if os.path.realpath(path) == os.path.realpath(now.path) else text


def _planned(now: ExistingFile, before: SpanEditor, migrated: Migrated, path: str, home: str) -> list[FileChange]:
    """Return the files to write for the settings at `path`. Raises FileError."""
    directory = os.path.dirname(now.path)
    text = before
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
        rest_text = json_text(rest_data, 2) + "\n"
        changes.append(FileChange(rest.path, rest, rest.encoded(rest_text)))
        text = _with(text, ("hookrun", "include"), [name], now)
    if migrated.hooks or migrated.rest:
        text = _not_included(text, now.path, path, home, migrated)
    if text.data != before.data:
        written = text.text if text.text.endswith("\n") else text.text + "\n"
        changes.insert(0, FileChange(now.path, now, now.encoded(written)))
    return [change for change in changes if change.has_effect]


def _not_included(text: SpanEditor, declarations: str, path: str, home: str, migrated: Migrated) -> SpanEditor:
    """Remove a settings file's `include` whose hooks are now declarations, and note it."""
    listed = text.at(("hookrun", "include"))
    for index, item in reversed([*enumerate(listed if isinstance(listed, list) else [])]):
        if os.path.realpath(included_path(declarations, str(item), home)) == os.path.realpath(path):
            text = text.remove(("hookrun", "include", index))
            migrated.notes.append(f"{declarations}: {path} is no longer included: its hooks would run twice")
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
        migrated.notes.append(f"{declarations}: `include_claude` is removed: these hooks would run twice")
    return text


def _with(text: SpanEditor, path: tuple[str, ...], items: Sequence[object], now: ExistingFile) -> SpanEditor:
    """Return the text with items appended to the list at a path, created if missing."""
    listed = text.at(path)
    if listed is None:
        return text.put(path, list(items))
    if not isinstance(listed, list):
        msg = f"{relative_path(now.path)}: `{'.'.join(path)}` is not a list\nhint: add the output of `--json` by hand"
        raise FileError(msg)
    for item in items:
        if item not in listed:
            text = text.add(path, item)
    return text
