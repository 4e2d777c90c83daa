"""Gather what the checks look at: an agent's program and settings, the hooks declared for it, and what it has fired."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookrun import audit_reader
from hookrun.edit.file_change import FileError
from hookrun.shell import project_line
from hookrun.state import NoHomeError, account_home
from hookrun.text import one_line
from hookrun.wiring import plan, presence
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import SCOPES, InstallLocation, WiredEvent

if TYPE_CHECKING:
    from hookrun.agents.types import Agent, InstallSpec
    from hookrun.wiring.presence import InstalledAgent
    from hookrun.wiring.wired_command import HookrunProgram

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
    error of a log that cannot be read. `problems` are the errors of the declarations. `unapproved` are the project's
    hooks that lack approval, with their state; `undecided` is the error of a trust store that cannot be read.
    `unprotected`: no hook guards the hooks.
    """

    agent: Agent
    spot: InstallLocation
    program: HookrunProgram
    declared: list[str]
    problems: list[str]
    installed: InstalledAgent | None
    wired: dict[str, list[WiredEvent]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    fired: dict[str, str] = field(default_factory=dict)
    callers: dict[str, str] = field(default_factory=dict)
    unread_log: str | None = None
    unapproved: dict[str, str] = field(default_factory=dict)
    undecided: str | None = None
    unprotected: bool = False

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


def inspect_agent(
    agent: Agent, spot: InstallLocation, program: HookrunProgram, declared: list[str], problems: list[str]
) -> AgentState:
    """Return the state of an agent. Its program is run only for `--version`, if no package.json has the version."""
    state = AgentState(agent, spot, program, declared, problems, presence.find_installed(agent.INSTALL["program"]))
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
