"""Write hookrun into agents' settings: all that `hookrun install` connects, or the events that a new hook needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hookrun.agents.types import Agent
from hookrun.cli.commands import Workspace, user_is_present
from hookrun.cli.printing import CommandReport, confirm, count
from hookrun.config.approved_guards import is_guard
from hookrun.config.load import Declarations
from hookrun.core.events import resolve_event
from hookrun.core.files import relative_path
from hookrun.doctor.agent_state import declared_events, states
from hookrun.edit import file_change
from hookrun.edit.file_change import FileChange, FileError
from hookrun.launch import launcher_file
from hookrun.wiring import committed, launchers, plan
from hookrun.wiring.committed import CommittedChange
from hookrun.wiring.installations import ephemeral_directory, lasting_installation
from hookrun.wiring.launchers import LauncherChange
from hookrun.wiring.ledger import Ledger
from hookrun.wiring.plan import InstallChange, InstallRequest
from hookrun.wiring.targets import SCOPES, WiredEvent
from hookrun.wiring.wired_command import BLOCK, WARN, program_of, this_program


def connect(agents: Iterable[Agent], scope: str, report: CommandReport, *, trust: bool, **options: Any) -> list[str]:
    """Install into agents, or show the changes; return the names of those with errors, which are reported.

    With `trust`, the hooks are marked as trusted unasked; `options` are those of Installation.
    """
    declarations, failed = report.at.load(for_agents=True).declarations, []
    if not declarations.hooks and declarations.problems:
        report.fail("the config has errors, so none of its hooks run\nhint: run `hookrun validate`")
    elif not declarations.hooks and "planned" not in options:
        report.warn("no hooks are configured here\nhint: add some with `hookrun init`")
    agents = list(agents)
    if scope == "project" and agents:
        options["when_missing"] = _when_missing(options["when_missing"], declarations, agents, report)
    for agent in agents:
        try:
            Installation(agent, scope, report, declarations, **options).add(trust=trust)
        except FileError as error:
            report.fail(f"{agent.NAME}: {error}")
            failed.append(agent.NAME)
    return failed


def connect_missing(report: CommandReport, *planned: str) -> None:
    """Connect the agents that have hookrun to the events that they need besides, and report them.

    The user's entries that do not fit the guards are updated. `planned` are events of hooks not yet written.
    """
    declarations = report.at.load(for_agents=True).declarations
    for state in states(report.at.location, declarations):
        name, events = state.agent.NAME, {*state.declared, *planned}
        missing = state.not_connected(plan.events_to_connect(state.agent, events))
        scope = next(filter(state.ours, SCOPES), None)
        misfits = state.misfits(scope) if scope == "user" else []
        for only, what, more in ((missing, "connected for", " too"), (misfits, "updated for your guards at", "")):
            if scope is None or not only:
                continue
            done = f"{what} {', '.join(only)}"
            if {each.command.program for each in state.wired[scope]} - {state.program, None}:
                report.warn(f"{name}: not {done}: another hookrun is installed there\nhint: {state.remedy()}")
                continue
            try:
                Installation(state.agent, scope, report, declarations, only=only, done=done + more).add(trust=False)
            except FileError as error:
                report.warn(f"{name}: not {done}: {error}")


def fit_agents(at: Workspace) -> None:
    """Do so after what the user has decided about hooks."""
    connect_missing(CommandReport(at, as_json=False, dry_run=False))


def _when_missing(wanted: str | None, declarations: Declarations, agents: list[Agent], report: CommandReport) -> str:
    """Return WARN or BLOCK for a project: as an option or its config says, else as it is, or as the user agrees to.

    Raises FileError.
    """
    decided = wanted or committed.configured(report.at.load(for_agents=True).files).get("when_missing")
    now = decided or committed.when_missing(report.at.location)
    guards = [each.name for each in declarations.hooks if each.layer == "project" and is_guard(each)]
    if decided or now == BLOCK or not guards:
        return now
    why = f"where hookrun is missing, no guard runs ({', '.join(guards)})"
    if not report.dry_run and user_is_present(report):
        return BLOCK if confirm(f"{why[0].upper()}{why[1:]}. Refuse all tools there?", default=True) else WARN
    names = " ".join(each.NAME for each in agents)
    command = f"hookrun install {names} --scope project --when-missing block"
    report.warn(f"{why}, and tools run\nhint: to refuse them, run `{command}`")
    return now


def events_of(entry: object, own: Iterable[str] = ()) -> list[str]:
    """Return the canonical events of a config entry; `own` are a program's."""
    events = entry.get("event") if isinstance(entry, dict) else None
    return [resolve_event(str(each), own) for each in (events if isinstance(events, list) else [events]) if each]


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
        only: Sequence[str] = (),
        done: str = "",
    ) -> None:
        """Choose the events. Raises FileError if hookrun is in a cache.

        `declarations` are what agents use here, `planned` are events of hooks not yet written. With `only`, these of
        the agent's events are written into an installation, and `done` says what that is.
        """
        self.report = report
        self.agent = agent
        self.request = InstallRequest(agent, scope, report.at.location, this_program())
        self.settings = committed.configured(report.at.load(for_agents=True).files) if scope == "project" else {}
        if scope == "project":
            when_missing = when_missing or committed.when_missing(report.at.location)
        self.when_missing = when_missing or WARN
        self.declared = list(dict.fromkeys([*declared_events(agent, declarations), *planned]))
        self.unknown = plan.unsupported_events(agent, self.declared)
        needed = plan.all_events(agent) if all_events else plan.events_to_connect(agent, self.declared)
        self.only, self.done, self.events = only, done, only or needed
        self.from_here = not only and self._choose_from_here(wanted=from_here)

    def _choose_from_here(self, *, wanted: bool) -> bool:
        """Return whether to record that the user installs hookrun from a cache or temporary directory.

        Raises FileError unless the user has asked for that, now or before.
        """
        program, home = self.request.program, self.request.location.home
        directory = ephemeral_directory(program, home) if self.request.scope != "project" else None
        if directory is None:
            return False
        if wanted or program.main in Ledger(home).from_here:
            return True
        raise FileError(
            f"this hookrun is in {directory}, which may be deleted at any time, and no hook would run then\n"
            f"hint: install it with {lasting_installation()}, then run {self.request.command('install')}\n"
            f"hint: or install this one anyway with {self.request.command('install', '--from-here')}"
        )

    def add(self, *, trust: bool) -> None:
        """Install, or show the changes. Raises FileError."""
        ledger = Ledger(self.request.location.home)
        if not self.report.dry_run:
            with ledger.locked():
                self._run(ledger, trust=trust)
            return
        changes = self._planned(ledger)
        needed = plan.plan_trust(self.request, changes[0], ledger)
        every = [*self._shared(), *changes, *([needed] if needed is not None else [])]
        self.report.show_diff(every, f"{self.agent.NAME}: nothing to change")

    def _planned(self, ledger: Ledger) -> list[InstallChange]:
        return plan.plan_install(self.request, self.events, ledger, self.when_missing, only=bool(self.only))

    def _shared(self) -> list[LauncherChange | CommittedChange]:
        """Return the changes of the files that entries of several events or agents start."""
        files = committed.plan_files(self.request, self.settings.get("install"), self.when_missing)
        return [*launchers.plan_launcher(self.request), *files]

    def _run(self, ledger: Ledger, *, trust: bool) -> None:
        changes = self._planned(ledger)
        if self.from_here:
            ledger.keep_from_here(self.request.program.main)
        before = program_of(launcher_file.path_in(self.request.location.home, self.agent.NAME))
        launcher = self._shared()
        for file in launcher:
            file.write()
        for each in changes:
            _write(each, ledger)
        self._report(changes, launcher)
        if (note := launchers.describe(self.request, before)) is not None:
            self.report.note(f"{self.agent.NAME}: {note}")
        self._trust(plan.plan_trust(self.request, changes[0], ledger), ledger, agreed=trust)

    def _report(self, changes: list[InstallChange], launcher: Sequence[FileChange]) -> None:
        name, wired = self.agent.NAME, plan.wired_events(self.request)
        events = count(len({each.event for each in wired if each.command.is_ours}), "event")
        self.report.add_files([*launcher, *changes])
        files = ", ".join(dict.fromkeys(relative_path(each.path) for each in changes))
        if self.only:
            self.report.note(f"{name}: {self.done}, in {files}")
            return
        state = "installed" if any(each.has_effect for each in [*launcher, *changes]) else "already installed"
        self.report.note(f"{name}: {state} for {events} in {files}")
        if self.request.scope == "project":
            self.report.note(
                f"{name}: commit this and {committed.DIRECTORY} to share it; everyone who works here needs hookrun"
            )
        warn_of_lines_by_hand(self.report, wired, "each hook runs twice")
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
        self.report.ok = self.report.ok and bool(self.only)
        trusting = self.request.command("install", "--trust")
        self.report.warn(
            f"{name}: silently skips hooks that are not trusted\nhint: run {trusting}, or /hooks in {name}"
        )


def _write(each: InstallChange, ledger: Ledger) -> None:
    plan.record_original(each, ledger)
    file_change.apply(each)


def warn_of_lines_by_hand(report: CommandReport, wired: Iterable[WiredEvent], consequence: str) -> None:
    """Warn of handwritten lines that run hookrun, which are never changed."""
    for each in wired:
        if not each.command.is_ours:
            where = f"{relative_path(each.path)}:{each.line}"
            report.warn(f"{where}: {each.event} runs hookrun by a handwritten line, so {consequence}\nhint: remove it")
