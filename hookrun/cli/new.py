"""Create hooks from templates: `hookrun init` the first one of a project, `hookrun new` one more."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hookrun.cli.common import command, parse_pairs, report_options, resolve_home, working_directory
from hookrun.cli.printing import CommandReport, is_interactive, print_line
from hookrun.cli.trust import approve_written
from hookrun.edit.file_change import apply_all
from hookrun.events import ALIASES, WITH_TOOL
from hookrun.files import relative_path
from hookrun.scaffold.declaration_file import ScaffoldError, project_file
from hookrun.scaffold.new_hook import (
    LANGUAGES,
    PURPOSES,
    HookTemplateRequest,
    canonical_event,
    plan_hook,
    purpose_of,
    unused_name,
)
from hookrun.text import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.edit.file_change import FileChange
    from hookrun.scaffold.new_hook import HookPlan

LANGUAGE, EVENT = "sh", "pre_tool_use"
SUGGESTED_EVENTS = "pre_tool_use, post_tool_use, user_prompt_submit, stop, session_start"

event_option = click.option("--event", metavar="EVENT", help="Its event, by any of its names; default pre_tool_use.")
matcher_option = click.option("--matcher", metavar="GLOB", help="Its tools, by hookrun's names: bash, write|edit.")
yaml_option = click.option("--yaml", "as_yaml", is_flag=True, help="Declare it in hookrun.yaml instead of coder.json.")


# --- hookrun init


@command(
    "init",
    "init",
    "init --lang python",
    "init --lang node --event post_tool_use --name check-files --yes",
    "init --lang sh --dry-run",
)
@click.option("--lang", type=click.Choice(list(LANGUAGES)), help="The hook's language; default sh.")
@event_option
@matcher_option
@click.option("--name", metavar="NAME", help="The hook's name; default by its purpose.")
@yaml_option
@click.option("--yes", is_flag=True, help="Accept the defaults without asking.")
@report_options
def init_command(
    lang: str | None,
    event: str | None,
    matcher: str | None,
    name: str | None,
    report: CommandReport,
    *,
    as_yaml: bool,
    yes: bool,
) -> None:
    """Set up a project: declare a first hook in coder.json, and write its script and its tests into hooks/.

    On a terminal it asks for what no flag says, and approves the hook; otherwise agents do not run it yet. No file is
    overwritten: the declaration is added to an existing one.
    """
    directory, home = working_directory(), resolve_home(report.home)
    form = "yaml" if as_yaml else None
    request = HookTemplateRequest(lang or LANGUAGE, event or EVENT, matcher, name=name, form=form)
    if not (yes or report.dry_run or report.as_json) and is_interactive():
        request = _ask(request, directory, home, lang=lang, event=event)
    steps = _create(request, directory, home, report)
    if steps:
        program = LANGUAGES[request.language].program
        if shutil.which(program) is None:
            report.warn(f"there is no {program} on PATH: the hook needs it")
        steps.append(
            (report.with_home("hookrun install claude"), "connects Claude Code; `hookrun agents` lists the others")
        )
    report.next_steps(steps)


def _ask(
    request: HookTemplateRequest, directory: str, home: str, *, lang: str | None, event: str | None
) -> HookTemplateRequest:
    """Ask for the values that no flag gives."""
    declaring = project_file(directory, home, request.form)
    language = lang or click.prompt("In which language", default=LANGUAGE, type=click.Choice(list(LANGUAGES)))
    name = event or _ask_event(declaring.events)
    request = replace(request, language=language, event=name)
    canonical = canonical_event(name, declaring.events)
    proposed = PURPOSES[purpose_of(canonical, request.matcher)]
    if request.matcher is None and canonical in WITH_TOOL:
        answer = click.prompt("For which tools (a glob; * for every one)", default=proposed.matcher or "*")
        request = replace(request, matcher=answer)
        proposed = PURPOSES[purpose_of(canonical, answer)]
    if request.name is None:
        request = replace(
            request, name=click.prompt("What is it called", default=unused_name(proposed.name, declaring))
        )
    return request


def _ask_event(own: list[str]) -> str:
    """Ask for an event until the answer is a known one."""

    def known(text: str) -> str:
        try:
            return canonical_event(text.strip(), own)
        except ScaffoldError as error:
            raise click.UsageError(str(error)) from None

    question = f"When does it run ({SUGGESTED_EVENTS}, or another event)"
    return str(click.prompt(question, default=EVENT, value_proc=known))


# --- hookrun new


@command(
    "new",
    "new no-sudo --lang sh",
    "new check-edits --lang python --event post_tool_use --matcher 'write|edit'",
    "new ask-before-push --lang node --matcher bash --when 'tool_args.command=*git push*'",
)
@click.argument("name")
@click.option("--lang", type=click.Choice(list(LANGUAGES)), required=True, help="The hook's language.")
@event_option
@matcher_option
@click.option("--when", metavar="PATH=GLOB", multiple=True, help="A condition on a field of the context.")
@yaml_option
@report_options
def new_command(
    name: str,
    lang: str,
    event: str | None,
    matcher: str | None,
    when: tuple[str, ...],
    *,
    report: CommandReport,
    as_yaml: bool,
) -> None:
    """Create the hook NAME in hooks/, with its tests, and declare it.

    The script is a stub: it reads the context, and fails, as its tests do, until you write the check. The names of
    templates (protect-env, no-conflict-markers, house-rules, finish-the-job, read-the-rules, tell-me) give a finished
    hook. No file is overwritten. On a terminal the hook is approved too.
    """
    conditions = parse_pairs(when, "PATH=GLOB", "--when")
    request = HookTemplateRequest(lang, event or EVENT, matcher, conditions, name, "yaml" if as_yaml else None)
    report.next_steps(_create(request, working_directory(), resolve_home(report.home), report))


# --- both


def _create(request: HookTemplateRequest, directory: str, home: str, report: CommandReport) -> list[tuple[str, str]]:
    """Write the hook, approve it if the user is at the terminal, and return the next steps; or only show the diff.

    Raises ScaffoldError, FileError, and click.ClickException for a hook that could never run.
    """
    made = plan_hook(request, directory, home)
    event = canonical_event(request.event, made.declaring.events)
    if request.matcher and event in ALIASES and event not in WITH_TOOL:
        found = f"--matcher {quote(request.matcher)} never matches: {event} has no tool"
        raise click.ClickException(f"{found}; leave it out, or choose one of {', '.join(sorted(WITH_TOOL))}")
    if made.warnings:
        raise ScaffoldError(f"{made.warnings[0].message}\nhint: {made.warnings[0].hint}; nothing was written")
    if report.dry_run:
        report.show_diff(made.changes)
        return []
    apply_all(made.changes)
    report_changes(made.changes, report)
    if made.stub:
        report.note(f"{relative_path(made.stub)} is a stub: it fails, as do its tests, until you write the check")
    approved = False
    if made.build:
        report.add_approvals((), made.names)
    else:
        approved = approve_written(made.declaring.root, home, made.names, made.changes, report)
    return list(_next_steps(made, report, approved=approved, directory=directory))


def report_changes(changes: list[FileChange], report: CommandReport) -> None:
    """Report the files that were written and removed."""
    report.add_files(changes)
    if report.as_json:
        return
    for verb, written in (("wrote", True), ("removed", False)):
        paths = [
            relative_path(each.path) for each in changes if each.has_effect and (each.after is not None) is written
        ]
        if paths:
            print_line(f"{verb} {', '.join(paths)}")


def _next_steps(made: HookPlan, report: CommandReport, *, approved: bool, directory: str) -> Iterator[tuple[str, str]]:
    if os.path.realpath(directory) != os.path.realpath(made.declaring.root):
        yield f"cd {relative_path(made.declaring.root)}", "the project's root"
    if made.build:
        yield made.build, "builds it: until then it fails as missing"
    yield "hookrun test", "runs its tests"
    if not approved:
        yield report.with_home("hookrun trust"), "review and approve it; agents skip it until then"
