"""Show the configuration in force: `hookrun list`, and `hookrun config` with its commands `show` and `schema`."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import click

from hookrun.cli import Commands, require_command
from hookrun.cli.commands import (
    CONFIG,
    FAILED,
    agent_option,
    agents_named,
    command,
    config_options,
    epilog,
    event_option,
    hook_option,
    hooks_named,
    load_project,
    read_config,
)
from hookrun.cli.printing import (
    BOLD,
    DIM,
    ERROR,
    OK,
    WARNING,
    count,
    localized,
    print_json,
    print_line,
    print_lines,
    print_problems,
    print_table,
)
from hookrun.config import origins
from hookrun.config.origins import BUILT_IN, MADE, OWN, Value
from hookrun.config.schema import KINDS, TRUSTED_SETTINGS, schema
from hookrun.credentials import HIDDEN, redact
from hookrun.events import ALIASES, WITH_TOOL, resolve_event
from hookrun.files import relative_path
from hookrun.model import UNTRUSTED_LAYERS, Hook
from hookrun.process.prepare import looks_like_credential
from hookrun.trust.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from hookrun.cli.printing import Line
    from hookrun.config.load import LoadedConfig
    from hookrun.trust.project import Project

    Decisions = dict[int, dict[str, str]]
    """By the id of a hook: its state of `trust`, and until when it is `paused`."""
    Dumped = list[tuple[Hook, list[Value]]]

COLUMNS = ("NAME", "EVENT", "MATCHER", "STATE", "FILE")
UNAPPROVED = ("not approved", "changed")
STATE_STYLES = {"ready": OK, "advise": OK, "error": ERROR, "denied": ERROR, "disabled": DIM, "off": DIM}
"""State of a hook -> its style on a terminal; any other is a warning."""
SHOWN_FIELDS = frozenset(
    {"name", "events", "matcher", "kind", "target", "timeout", "priority", "on_failure", "layer"}
    | {"source", "line", "look", "words", "error", "claude"}
)
"""Fields that `list --long` shows in a form of its own, or that `list --json` alone has."""

MASK = "***"
USER_INFO = re.compile(r"(?<=://)[^/?#@]*@")
VARIABLE = re.compile(r"\$(?:\w+|\{\w+\})")
PLACEHOLDERS = 0xE000
"""The first of the private-use characters that stand for variables while credentials are looked for."""

MAX_VALUE = 40
"""Width of a column of values, which longer ones exceed."""
STYLES = {OWN: "", BUILT_IN: DIM, MADE: DIM}

# --- hookrun list


@command("list", "list", "list --event PreToolUse", "list --hook guard --long")
@hook_option
@event_option
@agent_option
@click.option("--long", "details", is_flag=True, help="Show every field that is not the default.")
@config_options
def list_command(
    *,
    config: str | None,
    home: str | None,
    hook: str | None,
    event: str | None,
    agent: str | None,
    details: bool,
    as_json: bool,
) -> int:
    """List the hooks that are configured here, in the order in which they run. Runs nothing."""
    project = load_project(config, home)
    declarations = project.declarations
    hooks = declarations.hooks if hook is None else hooks_named(hook, declarations.hooks)
    if event is not None:
        name = resolve_event(event, declarations.events)
        hooks = [each for each in hooks if name in each.events]
    if agent is not None:
        name = agents_named([agent])[0].NAME
        hooks = [each for each in hooks if each.agents is None or name in each.agents]
    problems = [*declarations.problems]
    decisions: Decisions = {}
    try:
        decisions = {id(each): _decisions(each, project) for each in hooks}
    except StoreError as error:
        problems.append(str(error))
    if as_json:
        undecided = {"trust": None, "paused": None}
        report = {
            "root": declarations.root,
            "files": declarations.files,
            "events": declarations.events,
            "settings": {name: value for name, value in declarations.settings.items() if name != "claude_env"},
            "problems": declarations.problems,
            "hooks": [{**to_json(each), **undecided, **decisions.get(id(each), {})} for each in hooks],
        }
        print_json(report)
    elif not hooks:
        options = {"--hook": hook, "--event": event, "--agent": agent}
        filters = " ".join(f"{option} {value}" for option, value in options.items() if value is not None)
        if filters:
            print_line(f"no hooks match {filters}")
        elif not problems:
            print_line("no hooks are configured here: run `hookrun init`")
    else:
        rows = [_row(each, decisions.get(id(each), {})) for each in hooks]
        if details:
            print_lines(line for each, row in zip(hooks, rows, strict=True) for line in _details(each, row))
        else:
            print_table(COLUMNS, rows, styles={row[3]: STATE_STYLES.get(row[3], WARNING) for row in rows})
        if sys.stdout.isatty() and (waiting := sum(row[3] in UNAPPROVED for row in rows)):
            print_lines([("", ""), (f"{count(waiting, 'hook')} to approve: run `hookrun trust`", WARNING)])
    print_problems([*problems, *(each.error for each in hooks if each.error is not None)])
    return FAILED if problems else 0


def _decisions(hook: Hook, project: Project) -> dict[str, str]:
    decisions = {"trust": project.inspect(hook).state} if hook.layer in UNTRUSTED_LAYERS else {}
    paused = project.paused_until(hook)
    return decisions if paused is None else {**decisions, "paused": f"paused until {paused}"}


def hook_state(hook: Hook, project: Project) -> str:
    """Return the state of a hook in one or two words. Raises StoreError."""
    return _state(hook, _decisions(hook, project))


def _state(hook: Hook, decisions: Mapping[str, str]) -> str:
    trust = decisions.get("trust", "")
    if hook.error is not None:
        return "error"
    if hook.mode == "off":
        return "off"
    if trust not in ("", "approved"):
        return "not approved" if trust == "new" else trust
    return decisions.get("paused") or ("ready" if hook.mode == "enforce" else hook.mode)


def _row(hook: Hook, decisions: Mapping[str, str]) -> list[str]:
    return [
        hook.name,
        ", ".join(hook.events),
        _matcher(hook),
        _state(hook, decisions),
        relative_path(hook.source) if hook.source else "-",
    ]


def _details(hook: Hook, row: Sequence[str]) -> Iterator[Line]:
    """Yield what the table shows of a hook, and every other field that is not the default."""
    safe = to_json(hook)
    default = Hook(name="", events=()).to_dict()
    yield f"{hook.name}  {row[3]}", STATE_STYLES.get(row[3], WARNING)
    fields = {"events": row[1], "matcher": row[2], hook.kind: safe["target"], "timeout": f"{hook.timeout:g} s"}
    fields |= {name: safe[name] for name in ("priority", "on_failure", "layer")}
    fields |= {name: value for name, value in safe.items() if name not in SHOWN_FIELDS and value != default.get(name)}
    for name, value in {**fields, "file": f"{row[4]}:{hook.line}"}.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"  {name.ljust(12)} {text}", ""


def _matcher(hook: Hook) -> str:
    if hook.claude is None:
        any_tool = "any" if any(event in WITH_TOOL or event not in ALIASES for event in hook.events) else "-"
        return "|".join(hook.matcher) if hook.matcher is not None else any_tool
    rule = hook.claude.get("if")
    return f"{hook.claude.get('matcher') or 'any'}{f' if {rule}' if rule else ''}"


def to_json(hook: Hook) -> dict[str, object]:
    """Return all fields of a hook, with header values and what looks like a credential masked."""
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
    """Mask a word, or a reference to what one names, that holds a credential of the command or of `env`."""
    values = {word, word.partition(":")[2]} - {""}
    hidden = any(value in before and value not in after for value in values)
    hidden = hidden or any(value in secret for secret in secrets for value in values)
    return MASK if hidden else without_credentials(word)


def without_credentials(value: object) -> object:
    """Return what a hook runs, with what looks like a credential masked; names of variables stay."""
    if not isinstance(value, str):
        return list(map(without_credentials, value)) if isinstance(value, (list, tuple)) else value
    names = VARIABLE.findall(value)
    for number, name in enumerate(names):
        value = value.replace(name, chr(PLACEHOLDERS + number), 1)
    value = redact(USER_INFO.sub(f"{MASK}@", value)).replace(HIDDEN, MASK)
    for number, name in enumerate(names):
        value = value.replace(chr(PLACEHOLDERS + number), name)
    return value


# --- hookrun config


@click.group(
    "config",
    cls=Commands,
    table=CONFIG,
    invoke_without_command=True,
    epilog=epilog("config show", "config schema > hookrun.schema.json", "config migrate", "config completion bash"),
)
@click.pass_context
def config_command(ctx: click.Context) -> None:
    """Show the merged config, print its schema, convert Claude Code hooks, print completion scripts."""
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
def show_command(config: str | None, home: str | None, *, as_yaml: bool, as_json: bool) -> int:
    """Show the merged configuration: every value and where it comes from. Runs nothing.

    A value comes from the hook's own line, from the defaults of its file or of the one that includes it, or it is built
    in. What looks like a credential is masked.
    """
    if as_yaml and as_json:
        raise click.UsageError("--yaml and --json are two formats; leave one out.")
    examined = read_config(config, home)
    hooks = [(hook, _masked(hook, values)) for hook, values in origins.hooks(examined)]
    if as_json:
        print_json(_dump_to_json(examined, hooks))
    else:
        print_lines(_yaml(examined, hooks) if as_yaml else _table(examined, hooks))
    errors = [hook.error for hook, _ in hooks if (as_json or as_yaml) and hook.error is not None]
    print_problems([*examined.declarations.problems, *errors])
    return FAILED if examined.declarations.problems else 0


def _masked(hook: Hook, values: list[Value]) -> list[Value]:
    safe = to_json(hook)
    safe.update(dict.fromkeys(KINDS, safe["target"]), event=safe["events"])
    return [Value(each.name, safe[each.name], each.origin, each.path, each.line) for each in values]


def _dump_to_json(examined: LoadedConfig, hooks: Dumped) -> dict[str, object]:
    return {
        "root": examined.declarations.root,
        "files": [{"layer": file.layer, "path": file.path} for file in examined.files if file.is_effective],
        "problems": examined.declarations.problems,
        "settings": [{"name": each.name, **_value_to_json(each)} for each in origins.settings(examined)],
        "hooks": [
            {"layer": hook.layer, "error": hook.error, "fields": {each.name: _value_to_json(each) for each in values}}
            for hook, values in hooks
        ],
    }


def _value_to_json(each: Value) -> dict[str, object]:
    return {"value": each.value, "from": each.origin, "path": each.path, "line": each.line}


def _table(examined: LoadedConfig, hooks: Dumped) -> Iterator[Line]:
    settings = origins.settings(examined)
    yield "settings", BOLD
    for hook, values in [(None, settings), *hooks]:
        if hook is not None:
            yield "", ""
            yield f"{hook.name} ({hook.layer})", BOLD
        name_width = max((len(each.name) for each in values), default=0)
        value_width = min(max((len(_text(each.value)) for each in values), default=0), MAX_VALUE)
        for each in values:
            line = f"  {each.name.ljust(name_width)}  {_text(each.value).ljust(value_width)}  {_short(each)}"
            yield line, STYLES.get(each.origin, "")
        if hook is not None and hook.error is not None:
            yield f"  error: {localized(hook.error)}", ERROR


def _short(value: Value) -> str:
    return value.where.replace(value.path, relative_path(value.path)) if value.path is not None else value.where


def _yaml(examined: LoadedConfig, hooks: Dumped) -> Iterator[Line]:
    """Yield the lines of a config file in YAML; each value is written as JSON, which is YAML too."""
    settings = [each for each in origins.settings(examined) if each.origin == OWN]
    for name in [name for name in ("include", "include_claude") if name in {each.name for each in settings}]:
        yield f"# {name} is carried out already", DIM
    yield from _yaml_settings([each for each in settings if each.name not in ("include", "include_claude")])
    yield f"hooks:{'' if hooks else ' []'}", BOLD
    for hook, values in hooks:
        yield f"  # {hook.layer}", DIM
        for number, each in enumerate(values):
            line = f"  {'  ' if number else '- '}{each.name}: {_text(each.value)}  # {each.where}"
            yield line, STYLES.get(each.origin, "")
        if hook.error is not None:
            yield f"    # error: {hook.error}", ERROR


def _yaml_settings(settings: list[Value]) -> Iterator[Line]:
    """Yield the settings; where several files have one, lists add up, and of other values the last counts.

    Those that only managed and user files may have are comments: a project's file may not have them.
    """
    for each in (each for each in settings if each.name in TRUSTED_SETTINGS):
        yield f"# hookrun.{each.name} of your own declarations: {_text(each.value)}  ({each.where})", DIM
    settings = [each for each in settings if each.name not in TRUSTED_SETTINGS]
    if settings:
        yield "hookrun:", BOLD
    for name in dict.fromkeys(each.name for each in settings):
        same = [each for each in settings if each.name == name]
        value: object = same[-1].value
        if all(isinstance(each.value, list) for each in same):
            value = list(dict.fromkeys(item for each in same if isinstance(each.value, list) for item in each.value))
        yield f"  {name}: {_text(value)}  # {', '.join(each.where for each in same)}", ""


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@command(
    "schema",
    "config schema > hookrun.schema.json",
    note='then, at the top of coder.json: "$schema": "./hookrun.schema.json"',
)
@click.option("--json", "as_json", is_flag=True, help="Print it on one line instead of indented.")
def schema_command(*, as_json: bool) -> None:
    """Print the JSON Schema (draft 2020-12) of coder.json and hookrun.yaml."""
    click.echo(json.dumps(schema(), indent=None if as_json else 2))
