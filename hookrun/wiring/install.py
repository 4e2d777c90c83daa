"""Works out what wires an agent, or takes its wiring away: which events, which command lines, which files change."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.wiring import codex_trust, command
from hookrun.wiring.change import Change, putting_in, taking_out
from hookrun.wiring.command import Answer, Fires
from hookrun.wiring.files import existing
from hookrun.wiring.places import directory, targets
from hookrun.wiring.targets import Line, Settings, read_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.agents.types import Agent
    from hookrun.wiring.command import Program
    from hookrun.wiring.ledger import Ledger
    from hookrun.wiring.places import Spot
    from hookrun.wiring.targets import Target, Wired

LONGEST = 600.0
"""Seconds that an agent is told to wait for hookrun: the hooks' own timeouts decide before that, or the deadline."""

MARGINS = ((60.0, 5.0), (10.0, 2.0), (2.0, 1.0), (0.0, 0.5))
"""From so many seconds of the agent's limit on -> how many seconds sooner hookrun's deadline is."""


def limit(agent: Agent, event: str) -> float:
    """Return the seconds that an agent is told to wait at an event: as many as it can be told, up to LONGEST."""
    return min(LONGEST, agent.MAX_TIMEOUTS.get(event, agent.MAX_TIMEOUTS.get("", LONGEST)))


def deadline(seconds: float) -> float:
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


def every_event(agent: Agent) -> list[str]:
    """Return all events of the agent that can be wired."""
    return events_for(agent, set(agent.EVENTS.values()))


def unknown_to(agent: Agent, declared: Iterable[str]) -> list[str]:
    """Return those of hookrun's events that the agent has nothing for."""
    known = {*agent.EVENTS.values(), *agent.SYNTHESIZED_FROM}
    return sorted(set(declared) - known)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be wired: an agent, in a scope of a home and project, by a program."""

    agent: Agent
    scope: str
    spot: Spot
    program: Program

    @property
    def place(self) -> str:
        """The scope as the ledger has it: a project's with its root, for files that several projects write to."""
        return f"project {self.spot.project}" if self.scope == "project" else self.scope

    @property
    def within(self) -> str | None:
        """The directory that the agent's file may not lead out of."""
        return self.spot.project if self.scope == "project" else None

    def line(self, event: str) -> Line:
        """Return what is wired for an event."""
        seconds = limit(self.agent, event)
        fires = Fires(self.agent.NAME, event, deadline(seconds), self.scope, self.spot.named_home)
        text = command.line(self.program, fires, gone(self.agent, event, self.program))
        return Line(text, command.argv(self.program, fires), seconds)

    def targets(self, events: Iterable[str]) -> list[Target]:
        """Return the files that these events are wired in."""
        return targets(self.agent.NAME, self.agent.INSTALL, self.scope, self.spot, events)


def gone(agent: Agent, event: str, program: Program) -> Answer:
    """Return what an agent is told at an event when hookrun is not where it was: go on, and tell the person."""
    from hookrun.agents.base import placeholder_message
    from hookrun.agents.formats import Reply
    from hookrun.agents.reply import build_response

    mend = f"put it back, or run `hookrun install {agent.NAME}`"
    text = f"hookrun is not at {program.main} any more, no hook has run: {mend}"
    told = build_response(agent, placeholder_message(agent, event), [Reply(user_message=text)]).stdout().decode()
    return Answer(told) if told else Answer(stderr=text)


def wired(wish: Wish) -> list[Wired]:
    """Return what of hookrun an agent has in a scope. Raises WiringError where its settings cannot be read."""
    return [each for target in wish.targets(every_event(wish.agent)) for each in target.wired(existing(target.path))]


def plan_install(wish: Wish, events: Iterable[str], ledger: Ledger) -> list[Change]:
    """Return the changes that wire these events, and bring up to date what is wired already. Raises WiringError."""
    already = [each.event for each in wired(wish)]
    every = [event for event in wish.agent.EVENTS if event in {*events, *already}]
    lines = {event: wish.line(event) for event in every}
    return [
        putting_in(target, lines, ledger, agent=wish.agent.NAME, scope=wish.place, within=wish.within)
        for target in wish.targets(every)
    ]


def plan_uninstall(wish: Wish, ledger: Ledger) -> list[Change]:
    """Return the changes that take all wiring of an agent in a scope away. Raises WiringError."""
    return [
        taking_out(target, ledger, agent=wish.agent.NAME, scope=wish.place, within=wish.within)
        for target in wish.targets(every_event(wish.agent))
    ]


def codex_config(wish: Wish, hooks: Change) -> codex_trust.Config:
    """Return Codex's config.toml with what trust our hooks need after a change of their file, and needed before it."""
    target = next(each for each in wish.targets([]) if isinstance(each, Settings))
    before, after = (
        codex_trust.wanted(target.path, read_json(target.path, _text(data), "json"), target.form)
        for data in (hooks.now.data, hooks.after)
    )
    where = os.path.join(directory(wish.agent.INSTALL, wish.spot), codex_trust.CONFIG)
    return codex_trust.Config(where, after, before)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8-sig")


def plan_trust(wish: Wish, hooks: Change, ledger: Ledger) -> Change:
    """Return the change of config.toml that lets Codex run what its hooks are then. Raises WiringError."""
    return putting_in(codex_config(wish, hooks), {}, ledger, agent=wish.agent.NAME, scope=wish.place, within=None)


def plan_distrust(wish: Wish, hooks: Change, ledger: Ledger) -> Change:
    """Return the change of config.toml that takes the trust of our hooks away. Raises WiringError."""
    return taking_out(codex_config(wish, hooks), ledger, agent=wish.agent.NAME, scope=wish.place, within=None)
