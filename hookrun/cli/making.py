"""What the commands that write hooks have in common: their options, showing or writing a plan, and what comes next."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from hookrun.cli.approving import approve_written
from hookrun.cli.report import near
from hookrun.config.diagnostics import printable, quote
from hookrun.edit.file_change import FileError, apply_all
from hookrun.events import ALIASES, WITH_TOOL
from hookrun.scaffold.declaration_file import ScaffoldError
from hookrun.scaffold.new_hook import LANGUAGES, canonical_event, plan_hook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hookrun.cli.report import Report
    from hookrun.edit.file_change import FileChange
    from hookrun.scaffold.new_hook import HookPlan, HookTemplateRequest

Function = TypeVar("Function", bound="Callable[..., None]")

event_option = click.option(
    "--event", metavar="EVENT", help="When it runs, by hookrun's or any agent's name; default pre_tool_use."
)
matcher_option = click.option(
    "--matcher", metavar="GLOB", help="For which tools, by hookrun's names: bash, write|edit."
)
yaml_option = click.option("--yaml", "as_yaml", is_flag=True, help="Declare it in hookrun.yaml, not in coder.json.")
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would be written as a diff, and write nothing."
)


def language_option(*, required: bool) -> Callable[[Function], Function]:
    """Return the option `--lang`."""
    return click.option("--lang", type=click.Choice(list(LANGUAGES)), required=required, help="The hook's language.")


def planned(wish: HookTemplateRequest, directory: str, home: str) -> HookPlan:
    """Return the plan of a hook. Raises click.ClickException for what cannot be, or could never run."""
    with told():
        made = plan_hook(wish, directory, home)
        event = canonical_event(wish.event, made.declaring.events)
    if wish.matcher and event in ALIASES and event not in WITH_TOOL:
        found = f"found --matcher {quote(wish.matcher)} for {event}, which has no tool: such a hook would never run"
        msg = f"{found}; expected no matcher there, or an event of {', '.join(sorted(WITH_TOOL))}: leave one out"
        raise click.ClickException(msg)
    return made


@contextmanager
def told() -> Iterator[None]:
    """Let what cannot be written end the command with its message."""
    try:
        yield
    except (ScaffoldError, FileError) as error:
        raise click.ClickException(str(error)) from None


def write(changes: list[FileChange], report: Report) -> None:
    """Write the files, all or none, and say which. Raises click.ClickException."""
    with told():
        apply_all(changes)
    report.files(changes)
    if report.as_json:
        return
    for said, after in (("wrote", True), ("removed", False)):
        paths = [near(each.path) for each in changes if each.has_effect and (each.after is not None) is after]
        if paths:
            click.echo(printable(f"{said} {', '.join(paths)}"))


def pairs(given: Iterable[str], expected: str, option: str) -> dict[str, str]:
    """Return what an option says that is given as NAME=VALUE, any number of times.

    Raises click.BadParameter for what is no such pair, or says one name twice; `expected` says it in words.
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name in found:
            raise click.BadParameter(f"found {text!r}, expected {expected}", param_hint=option)
        found[name] = value
    return found


def carry_out(plan: HookPlan, home: str, report: Report) -> bool:
    """Write a plan for a project's hooks; approve them where a person is there; tell whether they are approved now."""
    for problem in plan.warnings:
        report.warn(f"warning: {problem}")
    write(plan.changes, report)
    if plan.build:
        report.decided((), plan.names)
        return False
    return approve_written(plan.declaring.root, home, plan.names, plan.changes, report)


def steps_after(plan: HookPlan, *, approved: bool, there: str) -> Iterator[tuple[str, str]]:
    """Yield what is to be done with a new hook; `there` is the directory of the project."""
    if os.path.realpath(there) != os.path.realpath(plan.declaring.root):
        yield f"cd {near(plan.declaring.root)}", "the project's root"
    if plan.build:
        yield plan.build, "builds it: until then it fails as missing"
    yield "hookrun test", "runs its cases"
    if not approved:
        yield "hookrun trust", "shows what it runs, and asks: agents do not run it before"
