"""`hookrun doctor`: will the agents run the hooks that are declared here, and if not, why and what to do."""

from __future__ import annotations

import json

import click

from hookrun.agents import AGENTS
from hookrun.cli import FAILED
from hookrun.cli.declared import here
from hookrun.cli.project import Project
from hookrun.cli.wiring import agents, declarations, declared_events, home_option, spot
from hookrun.config.diagnostics import printable
from hookrun.doctor.agent_state import PROBLEM, AgentState, Finding, inspect_agent
from hookrun.doctor.checks import run_checks
from hookrun.doctor.prove import prove
from hookrun.recipes.protect_hooks import missing
from hookrun.wiring.wired_command import this_program

UNAPPROVED = ("new", "changed", "cannot be approved")
"""The states of a hook that an agent does not run though nobody has switched it off."""

EXAMPLES = """\b
Examples:
  hookrun doctor
  hookrun doctor claude --prove

Exit status: 0 nothing is wrong (there may be notes), 1 something is.
"""


@click.command(name="doctor", epilog=EXAMPLES)
@click.argument("names", metavar="[AGENT]...", nargs=-1)
@click.option("--prove", "proving", is_flag=True, help="Send recorded messages through the wired commands, to a probe.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
@home_option
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], home: str | None, *, proving: bool, as_json: bool) -> None:
    """Say whether the hooks declared here will run in each agent, and if not, why and what to do.

    Without a name: every agent that is on this machine. None of your hooks is run, not with --prove either.
    """
    where = spot(home)
    declared = declarations(where)
    cases = [
        inspect_agent(agent, where, this_program(), declared_events(agent, declared), declared.problems)
        for agent in agents(names or AGENTS)
    ]
    unapproved, undecided = _unapproved(home)
    for case in cases:
        case.unapproved, case.undecided, case.unprotected = unapproved, undecided, missing(declared.hooks)
    examined = [(case, _findings(case, proving=proving)) for case in cases if names or case.is_here]
    wrong = any(finding.level == PROBLEM for _, findings in examined for finding in findings)
    if as_json:
        click.echo(json.dumps({"ok": not wrong, "agents": [_data(case, found) for case, found in examined]}, indent=2))
    else:
        for case, findings in examined:
            _tell(case, findings)
        if not examined:
            click.echo(f"no agent that hookrun knows is here: {', '.join(AGENTS)}")
    ctx.exit(FAILED if wrong else 0)


def _unapproved(home: str | None) -> tuple[dict[str, str], str | None]:
    """Return the hooks of the project that agents do not run for want of approval, and why that cannot be known."""
    try:
        hooks = Project(here(), None, home).hooks()
    except click.ClickException as error:  # the store cannot be believed
        return {}, error.message
    return {each.hook.name: each.state for each in hooks if each.state in UNAPPROVED and each.hook.mode != "off"}, None


def _findings(case: AgentState, *, proving: bool) -> list[Finding]:
    findings = run_checks(case)
    return [*findings, *prove(case)] if proving else findings


def _tell(case: AgentState, findings: list[Finding]) -> None:
    wrong = [each.found for each in findings if each.level == PROBLEM]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    first = f": {wrong[0]}{more}" if wrong else ""
    click.echo(printable(f"{case.agent.NAME}: {case.agent.DISPLAY_NAME} {_version(case)}{first}"))
    for each in findings:
        click.echo(printable(f"  {each.level:8}{each.check}: {each.found}"))
        if each.remedy and each.remedy != "nothing":
            click.echo(printable(f"          why: {each.cause}"))
            click.echo(printable(f"          do:  {each.remedy}"))
        elif each.cause:
            click.echo(printable(f"          why: {each.cause}"))


def _version(case: AgentState) -> str:
    if case.installed is None:
        return f"({case.agent.INSTALL['program']} is not on PATH)"
    return case.installed.version or "(of unknown version)"


def _data(case: AgentState, findings: list[Finding]) -> dict[str, object]:
    return {
        "agent": case.agent.NAME,
        "title": case.agent.DISPLAY_NAME,
        "program": case.installed.program if case.installed is not None else None,
        "version": case.installed.version if case.installed is not None else None,
        "findings": [
            {
                "check": each.check,
                "level": each.level,
                "found": each.found,
                "cause": each.cause,
                "remedy": each.remedy,
            }
            for each in findings
        ],
    }
