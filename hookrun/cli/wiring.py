"""What the commands that wire agents have in common: their options, whose home and project, which agents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

import click

from hookrun.agents import AGENTS, load
from hookrun.cli.declared import home_of
from hookrun.config.diagnostics import closest, quote
from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.wiring.targets import InstallLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.agents.types import Agent
    from hookrun.config.load import Declarations

Function = TypeVar("Function", bound="Callable[..., None]")


def home_option(function: Function) -> Function:
    """Add `--home` to a command."""
    return click.option("--home", metavar="DIR", help="Whose agents and hooks: default HOME.")(function)


def agents(names: Iterable[str]) -> list[Agent]:
    """Return the agents with these names, each once; an unknown name is an error that says which there are."""
    found = []
    for name in dict.fromkeys(names):
        if name not in AGENTS:
            near = closest(name, AGENTS)
            meant = f"did you mean {near}?" if near else f"expected one of {', '.join(AGENTS)}"
            msg = f"unknown agent {quote(name)}: {meant}"
            raise click.ClickException(msg)
        found.append(load(name))
    return found


def spot(home: str | None) -> InstallLocation:
    """Return whose home and which project it is about. An agent's variables count unless a home is named."""
    try:
        cwd = os.getcwd()
    except OSError:
        message = "the working directory does not exist any more: go to another"
        raise click.ClickException(message) from None
    named = home_of(home)
    found = find(cwd, named)
    return InstallLocation(named, found.repository or cwd, {} if home is not None else dict(os.environ))


def declarations(where: InstallLocation) -> Declarations:
    """Return what is declared in the working directory."""
    return load_config(find(os.getcwd(), where.home)).declarations


def declared_events(agent: Agent, declared: Declarations) -> list[str]:
    """Return the events, by hookrun's names, for which a hook is declared that this agent fires; a wrong one counts."""
    events: dict[str, None] = {}
    for hook in declared.hooks:
        its_own = agent.NAME == "claude" and hook.claude is not None and hook.claude.get("own")  # it runs these itself
        if hook.mode != "off" and not its_own and (hook.agents is None or agent.NAME in hook.agents):
            events.update(dict.fromkeys(hook.events))
    return list(events)
