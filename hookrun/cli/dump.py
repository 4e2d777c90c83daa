"""`hookrun dump`: all declarations in force as one, each value with the file and line that it comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from hookrun.cli import FAILED, painted
from hookrun.cli.declared import options, read
from hookrun.cli.listing import to_json
from hookrun.config import origins
from hookrun.config.diagnostics import printable
from hookrun.config.origins import BUILT_IN, MADE, OWN, Value
from hookrun.config.schema import KINDS, TRUSTED_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.config.load import LoadedConfig
    from hookrun.model import Hook

    Dumped = list[tuple[Hook, list[Value]]]

EXAMPLES = """\b
Examples:
  hookrun dump
  hookrun dump --yaml > all.yaml
  hookrun dump --config ci/hooks.yaml --json

Exit status: 0 every file could be read, 1 one could not.
"""
STYLES = {OWN: "", BUILT_IN: painted.QUIET, MADE: painted.QUIET}


@click.command(name="dump", epilog=EXAMPLES)
@click.option("--yaml", "as_yaml", is_flag=True, help="As one declaration file, where each value comes from beside it.")
@options
@click.pass_context
def command(ctx: click.Context, config: str | None, home: str | None, *, as_yaml: bool, as_json: bool) -> None:
    """Show all declarations in force here, merged: every value and where it comes from. Runs nothing.

    A value comes from the hook's own line, from the defaults of its file or of the one that includes it, or it is built
    in. What looks like a credential is masked.
    """
    if as_yaml and as_json:
        raise click.UsageError("--yaml and --json are two forms; leave one out.")
    examined = read(config, home)
    hooks = [(hook, _masked(hook, values)) for hook, values in origins.hooks(examined)]
    if as_json:
        click.echo(json.dumps(_to_json(examined, hooks), indent=2))
    else:
        painted.tell(_yaml(examined, hooks) if as_yaml else _table(examined, hooks))
    wrong = [hook.error for hook, _ in hooks if (as_json or as_yaml) and hook.error is not None]
    for problem in [*examined.declarations.problems, *wrong]:
        click.echo(f"hookrun: {printable(problem)}", err=True)
    ctx.exit(FAILED if examined.declarations.problems else 0)


def _masked(hook: Hook, values: list[Value]) -> list[Value]:
    """Return the values with those masked that `hookrun list` masks."""
    safe = to_json(hook)
    safe.update(dict.fromkeys(KINDS, safe["target"]), event=safe["events"])
    return [Value(each.name, safe[each.name], each.origin, each.path, each.line) for each in values]


def _to_json(examined: LoadedConfig, hooks: Dumped) -> dict[str, object]:
    return {
        "root": examined.declarations.root,
        "files": [{"layer": file.layer, "path": file.path} for file in examined.files if file.is_effective],
        "problems": examined.declarations.problems,
        "settings": [{"name": each.name, **_value_to_json(each)} for each in origins.settings(examined)],
        "hooks": [
            {
                "layer": hook.layer,
                "error": hook.error,
                "fields": {each.name: _value_to_json(each) for each in values},
            }
            for hook, values in hooks
        ],
    }


def _value_to_json(each: Value) -> dict[str, object]:
    return {"value": each.value, "from": each.origin, "path": each.path, "line": each.line}


def _table(examined: LoadedConfig, hooks: Dumped) -> Iterator[painted.Line]:
    settings = origins.settings(examined)
    both = [*settings, *(each for _, values in hooks for each in values)]
    name_width = max((len(each.name) for each in both), default=0)
    value_width = min(max((len(_text(each)) for each in both), default=0), 60)
    yield "settings", painted.STRONG
    for hook, values in [(None, settings), *hooks]:
        if hook is not None:
            yield "", ""
            yield f"{hook.name} ({hook.layer})", painted.STRONG
        for each in values:
            line = f"  {each.name.ljust(name_width)}  {_text(each).ljust(value_width)}  {each.where}"
            yield line, STYLES.get(each.origin, "")
        if hook is not None and hook.error is not None:
            yield f"  error: {hook.error}", painted.BAD


def _yaml(examined: LoadedConfig, hooks: Dumped) -> Iterator[painted.Line]:
    """Yield the lines of a declaration file: JSON is YAML, so that each value is written as that."""
    settings = [each for each in origins.settings(examined) if each.origin == OWN]
    for name in [name for name in ("include", "include_claude") if name in {each.name for each in settings}]:
        yield f"# {name} is carried out already", painted.QUIET
    kept = [each for each in settings if each.name not in ("include", "include_claude")]
    yield from _settings_as_yaml(kept)
    yield f"hooks:{'' if hooks else ' []'}", painted.STRONG
    for hook, values in hooks:
        yield f"  # {hook.layer}", painted.QUIET
        for number, each in enumerate(values):
            yield f"  {'  ' if number else '- '}{each.name}: {_text(each)}  # {each.where}", STYLES.get(each.origin, "")
        if hook.error is not None:
            yield f"    # error: {hook.error}", painted.BAD


def _settings_as_yaml(kept: list[Value]) -> Iterator[painted.Line]:
    """Yield the settings; of one that several files have, lists add up, and of others the last counts.

    Those that only managed and user declarations may have are comments: a project's file may not have them.
    """
    for each in (each for each in kept if each.name in TRUSTED_SETTINGS):
        yield f"# hookrun.{each.name} of your own declarations: {_text(each)}  ({each.where})", painted.QUIET
    kept = [each for each in kept if each.name not in TRUSTED_SETTINGS]
    if kept:
        yield "hookrun:", painted.STRONG
    for name in dict.fromkeys(each.name for each in kept):
        found = [each for each in kept if each.name == name]
        value: object = found[-1].value
        if all(isinstance(each.value, list) for each in found):
            value = list(dict.fromkeys(item for each in found if isinstance(each.value, list) for item in each.value))
        where = ", ".join(each.where for each in found)
        yield f"  {name}: {json.dumps(value, ensure_ascii=False)}  # {where}", ""


def _text(each: Value) -> str:
    return json.dumps(each.value, ensure_ascii=False)
