"""What the checks of one agent look at: its wiring, its program, what is declared, and what it has fired."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookrun import audit
from hookrun.edit.file_change import FileError
from hookrun.wiring import plan, presence
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import SCOPES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.agents.types import Agent
    from hookrun.wiring.presence import InstalledAgent
    from hookrun.wiring.targets import InstallLocation, WiredEvent
    from hookrun.wiring.wired_command import HookrunProgram

PROBLEM, NOTE, OK = "problem", "note", "ok"
"""How a finding counts: hooks will not run as declared; worth knowing; all is well."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check has found: how it counts, what is so, why that matters, and what to do (nothing if all is well)."""

    check: str
    level: str
    found: str
    cause: str = ""
    remedy: str = ""


@dataclass(slots=True)
class AgentState:
    """One agent here. `wired` is by scope; `unreadable` has what is wrong with the settings of a scope.

    `declared` are the events, by hookrun's names, with hooks that this agent fires; `problems` is what is wrong with
    the declarations; `fired` is when each of hookrun's events was last fired by the agent. `unapproved` are hooks
    of the project that do not run for want of approval, and why, `undecided` why it cannot be known what is approved;
    `unprotected` tells that no hook guards the hooks.
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
    unapproved: dict[str, str] = field(default_factory=dict)
    undecided: str | None = None
    unprotected: bool = False

    @property
    def all_wired(self) -> list[WiredEvent]:
        """The wiring of both scopes."""
        return [each for wired in self.wired.values() for each in wired]

    @property
    def is_here(self) -> bool:
        """Whether there is anything of the agent on this machine: its program, its wiring, or settings of its own."""
        return self.installed is not None or bool(self.all_wired) or bool(self.unreadable)

    def wish(self, scope: str) -> InstallRequest:
        """Return what `hookrun install` would work with."""
        return InstallRequest(self.agent, scope, self.spot, self.program)


def inspect_agent(
    agent: Agent, spot: InstallLocation, program: HookrunProgram, declared: list[str], problems: list[str]
) -> AgentState:
    """Return the case of an agent; nothing of its own is run but, where nothing else tells its version, `--version`."""
    case = AgentState(agent, spot, program, declared, problems, presence.find_installed(agent.INSTALL["program"]))
    for scope in SCOPES:
        try:
            case.wired[scope] = plan.wired_events(case.wish(scope))
        except FileError as error:
            case.unreadable[scope] = str(error)
    case.fired = last_fired(spot.home, agent.NAME)
    return case


def last_fired(home: str, agent: str) -> dict[str, str]:
    """Return, for each of hookrun's events, when the agent last fired it, by the audit (RFC 3339, UTC)."""
    path = audit.path(home)
    fired: dict[str, str] = {}
    for each in (f"{path}.1", path):
        for record in _fires(each):
            if record.get("agent") == agent:
                fired[str(record.get("event"))] = str(record.get("time"))
    return fired


def _fires(path: str) -> Iterable[dict[str, object]]:
    """Give the records of fires in one file of the audit; a line that is torn or foreign is passed over."""
    if not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        for line in file:
            if b'"kind":"fire"' in line:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue
