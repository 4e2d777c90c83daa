"""Measure an agent: run the scenarios in accounts of their own, and report what each is worth and was to be."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from hookrun.agents import load
from hookrun.agents.grades import ENFORCED, GRADED, MEASURED, tabled
from hookrun.wiring.installations import find_installed
from hookrun_conformance.driver import Driver
from hookrun_conformance.place import Installation, Place
from hookrun_conformance.run import Ran, RunningAgent
from hookrun_conformance.runners import CannotInstallError, Hookrun, Runner
from hookrun_conformance.scenarios import (
    BY_NAME,
    LACKED,
    NOT_DRIVEN,
    RANKS,
    SCENARIOS,
    Outcome,
    Scenario,
    run_together,
    sessions,
)

LIMIT = 120.0
"""Seconds that one session of an agent may take, by default."""

NOT_MEASURED = "not measured"
MOST, SHORT, FIRST = 2000, 200, 8  # characters of an explanation, and of a result in it; results


class Row(NamedTuple):
    """A scenario's line.

    `grade` is none where there is nothing to measure. `why` says why it is too low, or what a runner cannot do.
    """

    scenario: str
    grade: str
    expected: str
    why: str = ""

    @property
    def is_well(self) -> bool:
        """Whether the grade is as good as expected, or there is nothing to measure."""
        without = self.grade in (LACKED, NOT_DRIVEN)
        return without or (self.grade in RANKS and RANKS.index(self.grade) >= RANKS.index(self.expected))


class Report(NamedTuple):
    """What an agent and a hook runner did. `date` is the day in UTC, `seconds` how long it took."""

    agent: str
    version: str
    runner: str
    date: str
    seconds: float
    rows: list[Row]

    @property
    def is_well(self) -> bool:
        """Whether all is as expected."""
        return all(row.is_well for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the report as report.schema.json describes it."""
        rows = [
            {**row._asdict(), "grade": None if row.grade == LACKED else row.grade, "ok": row.is_well}
            for row in self.rows
        ]
        about = {"agent": self.agent, "version": self.version, "runner": self.runner, "date": self.date}
        return {"ok": self.is_well, **about, "seconds": round(self.seconds, 1), "scenarios": rows}


def installed(agent: str) -> tuple[Installation, str] | None:
    """Return the agent's program on PATH and its version, or None. The kit's account gets PATH, and nothing else.

    HOOKRUN_CONFORMANCE_CACHE names a directory for what agents unpack or fetch, so that they do it once.
    """
    found = find_installed(str(load(agent).INSTALL["program"]))
    if found is None:
        return None
    kept = os.environ.get("HOOKRUN_CONFORMANCE_CACHE")
    variables = (("XDG_CACHE_HOME", kept),) if kept else ()
    return Installation(Path(found.program), os.environ.get("PATH", os.defpath), variables), found.version or "unknown"


def expected(agent: str, scenario: str) -> str:
    """Return the grade that hookrun's tables have of an agent for a scenario; all that they lack has to be enforced."""
    module, cell = load(agent), BY_NAME[scenario].cell or scenario
    weaker: str | None = getattr(module, "WEAKER", {}).get(scenario)
    return weaker or (tabled(module)[cell] if cell in GRADED else ENFORCED)


def measure(
    driver: Driver,
    installation: Installation,
    version: str,
    *,
    runner: Runner | None = None,
    limit: float = LIMIT,
    say: Callable[[str], None] = lambda _: None,
    only: Iterable[Scenario] = SCENARIOS,
) -> Report:
    """Run scenarios, each session in an account of its own below the directory for temporary files.

    `limit` is how many seconds a session may take; `say` is given the name of each before it begins.
    """
    runner = runner or Hookrun()
    begun = time.monotonic()
    wanted = [each for each in only if runner.is_hookrun or not each.is_hookruns]
    rows: dict[str, Row] = {}
    for name, chosen in sessions(wanted).items():
        say(name)
        left = chosen
        while left:
            with _agent(driver, installation, limit) as agent:
                rows |= {row.scenario: row for row in _session(name, left, agent, runner)}
            left = [each for each in left if each.name not in rows]
    day = datetime.now(UTC).date().isoformat()
    return Report(
        driver.name, version, runner.name, day, time.monotonic() - begun, [rows[each.name] for each in wanted]
    )


@contextmanager
def _agent(driver: Driver, installation: Installation, limit: float) -> Iterator[RunningAgent]:
    """Settle an agent in an account that is removed at the end."""
    with (
        tempfile.TemporaryDirectory(prefix="hookrun-conformance-", ignore_cleanup_errors=True) as directory,
        RunningAgent(driver, Place(Path(directory), installation.path), installation, limit) as agent,
    ):
        yield agent


def _session(name: str, chosen: list[Scenario], agent: RunningAgent, runner: Runner) -> list[Row]:
    """Return the lines of one run of the agent: of all that it came to, and of all if it came to nothing."""
    try:
        without = runner.connect(agent, name)
        left = [each for each in chosen if each.hook not in without]
        outcomes = run_together(agent, left) if left else {}
        judged = rows_of(agent.name, {name: each for name, each in outcomes.items() if each.begun} or outcomes)
        return judged + [
            Row(each.name, LACKED, expected(agent.name, each.name), without[each.hook])
            for each in chosen
            if each.hook in without
        ]
    except subprocess.TimeoutExpired:
        why = f"the agent took more than {agent.limit:.0f} s"
    except (CannotInstallError, OSError) as error:
        why = str(error)
    return [Row(each.name, NOT_MEASURED, expected(agent.name, each.name), why) for each in chosen]


def rows_of(agent: str, outcomes: dict[str, Outcome]) -> list[Row]:
    """Return the lines of outcomes, while the files of their account are there."""
    rows = [Row(name, outcome.grade, expected(agent, name)) for name, outcome in outcomes.items()]
    return [row if row.is_well else row._replace(why=_why(outcomes[row.scenario].ran)) for row in rows]


def _why(ran: Ran) -> str:
    """Return what is known of a run, without the paths of its account."""
    told = [f"exit {ran.status}, {len(ran.model.requests)} requests, files: {' '.join(ran.files)}"]
    told += [f"result: {' '.join(each.split())[:SHORT]}" for each in ran.model.results()[:FIRST]]
    told += [f"stderr: {ran.stderr.strip()[-SHORT:]}"] if ran.stderr.strip() else []
    return "\n".join(told).replace(str(ran.place.home.parent), "...")[:MOST]


def write(report: Report, path: Path | None = None) -> Path:
    """Put a report's version, date and grades into hookrun's table, or another one. Return its path.

    A cell gets what was seen, and never more than hookrun's tables say that the agent can express.
    """
    path = path or Path(MEASURED)
    table = json.loads(path.read_bytes())
    seen = {row.scenario: row.grade for row in report.rows if row.grade in RANKS}
    grades = {name: min(grade, expected(report.agent, name), key=RANKS.index) for name, grade in seen.items()}
    table[report.agent] = {"version": report.version, "date": report.date, "grades": grades}
    path.write_text(json.dumps(table, indent=2, sort_keys=True) + "\n")
    return path
