"""Inspect this machine's agents and check hookrun in their settings: installed, complete and once."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from hookrun.agents import AGENTS, load
from hookrun.agents.base import installed_deadline, timeout_for
from hookrun.agents.grades import grades, measured
from hookrun.agents.types import Agent, InstallSpec
from hookrun.config.load import Declarations
from hookrun.config.parse import ParseError
from hookrun.core import audit_reader
from hookrun.core.model import Hook
from hookrun.core.text import one_line, quote
from hookrun.edit.file_change import FileError, existing
from hookrun.edit.json_edit import Json
from hookrun.edit.toml_edit import Toml
from hookrun.launch import launcher_file
from hookrun.wiring import committed, installations, launchers, plan
from hookrun.wiring.installations import InstalledAgent
from hookrun.wiring.ledger import Ledger
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import SCOPES, InstallLocation, WiredEvent
from hookrun.wiring.wired_command import BLOCK, WARN, HookrunProgram, this_program

# Levels of a finding: hooks will not run as declared; worth knowing; all is well.
PROBLEM, NOTE, OK = "problem", "note", "ok"


@dataclass(frozen=True, slots=True)
class Finding:
    """A check's result: its level, the fact, why that matters, and what to do (empty if all is well)."""

    check: str
    level: str
    found: str
    cause: str = ""
    remedy: str = ""


Findings = Iterable[Finding]


@dataclass(slots=True)
class AgentState:
    """One agent on this machine.

    By scope: `wired` is where hookrun is installed, `unreadable` the error of unreadable settings. By hookrun's event
    names: `declared` are those with hooks for this agent, `fired` is when the agent last fired each. `callers` are
    other agents that fired the hooks in its settings -> when last. `unread_log` is the error of an unreadable log.
    `unapproved` are the project's unapproved hooks, with their state; `undecided` is the error of an unreadable trust
    store. `configured` is what the config has for a project's settings file.
    """

    agent: Agent
    location: InstallLocation
    program: HookrunProgram
    declarations: Declarations
    declared: list[str]
    installed: InstalledAgent | None
    wired: dict[str, list[WiredEvent]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    fired: dict[str, str] = field(default_factory=dict)
    callers: dict[str, str] = field(default_factory=dict)
    unread_log: str | None = None
    unapproved: dict[str, str] = field(default_factory=dict)
    undecided: str | None = None
    configured: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The agent's name in messages."""
        return self.agent.DISPLAY_NAME

    @property
    def version(self) -> str | None:
        """Its program's version, if known."""
        return self.installed.version if self.installed is not None else None

    @property
    def spec(self) -> InstallSpec:
        """Where and how the agent's hooks are written."""
        return self.agent.INSTALL

    @property
    def all_wired(self) -> list[WiredEvent]:
        """Both scopes' events."""
        return [each for wired in self.wired.values() for each in wired]

    @property
    def scopes(self) -> list[str]:
        """The scopes with hookrun installed."""
        return [scope for scope, found in self.wired.items() if found]

    def ours(self, scope: str) -> list[WiredEvent]:
        """Return the events of a scope that install wrote."""
        return [each for each in self.wired.get(scope, ()) if each.command.is_ours]

    @property
    def missing_events(self) -> list[str]:
        """The agent's events that hookrun needs but has no entry for."""
        return self.not_connected(plan.events_to_connect(self.agent, self.declared))

    def not_connected(self, events: Iterable[str]) -> list[str]:
        """Return those of the agent's events for which hookrun has no entry."""
        have = {each.event for each in self.all_wired}
        return [event for event in events if event not in have]

    @property
    def is_here(self) -> bool:
        """Whether its program is here, or its user settings have hookrun or are unreadable.

        A project has settings for agents that others use.
        """
        return self.installed is not None or bool(self.wired.get("user")) or bool(self.unreadable)

    def misfits(self, scope: str) -> list[str]:
        """Return a scope's events whose entries block without an answer though no guard is asked there, or do not."""
        when_missing = committed.when_missing(self.location) if scope == "project" else WARN
        shut, key = self.request(scope).shut_events(when_missing), self.spec.get("shut", {}).items()
        has = {each.event: key <= each.handler.items() for each in self.ours(scope) if key}
        return [event for event in has if has[event] != (event in shut)]

    def found_by_project(self) -> list[str] | None:
        """Return the command that the project's line runs here, up to `fire`, or None."""
        return committed.found_by(self.agent.NAME, self.location.project)

    def request(self, scope: str) -> InstallRequest:
        """Return the request of `hookrun install` for a scope."""
        return InstallRequest(self.agent, scope, self.location, self.program)

    def remedy(self, scope: str | None = None) -> str:
        """Return the hint to reinstall hookrun, by default where it is installed now."""
        present = "project" if self.wired.get("project") and not self.wired.get("user") else "user"
        return f"run {self.request(scope or present).command('install')}"

    @property
    def connection(self) -> dict[str, object]:
        """Where and for which events it is connected, for programs."""
        wired = self.wired.items()
        forms = [each.command.form for each in self.all_wired if each.command.form]
        return {
            "connected": self.scopes,
            "wired": {scope: [each.event for each in found] for scope, found in wired if found},
            "hand_written": {name: [each.event for each in found if not each.command.is_ours] for name, found in wired},
            "when_missing": forms[0].when_missing if forms else None,
            "narrowed": {each.event: each.only for each in self.all_wired if each.only},
            "unreadable": self.unreadable,
            "declared": self.declared,
            "missing": self.missing_events if self.scopes else [],
        }

    def to_json(self) -> dict[str, object]:
        """Return the agent's names, program and version, and how far which version was seen to obey hooks."""
        return {
            "agent": self.agent.NAME,
            "title": self.title,
            "program": self.installed.program if self.installed is not None else None,
            "version": self.version,
            "measured": {name: measured(self.agent)[name] for name in ("version", "date")},
            "grades": grades(self.agent),
        }


def declared_events(agent: Agent, declared: Declarations) -> list[str]:
    """Return the canonical events with a hook for this agent, even a broken one."""
    return list(dict.fromkeys(event for hook in declared.hooks for event in _events_in(agent, hook)))


def _events_in(agent: Agent, hook: Hook) -> Sequence[str]:
    """Return the events at which hookrun runs a hook in the agent."""
    native = hook.claude is not None and hook.claude.agent == agent.NAME and hook.claude.own  # it runs that itself
    runs = hook.mode != "off" and not native and (hook.agents is None or agent.NAME in hook.agents)
    return hook.events if runs else ()


def states(location: InstallLocation, declarations: Declarations) -> list[AgentState]:
    """Return the states of all agents without their versions and runs, so that no program is started."""
    found = []
    for agent in map(load, AGENTS):
        program = shutil.which(agent.INSTALL["program"])
        found.append(wiring(agent, location, declarations, InstalledAgent(program, None) if program else None))
    return found


def where_unconnected(hook: Hook, agents: Iterable[AgentState]) -> dict[str, list[str]]:
    """Return the agents that do not call a hook that should run in them, with the events for which they do not.

    They are those that have hookrun; if none has, those on this machine; if none is, those that had it.
    """
    wanted = {each.agent.NAME: plan.events_for(each.agent, _events_in(each.agent, hook)) for each in agents}
    able = [each for each in agents if wanted[each.agent.NAME] and not each.unreadable]
    asked = [each for each in able if each.scopes] or [each for each in able if each.is_here]
    asked = asked or [each for each in able if each.agent.NAME in _recorded(each, "disconnected")]
    missing = {each.agent.NAME: each.not_connected(wanted[each.agent.NAME]) for each in asked}
    return {name: events for name, events in missing.items() if events}


def inspect_agents(agents: Iterable[Agent], location: InstallLocation, declarations: Declarations) -> list[AgentState]:
    """Return the agents' states, in parallel: some are run for their version."""

    def inspect(agent: Agent) -> AgentState:
        """Run its program for `--version` only, and only if no package.json has that."""
        return wiring(agent, location, declarations, installations.find_installed(agent.INSTALL["program"]))

    with ThreadPoolExecutor() as threads:
        states = list(threads.map(inspect, agents))
    try:
        fired, callers = last_fired(location.home)
    except OSError as error:
        for state in states:
            state.unread_log = f"cannot read {error.filename}: {error.strerror}"
    else:
        for state in states:
            state.fired, state.callers = fired[state.agent.NAME], callers[state.agent.NAME]
    return states


def wiring(
    agent: Agent, location: InstallLocation, declarations: Declarations, installed: InstalledAgent | None = None
) -> AgentState:
    """Return where hookrun is installed in an agent."""
    state = AgentState(agent, location, this_program(), declarations, declared_events(agent, declarations), installed)
    for scope in SCOPES:
        try:
            state.wired[scope] = plan.wired_events(state.request(scope))
        except FileError as error:
            state.unreadable[scope] = one_line(str(error)).removesuffix("; nothing was changed")
    return state


LastFired = defaultdict[str, dict[str, str]]


def last_fired(home: str) -> tuple[LastFired, LastFired]:
    """Return by agent when it last fired each event (hookrun's name), and when others last fired through its settings.

    The times are the audit's (RFC 3339, UTC). Raises OSError if it cannot be read.
    """
    fired, callers = LastFired(dict), LastFired(dict)
    for path in filter(os.path.isfile, reversed(audit_reader.paths(home)[:2])):
        with open(path, "rb") as file:
            records = filter(None, [audit_reader.parse(line) for line in file if b'"kind":"fire"' in line])
        for record in records:
            agent, through, when = (str(record.get(name)) for name in ("agent", "through", "time"))
            fired[agent][str(record.get("event"))] = when
            if through != agent:
                callers[through][agent] = when
    return fired, callers


def read_settings(path: str) -> Json | Toml:
    """Return a settings file, empty if it cannot be read."""
    try:
        text = existing(path).text()
        return Toml(text) if path.endswith(".toml") else Json(text, "jsonc")
    except (FileError, ParseError):
        return Json("", "jsonc")


# --- checks of the installation


def check_wired(agent: AgentState) -> Findings:
    """Is hookrun in its settings, and for which events?"""
    for scope, found in agent.wired.items():
        if ours := agent.ours(scope):
            events = ", ".join(dict.fromkeys(each.event for each in ours))
            files = ", ".join(dict.fromkeys(each.path for each in ours))
            yield Finding("wired", OK, f"in the {scope} settings for {events}: {files}")
        for each in found:
            if not each.command.is_ours:
                line = f"{each.path}:{each.line}: {each.event} runs hookrun by a handwritten line"
                cause = "hookrun neither changes nor starts it, so whether the agent gets a hook's answer is unknown"
                remedy = f"remove it and {agent.remedy(scope)}"
                yield Finding("wired", NOTE, f"{line}: {quote(each.text)}", cause, remedy)
    if not agent.all_wired and not agent.unreadable:
        cause = f"{agent.title} runs hooks only through its own settings"
        yield Finding("wired", PROBLEM, "hookrun is not in its settings", cause, agent.remedy())


def check_matchers(agent: AgentState) -> Findings:
    """Does a matcher exclude part of an event from hookrun?"""
    for each in agent.all_wired:
        if each.only:
            found = f"{each.path}:{each.line}: {each.event} reaches hookrun only if {each.only} matches"
            cause = "no hook runs for other calls; set the matcher in the hook's own config instead"
            yield Finding("matcher", PROBLEM, found, cause, agent.remedy())


def check_missing_events(agent: AgentState) -> Findings:
    """Is hookrun installed for every event that has a hook?"""
    unconnected = agent.missing_events if agent.all_wired else []
    hooks = [each for each in unconnected if each in plan.events_for(agent.agent, agent.declared)]
    others = [each for each in unconnected if each not in hooks]
    newer = "the hooks, or hookrun, are newer than the installation"
    if hooks:
        found = f"not connected for {', '.join(hooks)}, for which there are hooks"
        yield Finding("declared", PROBLEM, found, newer, agent.remedy())
    if others:
        cause = "messages for you or the model that wait for such an event are lost"
        yield Finding("declared", NOTE, f"not connected for {', '.join(others)}", cause, agent.remedy())
    unsupported = plan.unsupported_events(agent.agent, agent.declared)
    if unsupported:
        found = f"there are hooks for {', '.join(unsupported)}"
        cause = f"{agent.title} has no such event, so they never run there"
        yield Finding("declared", NOTE, found, cause, "use another event")


def check_program(agent: AgentState) -> Findings:
    """Does the command's program still exist, and is it this hookrun?"""
    first: dict[tuple[object, object, object], WiredEvent] = {}  # one finding for all events with the same program
    for each in agent.all_wired:
        if each.command.is_ours:
            first.setdefault((each.command.program, each.command.launcher, each.command.flags.home), each)
    for each in first.values():
        yield from _check_program(agent, each)


def _check_program(agent: AgentState, each: WiredEvent) -> Findings:
    where = f"{each.path}:{each.line}"
    program, home, scope = each.command.program, each.command.flags.home, each.command.flags.scope
    if each.command.form is not None:
        yield from _check_portable(agent, each)
    elif (missing := each.command.missing()) is not None:
        cause = "no hook runs; a launcher blocks the calls that a guard may be for, for others you get a warning"
        directory, name = os.path.split(missing)
        if name == launcher_file.NAME and os.path.isfile(os.path.join(directory, launchers.GONE)):
            cause = f"hooks run, started by `{launchers.GONE}` beside it, but not through the server"
        state = "cannot be used: check its owner and mode" if os.path.lexists(missing) else "does not exist any more"
        yield Finding("program", PROBLEM, f"{where}: {missing} {state}", cause, agent.remedy())
    elif scope == "project":
        cause = "it does not work on other machines"
        found = f"{where}: the project's settings contain paths of one machine"
        yield Finding("program", NOTE, found, cause, agent.remedy("project"))
    elif program is not None and program != agent.program:
        found = f"{where}: runs {program.main} with {program.python}"
        cause = f"this hookrun is {agent.program.main} with {agent.program.python}"
        yield Finding("program", NOTE, found, cause, f"to use this one, {agent.remedy()}")
    if home is not None and not os.path.isdir(home):
        found = f"{where}: its home {home} is not a directory"
        yield Finding("program", PROBLEM, found, "hookrun finds neither hooks nor audit", agent.remedy())


def _check_portable(agent: AgentState, each: WiredEvent) -> Findings:
    """Check a project's line, which finds hookrun at run time."""
    where, form = f"{each.path}:{each.line}", each.command.form
    project, remedy = agent.location.project, agent.remedy("project")
    blocks = form is not None and form.when_missing == BLOCK
    if form is not None and not form.earlier:
        wrong = committed.why_not_ours(project)
        if wrong is not None:
            cause = "what it does is the project's alone: an agent runs it before anybody has approved a hook"
            yield Finding("program", PROBLEM, f"{where}: its {committed.PATH} {wrong}", cause, remedy)
            return
        for difference in committed.differing(project, agent.configured):
            cause = "where hookrun is missing, the file counts"
            yield Finding("program", PROBLEM, f"{committed.DIRECTORY}/{committed.SETTINGS} {difference}", cause, remedy)
    found = agent.found_by_project()
    if found is not None:
        yield Finding("program", OK, f"{where}: the project's settings find {found[-1]}")
        return
    cause = "every tool call is blocked" if blocks else "no hook runs; each session shows a warning"
    how = f"install hookrun for your account{committed.how_to_install(project)}"
    yield Finding("program", PROBLEM, f"{where}: the project's settings find no hookrun here", cause, how)


def check_text(agent: AgentState) -> Findings:
    """Is each command as this hookrun writes it?"""
    for scope, wired in agent.wired.items():
        old = next((each for each in wired if _is_of_another_version(agent, scope, each)), None)
        if old is not None:
            where = f"{old.path}:{old.line}: the command differs from what this version of hookrun writes"
            yield Finding("program", NOTE, where, "another version wrote it, or it was edited", agent.remedy(scope))
        if misfits := agent.misfits(scope):
            found = f"{wired[0].path}: the entries for {', '.join(misfits)} do not fit your guards"
            cause = f"if hookrun does not answer, {agent.title} lets calls pass that a guard is for, or blocks others"
            yield Finding("gates", NOTE, found, cause, agent.remedy(scope))
    request = agent.request("user")
    used = {(each.command.launcher, each.command.program) for each in agent.all_wired}
    if request.launcher is None or (request.launcher, agent.program) not in used:
        return
    remedy = agent.remedy("user")
    try:
        stale = [each.differing for each in launchers.plan_launcher(request) if each.has_effect]
    except FileError as error:
        yield Finding("program", PROBLEM, one_line(str(error)), "the launcher cannot be kept up to date", remedy)
        return
    for path in stale:
        found = f"{path}: differs from what this version of hookrun writes"
        yield Finding("program", NOTE, found, "another version wrote it, or it was edited", remedy)


def _is_of_another_version(agent: AgentState, scope: str, each: WiredEvent) -> bool:
    form = each.command.form
    if not each.handler or (form is None and (scope == "project" or each.command.program != agent.program)):
        return False  # check_program reports it, or it is no line
    when_missing = committed.when_missing(agent.location) if form is not None else WARN
    return each.text != agent.request(scope).line(each.event, when_missing).text


def check_place(agent: AgentState) -> Findings:
    """Will the command's program last, or is it in a cache or temporary directory?"""
    for program in {each.command.program for each in agent.all_wired}:
        directory = installations.ephemeral_directory(program, agent.location.home) if program is not None else None
        if program is None or directory is None or program.missing() is not None:
            continue
        chosen = program.main in _recorded(agent, "from_here")
        found = f"the installed hookrun, {program.main}, is in {directory}{', as `--from-here` allowed' * chosen}"
        cause = "it may be deleted at any time, and no hook would run then"
        remedy = agent.remedy()
        if program == agent.program:
            remedy = f"run {installations.lasting_installation()}, then {remedy.removeprefix('run ')}"
        yield Finding("place", NOTE if chosen else PROBLEM, found, cause, remedy)


def _recorded(agent: AgentState, name: str) -> list[str]:
    """Return one of the lists in the ledger, an empty one if that is damaged."""
    try:
        found: list[str] = getattr(Ledger(agent.location.home), name)
    except FileError:
        return []
    return found


def check_timeouts(agent: AgentState) -> Findings:
    """Does the agent wait longer than hookrun's deadline?"""
    for each in agent.all_wired:
        ours = each.command.flags.deadline
        if ours is None and (each.command.launcher is not None or each.command.form is not None):
            ours = installed_deadline(agent.agent, each.event)
        theirs = each.limit if each.limit is not None else timeout_for(agent.agent, each.event)
        if ours is None and not each.command.is_ours:
            continue  # it then takes the agent's default, less a margin
        if ours is None or ours >= theirs:
            mine = "none" if ours is None else f"{ours:g} s"
            found = f"{each.path}:{each.line}: {each.event}: the agent waits {theirs:g} s, hookrun's deadline is {mine}"
            cause = "the agent would end hookrun before it answers, and continue without it"
            yield Finding("limits", PROBLEM, found, cause, agent.remedy())
