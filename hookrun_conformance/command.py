"""The commands of the kit: `hookrun conformance`, and what `hookrun doctor --measure` runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import click

from hookrun.agents import AGENTS, load
from hookrun.agents.grades import BEST_EFFORT, CANNOT, ENFORCED, TOLD_ONLY
from hookrun.cli.commands import FAILED, agents_named, command, json_option
from hookrun.cli.printing import print_json, print_line, print_lines, print_table
from hookrun.core.text import did_you_mean, quote
from hookrun_conformance.drivers import DRIVERS, SLOW
from hookrun_conformance.measure import LIMIT, NOT_MEASURED, Report, installed, measure, write
from hookrun_conformance.place import Installation
from hookrun_conformance.runners import Commands, Hookrun, Runner
from hookrun_conformance.scenarios import BY_NAME, NOT_DRIVEN, SCENARIOS, Scenario

ALL = {**DRIVERS, **SLOW}
COLUMNS = ("SCENARIO", "GRADE", "EXPECTED")
STYLES = {
    ENFORCED: "ok",
    BEST_EFFORT: "warning",
    TOLD_ONLY: "warning",
    CANNOT: "dim",
    NOT_MEASURED: "error",
    NOT_DRIVEN: "dim",
}
Find = Callable[[str], tuple[Installation, str] | None]


@dataclass(frozen=True)
class Request:
    """What to measure, and how: see the options of `hookrun conformance`. `find` returns an agent's program."""

    agents: Sequence[str]
    runner: Runner
    scenarios: Sequence[Scenario]
    limit: float = LIMIT
    as_json: bool = False
    writes: bool = False
    find: Find = installed


@command(
    "conformance",
    "conformance claude",
    "conformance codex --json",
    "conformance claude --runner other --install 'other init {agent}'",
    note="Exit status: 0 every grade is as expected, 1 one is lower or could not be measured.",
)
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@click.option(
    "--runner", metavar="NAME", help="Measure another hook runner; by default it is connected by NAME install."
)
@click.option("--install", metavar="CMD", help="The shell command that connects the runner to {agent} for {hooks}.")
@click.option("--fire", metavar="CMD", help="The command for the agent's settings, run at each {event}; no default.")
@click.option("--only", metavar="SCENARIO", multiple=True, help="Run only this scenario. Can be repeated.")
@click.option("--write", "writes", is_flag=True, help="Write what is as expected into hookrun's table.")
@json_option
def conformance_command(
    agents: tuple[str, ...],
    *,
    runner: str | None,
    install: str | None,
    fire: str | None,
    only: tuple[str, ...],
    writes: bool,
    as_json: bool,
) -> int:
    """Measure what an agent does with hooks: run it against a scripted model, in an account of its own.

    Without a name: every agent on this machine. Your own settings, hooks and keys are neither used nor changed, and
    nothing leaves the machine.
    """
    used = runner_of(runner, install, fire)
    if writes and (only or not used.is_hookrun):
        raise click.UsageError("--write needs every scenario, and hookrun as the runner")
    return run(Request(agents, used, chosen(only, used), as_json=as_json, writes=writes))


def runner_of(name: str | None, install: str | None, fire: str | None) -> Runner:
    """Return hookrun, or the runner of the options."""
    if name is None and install is None and fire is None:
        return Hookrun()
    if install is None and fire is None:
        install = f"{name} install {{agent}}"
    return Commands(name or (install or fire or "").split()[0], install or "", fire or "")


def chosen(names: Iterable[str], runner: Runner) -> list[Scenario]:
    """Return the named scenarios, or all that concern a runner. Raises click.ClickException."""
    for name in names:
        if name not in BY_NAME:
            hint = did_you_mean(name, BY_NAME, f"there are {', '.join(BY_NAME)}")
            raise click.ClickException(f"no scenario is called {quote(name)}\nhint: {hint}")
    wanted = [BY_NAME[name] for name in names] or SCENARIOS
    return [each for each in wanted if runner.is_hookrun or not each.is_hookruns]


def measure_installed(agents: Sequence[str], *, as_json: bool) -> int:
    """Measure hookrun in these agents, or all on this machine. Return the exit status."""
    return run(Request(agents, Hookrun(), SCENARIOS, as_json=as_json))


def run(request: Request) -> int:
    """Measure and print. Return the exit status."""
    reports = []
    for name, (installation, version) in _programs(request).items():
        reports.append(
            measure(
                ALL[name],
                installation,
                version,
                runner=request.runner,
                limit=request.limit,
                say=_progress(name),
                only=request.scenarios,
            )
        )
        if not request.as_json:
            _print(reports[-1])
        if request.writes and reports[-1].is_well:
            print_line(f"written to {write(reports[-1])}")
    well = all(each.is_well for each in reports)
    if request.as_json:
        print_json({"ok": well, "reports": [each.to_json() for each in reports]})
    return 0 if well else FAILED


def _programs(request: Request) -> dict[str, tuple[Installation, str]]:
    """Return the agents to measure with their programs. Raises click.ClickException if one that is named is missing."""
    found: dict[str, tuple[Installation, str]] = {}
    for name in [each.NAME for each in agents_named(request.agents)] or ALL:
        if name not in ALL:
            raise click.ClickException(f"the kit cannot run {name}\nhint: it runs {', '.join(ALL)}")
        program = request.find(name)
        if program is not None:
            found[name] = program
        elif request.agents:
            raise click.ClickException(f"`{load(name).INSTALL['program']}` is not on PATH\nhint: install it first")
    if not found:
        raise click.ClickException(f"no coding agent found on PATH\nhint: the kit runs {', '.join(AGENTS)}")
    return found


def _progress(agent: str) -> Callable[[str], None]:
    """Return what names each session on a terminal's stderr."""
    if not sys.stderr.isatty():
        return lambda _: None
    return lambda session: click.echo(f"{agent}: {session}", err=True)


def _print(report: Report) -> None:
    """Print a report that can be pasted into an issue."""
    title = f"{report.agent} {report.version}, {report.runner}, {report.date}, {report.seconds:.0f} s"
    rows = [[row.scenario, row.grade, row.expected] for row in report.rows]
    print_table(COLUMNS, rows, title=title, styles=STYLES)
    for row in report.rows:
        if not row.is_well:
            print_lines([("", ""), (f"{row.scenario}: {row.grade}, expected {row.expected}", "error")])
            print_lines((f"  {line}", "") for line in row.why.splitlines())
