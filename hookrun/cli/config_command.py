"""`hookrun config`: show the merged config or its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
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
)
from hookrun.cli.printing import (
    Line,
    json_text,
    localized,
    print_json,
    print_lines,
    print_problems,
)
from hookrun.config import origins
from hookrun.config.load import LoadedConfig
from hookrun.config.origins import BUILT_IN, MADE, OWN, Value
from hookrun.config.schema import KINDS, TRUSTED_SETTINGS, schema
from hookrun.core.credentials import HIDDEN, redact
from hookrun.core.files import relative_path
from hookrun.core.model import Hook
from hookrun.process.prepare import looks_like_credential

Dumped = list[tuple[Hook, list[Value]]]

MASK = "***"
USER_INFO = re.compile(r"(?<=://)[^/?#@]*@")
VARIABLE = re.compile(r"\$(?:\w+|\{\w+\})")
# The first private-use character for a variable during the search for credentials.
PLACEHOLDERS = 0xE000

STYLES = {OWN: "", BUILT_IN: "dim", MADE: "dim"}

# Settings that the merged config no longer needs.
CARRIED_OUT = ("include", "include_claude")


# --- hookrun config


@click.group(
    "config",
    cls=Commands,
    table=CONFIG,
    invoke_without_command=True,
    params=[color_option()],
    epilog=epilog("config show", "config schema > hookrun.schema.json"),
)
@click.pass_context
def config_command(ctx: click.Context) -> None:
    """Show the merged config, or print its schema."""
    require_command(ctx)


@command(
    "show",
    "config show > all.yaml",
    "config show --config ci/hooks.yaml --json",
    note="Exit status: 0 every file could be read, 1 one could not.",
)
@config_options
def show_command(at: Workspace, *, as_json: bool) -> int:
    """Show the merged configuration as one config file, with the origin of each value beside it. Runs nothing.

    A value comes from the hook's own line, from the defaults of its file or of the one that includes it, or it is built
    in. What looks like a credential is masked.
    """
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
        print_lines(_yaml(examined, hooks))
    errors = [hook.error for hook, _ in hooks if hook.error is not None]
    print_problems([*examined.declarations.problems, *errors])
    return FAILED if examined.declarations.problems else 0


def _masked(hook: Hook, values: list[Value]) -> list[Value]:
    safe = to_json(hook)
    safe.update(dict.fromkeys(KINDS, safe["target"]), event=safe["events"])
    return [replace(each, value=safe[each.name]) for each in values]


def _value_to_json(each: Value) -> dict[str, object]:
    return {"value": each.value, "from": each.origin, "path": each.path, "line": each.line}


def _yaml(examined: LoadedConfig, hooks: Dumped) -> Iterator[Line]:
    """Yield a config file in YAML with values written as JSON, which is YAML too."""
    settings = origins.settings(examined)
    names = {each.name for each in settings}
    for name in CARRIED_OUT:
        if name in names:
            yield f"# {name} is carried out already", "dim"
    yield from _yaml_settings([each for each in settings if each.name not in CARRIED_OUT])
    yield f"hooks:{'' if hooks else ' []'}", "bold"
    for hook, values in hooks:
        yield f"  # {hook.name} ({hook.layer})", "bold"
        for number, each in enumerate(values):
            line = f"  {'  ' if number else '- '}{each.name}: {json_text(each.value)}  # {_where(each)}"
            yield line, STYLES.get(each.origin, "")
        if hook.error is not None:
            yield f"    # error: {localized(hook.error)}", "error"


def _where(value: Value) -> str:
    return value.where.replace(value.path, relative_path(value.path)) if value.path is not None else value.where


def _yaml_settings(settings: list[Value]) -> Iterator[Line]:
    """Yield the settings; of several files, lists add up and the last other value counts.

    What only managed and user files may set becomes a comment: a project's file may not have it.
    """
    for each in settings:
        if each.name in TRUSTED_SETTINGS:
            yield f"# hookrun.{each.name}: {json_text(each.value)}  ({_where(each)})", "dim"
    settings = [each for each in settings if each.name not in TRUSTED_SETTINGS]
    if settings:
        yield "hookrun:", "bold"
    for name in dict.fromkeys(each.name for each in settings):
        same = [each for each in settings if each.name == name]
        value: object = same[-1].value
        lists = [each.value for each in same if isinstance(each.value, list)]
        if len(lists) == len(same):
            value = list(dict.fromkeys(chain.from_iterable(lists)))
        yield f"  {name}: {json_text(value)}  # {', '.join(map(_where, same))}", ""


@command(
    "schema",
    "config schema > hookrun.schema.json",
    note='then, at the top of coder.json: "$schema": "./hookrun.schema.json"',
)
def schema_command() -> None:
    """Print the JSON Schema (draft 2020-12) of coder.json and hookrun.yaml."""
    print_json(schema())


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
