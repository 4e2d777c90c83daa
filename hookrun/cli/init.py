"""`hookrun init`: the first hook of a project, asked for or by flags, with its script and its cases."""

from __future__ import annotations

import shutil
from dataclasses import replace

import click

from hookrun.cli.approving import at_terminal
from hookrun.cli.declared import here, home_of
from hookrun.cli.making import (
    carry_out,
    dry_run_option,
    event_option,
    language_option,
    matcher_option,
    planned,
    steps_after,
    told,
    yaml_option,
)
from hookrun.cli.report import Report, json_option
from hookrun.cli.wiring import home_option
from hookrun.events import WITH_TOOL
from hookrun.scaffold.declaration_file import ScaffoldError, project_file
from hookrun.scaffold.new_hook import LANGUAGES, PURPOSES, HookTemplateRequest, canonical_event, purpose_of, unused_name

EXAMPLES = """\b
Examples:
  hookrun init
  hookrun init --lang python
  hookrun init --lang node --event post_tool_use --name check-files --yes
  hookrun init --lang sh --dry-run
"""
LANGUAGE, EVENT = "sh", "pre_tool_use"
OFTEN = "pre_tool_use, post_tool_use, user_prompt_submit, stop, session_start"
"""Events that are proposed; every other can be typed too."""


@click.command(name="init", epilog=EXAMPLES)
@language_option(required=False)
@event_option
@matcher_option
@click.option("--name", metavar="NAME", help="What the hook is called; default: what it does.")
@yaml_option
@dry_run_option
@click.option("--yes", is_flag=True, help="Ask nothing: what no flag says is as proposed.")
@home_option
@json_option
def command(
    lang: str | None,
    event: str | None,
    matcher: str | None,
    name: str | None,
    home: str | None,
    *,
    as_yaml: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Begin: declare a first hook here, in coder.json, and write its script and its cases into hooks/.

    Without flags it asks, where somebody can answer. Files that are there are never overwritten: a declaration is added
    to what the file says. At a terminal what was written is approved too; an agent runs nothing of a project otherwise.
    """
    directory, home = here(), home_of(home)
    wish = HookTemplateRequest(lang or LANGUAGE, event or EVENT, matcher, name=name, form="yaml" if as_yaml else None)
    if not (yes or dry_run or as_json) and at_terminal():
        wish = _asked(wish, directory, home, lang=lang, event=event)
    made = planned(wish, directory, home)
    report = Report(as_json=as_json, dry_run=dry_run)
    if dry_run:
        report.show(made.changes)
        report.end()
        return
    approved = carry_out(made, home, report)
    program = LANGUAGES[wish.language].program
    if shutil.which(program) is None:
        report.warn(f"warning: there is no {program} on PATH: the hook needs it")
    steps = list(steps_after(made, approved=approved, there=directory))
    report.next_steps([*steps, ("hookrun install claude", "lets Claude Code run it: hookrun agents names the others")])
    report.end()


def _asked(
    wish: HookTemplateRequest, directory: str, home: str, *, lang: str | None, event: str | None
) -> HookTemplateRequest:
    """Ask for everything that no flag has said."""
    with told():
        declaring = project_file(directory, home, wish.form)
    language = lang or click.prompt("In which language", default=LANGUAGE, type=click.Choice(list(LANGUAGES)))
    name = event or _event(declaring.events)
    wish = replace(wish, language=language, event=name)
    with told():
        canonical = canonical_event(name, declaring.events)
    proposed = PURPOSES[purpose_of(canonical, wish.matcher)]
    if wish.matcher is None and canonical in WITH_TOOL:
        answer = click.prompt("For which tools (a glob; * for every one)", default=proposed.matcher or "*")
        wish = replace(wish, matcher=answer)
        proposed = PURPOSES[purpose_of(canonical, answer)]
    if wish.name is None:
        wish = replace(wish, name=click.prompt("What is it called", default=unused_name(proposed.name, declaring)))
    return wish


def _event(own: list[str]) -> str:
    """Ask for an event; one that is not known is asked for again."""

    def known(text: str) -> str:
        try:
            return canonical_event(text.strip(), own)
        except ScaffoldError as error:
            raise click.UsageError(str(error)) from None

    return str(click.prompt(f"When does it run ({OFTEN}, or another event)", default=EVENT, value_proc=known))
