"""Plan what installs hookrun into an agent or removes it: which events, which command lines, which files change."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.edit.file_change import FileChange, existing, missing_directories
from hookrun.wiring import hook_trust, wired_command
from hookrun.wiring.ledger import Ledger, LedgerEntry, digest
from hookrun.wiring.targets import SettingsFile, WiredLine, agent_directory, install_targets, read_json
from hookrun.wiring.wired_command import FallbackResponse, FireFlags

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.agents.types import Agent
    from hookrun.edit.file_change import ExistingFile
    from hookrun.wiring.ledger import Ledger
    from hookrun.wiring.targets import InstallLocation, Target, WiredEvent, WiredLine
    from hookrun.wiring.wired_command import HookrunProgram

UNKNOWN_ORIGINAL = "{}"
"""What is taken to have stood in a file of which the ledger knows nothing: something, so that a file stays."""


@dataclass(frozen=True, slots=True)
class InstallChange(FileChange):
    """The change of a file in which the `scope` of an agent has a part.

    `original` is what uninstall is to give back one day, None for no file.
    """

    agent: str = ""
    scope: str = ""
    original: bytes | None = None


def plan_add(
    target: Target, lines: Mapping[str, WiredLine], ledger: Ledger, *, agent: str, scope: str, within: str | None
) -> InstallChange:
    """Return what puts hookrun into a file. `within` is the project that a project's file may not lead out of.

    Raises FileError where the file is not what the agent reads; nothing is written in any case.
    """
    now = existing(target.path, within)
    after = now.encoded(target.put_in(now, lines))
    known, entry = ledger.entries.get(now.path), ledger.unchanged(now.path, now.data)
    directories = known.directories if known is not None else missing_directories(now.path)
    if entry is not None:
        original = ledger.original(entry)
    else:
        original = _uninstalled(target, now, ledger) if now.data is not None and target.wired(now) else now.data
    return InstallChange(now.path, now, after, target.mode, directories, agent, scope, original)


def _uninstalled(target: Target, now: ExistingFile, ledger: Ledger) -> bytes | None:
    """Return a file that others have changed since install without hookrun; None if nothing is left of it."""
    known = ledger.entries.get(now.path)
    if known is None:
        before: str | None = UNKNOWN_ORIGINAL
    else:
        original = ledger.original(known)
        before = None if original is None else original.decode("utf-8-sig", "replace")
    text = target.take_out(now, before)
    return None if text is None else now.encoded(text)


def plan_remove(target: Target, ledger: Ledger, *, agent: str, scope: str, within: str | None) -> InstallChange:
    """Return what takes hookrun out of a file.

    That is the bytes before install, if nobody has changed the file since and they say what is left of it: a file that
    another project has something in says more. Raises FileError.
    """
    now = existing(target.path, within)
    known, entry = ledger.entries.get(now.path), ledger.unchanged(now.path, now.data)
    after = None if now.data is None else _uninstalled(target, now, ledger)
    if entry is not None:
        original = ledger.original(entry)
        if original is not None and after is not None and target.says(now.of(original)) == target.says(now.of(after)):
            after = original
    directories = known.directories if known is not None else []
    return InstallChange(now.path, now, after, directories=directories, agent=agent, scope=scope)


def record_original(change: InstallChange, ledger: Ledger) -> None:
    """Keep what was there, before install writes the file. Raises FileError.

    A process that is killed in between leaves a note that no file matches: that says no more than that nothing was
    written.
    """
    original = None if change.original is None else digest(change.original)
    known = ledger.entries.get(change.path)
    scopes = list(dict.fromkeys([*(known.scopes if known is not None else ()), change.scope]))
    entry = LedgerEntry(change.agent, scopes, digest(change.after or b""), original, change.directories)
    if known != entry:
        ledger.keep(change.path, entry, change.original)


def forget_original(change: InstallChange, ledger: Ledger) -> None:
    """Bring the ledger up to date after uninstall has written a file. Raises FileError.

    Of a file that others have something in, what was there before all of them is kept until the last has gone.
    """
    known = ledger.entries.get(change.path)
    if known is None or change.scope not in known.scopes:
        return
    known.scopes.remove(change.scope)
    if change.after is None or not known.scopes:
        ledger.forget(change.path)
        return
    original = ledger.original(known)
    known.written = digest(change.after)
    ledger.keep(change.path, known, original)


MAX_TIMEOUT = 600.0
"""Seconds that an agent is told to wait for hookrun: the hooks' own timeouts decide before that, or the deadline."""

MARGINS = ((60.0, 5.0), (10.0, 2.0), (2.0, 1.0), (0.0, 0.5))
"""From so many seconds of the agent's limit on -> how many seconds sooner hookrun's deadline is."""


def timeout_for(agent: Agent, event: str) -> float:
    """Return the seconds that an agent is told to wait at an event: as many as it can be told, up to LONGEST."""
    return min(MAX_TIMEOUT, agent.MAX_TIMEOUTS.get(event, agent.MAX_TIMEOUTS.get("", MAX_TIMEOUT)))


def deadline_for(seconds: float) -> float:
    """Return hookrun's deadline in seconds for an agent's limit: by that it has answered and ended its hooks."""
    return seconds - next(margin for least, margin in MARGINS if seconds >= least)


def events_for(agent: Agent, declared: Iterable[str]) -> list[str]:
    """Return the agent's events, by its names, that have to be wired for hookrun's events `declared`."""
    wanted = set(declared)
    made = {native for event, natives in agent.SYNTHESIZED_FROM.items() if event in wanted for native in natives}
    return [
        native
        for native, event in agent.EVENTS.items()
        if native in made or (event in wanted and event not in agent.SYNTHESIZED_FROM)
    ]


def all_events(agent: Agent) -> list[str]:
    """Return all events of the agent that can be wired."""
    return events_for(agent, set(agent.EVENTS.values()))


def unsupported_events(agent: Agent, declared: Iterable[str]) -> list[str]:
    """Return those of hookrun's events that the agent has nothing for."""
    known = {*agent.EVENTS.values(), *agent.SYNTHESIZED_FROM}
    return sorted(set(declared) - known)


@dataclass(frozen=True, slots=True)
class InstallRequest:
    """What is to be wired: an agent, in a scope of a home and project, by a program."""

    agent: Agent
    scope: str
    spot: InstallLocation
    program: HookrunProgram

    @property
    def place(self) -> str:
        """The scope as the ledger has it: a project's with its root, for files that several projects write to."""
        return f"project {self.spot.project}" if self.scope == "project" else self.scope

    @property
    def within(self) -> str | None:
        """The directory that the agent's file may not lead out of."""
        return self.spot.project if self.scope == "project" else None

    def line(self, event: str) -> WiredLine:
        """Return what is wired for an event."""
        seconds = timeout_for(self.agent, event)
        fires = FireFlags(self.agent.NAME, event, deadline_for(seconds), self.scope, self.spot.named_home)
        text = wired_command.shell_line(self.program, fires, fallback_when_removed(self.agent, event, self.program))
        return WiredLine(text, wired_command.argv(self.program, fires), seconds)

    def targets(self, events: Iterable[str]) -> list[Target]:
        """Return the files that these events are wired in."""
        return install_targets(self.agent.NAME, self.agent.INSTALL, self.scope, self.spot, events)


def fallback_when_removed(agent: Agent, event: str, program: HookrunProgram) -> FallbackResponse:
    """Return what an agent is told at an event when hookrun is not where it was: go on, and tell the person."""
    from hookrun.agents.base import placeholder_message
    from hookrun.agents.formats import Reply
    from hookrun.agents.reply import build_response

    mend = f"put it back, or run `hookrun install {agent.NAME}`"
    text = f"hookrun is not at {program.main} any more, no hook has run: {mend}"
    told = build_response(agent, placeholder_message(agent, event), [Reply(user_message=text)]).stdout().decode()
    return FallbackResponse(told) if told else FallbackResponse(stderr=text)


def wired_events(wish: InstallRequest) -> list[WiredEvent]:
    """Return what of hookrun an agent has in a scope. Raises FileError where its settings cannot be read."""
    return [each for target in wish.targets(all_events(wish.agent)) for each in target.wired(existing(target.path))]


def plan_install(wish: InstallRequest, events: Iterable[str], ledger: Ledger) -> list[InstallChange]:
    """Return the changes that wire these events, and bring up to date what is wired already. Raises FileError."""
    already = [each.event for each in wired_events(wish)]
    every = [event for event in wish.agent.EVENTS if event in {*events, *already}]
    lines = {event: wish.line(event) for event in every}
    return [
        plan_add(target, lines, ledger, agent=wish.agent.NAME, scope=wish.place, within=wish.within)
        for target in wish.targets(every)
    ]


def plan_uninstall(wish: InstallRequest, ledger: Ledger) -> list[InstallChange]:
    """Return the changes that take all wiring of an agent in a scope away. Raises FileError."""
    return [
        plan_remove(target, ledger, agent=wish.agent.NAME, scope=wish.place, within=wish.within)
        for target in wish.targets(all_events(wish.agent))
    ]


def codex_config(wish: InstallRequest, hooks: InstallChange) -> hook_trust.TrustConfig:
    """Return Codex's config.toml with what trust our hooks need after a change of their file, and needed before it."""
    target = next(each for each in wish.targets([]) if isinstance(each, SettingsFile))
    before, after = (
        hook_trust.required_trust_by_any_path(target.path, read_json(target.path, _text(data), "json"), target.form)
        for data in (hooks.now.data, hooks.after)
    )
    where = os.path.join(agent_directory(wish.agent.INSTALL, wish.spot), hook_trust.CONFIG)
    return hook_trust.TrustConfig(where, after, before)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8-sig")


def plan_trust(wish: InstallRequest, hooks: InstallChange, ledger: Ledger) -> InstallChange:
    """Return the change of config.toml that lets Codex run what its hooks are then. Raises FileError."""
    return plan_add(codex_config(wish, hooks), {}, ledger, agent=wish.agent.NAME, scope=wish.place, within=None)


def plan_distrust(wish: InstallRequest, hooks: InstallChange, ledger: Ledger) -> InstallChange:
    """Return the change of config.toml that takes the trust of our hooks away. Raises FileError."""
    return plan_remove(codex_config(wish, hooks), ledger, agent=wish.agent.NAME, scope=wish.place, within=None)
