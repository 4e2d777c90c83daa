"""Connect hookrun to coding agents: `hookrun install`, `uninstall` and `agents`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from hookrun.agents import AGENTS
from hookrun.cli.common import (
    agent_to_json,
    agents_named,
    command,
    declarations_at,
    declared_events,
    home_option,
    install_location,
    json_option,
    load_project,
    report_options,
)
from hookrun.cli.printing import CommandReport, aligned, count, is_interactive, print_json
from hookrun.cli.trust import UNDECIDED, review
from hookrun.doctor.agent_state import AgentState, inspect_agent
from hookrun.edit import file_change
from hookrun.edit.file_change import FileError
from hookrun.text import escape
from hookrun.trust.store import StoreError
from hookrun.wiring import ephemeral, plan
from hookrun.wiring.ledger import Ledger
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import SCOPES
from hookrun.wiring.wired_command import BLOCK, WARN, this_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookrun.agents.types import Agent
    from hookrun.wiring.plan import InstallChange
    from hookrun.wiring.targets import InstallLocation, WiredEvent

FIRST, SECOND, THIRD, *_ = AGENTS
COLUMNS = ("AGENT", "VERSION", "WIRED", "EVENTS", "DECLARED, NOT WIRED")

scope_option = click.option(
    "--scope", type=click.Choice(SCOPES), default="user", show_default=True, help="Whose settings to change."
)


# --- hookrun install


@command(
    "install",
    f"install {FIRST} {SECOND}",
    f"install {THIRD} --dry-run",
    f"install {FIRST} --scope project --when-missing block",
    f"install {SECOND} --trust          (without a terminal to ask on)",
    note="Exit status: 0 installed, 1 one of the agents is not, or will not run the hooks yet.",
)
@click.argument("names", metavar="AGENT...", nargs=-1, required=True)
@scope_option
@click.option("--all-events", is_flag=True, help="Every event of the agent, not only those with a hook declared here.")
@click.option(
    "--when-missing",
    type=click.Choice((WARN, BLOCK)),
    help="With --scope project: what happens where hookrun is not installed; default what is there, else warn.",
)
@click.option("--trust", is_flag=True, help="Record, where the agent asks for it, that its hooks are trusted.")
@click.option("--from-here", is_flag=True, help="Install this hookrun even from a cache or temporary directory.")
@report_options
def install_command(
    names: tuple[str, ...],
    scope: str,
    when_missing: str | None,
    report: CommandReport,
    *,
    all_events: bool,
    trust: bool,
    from_here: bool,
) -> None:
    """Connect hookrun to coding agents, by entries in their settings.

    With --scope project for everybody who works in the project: for all events, without any path of this machine.

    Hooks of the project that you have not approved yet are then shown, and asked about on a terminal.
    """
    if when_missing is not None and scope != "project":
        raise click.UsageError("--when-missing is for --scope project: your own settings name hookrun by its path")
    location = install_location(report.home)
    for agent in agents_named(names):
        with _errors_in(report, agent):
            installation = Installation(agent, scope, location, report, all_events=all_events, from_here=from_here)
            installation.when_missing = when_missing
            if report.dry_run:
                installation.show_diff()
            else:
                installation.run(trust=trust)
    if not report.dry_run:
        _review_hooks(report)


@contextmanager
def _errors_in(report: CommandReport, agent: Agent) -> Iterator[None]:
    try:
        yield
    except FileError as error:
        report.fail(f"{agent.NAME}: {error}")


def _review_hooks(report: CommandReport) -> None:
    """Ask about the project's unapproved hooks, or warn that agents skip them."""
    project = load_project(None, report.home)
    try:
        hooks = project.hooks()
    except StoreError as error:  # the agents are installed all the same
        report.warn(str(error))
        return
    undecided = [found for found in hooks if found.state in UNDECIDED]
    approved = [found.hook.name for found in hooks if found.state == "approved"]
    report.add_approvals(approved, [found.hook.name for found in undecided])
    if undecided and not report.as_json and is_interactive():
        review(project, undecided)
    elif undecided:
        names = ", ".join(found.hook.name for found in undecided)
        approving = report.with_home("hookrun trust")
        report.warn(f"not approved yet: {names}: agents skip these hooks until you run `{approving}`")


class Installation:
    """The installation in one agent and scope."""

    def __init__(
        self,
        agent: Agent,
        scope: str,
        location: InstallLocation,
        report: CommandReport,
        *,
        all_events: bool,
        from_here: bool,
    ) -> None:
        """Choose the events, in a project all. Raises FileError if there are none, or hookrun will not last."""
        self.report = report
        self.agent = agent
        self.when_missing: str | None = None
        self.wish = InstallRequest(agent, scope, location, this_program())
        declarations = declarations_at(location)
        declared = declared_events(agent, declarations)
        self.declared = declared
        self.unknown = plan.unsupported_events(agent, declared)
        # In a project's settings all of them: a hook that somebody adds needs no new install.
        all_events = all_events or scope == "project"
        self.events = plan.all_events(agent) if all_events else plan.events_for(agent, declared)
        if not self.events and not any(each.is_ours for each in plan.wired_events(self.wish)):
            if declared:
                cause = f"{agent.DISPLAY_NAME} has no event for {', '.join(self.unknown)}: there is nothing to wire"
            elif declarations.hooks:
                cause = f"{agent.DISPLAY_NAME} needs no wiring: it runs these hooks itself, or none of them is for it"
            else:
                cause = "no hooks are declared here, so there is no event to wire; declare one, or use --all-events"
            raise FileError(cause)
        self.from_here = self._choose_from_here(wanted=from_here)

    def _choose_from_here(self, *, wanted: bool) -> bool:
        """Return whether to record that the user installs a hookrun that may be cleaned away.

        Raises FileError where the user has not asked for that, now or before.
        """
        program, home = self.wish.program, self.wish.spot.home
        directory = ephemeral.ephemeral_directory(program, home) if self.wish.scope == "user" else None
        if directory is None:
            return False
        if wanted or program.main in Ledger(home).from_here:
            return True
        raise FileError(
            f"found this hookrun in {directory}, which may be cleaned at any time: then no hook would run; install it "
            f"in a place that lasts with {ephemeral.lasting_installation()} and run {self.wish.command('install')}, or "
            f"install this one all the same with {self.wish.command('install', '--from-here')}"
        )

    def show_diff(self) -> None:
        """Show what would change."""
        ledger = Ledger(self.wish.spot.home)
        changes = plan.plan_install(self.wish, self.events, ledger, self.when_missing)
        trust = plan.plan_trust(self.wish, changes[0], ledger)
        if trust is not None:
            changes.append(trust)
        self.report.show_diff(changes, f"{self.agent.NAME}: nothing to change")

    def run(self, *, trust: bool) -> None:
        """Install. Raises FileError."""
        ledger = Ledger(self.wish.spot.home)
        with ledger.locked():
            changes = plan.plan_install(self.wish, self.events, ledger, self.when_missing)
            if self.from_here:
                ledger.keep_from_here(self.wish.program.main)
            for each in changes:
                _write(each, ledger)
            self._report(changes)
            self._trust(plan.plan_trust(self.wish, changes[0], ledger), ledger, given=trust)

    def _report(self, changes: list[InstallChange]) -> None:
        wired = plan.wired_events(self.wish)
        events = len({each.event for each in wired if each.is_ours})
        self.report.add_files(changes)
        files = ", ".join(dict.fromkeys(each.path for each in changes))
        state = "wired" if any(each.has_effect for each in changes) else "is wired already, nothing changed"
        self.report.note(f"{self.agent.NAME}: {state}: {count(events, 'event')} in {files}")
        if self.wish.scope == "project":
            self.report.note(f"{self.agent.NAME}: commit that for everybody who works here; each needs a hookrun")
        _warn_of_lines_by_hand(self.report, wired, "each hook runs twice there")
        unsent = plan.unsent_events(self.agent, self.declared)
        if unsent:
            self.report.note(f"{self.agent.NAME}: never sends {', '.join(unsent)}: hooks for that do not run there")
        if self.unknown:
            self.report.note(
                f"{self.agent.NAME}: has no event for {', '.join(self.unknown)}: such hooks never run there"
            )

    def _trust(self, needed: InstallChange | None, ledger: Ledger, *, given: bool) -> None:
        """Record the agent's trust in the hooks if the user agrees; without it the agent will not run them."""
        if needed is None or not needed.has_effect:
            return
        name = self.agent.NAME
        question = f"{name} skips hooks that are not trusted. Note in {needed.path} that hookrun's are?"
        if given or (not self.report.as_json and is_interactive() and click.confirm(escape(question))):
            _write(needed, ledger)
            self.report.add_files([needed])
            self.report.note(f"{name}: its hooks are trusted: {needed.path}")
            return
        self.report.ok = False
        self.report.warn(
            f"{name}: skips these hooks in silence until they are trusted: "
            f"run {self.wish.command('install', '--trust')}, or use /hooks in {name}"
        )


def _write(each: InstallChange, ledger: Ledger) -> None:
    plan.record_original(each, ledger)
    file_change.apply(each)


# --- hookrun uninstall


@command("uninstall", f"uninstall {FIRST}", f"uninstall {SECOND} --scope project --dry-run")
@click.argument("names", metavar="AGENT...", nargs=-1, required=True)
@scope_option
@report_options
def uninstall_command(names: tuple[str, ...], scope: str, report: CommandReport) -> None:
    """Remove hookrun from coding agents' settings. A file that has not changed since is restored byte for byte."""
    location = install_location(report.home)
    for agent in agents_named(names):
        with _errors_in(report, agent):
            _uninstall(InstallRequest(agent, scope, location, this_program()), report)


def _uninstall(wish: InstallRequest, report: CommandReport) -> None:
    name, ledger = wish.agent.NAME, Ledger(wish.spot.home)
    if report.dry_run:
        report.show_diff(plan.plan_uninstall(wish, ledger), f"{name}: nothing to change")
        return
    changed = []
    with ledger.locked():
        for each in reversed(plan.plan_uninstall(wish, ledger)):  # last file first: then a directory of ours is empty
            file_change.apply(each)
            plan.forget_original(each, ledger)
            changed += [each] if each.has_effect else []
    files = ", ".join(each.path for each in changed)
    report.add_files(changed)
    report.note(f"{name}: removed from {files}" if files else f"{name}: is not wired, nothing changed")
    _warn_of_lines_by_hand(report, plan.wired_events(wish), "hookrun still runs there")


def _warn_of_lines_by_hand(report: CommandReport, wired: Iterable[WiredEvent], consequence: str) -> None:
    """Name the lines that fire hookrun and that install did not write: they are never changed."""
    for each in wired:
        if not each.is_ours:
            where = f"{each.path}:{each.line}: {each.event}"
            report.warn(
                f"{where} fires hookrun by a line written by hand, which stays: {consequence}; remove it yourself"
            )


# --- hookrun agents


@command("agents", "agents", "agents --json")
@json_option
@home_option
def agents_command(home: str | None, *, as_json: bool) -> None:
    """Show the coding agents that hookrun supports: version, connected or not, and for which events."""
    cases = inspect_agents(home)
    if as_json:
        print_json({"agents": [_to_json(each) for each in cases]})
    else:
        click.echo("\n".join(aligned([COLUMNS, *map(_row, cases)])))


def inspect_agents(home: str | None) -> list[AgentState]:
    """Return the state of every supported agent."""
    location = install_location(home)
    declarations = declarations_at(location)

    def inspect(agent: Agent) -> AgentState:
        return inspect_agent(agent, location, this_program(), declared_events(agent, declarations), [])

    with ThreadPoolExecutor() as threads:  # some agents are run for their version
        return list(threads.map(inspect, agents_named(AGENTS)))


def _to_json(case: AgentState) -> dict[str, object]:
    return {
        **agent_to_json(case),
        "wired": {scope: [each.event for each in found] for scope, found in case.wired.items() if found},
        "hand_written": {
            scope: [each.event for each in found if not each.is_ours] for scope, found in case.wired.items()
        },
        "when_missing": next((each.command.form.when_missing for each in case.all_wired if each.command.form), None),
        "narrowed": {each.event: each.only for each in case.all_wired if each.only},
        "unreadable": case.unreadable,
        "declared": case.declared,
        "not_wired": missing_events(case),
    }


def missing_events(case: AgentState) -> list[str]:
    """Return the agent's events that have a hook, but no entry of hookrun."""
    have = {each.event for each in case.all_wired}
    return [event for event in plan.events_for(case.agent, case.declared) if event not in have]


def _row(case: AgentState) -> list[str]:
    version = "not here" if case.installed is None else case.installed.version or "?"
    scopes = [
        f"{scope} (by hand)" if any(not each.is_ours for each in found) else scope
        for scope, found in case.wired.items()
        if found
    ]
    wired = "unreadable" if case.unreadable else " and ".join(scopes) or "no"
    events = ", ".join(dict.fromkeys(f"{each.event}{f' ({each.only})' * bool(each.only)}" for each in case.all_wired))
    return [case.agent.NAME, version, wired, events or "-", ", ".join(missing_events(case)) or "-"]
