"""`hookrun list`: every hook in running order, with what it runs, when, and where it is declared."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import click

from hookrun.cli import FAILED
from hookrun.cli.declared import here, options
from hookrun.cli.project import Project
from hookrun.config.diagnostics import printable
from hookrun.credentials import HIDDEN, looks_like_credential, redact
from hookrun.events import UnknownEventError, resolve_event
from hookrun.model import UNTRUSTED_LAYERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.config.load import Declarations
    from hookrun.model import Hook

    Decided = dict[int, dict[str, str]]

EXAMPLES = """\b
Examples:
  hookrun list
  hookrun list --event PreToolUse --json
"""
COLUMNS = ("NAME", "EVENT", "LAYER", "MATCHER", "RUNS", "TIMEOUT", "PRIORITY", "ON_FAILURE", "FLAGS", "WHERE")
FLAGS = ("parallel", "always", "exclusive", "background")
SAID = {"new": "not approved", "changed": "not approved: changed"}
"""How what is decided about a hook is said beside its flags, where the word alone would not do."""
NOTHING_DECIDED = {"trust": None, "paused": None}
MASK = "***"
USER_INFO = re.compile(r"(?<=://)[^/?#@]*@")
VARIABLE = re.compile(r"\$(?:\w+|\{\w+\})")
PLACES = 0xE000
"""The first of the characters of nobody's that stand for variables while credentials are looked for."""
LONGEST_COMMAND = 60


@click.command(name="list", epilog=EXAMPLES)
@click.option("--event", metavar="EVENT", help="Only the hooks of this event, by any of its names.")
@options
@click.pass_context
def command(ctx: click.Context, event: str | None, config: str | None, home: str | None, *, as_json: bool) -> None:
    """Show every hook in force here, in the order in which they run. Runs nothing."""
    project = Project(here(), config, home)
    declarations = project.declarations
    hooks = declarations.hooks
    if event is not None:
        name = _event(event, declarations)
        hooks = [hook for hook in hooks if name in hook.events]
    problems = [*declarations.problems]
    try:
        decided = {id(hook): _decided(hook, project) for hook in hooks}
    except click.ClickException as error:
        problems.append(error.format_message())
        decided = {}
    if as_json:
        _print_json(hooks, declarations, decided)
    elif not hooks:
        click.echo(f"no hooks are declared here{f' for {printable(event)}' if event else ''}")
    elif sys.stdout.isatty():
        _print_table(hooks, decided)
    else:
        _print_plain(hooks, decided)
    for problem in [*problems, *(hook.error for hook in hooks if as_json and hook.error is not None)]:
        click.echo(f"hookrun: {printable(problem)}", err=True)
    ctx.exit(FAILED if problems else 0)


def _decided(hook: Hook, project: Project) -> dict[str, str]:
    """Return what a person has decided about a hook: `trust` for those of the project, `paused` until when."""
    decided = {"trust": project.look(hook).state} if hook.layer in UNTRUSTED_LAYERS else {}
    paused = project.paused(hook)
    return decided if paused is None else {**decided, "paused": f"paused until {paused}"}


def _event(given: str, declarations: Declarations) -> str:
    try:
        return resolve_event(given, declarations.events)
    except UnknownEventError as error:
        raise click.ClickException(f"--event: {error}") from None


def to_json(hook: Hook) -> dict[str, object]:
    """Return all fields of a hook, with what may be secret masked: header values, and what looks like a credential."""
    data = hook.to_dict()
    if hook.headers is not None:
        data["headers"] = dict.fromkeys(hook.headers, MASK)
    if hook.env is not None:
        data["env"] = _masked(hook.env)
    before, data["target"] = json.dumps(data["target"]), without_credentials(data["target"])
    after = json.dumps(data["target"])
    for name, words in (("look", hook.look), ("words", hook.words)):
        data[name] = [MASK if each in before and each not in after else without_credentials(each) for each in words]
    return data


def without_credentials(value: object) -> object:
    """Return what a hook runs, with what looks like a credential masked; a variable's name is none."""
    if not isinstance(value, str):
        return list(map(without_credentials, value)) if isinstance(value, (list, tuple)) else value
    names = VARIABLE.findall(value)
    for number, name in enumerate(names):
        value = value.replace(name, chr(PLACES + number), 1)
    value = redact(USER_INFO.sub(f"{MASK}@", value)).replace(HIDDEN, MASK)
    for number, name in enumerate(names):
        value = value.replace(chr(PLACES + number), name)
    return value


def _masked(env: Mapping[str, str]) -> dict[str, str]:
    return {
        name: MASK if looks_like_credential(name.encode("utf-8", "replace")) else str(without_credentials(value))
        for name, value in env.items()
    }


def _runs(hook: Hook) -> str:
    safe = without_credentials(hook.target)
    return safe if isinstance(safe, str) else json.dumps(safe, ensure_ascii=False)


def _print_json(hooks: list[Hook], declarations: Declarations, decided: Decided) -> None:
    report = {
        "root": declarations.root,
        "files": declarations.files,
        "events": declarations.events,
        "settings": declarations.settings,
        "problems": declarations.problems,
        "hooks": [{**to_json(hook), **NOTHING_DECIDED, **decided.get(id(hook), {})} for hook in hooks],
    }
    click.echo(json.dumps(report, indent=2))


def _row(hook: Hook, decided: Decided) -> list[str]:
    """Return what a person wants to know of a hook, a text for each of COLUMNS, safe to print."""
    runs = _runs(hook)
    flags = [] if hook.mode == "enforce" else [hook.mode]
    flags += [flag for flag in FLAGS if getattr(hook, flag)]
    flags += [SAID.get(state, state) for state in decided.get(id(hook), {}).values()]
    cells = (
        hook.name,
        ", ".join(hook.events),
        hook.layer,
        _matcher(hook),
        runs if len(runs) <= LONGEST_COMMAND else runs[: LONGEST_COMMAND - 3] + "...",
        f"{hook.timeout:g} s",
        str(hook.priority),
        hook.on_failure,
        ", ".join(flags) or "-",
        hook.location(),
    )
    return [printable(cell) for cell in cells]


def _matcher(hook: Hook) -> str:
    """Return what selects the hook by its tool, in the words of its declaration."""
    if hook.claude is None:
        return "|".join(hook.matcher) if hook.matcher is not None else "any"
    rule = hook.claude.get("if")
    return f"{hook.claude.get('matcher') or 'any'}{f' if {rule}' if rule else ''}"


def _print_plain(hooks: list[Hook], decided: Decided) -> None:
    rows = [list(COLUMNS), *(_row(hook, decided) for hook in hooks)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    click.echo(_aligned(rows[0], widths))
    for hook, row in zip(hooks, rows[1:], strict=True):
        click.echo(_aligned(row, widths))
        if hook.error is not None:
            click.echo(f"  error: {printable(hook.error)}")


def _aligned(row: list[str], widths: list[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _print_table(hooks: list[Hook], decided: Decided) -> None:
    from rich.console import Console  # only for a terminal
    from rich.table import Table  # only for a terminal
    from rich.text import Text  # only for a terminal

    table = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, overflow="fold")
    for hook in hooks:
        table.add_row(*map(Text, _row(hook, decided)), style="red" if hook.error is not None else None)
    console = Console()
    console.print(table)
    for hook in hooks:
        if hook.error is not None:
            console.print(Text(printable(f"{hook.name}: {hook.error}"), style="red"), soft_wrap=True)
