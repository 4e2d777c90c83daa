"""`hookrun doctor`: check whether each agent will run the hooks declared here, and if not, why and what to do."""

from __future__ import annotations

from dataclasses import asdict

import click

from hookrun.agents import AGENTS
from hookrun.cli.common import (
    FAILED,
    agents_named,
    command,
    declarations_at,
    home_option,
    install_location,
    json_option,
    load_project,
)
from hookrun.cli.printing import ERROR, OK as SUCCESS, WARNING, print_json, print_table
from hookrun.doctor.agent_state import NOTE, OK, PROBLEM, AgentState, Finding, inspect_agents
from hookrun.doctor.checks import run_checks
from hookrun.doctor.prove import prove
from hookrun.trust.store import StoreError

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

LEVEL_STYLES = {f"  {PROBLEM}": ERROR, f"  {NOTE}": WARNING, f"  {OK}": SUCCESS}


@command(
    "doctor", "doctor", "doctor claude --prove", note="Exit status: 0 no problems (there may be notes), 1 problems."
)
@click.argument("names", metavar="[AGENT]...", nargs=-1)
@click.option(
    "--prove", "proving", is_flag=True, help="Send recorded messages through the installed commands to a probe."
)
@json_option
@home_option
@click.pass_context
def doctor_command(
    ctx: click.Context, names: tuple[str, ...], home: str | None, *, proving: bool, as_json: bool
) -> None:
    """Check whether the hooks declared here will run in each agent, and if not, show why and what to do.

    Without a name: every agent on this machine. Your hooks are not run, even with --prove.
    """
    location = install_location(home)
    cases = inspect_agents(agents_named(names or AGENTS), location, declarations_at(location))
    unapproved, undecided = _unapproved(home)
    for case in cases:
        case.unapproved, case.undecided = unapproved, undecided
    shown = [case for case in cases if names or case.is_here]
    examined = [(case, [*run_checks(case), *(prove(case) if proving else ())]) for case in shown]
    wrong = any(finding.level == PROBLEM for _, findings in examined for finding in findings)
    if as_json:
        agents = [{**case.to_json(), "findings": list(map(asdict, found))} for case, found in examined]
        print_json({"ok": not wrong, "agents": agents})
    else:
        for case, findings in examined:
            _print(case, findings)
        if not examined:
            click.echo(f"no coding agent found on PATH (supported: {', '.join(AGENTS)})")
    ctx.exit(FAILED if wrong else 0)


def _unapproved(home: str | None) -> tuple[dict[str, str], str | None]:
    """Return the project's hooks that agents skip because they are not approved, or the error of the trust store."""
    try:
        hooks = load_project(None, home).hooks()
    except StoreError as error:
        return {}, str(error)
    return {each.hook.name: each.state for each in hooks if each.state in UNAPPROVED and each.hook.mode != "off"}, None


def _print(case: AgentState, findings: list[Finding]) -> None:
    problems = [each.found for each in findings if each.level == PROBLEM]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    result = f"{problems[0]}{more}" if problems else "no problems"
    rows = []
    for each in findings:
        rows.append((f"  {each.level}", CHECK_NAMES.get(each.check, each.check), each.found))
        rows += [("", "", text) for text in (each.cause, f"hint: {each.remedy}" if each.remedy else "") if text]
    title = f"{case.agent.NAME}: {case.agent.DISPLAY_NAME} {_version(case)}: {result}"
    print_table((), rows, title=title, styles=LEVEL_STYLES, wrap=True)


def _version(case: AgentState) -> str:
    if case.installed is None:
        return f"({case.agent.INSTALL['program']} is not on PATH)"
    return case.installed.version or "(unknown version)"
