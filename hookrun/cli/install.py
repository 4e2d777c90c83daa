"""Connect hookrun to coding agents and disconnect it: `hookrun install` and `uninstall`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from hookrun.agents import AGENTS
from hookrun.agents.types import Agent
from hookrun.cli.commands import agents_named, command, report_options
from hookrun.cli.printing import CommandReport, choose, confirm, count, is_interactive
from hookrun.cli.trust import UNDECIDED, review
from hookrun.cli.user_decisions import user_is_present
from hookrun.core.files import relative_path
from hookrun.doctor.agent_state import declared_events
from hookrun.edit import file_change
from hookrun.edit.file_change import FileError
from hookrun.launch import launcher_file
from hookrun.trust.store import StoreError
from hookrun.wiring import launchers, plan
from hookrun.wiring.installations import ephemeral_directory, lasting_installation
from hookrun.wiring.launchers import LauncherChange
from hookrun.wiring.ledger import Ledger
from hookrun.wiring.plan import InstallChange, InstallRequest
from hookrun.wiring.targets import SCOPES, WiredEvent
from hookrun.wiring.wired_command import BLOCK, WARN, program_of, this_program

if TYPE_CHECKING:
    from hookrun.config.load import Declarations

FIRST, SECOND, *_ = AGENTS

scope_option = click.option(
    "--scope", type=click.Choice(SCOPES), default="user", show_default=True, help="Your own settings, or the project's."
)
all_option = click.option("--all", "everywhere", is_flag=True, help="Every agent found, without asking.")


# --- hookrun install


@command(
    "install",
    "install",
    f"install {FIRST} {SECOND}",
    "install --all --dry-run",
    f"install {FIRST} --scope project --when-missing block",
    f"install {SECOND} --trust          (without a terminal)",
    note="Exit status: 0 installed, 1 an agent is not connected, or will not run the hooks yet.",
)
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@all_option
@scope_option
@click.option("--all-events", is_flag=True, help="Every event of the agent, not only those that have a hook here.")
@click.option(
    "--when-missing",
    type=click.Choice((WARN, BLOCK)),
    help="With --scope project: what to do where hookrun is not installed; default the present setting, else warn.",
)
@click.option("--trust", is_flag=True, help="Mark hookrun's hooks as trusted in agents that ask for it.")
@click.option("--from-here", is_flag=True, help="Install this hookrun even from a cache or temporary directory.")
@report_options
def install_command(
    agents: tuple[str, ...],
    scope: str,
    when_missing: str | None,
    report: CommandReport,
    *,
    everywhere: bool,
    all_events: bool,
    trust: bool,
    from_here: bool,
) -> None:
    """Connect hookrun to your coding agents, by entries in their settings.

    Without a name: choose from the agents on this machine. With --scope project the entries are for everyone who works
    in the project: all events, and no path of this machine.

    Then review and approve the project's hooks, if there are new ones.
    """
    if when_missing is not None and scope != "project":
        raise click.UsageError("--when-missing is only for --scope project")
    chosen = _chosen_agents(agents, installed_agents, report, "install", everywhere=everywhere)
    options = {"all_events": all_events, "from_here": from_here, "when_missing": when_missing}
    connect(chosen, scope, report, trust=trust, **options)
    if not report.dry_run:
        review_hooks(report)


def connect(agents: Iterable[Agent], scope: str, report: CommandReport, *, trust: bool, **options: Any) -> list[str]:
    """Install into agents, or show the changes; return the names of those with errors, which are reported.

    With `trust`, the hooks are marked as trusted unasked; `options` are those of Installation.
    """
    declarations, failed = report.at.agents_config().declarations, []
    for agent in agents:
        try:
            installation = Installation(agent, scope, report, declarations, **options)
            if report.dry_run:
                installation.show_diff()
            else:
                installation.run(trust=trust)
        except FileError as error:
            report.fail(f"{agent.NAME}: {error}")
            failed.append(agent.NAME)
    return failed


def installed_agents() -> list[Agent]:
    """Return the agents whose program is on PATH."""
    return [agent for agent in agents_named(AGENTS) if shutil.which(agent.INSTALL["program"]) is not None]


def _chosen_agents(
    names: tuple[str, ...], find: Callable[[], list[Agent]], report: CommandReport, verb: str, *, everywhere: bool
) -> list[Agent]:
    """Return the agents named, all that `find` returns, or the user's choice from these.

    Raises click.UsageError, and click.ClickException if there are none to choose from.
    """
    if names and everywhere:
        raise click.UsageError("give names or --all, not both")
    if names:
        return agents_named(names)
    found = find()
    if not found:
        where = "on PATH" if verb == "install" else "with hookrun installed"
        hint = f"name one: `hookrun {verb} {FIRST}`; `hookrun agents` lists all"
        raise click.ClickException(f"no coding agent found {where}\nhint: {hint}")
    if everywhere:
        return found
    known = [agent.NAME for agent in found]
    if report.as_json or not is_interactive():
        raise click.UsageError(f"no agent named; found: {', '.join(known)}\nhint: name some, or give --all")
    return choose_agents("Agents to connect" if verb == "install" else "Agents to disconnect", found)


def choose_agents(question: str, found: list[Agent]) -> list[Agent]:
    """Ask which of the agents to take."""
    names = {agent.NAME: agent.DISPLAY_NAME for agent in found}
    return agents_named(choose(question, ("AGENT", ""), [*names.items()], names))


def review_hooks(report: CommandReport) -> bool:
    """Ask about unapproved hooks or warn of them; return whether all are approved."""
    project = report.at.project()
    try:
        hooks = project.hooks()
    except StoreError as error:  # the agents are installed all the same
        report.warn(str(error))
        return False
    undecided = [found for found in hooks if found.state in UNDECIDED]
    approved = [found.hook.name for found in hooks if found.state == "approved"]
    report.add_approvals(approved, [found.hook.name for found in undecided])
    if undecided and user_is_present(report):
        return not any(found.state in UNDECIDED for found in review(project, undecided))
    if undecided:
        names = ", ".join(found.hook.name for found in undecided)
        blocking = ", ".join(found.hook.name for found in undecided if found.hook.on_failure == "block")
        note = f"\nnote: until then, these block every matching call: {blocking}" if blocking else ""
        approving = report.at.next_command("hookrun trust")
        report.warn(f"not approved yet, so agents do not run them: {names}{note}\nhint: run `{approving}`")
    return not undecided


class Installation:
    """The installation in one agent and scope."""

    def __init__(
        self,
        agent: Agent,
        scope: str,
        report: CommandReport,
        declarations: Declarations,
        *,
        all_events: bool = False,
        from_here: bool = False,
        when_missing: str | None = None,
        planned: Iterable[str] = (),
    ) -> None:
        """Choose the events, in a project all. Raises FileError if there are none, or hookrun is in a cache.

        `declarations` are what agents use here, `planned` are events of hooks not yet written.
        """
        self.report = report
        self.agent = agent
        self.when_missing = when_missing
        self.request = InstallRequest(agent, scope, report.at.location, this_program())
        self.declared = list(dict.fromkeys([*declared_events(agent, declarations), *planned]))
        self.unknown = plan.unsupported_events(agent, self.declared)
        # A project's settings get all events, so that a later hook needs no new install.
        all_events = all_events or scope == "project"
        self.events = plan.all_events(agent) if all_events else plan.events_for(agent, self.declared)
        if not self.events and not any(each.is_ours for each in plan.wired_events(self.request)):
            if declarations.problems and not declarations.hooks:
                cause = "nothing to install: the config has errors\nhint: run `hookrun validate`"
            elif self.declared:
                cause = f"{agent.DISPLAY_NAME} has no event for {', '.join(self.unknown)}, so nothing was installed"
            elif declarations.hooks:
                cause = (
                    f"nothing to install: {agent.DISPLAY_NAME} runs these hooks itself, or they are for other agents"
                )
            else:
                cause = "no hooks are configured here\nhint: add some with `hookrun init`, or give --all-events"
            raise FileError(cause)
        self.from_here = self._choose_from_here(wanted=from_here)

    def _choose_from_here(self, *, wanted: bool) -> bool:
        """Return whether to record that the user installs hookrun from a cache or temporary directory.

        Raises FileError unless the user has asked for that, now or before.
        """
        program, home = self.request.program, self.request.location.home
        directory = ephemeral_directory(program, home) if self.request.scope == "user" else None
        if directory is None:
            return False
        if wanted or program.main in Ledger(home).from_here:
            return True
        raise FileError(
            f"this hookrun is in {directory}, which may be deleted at any time, and no hook would run then\n"
            f"hint: install it with {lasting_installation()}, then run {self.request.command('install')}\n"
            f"hint: or install this one anyway with {self.request.command('install', '--from-here')}"
        )

    def show_diff(self) -> None:
        """Show what would change."""
        ledger = Ledger(self.request.location.home)
        changes = plan.plan_install(self.request, self.events, ledger, self.when_missing)
        trust = plan.plan_trust(self.request, changes[0], ledger)
        every = [*launchers.plan_launcher(self.request), *changes, *([trust] if trust is not None else [])]
        self.report.show_diff(every, f"{self.agent.NAME}: nothing to change")

    def run(self, *, trust: bool) -> None:
        """Install. Raises FileError."""
        ledger = Ledger(self.request.location.home)
        with ledger.locked():
            changes = plan.plan_install(self.request, self.events, ledger, self.when_missing)
            if self.from_here:
                ledger.keep_from_here(self.request.program.main)
            before = program_of(launcher_file.path_in(self.request.location.home, self.agent.NAME))
            launcher = launchers.plan_launcher(self.request)
            for file in launcher:
                file.write()
            for each in changes:
                _write(each, ledger)
            self._report(changes, launcher)
            if (note := launchers.describe(self.request, before)) is not None:
                self.report.note(f"{self.agent.NAME}: {note}")
            self._trust(plan.plan_trust(self.request, changes[0], ledger), ledger, agreed=trust)

    def _report(self, changes: list[InstallChange], launcher: list[LauncherChange]) -> None:
        name, wired = self.agent.NAME, plan.wired_events(self.request)
        events = count(len({each.event for each in wired if each.is_ours}), "event")
        self.report.add_files([*launcher, *changes])
        files = ", ".join(dict.fromkeys(relative_path(each.path) for each in changes))
        state = "installed" if any(each.has_effect for each in [*launcher, *changes]) else "already installed"
        self.report.note(f"{name}: {state} for {events} in {files}")
        if self.request.scope == "project":
            self.report.note(f"{name}: commit this file to share it; everyone who works here needs hookrun")
        _warn_of_lines_by_hand(self.report, wired, "each hook runs twice")
        unsent = plan.unsent_events(self.agent, self.declared)
        if unsent:
            self.report.note(f"{name}: never sends {', '.join(unsent)}; hooks for that do not run there")
        if self.unknown:
            self.report.note(f"{name}: has no event for {', '.join(self.unknown)}; such hooks do not run there")

    def _trust(self, needed: InstallChange | None, ledger: Ledger, *, agreed: bool) -> None:
        """Mark the hooks as trusted if the user agrees; otherwise the agent skips them."""
        if needed is None or not needed.has_effect:
            return
        name, path = self.agent.NAME, relative_path(needed.path)
        question = f"{name} runs only hooks that are marked as trusted. Mark hookrun's in {path}?"
        if agreed or (user_is_present(self.report) and confirm(question)):
            _write(needed, ledger)
            self.report.add_files([needed])
            self.report.note(f"{name}: hooks marked as trusted in {path}")
            return
        self.report.ok = False
        trusting = self.request.command("install", "--trust")
        self.report.warn(
            f"{name}: silently skips hooks that are not trusted\nhint: run {trusting}, or /hooks in {name}"
        )


def _write(each: InstallChange, ledger: Ledger) -> None:
    plan.record_original(each, ledger)
    file_change.apply(each)


# --- hookrun uninstall


@command("uninstall", "uninstall", f"uninstall {FIRST}", f"uninstall {SECOND} --scope project --dry-run")
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@all_option
@scope_option
@report_options
def uninstall_command(agents: tuple[str, ...], scope: str, report: CommandReport, *, everywhere: bool) -> None:
    """Remove hookrun from coding agents' settings.

    Without a name: choose from the agents it is installed in. A file that has not changed since the installation is
    restored byte for byte.
    """
    location = report.at.location
    program = this_program()

    def connected() -> list[Agent]:
        return [
            agent for agent in agents_named(AGENTS) if _is_connected(InstallRequest(agent, scope, location, program))
        ]

    for agent in _chosen_agents(agents, connected, report, "uninstall", everywhere=everywhere):
        try:
            request = InstallRequest(agent, scope, location, program)
            if (kept := launchers.why_kept(request, _uninstall(request, report))) is not None:
                report.warn(kept)
        except FileError as error:
            report.fail(f"{agent.NAME}: {error}")


def _is_connected(request: InstallRequest) -> bool:
    try:
        return any(each.is_ours for each in plan.wired_events(request))
    except FileError:  # uninstall shows the error
        return True


def _uninstall(request: InstallRequest, report: CommandReport) -> list[InstallChange]:
    name, ledger = request.agent.NAME, Ledger(request.location.home)
    if report.dry_run:
        changes = plan.plan_uninstall(request, ledger)
        report.show_diff([*changes, *launchers.plan_removal(request, ledger, changes)], f"{name}: nothing to change")
        return changes
    changed = []
    with ledger.locked():
        changes = plan.plan_uninstall(request, ledger)
        for each in reversed(changes):  # last file first, so that our directory is empty by then
            file_change.apply(each)
            plan.forget_original(each, ledger)
            changed += [each] if each.has_effect else []
        launcher = launchers.plan_removal(request, ledger, changes)  # once no settings name it
        for file in launcher:
            file.write()
    files = ", ".join(relative_path(each.path) for each in changed or launcher)
    report.add_files([*changed, *launcher])
    done = f"removed from {files}" if changed else f"not in its settings, removed the leftover {files}"
    report.note(f"{name}: {done if files else 'not installed, nothing changed'}")
    _warn_of_lines_by_hand(report, plan.wired_events(request), "hookrun still runs there")
    return changes


def _warn_of_lines_by_hand(report: CommandReport, wired: Iterable[WiredEvent], consequence: str) -> None:
    """Warn of handwritten lines that run hookrun, which are never changed."""
    for each in wired:
        if not each.is_ours:
            where = f"{relative_path(each.path)}:{each.line}"
            report.warn(f"{where}: {each.event} runs hookrun by a handwritten line, so {consequence}\nhint: remove it")
