"""Show how things stand: `hookrun status` on one screen, `agents` in a table, `doctor` with causes and remedies."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hookrun import __version__, audit_reader
from hookrun.agents import AGENTS
from hookrun.cli.commands import (
    FAILED,
    agents_named,
    command,
    declarations_at,
    home_option,
    install_location,
    json_option,
    load_project,
    resolve_home,
)
from hookrun.cli.log import local_time
from hookrun.cli.printing import (
    CONFIG_ERRORS,
    ERROR,
    OK,
    WARNING,
    count,
    print_json,
    print_lines,
    print_problems,
    print_table,
)
from hookrun.cli.show_config import hook_state
from hookrun.credentials import redact
from hookrun.doctor.agent_state import NOTE, OK as ALL_WELL, PROBLEM, AgentState, Finding, inspect_agents
from hookrun.doctor.checks import run_checks
from hookrun.serve.running import describe, running_servers
from hookrun.trust.approvals import clock
from hookrun.trust.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookrun.cli.printing import Line
    from hookrun.trust.project import Project

COLUMNS = ("AGENT", "VERSION", "INSTALLED", "EVENTS", "MISSING EVENTS")
UNAPPROVED = ("new", "changed", "cannot be approved")
"""States of a hook that an agent does not run although it is enabled."""

CHECK_NAMES = {
    "also fired by": "other agents",
    "declared": "events",
    "declarations": "config",
    "fired": "last run",
    "limits": "timeouts",
    "twice": "duplicates",
    "wired": "installed",
}
"""Check -> its name on the screen, where that differs from the one in JSON."""

LEVEL_STYLES = {f"  {PROBLEM}": ERROR, f"  {NOTE}": WARNING, f"  {ALL_WELL}": OK}


# --- hookrun status


@command("status", "status", "status --json", note="Exit status: 0 shown, 1 the config or the approvals have errors.")
@json_option
@home_option
def status_command(home: str | None, *, as_json: bool) -> int:
    """Show agents, hooks, approvals, pauses and the last run on one screen. Runs no hook."""
    project = load_project(None, home)
    errors = list(project.declarations.problems)
    agents = [agent for agent in _inspected(home) if agent.is_here or agent.scopes]
    states: Counter[str] = Counter()
    pauses: list[dict[str, object]] = []
    try:
        states.update(hook_state(hook, project) for hook in project.declarations.hooks)
        now = time.time()
        pauses = [
            {"hook": each["hook"], "until": each["until"]} for each in project.store.paused if each["until"] > now
        ]
    except StoreError as error:
        errors.append(str(error))
    last, shown = None, "unknown"
    try:
        last = _last_run(resolve_home(home))
        shown = _run(last)
    except OSError as error:
        errors.append(f"cannot read {error.filename}: {error.strerror}; correct its permissions")
    if as_json:
        print_json(
            {
                "version": __version__,
                "project": project.root,
                "agents": [{**each.to_json(), **_connection(each)} for each in agents],
                "hooks": dict(states),
                "to_approve": _to_approve(states),
                "paused": pauses,
                "servers": [server.to_json() for server in running_servers(resolve_home(home))],
                "last_run": last,
                "problems": errors,
            }
        )
    else:
        print_lines(
            _lines(project, agents, states, pauses, [*_server(resolve_home(home)), (f"last run   {shown}", "")])
        )
        print_problems(errors)
    return FAILED if errors else 0


def _connection(agent: AgentState) -> dict[str, object]:
    """Return in which scopes hookrun is connected, and the events that have a hook but no connection."""
    missing = agent.missing_events if agent.scopes else []
    return {"connected": agent.scopes, "missing": missing, "unreadable": agent.unreadable}


def _to_approve(states: Counter[str]) -> int:
    return states["not approved"] + states["changed"]


def _last_run(home: str) -> dict[str, object] | None:
    for fired in audit_reader.latest_fires(home, lambda each: each.fire is not None, 1):
        header = fired.header
        deciding = [each.get("hook") for each in fired.hooks if each.get("action") == header.get("action")]
        fields = {name: header.get(name) for name in ("time", "event", "agent", "action", "request_id")}
        return {**fields, "hook": deciding[0] if deciding and header.get("action") != "continue" else None}
    return None


def _lines(
    project: Project, agents: list[AgentState], states: Counter[str], pauses: list[dict[str, object]], last: list[Line]
) -> Iterator[Line]:
    home = f"{resolve_home(None)}/"
    where = f"~/{project.root.removeprefix(home)}" if project.root.startswith(home) else project.root
    yield f"hookrun {__version__} in {where}", ""
    for index, agent in enumerate(agents):
        yield (f"{'' if index else 'agents':<11}{_agent(agent)}", OK if agent.scopes else WARNING)
    if not agents:
        yield "agents     none found: `hookrun help agents` lists the supported ones", WARNING
    total = sum(states.values())
    by_state = ", ".join(f"{number} {state}" for state, number in states.most_common())
    if not total:
        by_state = CONFIG_ERRORS if project.declarations.problems else "`hookrun init` or `hookrun add` adds the first"
    yield f"hooks      {total}: {by_state}", ""
    if waiting := _to_approve(states):
        yield f"approvals  {count(waiting, 'hook')} to approve: run `hookrun trust`", WARNING
    for pause in pauses:
        what = pause["hook"] or "all hooks"
        until = pause["until"]
        yield f"paused     {what} until {clock(float(str(until)))}; `hookrun resume` ends the pause", WARNING
    yield from last


def _server(home: str) -> Iterator[Line]:
    well, server = describe(home)
    if server:
        yield f"server     {server}", "" if well else WARNING


def _agent(agent: AgentState) -> str:
    version = "(not on PATH)" if agent.installed is None else agent.version or ""
    name = f"{agent.agent.NAME} {version}".strip()
    if agent.unreadable:
        return f"{name:<20} settings cannot be read: `hookrun doctor {agent.agent.NAME}`"
    if not agent.scopes:
        return f"{name:<20} not connected: run `hookrun install {agent.agent.NAME}`"
    missing = agent.missing_events
    more = f", {count(len(missing), 'event')} missing: run `hookrun install {agent.agent.NAME}`" if missing else ""
    return f"{name:<20} connected ({' and '.join(agent.scopes)}){more}"


def _run(last: dict[str, object] | None) -> str:
    if last is None:
        return "none"
    by = f" by {last['hook']}" if last["hook"] else ""
    agent = f" in {last['agent']}" if last["agent"] else ""
    return redact(f"{local_time(last, with_date=True)}  {last['event']}{agent}: {last['action']}{by}") or ""


# --- hookrun agents


@command("agents", "agents", "agents --json")
@json_option
@home_option
def agents_command(home: str | None, *, as_json: bool) -> None:
    """Show the coding agents that hookrun supports: version, connected or not, and for which events."""
    inspected = _inspected(home)
    if as_json:
        print_json({"agents": [_agent_to_json(each) for each in inspected]})
    else:
        print_table(COLUMNS, [*map(_agent_row, inspected)], wrap=True)


def _inspected(home: str | None, names: Iterable[str] = AGENTS) -> list[AgentState]:
    location = install_location(home)
    return inspect_agents(agents_named(names), location, declarations_at(location))


def _agent_to_json(agent: AgentState) -> dict[str, object]:
    return {
        **agent.to_json(),
        "wired": {scope: [each.event for each in found] for scope, found in agent.wired.items() if found},
        "hand_written": {
            scope: [each.event for each in found if not each.is_ours] for scope, found in agent.wired.items()
        },
        "when_missing": next((each.command.form.when_missing for each in agent.all_wired if each.command.form), None),
        "narrowed": {each.event: each.only for each in agent.all_wired if each.only},
        "unreadable": agent.unreadable,
        "declared": agent.declared,
        "not_wired": agent.missing_events,
    }


def _agent_row(agent: AgentState) -> list[str]:
    version = "not found" if agent.installed is None else agent.version or "?"
    by_hand = [scope for scope in agent.scopes if any(not each.is_ours for each in agent.wired[scope])]
    scopes = [f"{scope} (by hand)" if scope in by_hand else scope for scope in agent.scopes]
    wired = "unreadable" if agent.unreadable else " and ".join(scopes) or "no"
    events = ", ".join(dict.fromkeys(f"{each.event}{f' ({each.only})' * bool(each.only)}" for each in agent.all_wired))
    return [agent.agent.NAME, version, wired, events or "-", ", ".join(agent.missing_events) or "-"]


# --- hookrun doctor


@command(
    "doctor", "doctor", "doctor claude --prove", note="Exit status: 0 no problems (there may be notes), 1 problems."
)
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@click.option(
    "--prove", "proving", is_flag=True, help="Send recorded messages through the installed commands to a probe."
)
@json_option
@home_option
def doctor_command(agents: tuple[str, ...], home: str | None, *, proving: bool, as_json: bool) -> int:
    """Check whether the hooks declared here will run in each agent, and if not, show why and what to do.

    Without a name: every agent on this machine. Your hooks are not run, even with --prove.
    """
    inspected = _inspected(home, agents or AGENTS)
    unapproved, undecided = _unapproved(home)
    for agent in inspected:
        agent.unapproved, agent.undecided = unapproved, undecided
    shown = [agent for agent in inspected if agents or agent.is_here]
    if proving:
        from hookrun.doctor.prove import prove  # rarely asked for
    examined = [(agent, [*run_checks(agent), *(prove(agent) if proving else ())]) for agent in shown]
    wrong = any(finding.level == PROBLEM for _, findings in examined for finding in findings)
    if as_json:
        report = [{**agent.to_json(), "findings": list(map(asdict, found))} for agent, found in examined]
        print_json({"ok": not wrong, "agents": report})
    else:
        for agent, findings in examined:
            _print_findings(agent, findings)
        if not examined:
            click.echo(f"no coding agent found on PATH (supported: {', '.join(AGENTS)})")
    return FAILED if wrong else 0


def _unapproved(home: str | None) -> tuple[dict[str, str], str | None]:
    """Return the project's hooks that agents skip because they are not approved, or the error of the trust store."""
    try:
        hooks = load_project(None, home).hooks()
    except StoreError as error:
        return {}, str(error)
    return {each.hook.name: each.state for each in hooks if each.state in UNAPPROVED and each.hook.mode != "off"}, None


def _print_findings(agent: AgentState, findings: list[Finding]) -> None:
    problems = [each.found for each in findings if each.level == PROBLEM]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    result = f"{problems[0]}{more}" if problems else "no problems"
    rows = []
    for each in findings:
        rows.append((f"  {each.level}", CHECK_NAMES.get(each.check, each.check), each.found))
        rows += [("", "", text) for text in (each.cause, f"hint: {each.remedy}" if each.remedy else "") if text]
    title = f"{agent.agent.NAME}: {agent.agent.DISPLAY_NAME} {_version(agent)}: {result}"
    print_table((), rows, title=title, styles=LEVEL_STYLES, wrap=True)


def _version(agent: AgentState) -> str:
    if agent.installed is None:
        return f"({agent.agent.INSTALL['program']} is not on PATH)"
    return agent.version or "(unknown version)"
