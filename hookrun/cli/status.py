"""`hookrun status`: agents, hooks, approvals, pauses and the last run, on one screen."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

import click

from hookrun import __version__, audit_reader
from hookrun.cli.common import command, home_option, json_option, load_project, resolve_home
from hookrun.cli.install import supported_agents
from hookrun.cli.printing import CONFIG_ERRORS, OK, WARNING, count, print_json, print_lines, print_problems
from hookrun.cli.show_config import hook_state
from hookrun.credentials import redact
from hookrun.serve.running import describe, running_servers
from hookrun.trust.approvals import clock
from hookrun.trust.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.cli.printing import Line
    from hookrun.doctor.agent_state import AgentState
    from hookrun.trust.project import Project

GOOD = ("ready", "advise", "off", "disabled", "denied")
"""States of a hook about which nothing is to be done."""


@command("status", "status", "status --json", note="Exit status: 0 shown, 1 the config or the approvals have errors.")
@json_option
@home_option
@click.pass_context
def status_command(ctx: click.Context, home: str | None, *, as_json: bool) -> None:
    """Show agents, hooks, approvals, pauses and the last run on one screen. Runs no hook."""
    project = load_project(None, home)
    errors = list(project.declarations.problems)
    agents = [case for case in supported_agents(home) if case.is_here or case.scopes]
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
    ctx.exit(1 if errors else 0)


def _connection(case: AgentState) -> dict[str, object]:
    """Return in which scopes hookrun is connected, and the events that have a hook but no connection."""
    missing = case.missing_events if case.scopes else []
    return {"connected": case.scopes, "missing": missing, "unreadable": case.unreadable}


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
    project: Project,
    agents: list[AgentState],
    states: Counter[str],
    pauses: list[dict[str, object]],
    last: list[Line],
) -> Iterator[Line]:
    home = f"{resolve_home(None)}/"
    where = f"~/{project.root.removeprefix(home)}" if project.root.startswith(home) else project.root
    yield f"hookrun {__version__} in {where}", ""
    for index, case in enumerate(agents):
        yield (f"{'' if index else 'agents':<11}{_agent(case)}", OK if case.scopes else WARNING)
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


def _agent(case: AgentState) -> str:
    name = (
        f"{case.agent.NAME} {case.installed.version or '' if case.installed is not None else '(not on PATH)'}".strip()
    )
    if case.unreadable:
        return f"{name:<20} settings cannot be read: `hookrun doctor {case.agent.NAME}`"
    if not case.scopes:
        return f"{name:<20} not connected: run `hookrun install {case.agent.NAME}`"
    missing = case.missing_events
    more = f", {count(len(missing), 'event')} missing: run `hookrun install {case.agent.NAME}`" if missing else ""
    return f"{name:<20} connected ({' and '.join(case.scopes)}){more}"


def _run(last: dict[str, object] | None) -> str:
    if last is None:
        return "none"
    try:
        when = datetime.fromisoformat(str(last["time"])).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        when = str(last["time"])
    by = f" by {last['hook']}" if last["hook"] else ""
    agent = f" in {last['agent']}" if last["agent"] else ""
    return redact(f"{when}  {last['event']}{agent}: {last['action']}{by}") or ""
