"""`hookrun install`: wires agents, so that they fire the hooks that are declared here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hookrun.cli import FAILED
from hookrun.cli.declared import here
from hookrun.cli.project import Project
from hookrun.cli.report import Report, json_option
from hookrun.cli.trust import TO_ASK, go_through
from hookrun.cli.wiring import agents, declarations, declared_events, home_option, spot
from hookrun.config.diagnostics import printable
from hookrun.edit import file_change
from hookrun.edit.file_change import FileError
from hookrun.wiring import plan
from hookrun.wiring.ledger import Ledger
from hookrun.wiring.plan import InstallChange, InstallRequest
from hookrun.wiring.targets import SCOPES
from hookrun.wiring.wired_command import this_program

if TYPE_CHECKING:
    from hookrun.agents.types import Agent
    from hookrun.wiring.targets import InstallLocation

EXAMPLES = """\b
Examples:
  hookrun install claude codex
  hookrun install gemini --dry-run
  hookrun install codex --trust          (without a terminal to ask on)

Exit status: 0 the agents are wired, 1 one of them is not, or will not run the hooks yet.
"""
OTHER = {"user": "project", "project": "user"}


@click.command(name="install", epilog=EXAMPLES)
@click.argument("names", metavar="AGENT...", nargs=-1, required=True)
@click.option("--scope", type=click.Choice(SCOPES), default="user", show_default=True, help="In whose settings.")
@click.option("--dry-run", is_flag=True, help="Show what would change as a diff, and change nothing.")
@click.option("--all-events", is_flag=True, help="Every event of the agent, not only those with a hook declared here.")
@click.option("--trust", is_flag=True, help="Codex: note that its hooks are trusted, without asking.")
@home_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    scope: str,
    home: str | None,
    *,
    dry_run: bool,
    all_events: bool,
    trust: bool,
    as_json: bool,
) -> None:
    """Let coding agents fire the hooks that are declared: writes hookrun into their settings.

    Hooks of the project that nobody has approved are shown then, and asked about where somebody can answer.
    """
    where = spot(home)
    complete = True
    report = Report(as_json=as_json, dry_run=dry_run)
    for agent in agents(names):
        try:
            work = Install(agent, scope, where, "every" if all_events else "declared", report)
            complete &= work.show() if dry_run else work.run(trust=trust)
        except FileError as error:
            report.warn(f"{agent.NAME}: {error}")
            complete = False
    if not dry_run:
        _approve(home, report)
    ctx.exit(0 if report.end(ok=complete) else FAILED)


def _approve(home: str | None, report: Report) -> None:
    """Ask about the project's hooks that nobody has approved, or say that they do not run before."""
    try:
        project = Project(here(), None, home)
        hooks = project.hooks()
    except click.ClickException as error:  # what is decided cannot be read: the wiring is done all the same
        report.warn(error.message)
        return
    undecided = [found for found in hooks if found.state in TO_ASK]
    approved = [found.hook.name for found in hooks if found.state == "approved"]
    report.decided(approved, [found.hook.name for found in undecided])
    if undecided and not report.as_json and sys.stdin.isatty() and sys.stdout.isatty():
        go_through(project, undecided)
    elif undecided:
        names = ", ".join(found.hook.name for found in undecided)
        report.warn(f"nobody has approved {names}: agents do not run them until you run `hookrun trust`")


class Install:
    """The wiring of one agent in one scope."""

    def __init__(self, agent: Agent, scope: str, where: InstallLocation, which: str, report: Report) -> None:
        """Find out which events there are to wire. Raises FileError if there are none."""
        self.report = report
        self.agent = agent
        self.wish = InstallRequest(agent, scope, where, this_program())
        declared = declared_events(agent, declarations(where))
        self.unknown = plan.unsupported_events(agent, declared)
        self.events = plan.all_events(agent) if which == "every" else plan.events_for(agent, declared)
        if not self.events and not plan.wired_events(self.wish):
            raise FileError(self._nothing_to_wire(declared))
        self._refuse_twice(where)

    def _nothing_to_wire(self, declared: list[str]) -> str:
        if declared:
            return f"{self.agent.DISPLAY_NAME} has no event for {', '.join(self.unknown)}: there is nothing to wire"
        if declarations(self.wish.spot).hooks:
            name = self.agent.DISPLAY_NAME
            return f"{name} needs no wiring: it runs what is declared here by itself, or it is not for it"
        return "no hooks are declared here, so there is no event to wire; declare one, or use --all-events"

    def _refuse_twice(self, where: InstallLocation) -> None:
        """Refuse a second scope: most agents would run each hook twice."""
        other = InstallRequest(self.agent, OTHER[self.wish.scope], where, self.wish.program)
        wired = plan.wired_events(other)
        if wired:
            msg = (
                f"found {self.agent.DISPLAY_NAME} wired in {wired[0].path} already, expected one scope only, or each "
                f"hook would run twice; that wiring serves this project too: run `hookrun install {self.agent.NAME} "
                f"--scope {other.scope}` to bring it up to date, or take it away with "
                f"`hookrun uninstall {self.agent.NAME} --scope {other.scope}`"
            )
            raise FileError(msg)

    def show(self) -> bool:
        """Print what would change as a diff."""
        ledger = Ledger(self.wish.spot.home)
        changes = plan.plan_install(self.wish, self.events, ledger)
        trust = plan.plan_trust(self.wish, changes[0], ledger)
        if trust is not None:
            changes.append(trust)
        self.report.show(changes, f"{self.agent.NAME}: nothing to change")
        return True

    def run(self, *, trust: bool) -> bool:
        """Wire the agent; tell whether it will run the hooks. Raises FileError."""
        ledger = Ledger(self.wish.spot.home)
        with ledger.locked():
            changes = plan.plan_install(self.wish, self.events, ledger)
            for each in changes:
                _write(each, ledger)
            self._tell(changes)
            return self._trust(plan.plan_trust(self.wish, changes[0], ledger), ledger, given=trust)

    def _tell(self, changes: list[InstallChange]) -> None:
        events = len({each.event for each in plan.wired_events(self.wish)})
        self.report.files(changes)
        files = ", ".join(dict.fromkeys(each.path for each in changes))
        state = "wired" if any(each.has_effect for each in changes) else "is wired already, nothing changed"
        count = f"{events} event{'s' if events != 1 else ''}"
        self.report.say(f"{self.agent.NAME}: {state}: {count} in {files}")
        if self.unknown:
            self.report.say(
                f"{self.agent.NAME}: has no event for {', '.join(self.unknown)}: such hooks never run there"
            )

    def _trust(self, needed: InstallChange | None, ledger: Ledger, *, given: bool) -> bool:
        """Write the agent's trust in the hooks after asking; return whether it is there, or the agent asks for none."""
        if needed is None or not needed.has_effect:
            return True
        name = self.agent.NAME
        question = f"{name} skips hooks that are not trusted. Note in {needed.path} that hookrun's are?"
        asks = not self.report.as_json and sys.stdin.isatty() and sys.stdout.isatty()
        if given or (asks and click.confirm(printable(question))):
            _write(needed, ledger)
            self.report.files([needed])
            self.report.say(f"{name}: its hooks are trusted: {needed.path}")
            return True
        self.report.warn(
            f"{name}: skips these hooks in silence until they are trusted: "
            f"run `hookrun install {name} --trust`, or use /hooks in {name}"
        )
        return False


def _write(each: InstallChange, ledger: Ledger) -> None:
    plan.record_original(each, ledger)
    file_change.apply(each)
