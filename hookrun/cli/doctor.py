"""`hookrun doctor`: check whether each agent will run the hooks declared here, and if not, why and what to do."""

from __future__ import annotations

from dataclasses import asdict

import click

from hookrun.agents import AGENTS
from hookrun.cli.common import (
    FAILED,
    agent_to_json,
    agents_named,
    command,
    declarations_at,
    declared_events,
    home_option,
    install_location,
    json_option,
    load_project,
)
from hookrun.cli.printing import print_json, print_line, print_wrapped
from hookrun.doctor.agent_state import PROBLEM, AgentState, Finding, inspect_agent
from hookrun.doctor.checks import run_checks
from hookrun.doctor.prove import prove
from hookrun.recipes.protect_hooks import missing
from hookrun.trust.store import StoreError
from hookrun.wiring.wired_command import this_program

INDENT = " " * 10
UNAPPROVED = ("new", "changed", "cannot be approved")
"""States of a hook that an agent does not run although it is not switched off."""


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
    declared = declarations_at(location)
    cases = [
        inspect_agent(agent, location, this_program(), declared_events(agent, declared), declared.problems)
        for agent in agents_named(names or AGENTS)
    ]
    unapproved, undecided = _unapproved(home)
    for case in cases:
        case.unapproved, case.undecided, case.unprotected = unapproved, undecided, missing(declared.hooks)
    shown = [case for case in cases if names or case.is_here]
    examined = [(case, [*run_checks(case), *(prove(case) if proving else ())]) for case in shown]
    wrong = any(finding.level == PROBLEM for _, findings in examined for finding in findings)
    if as_json:
        agents = [{**agent_to_json(case), "findings": list(map(asdict, found))} for case, found in examined]
        print_json({"ok": not wrong, "agents": agents})
    else:
        for case, findings in examined:
            _print(case, findings)
        if not examined:
            click.echo(f"no agent that hookrun knows is here: {', '.join(AGENTS)}")
    ctx.exit(FAILED if wrong else 0)


def _unapproved(home: str | None) -> tuple[dict[str, str], str | None]:
    """Return the project's hooks that agents skip for want of approval, and why these cannot be known."""
    try:
        hooks = load_project(None, home).hooks()
    except StoreError as error:
        return {}, str(error)
    return {each.hook.name: each.state for each in hooks if each.state in UNAPPROVED and each.hook.mode != "off"}, None


def _print(case: AgentState, findings: list[Finding]) -> None:
    wrong = [each.found for each in findings if each.level == PROBLEM]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    first = f": {wrong[0]}{more}" if wrong else ""
    print_line(f"{case.agent.NAME}: {case.agent.DISPLAY_NAME} {_version(case)}{first}")
    for each in findings:
        print_wrapped(f"  {each.level:8}{each.check}: {each.found}", INDENT)
        to_do = each.remedy not in ("", "nothing")
        if each.cause or to_do:
            print_wrapped(f"          why: {each.cause}", INDENT + "     ")
        if to_do:
            print_wrapped(f"          do:  {each.remedy}", INDENT + "     ")


def _version(case: AgentState) -> str:
    if case.installed is None:
        return f"({case.agent.INSTALL['program']} is not on PATH)"
    return case.installed.version or "(of unknown version)"
