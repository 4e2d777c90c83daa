"""`hookrun uninstall`: takes hookrun out of agents' settings; what else stands in them is as it was."""

from __future__ import annotations

import click

from hookrun.cli import FAILED
from hookrun.cli.report import Report, json_option
from hookrun.cli.wiring import agents, home_option, spot
from hookrun.edit import file_change
from hookrun.edit.file_change import FileError
from hookrun.wiring import plan
from hookrun.wiring.ledger import Ledger
from hookrun.wiring.plan import InstallChange, InstallRequest
from hookrun.wiring.targets import SCOPES
from hookrun.wiring.wired_command import this_program

EXAMPLES = """\b
Examples:
  hookrun uninstall claude
  hookrun uninstall codex --scope project --dry-run
"""


@click.command(name="uninstall", epilog=EXAMPLES)
@click.argument("names", metavar="AGENT...", nargs=-1, required=True)
@click.option("--scope", type=click.Choice(SCOPES), default="user", show_default=True, help="Out of whose settings.")
@click.option("--dry-run", is_flag=True, help="Show what would change as a diff, and change nothing.")
@home_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, names: tuple[str, ...], scope: str, home: str | None, *, dry_run: bool, as_json: bool
) -> None:
    """Take hookrun out of coding agents' settings. What nobody changed since install is given back byte for byte."""
    where = spot(home)
    complete = True
    report = Report(as_json=as_json, dry_run=dry_run)
    for agent in agents(names):
        try:
            _uninstall(InstallRequest(agent, scope, where, this_program()), report, dry_run=dry_run)
        except FileError as error:
            report.warn(f"{agent.NAME}: {error}")
            complete = False
    ctx.exit(0 if report.end(ok=complete) else FAILED)


def _uninstall(wish: InstallRequest, report: Report, *, dry_run: bool) -> None:
    ledger = Ledger(wish.spot.home)
    if dry_run:
        report.show(plan.plan_uninstall(wish, ledger), f"{wish.agent.NAME}: nothing to change")
        return
    with ledger.locked():  # in the other order than install: the last file in a directory that it made takes that along
        changed = [each for each in reversed(plan.plan_uninstall(wish, ledger)) if _taken_out(each, ledger)]
    files = ", ".join(each.path for each in changed)
    report.files(changed)
    report.say(f"{wish.agent.NAME}: {f'taken out of {files}' if files else 'is not wired, nothing changed'}")


def _taken_out(each: InstallChange, ledger: Ledger) -> bool:
    """Write one file without hookrun; tell whether it changed."""
    file_change.apply(each)
    plan.forget_original(each, ledger)
    return each.has_effect
