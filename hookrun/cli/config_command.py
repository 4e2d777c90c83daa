"""`hookrun config`: show the merged config or its schema; convert hooks in Claude Code's settings."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import click

from hookrun.cli import Commands, require_command
from hookrun.cli.commands import (
    CONFIG,
    FAILED,
    Workspace,
    color_option,
    command,
    config_options,
    epilog,
    in_workspace,
    json_option,
)
from hookrun.cli.printing import (
    Line,
    is_interactive,
    json_text,
    localized,
    print_json,
    print_lines,
    print_message,
    print_problems,
    warn,
)
from hookrun.config import claude_settings, origins
from hookrun.config.claude_migrate import Migrated, migrate
from hookrun.config.config_file import ConfigFile, included_path, load_file
from hookrun.config.discovery import CLAUDE_DIRECTORY, CLAUDE_FILES
from hookrun.config.document import errors_in
from hookrun.config.load import LoadedConfig
from hookrun.config.origins import BUILT_IN, MADE, OWN, Value
from hookrun.config.parse import ParseError
from hookrun.config.schema import KINDS, TRUSTED_SETTINGS, schema
from hookrun.core.credentials import HIDDEN, redact
from hookrun.core.files import relative_path
from hookrun.core.model import Hook
from hookrun.core.state import CONFIG_DIR
from hookrun.core.text import escape, quote
from hookrun.edit.file_change import ExistingFile, FileChange, FileError, apply_all, existing
from hookrun.edit.json_edit import Json
from hookrun.process.prepare import looks_like_credential

Dumped = list[tuple[Hook, list[Value]]]

MASK = "***"
USER_INFO = re.compile(r"(?<=://)[^/?#@]*@")
VARIABLE = re.compile(r"\$(?:\w+|\{\w+\})")
# The first private-use character for a variable during the search for credentials.
PLACEHOLDERS = 0xE000

# Width of a column of values; longer ones exceed it.
MAX_VALUE = 40
STYLES = {OWN: "", BUILT_IN: "dim", MADE: "dim"}

# Settings that the merged config no longer needs.
CARRIED_OUT = ("include", "include_claude")

# The file for hooks that stay in Claude Code's form; the config file beside it includes it.
REST = "claude-hooks.json"


# --- hookrun config


@click.group(
    "config",
    cls=Commands,
    table=CONFIG,
    invoke_without_command=True,
    params=[color_option()],
    epilog=epilog("config show", "config schema > hookrun.schema.json", "config migrate"),
)
@click.pass_context
def config_command(ctx: click.Context) -> None:
    """Show the merged config, print its schema, convert Claude Code hooks."""
    require_command(ctx)


@command(
    "show",
    "config show",
    "config show --yaml > all.yaml",
    "config show --config ci/hooks.yaml --json",
    note="Exit status: 0 every file could be read, 1 one could not.",
)
@click.option("--yaml", "as_yaml", is_flag=True, help="As one config file, with the origin of each value beside it.")
@config_options
def show_command(at: Workspace, *, as_yaml: bool, as_json: bool) -> int:
    """Show the merged configuration: every value and where it comes from. Runs nothing.

    A value comes from the hook's own line, from the defaults of its file or of the one that includes it, or it is built
    in. What looks like a credential is masked.
    """
    if as_yaml and as_json:
        raise click.UsageError("--yaml and --json are two formats; leave one out.")
    examined = at.load()
    hooks = [(hook, _masked(hook, values)) for hook, values in origins.hooks(examined)]
    if as_json:
        listed = [
            {"layer": hook.layer, "error": hook.error, "fields": {each.name: _value_to_json(each) for each in values}}
            for hook, values in hooks
        ]
        report = {
            "root": examined.declarations.root,
            "files": [{"layer": file.layer, "path": file.path} for file in examined.files if file.is_effective],
            "problems": examined.declarations.problems,
            "settings": [{"name": each.name, **_value_to_json(each)} for each in origins.settings(examined)],
            "hooks": listed,
        }
        print_json(report)
    else:
        print_lines(_yaml(examined, hooks) if as_yaml else _table(examined, hooks))
    errors = [hook.error for hook, _ in hooks if (as_json or as_yaml) and hook.error is not None]
    print_problems([*examined.declarations.problems, *errors])
    return FAILED if examined.declarations.problems else 0


def _masked(hook: Hook, values: list[Value]) -> list[Value]:
    safe = to_json(hook)
    safe.update(dict.fromkeys(KINDS, safe["target"]), event=safe["events"])
    return [replace(each, value=safe[each.name]) for each in values]


def _value_to_json(each: Value) -> dict[str, object]:
    return {"value": each.value, "from": each.origin, "path": each.path, "line": each.line}


def _table(examined: LoadedConfig, hooks: Dumped) -> Iterator[Line]:
    settings = origins.settings(examined)
    yield "settings", "bold"
    for hook, values in [(None, settings), *hooks]:
        if hook is not None:
            yield "", ""
            yield f"{hook.name} ({hook.layer})", "bold"
        name_width = max((len(each.name) for each in values), default=0)
        value_width = min(max((len(json_text(each.value)) for each in values), default=0), MAX_VALUE)
        for each in values:
            line = f"  {each.name.ljust(name_width)}  {json_text(each.value).ljust(value_width)}  {_short(each)}"
            yield line, STYLES.get(each.origin, "")
        if hook is not None and hook.error is not None:
            yield f"  error: {localized(hook.error)}", "error"


def _short(value: Value) -> str:
    return value.where.replace(value.path, relative_path(value.path)) if value.path is not None else value.where


def _yaml(examined: LoadedConfig, hooks: Dumped) -> Iterator[Line]:
    """Yield a config file in YAML with values written as JSON, which is YAML too."""
    settings = [each for each in origins.settings(examined) if each.origin == OWN]
    names = {each.name for each in settings}
    for name in CARRIED_OUT:
        if name in names:
            yield f"# {name} is carried out already", "dim"
    yield from _yaml_settings([each for each in settings if each.name not in CARRIED_OUT])
    yield f"hooks:{'' if hooks else ' []'}", "bold"
    for hook, values in hooks:
        yield f"  # {hook.layer}", "dim"
        for number, each in enumerate(values):
            line = f"  {'  ' if number else '- '}{each.name}: {json_text(each.value)}  # {each.where}"
            yield line, STYLES.get(each.origin, "")
        if hook.error is not None:
            yield f"    # error: {hook.error}", "error"


def _yaml_settings(settings: list[Value]) -> Iterator[Line]:
    """Yield the settings; of several files, lists add up and the last other value counts.

    A project's file may not have those of managed and user files: they become comments.
    """
    for each in settings:
        if each.name in TRUSTED_SETTINGS:
            yield f"# hookrun.{each.name} of your own declarations: {json_text(each.value)}  ({each.where})", "dim"
    settings = [each for each in settings if each.name not in TRUSTED_SETTINGS]
    if settings:
        yield "hookrun:", "bold"
    for name in dict.fromkeys(each.name for each in settings):
        same = [each for each in settings if each.name == name]
        value: object = same[-1].value
        lists = [each.value for each in same if isinstance(each.value, list)]
        if len(lists) == len(same):
            value = list(dict.fromkeys(chain.from_iterable(lists)))
        yield f"  {name}: {json_text(value)}  # {', '.join(each.where for each in same)}", ""


@command(
    "schema",
    "config schema > hookrun.schema.json",
    note='then, at the top of coder.json: "$schema": "./hookrun.schema.json"',
)
@click.option("--json", "as_json", is_flag=True, help="Print it on one line instead of indented.")
def schema_command(*, as_json: bool) -> None:
    """Print the JSON Schema (draft 2020-12) of coder.json and hookrun.yaml."""
    click.echo(json.dumps(schema(), indent=None if as_json else 2))


# --- hookrun config migrate


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
@in_workspace
def migrate_command(file: str | None, at: Workspace, *, write: bool, yes: bool, as_json: bool) -> int:
    """Convert the hooks in Claude Code's settings (FILE, or the project's) into hookrun's own form.

    Shows the new files as a diff, and on stderr what behaves differently. Hooks that hookrun's form cannot express stay
    in Claude Code's, in a file that is included. FILE itself does not change.
    """
    path = os.path.normpath(os.path.join(at.directory, file or f"{CLAUDE_DIRECTORY}/{CLAUDE_FILES[0]}"))
    if file is None and not os.path.lexists(path):
        raise click.ClickException("no Claude Code settings here\nhint: name the file: `hookrun config migrate FILE`")
    settings = _read(path)
    target = _target(path, at.home) if settings.plugin is None else _beside_project(settings.plugin, at)
    now = existing(target)
    text = _parsed(now)
    declared = text.at(("hooks",))
    migrated = migrate(settings, declared if isinstance(declared, list) else [])
    changes = _planned(now, text, migrated, path, at.home) if write or not as_json else []
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
    """Return a file in Claude Code's form. Raises click.ClickException for others."""
    file = load_file(path, "project", claudes=True)
    errors = errors_in(file.problems)
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
    """Return the config file for the hooks of a settings file, in its layer."""
    if claude_settings.is_settings(path):
        base = claude_settings.project_of(path)
        if os.path.realpath(base) == os.path.realpath(home):
            return f"{home}{CONFIG_DIR}/hooks.json"
        return f"{base}/coder.json" if path.endswith(f"/{CLAUDE_FILES[0]}") else f"{base}/coder.local.json"
    return f"{os.path.dirname(path)}/coder.json"


def _beside_project(plugin: str, at: Workspace) -> str:
    """Return the config file for a plugin's hooks: that of the project around the working directory.

    Raises click.ClickException if that is the plugin itself, whose files belong to Claude Code.
    """
    root = at.load(for_agents=True).project
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


def _planned(now: ExistingFile, before: Json, migrated: Migrated, path: str, home: str) -> list[FileChange]:
    """Return the files to write for the settings at `path`. Raises FileError."""
    directory = os.path.dirname(now.path)
    for name in ("hookrun.yaml", "hookrun.yml", "hooks.yaml", "hooks.yml"):
        if os.path.exists(f"{directory}/{name}"):
            msg = f"{relative_path(directory)}/{name}: cannot add to YAML\nhint: add the output of `--json` by hand"
            raise FileError(msg)
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


def _not_included(text: Json, declarations: str, path: str, home: str, migrated: Migrated) -> Json:
    """Remove a settings file's `include` whose hooks are now declarations, and note it."""
    listed = text.at(("hookrun", "include"))
    for index, item in reversed([*enumerate(listed if isinstance(listed, list) else [])]):
        if os.path.realpath(included_path(declarations, str(item), home)) == os.path.realpath(path):
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


# --- credentials in a config


def to_json(hook: Hook) -> dict[str, object]:
    """Return all fields of a hook, masking header values and likely credentials."""
    data = hook.to_dict()
    if hook.headers is not None:
        data["headers"] = dict.fromkeys(hook.headers, MASK)
    env = hook.env or {}
    secrets = {name: value for name, value in env.items() if looks_like_credential(name.encode("utf-8", "replace"))}
    if hook.env is not None:
        data["env"] = {name: MASK if name in secrets else without_credentials(env[name]) for name in env}
    before, data["target"] = json.dumps(data["target"]), without_credentials(data["target"])
    after = json.dumps(data["target"])
    for name, words in (("look", hook.look), ("words", hook.words)):
        data[name] = [_masked_word(each, before, after, secrets.values()) for each in words]
    return data


def _masked_word(word: str, before: str, after: str, secrets: Collection[str]) -> object:
    """Mask a word, or a reference, that holds a credential of the command or `env`."""
    values = {word, word.partition(":")[2]} - {""}
    hidden = any(value in before and value not in after for value in values)
    hidden = hidden or any(value in secret for secret in secrets for value in values)
    return MASK if hidden else without_credentials(word)


def without_credentials(value: object) -> object:
    """Mask likely credentials in what a hook runs; variable names stay."""
    if not isinstance(value, str):
        return list(map(without_credentials, value)) if isinstance(value, (list, tuple)) else value
    names = VARIABLE.findall(value)
    for number, name in enumerate(names):
        value = value.replace(name, chr(PLACEHOLDERS + number), 1)
    value = redact(USER_INFO.sub(f"{MASK}@", value)).replace(HIDDEN, MASK)
    for number, name in enumerate(names):
        value = value.replace(chr(PLACEHOLDERS + number), name)
    return value
