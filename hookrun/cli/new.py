"""`hookrun new`: create a hook from a template."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from hookrun.cli.common import command, parse_pairs, report_options, resolve_home, working_directory
from hookrun.cli.printing import CommandReport
from hookrun.cli.trust import approve_written
from hookrun.edit.file_change import apply_all
from hookrun.files import relative_path
from hookrun.scaffold.declaration_file import project_file
from hookrun.scaffold.new_hook import LANGUAGES, HookPlan, HookTemplateRequest, plan_hook
from hookrun.scaffold.suggestions import template_language

EVENT = "pre_tool_use"

event_option = click.option("--event", metavar="EVENT", help="The event, by any of its names; default pre_tool_use.")
matcher_option = click.option("--matcher", metavar="GLOB", help="The tools, by hookrun's names: bash, write|edit.")
yaml_option = click.option("--yaml", "as_yaml", is_flag=True, help="Use hookrun.yaml instead of coder.json.")


@command(
    "new",
    "new no-sudo",
    "new check-edits --lang python --event post_tool_use",
    "new ask-before-push --when 'tool_args.command=*git push*'",
)
@click.argument("name")
@click.option(
    "--lang", type=click.Choice(list(LANGUAGES)), help="The language; default by the project's files, else sh."
)
@event_option
@matcher_option
@click.option("--when", metavar="PATH=GLOB", multiple=True, help="A condition on a field of the context; repeatable.")
@click.option(
    "--serve", is_flag=True, help="Answer one line of JSON after the other, to be kept running between calls."
)
@yaml_option
@report_options
def new_command(
    name: str,
    lang: str | None,
    event: str | None,
    matcher: str | None,
    when: tuple[str, ...],
    *,
    report: CommandReport,
    as_yaml: bool,
    serve: bool,
) -> None:
    """Create the hook NAME from a template: a script and its tests in hooks/, and its entry in coder.json.

    The script is a stub: it reads the context, but it and its tests fail until you write the check. These names create
    a finished example: protect-env, no-conflict-markers, house-rules, finish-the-job, read-the-rules, tell-me.

    No file is overwritten. At a terminal the hook is approved too.
    """
    directory, home = working_directory(), resolve_home(report.home)
    declaring = project_file(directory, home, "yaml" if as_yaml else None)
    conditions = parse_pairs(when, "PATH=GLOB", "--when")
    language = lang or template_language(declaring.root)
    request = HookTemplateRequest(language, event or EVENT, matcher, conditions, name, serve)
    made = plan_hook(request, declaring)
    changes = [*made.files, *declaring.changes()]
    if report.dry_run:
        report.show_diff(changes)
        return
    apply_all(changes)
    report.show_written(changes)
    if made.stub:
        effect = ", and it blocks every matching call," if made.blocks else ""
        report.note(f"{relative_path(made.stub)} is a stub: it and its tests fail{effect} until you write the check")
    approved = False
    if made.build:
        report.add_approvals((), [made.name])
    else:
        approved = approve_written(declaring.root, home, [made.name], changes, report)
    report.next_steps(next_steps(made, report, approved=approved, directory=directory))


def next_steps(made: HookPlan, report: CommandReport, *, approved: bool, directory: str) -> Iterator[tuple[str, str]]:
    """Yield the commands that finish a new hook."""
    if os.path.realpath(directory) != os.path.realpath(made.declaring.root):
        yield f"cd {relative_path(made.declaring.root)}", "go to the project's root"
    if made.build:
        yield made.build, "build the hook; it fails until then"
    yield "hookrun test", "runs its tests"
    if not approved:
        yield (
            report.with_home("hookrun trust"),
            "review and approve it; it does not run until then, but may block calls",
        )
