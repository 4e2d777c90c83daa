"""`hookrun new`: one more hook from a template, with its cases."""

from __future__ import annotations

import click

from hookrun.cli.declared import here, home_of
from hookrun.cli.making import (
    carry_out,
    dry_run_option,
    event_option,
    language_option,
    matcher_option,
    pairs,
    planned,
    steps_after,
    yaml_option,
)
from hookrun.cli.report import Report, json_option
from hookrun.cli.wiring import home_option
from hookrun.scaffold.new_hook import HookTemplateRequest

EXAMPLES = """\b
Examples:
  hookrun new no-sudo --lang sh
  hookrun new check-edits --lang python --event post_tool_use --matcher 'write|edit'
  hookrun new ask-before-push --lang node --matcher bash --when 'tool_args.command=*git push*'
"""


@click.command(name="new", epilog=EXAMPLES)
@click.argument("name")
@language_option(required=True)
@event_option
@matcher_option
@click.option("--when", metavar="PATH=GLOB", multiple=True, help="Only if this place in the context looks like this.")
@yaml_option
@dry_run_option
@home_option
@json_option
def command(
    name: str,
    lang: str,
    event: str | None,
    matcher: str | None,
    when: tuple[str, ...],
    *,
    home: str | None,
    as_yaml: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write the hook NAME into hooks/, from a template that fits its event, with its cases, and declare it.

    The script reads the context, answers with a verdict, and fails loudly on what it cannot judge; its cases pass as
    they are. Nothing that is there is overwritten. At a terminal what was written is approved too.
    """
    directory, home = here(), home_of(home)
    form = "yaml" if as_yaml else None
    wish = HookTemplateRequest(
        lang, event or "pre_tool_use", matcher, pairs(when, "PATH=GLOB, each path once", "--when"), name, form
    )
    made = planned(wish, directory, home)
    report = Report(as_json=as_json, dry_run=dry_run)
    if dry_run:
        report.show(made.changes)
    else:
        approved = carry_out(made, home, report)
        report.next_steps(steps_after(made, approved=approved, there=directory))
    report.end()
