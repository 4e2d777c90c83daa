"""Gather what the checks look at: an agent's program and settings, the hooks declared for it, and what it has fired."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookrun import audit_reader
from hookrun.config.parse import ParseError
from hookrun.edit.file_change import FileError, existing
from hookrun.edit.json_edit import Json
from hookrun.edit.toml_edit import Toml
from hookrun.shell import project_line
from hookrun.state import NoHomeError, account_home
from hookrun.text import one_line
from hookrun.wiring import plan, presence
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import SCOPES, InstallLocation, WiredEvent
from hookrun.wiring.wired_command import HookrunProgram, this_program

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.agents.types import Agent, InstallSpec
    from hookrun.config.load import Declarations
    from hookrun.wiring.presence import InstalledAgent

PROBLEM, NOTE, OK = "problem", "note", "ok"
"""Levels of a finding: hooks will not run as declared; worth knowing; all is well."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: its level, the fact, why that matters, and what to do (nothing if all is well)."""

    check: str
    level: str
    found: str
    cause: str = ""
    remedy: str = ""


@dataclass(slots=True)
class AgentState:
    """One agent on this machine.

    By scope: `wired` is where hookrun is installed, `unreadable` the error of settings that cannot be read. By
    hookrun's names of events: `declared` are those with hooks for this agent, `fired` is when the agent last fired
    each. `callers` are other agents that fired the hooks in its settings -> when they last did. `unread_log` is the
    error of a log that cannot be read. `unapproved` are the project's hooks that lack approval, with their state;
    `undecided` is the error of a trust store that cannot be read.
    """

    agent: Agent
    spot: InstallLocation
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

    @property
    def title(self) -> str:
        """The agent's name for people."""
        return self.agent.DISPLAY_NAME

    @property
    def spec(self) -> InstallSpec:
        """Where the agent reads its hooks, and how they are written there."""
        return self.agent.INSTALL

    @property
    def all_wired(self) -> list[WiredEvent]:
        """The events of both scopes."""
        return [each for wired in self.wired.values() for each in wired]

    @property
    def scopes(self) -> list[str]:
        """The scopes in which hookrun is installed."""
        return [scope for scope, found in self.wired.items() if found]

    @property
    def missing_events(self) -> list[str]:
        """The agent's events that have a hook, but no entry of hookrun."""
        have = {each.event for each in self.all_wired}
        return [event for event in plan.events_for(self.agent, self.declared) if event not in have]

    @property
    def is_here(self) -> bool:
        """Whether its program is on this machine, or hookrun in the user's settings, or settings that cannot be read.

        A project has settings for agents that others use.
        """
        return self.installed is not None or bool(self.wired.get("user")) or bool(self.unreadable)

    def found_by_project(self) -> list[str] | None:
        """Return the command that the project's line runs on this machine, up to `fire`; None if it finds none."""
        try:
            home: str | None = account_home()
        except NoHomeError:
            home = None
        return project_line.find(
            self.agent.NAME, home, self.spot.project, self.spot.project, os.environ.get("PATH", "")
        )

    def request(self, scope: str) -> InstallRequest:
        """Return what `hookrun install` would be asked for."""
        return InstallRequest(self.agent, scope, self.spot, self.program)

    def remedy(self, scope: str | None = None) -> str:
        """Return what to do for hookrun to be installed anew, by default where it is installed now."""
        present = "project" if self.wired.get("project") and not self.wired.get("user") else "user"
        return f"run {self.request(scope or present).command('install')}"

    def to_json(self) -> dict[str, object]:
        """Return the agent's names, program and version."""
        return {
            "agent": self.agent.NAME,
            "title": self.title,
            "program": self.installed.program if self.installed is not None else None,
            "version": self.installed.version if self.installed is not None else None,
        }


def declared_events(agent: Agent, declared: Declarations) -> list[str]:
    """Return the canonical events that have a hook for this agent, broken hooks included."""
    events: dict[str, None] = {}
    for hook in declared.hooks:
        native = agent.NAME == "claude" and hook.claude is not None and hook.claude.get("own")  # Claude runs it itself
        if hook.mode != "off" and not native and (hook.agents is None or agent.NAME in hook.agents):
            events.update(dict.fromkeys(hook.events))
    return list(events)


def inspect_agents(agents: Iterable[Agent], spot: InstallLocation, declarations: Declarations) -> list[AgentState]:
    """Return the states of agents, at the same time: some are run for their version."""
    with ThreadPoolExecutor() as threads:
        return list(threads.map(lambda agent: _inspect(agent, spot, declarations), agents))


def _inspect(agent: Agent, spot: InstallLocation, declarations: Declarations) -> AgentState:
    """Return the state of an agent. Its program is run only for `--version`, if no package.json has the version."""
    installed = presence.find_installed(agent.INSTALL["program"])
    declared = declared_events(agent, declarations)
    state = AgentState(agent, spot, this_program(), declarations, declared, installed)
    for scope in SCOPES:
        try:
            state.wired[scope] = plan.wired_events(state.request(scope))
        except FileError as error:
            state.unreadable[scope] = one_line(str(error))
    try:
        state.fired, state.callers = last_fired(spot.home, agent.NAME)
    except OSError as error:
        state.unread_log = f"cannot read {error.filename}: {error.strerror}"
    return state


def last_fired(home: str, agent: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return when the agent last fired each event (hookrun's name), and when another agent fired through its settings.

    Both are by the audit (RFC 3339, UTC). Raises OSError where it cannot be read.
    """
    fired: dict[str, str] = {}
    callers: dict[str, str] = {}
    for path in filter(os.path.isfile, reversed(audit_reader.paths(home)[:2])):
        with open(path, "rb") as file:
            records = [audit_reader.parse(line) for line in file if b'"kind":"fire"' in line]
        for record in records:
            if record is not None and record.get("agent") == agent:
                fired[str(record.get("event"))] = str(record.get("time"))
            elif record is not None and record.get("through") == agent:
                callers[str(record.get("agent"))] = str(record.get("time"))
    return fired, callers


def read_settings(path: str) -> Json | Toml:
    """Return a settings file, an empty one where it cannot be read."""
    try:
        text = existing(path).text()
        return Toml(text) if path.endswith(".toml") else Json(text, "jsonc")
    except (FileError, ParseError):
        return Json("", "jsonc")
