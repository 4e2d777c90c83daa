"""`hookrun agents`: which coding agents are here, in which version, which are wired, and for which events."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import click

from hookrun.agents import AGENTS
from hookrun.cli.wiring import agents, declarations, declared_events, home_option, spot
from hookrun.config.diagnostics import printable
from hookrun.doctor.agent_state import AgentState, inspect_agent
from hookrun.wiring import plan
from hookrun.wiring.wired_command import this_program

if TYPE_CHECKING:
    from hookrun.agents.types import Agent

EXAMPLES = """\b
Examples:
  hookrun agents
  hookrun agents --json
"""
COLUMNS = ("AGENT", "VERSION", "WIRED", "EVENTS", "DECLARED, NOT WIRED")


@click.command(name="agents", epilog=EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
@home_option
def command(home: str | None, *, as_json: bool) -> None:
    """Show the coding agents that hookrun knows: here or not, which version, wired or not, for which events."""
    where = spot(home)
    declared = declarations(where)

    def case(agent: Agent) -> AgentState:
        return inspect_agent(agent, where, this_program(), declared_events(agent, declared), [])

    with ThreadPoolExecutor() as threads:  # some have to be asked for their version
        cases = list(threads.map(case, agents(AGENTS)))
    if as_json:
        click.echo(json.dumps({"agents": [_data(each) for each in cases]}, indent=2))
        return
    rows = [list(COLUMNS), *map(_row, cases)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        click.echo(printable("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()))


def _data(case: AgentState) -> dict[str, object]:
    return {
        "agent": case.agent.NAME,
        "title": case.agent.DISPLAY_NAME,
        "program": case.installed.program if case.installed is not None else None,
        "version": case.installed.version if case.installed is not None else None,
        "wired": {scope: [each.event for each in found] for scope, found in case.wired.items() if found},
        "narrowed": {each.event: each.only for each in case.all_wired if each.only},
        "unreadable": case.unreadable,
        "declared": case.declared,
        "not_wired": _not_wired(case),
    }


def _not_wired(case: AgentState) -> list[str]:
    """Return the agent's events for which a hook is declared and which are not wired."""
    have = {each.event for each in case.all_wired}
    return [event for event in plan.events_for(case.agent, case.declared) if event not in have]


def _row(case: AgentState) -> list[str]:
    version = "not here" if case.installed is None else case.installed.version or "?"
    scopes = [scope for scope, found in case.wired.items() if found]
    wired = "unreadable" if case.unreadable else " and ".join(scopes) or "no"
    events = ", ".join(dict.fromkeys(f"{each.event}{f' ({each.only})' * bool(each.only)}" for each in case.all_wired))
    return [case.agent.NAME, version, wired, events or "-", ", ".join(_not_wired(case)) or "-"]
