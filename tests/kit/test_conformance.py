"""The conformance kit, with an agent that obeys hooks and one that does not: what it measures, writes and prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from hookrun.agents.grades import ENFORCED, MEASURED
from hookrun_conformance import HERE
from hookrun_conformance.drivers.claude import Claude
from hookrun_conformance.measure import NOT_MEASURED, Report, measure, write
from hookrun_conformance.place import Installation
from hookrun_conformance.runners import Commands, Hookrun, Runner
from hookrun_conformance.scenarios import BY_NAME, SCENARIOS, sessions
from tests.cli.command import hookrun
from tests.conftest import Project
from tests.waiting import limit

PROGRAM = Path(__file__).parent / "programs" / "agent.py"

POLICY = """\
#!/bin/sh
# Another hook runner: it refuses what is forbidden, and has no other rule.
case "$(cat)" in *'> forbidden.txt'*) echo reason-of-no-forbidden >&2; exit 2 ;; esac
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The agent as a program called `claude`, alone in its directory."""
    made = tmp_path / "bin" / "claude"
    made.parent.mkdir()
    made.write_text(f'#!/bin/sh\nexec {sys.executable} {PROGRAM} "$@"\n')
    made.chmod(0o755)
    return made


def measured(program: Path, *names: str, fault: str = "", runner: Runner | None = None, seconds: float = 0) -> Report:
    """Measure some scenarios with the agent, or all."""
    installation = Installation(program, os.environ["PATH"], (("FAULT", fault),))
    chosen = [BY_NAME[name] for name in names] or SCENARIOS
    return measure(Claude(), installation, "9.9.9", runner=runner, limit=seconds or limit(), only=chosen)


def grades(report: Report) -> dict[str, str]:
    """Return the grades by scenario."""
    return {row.scenario: row.grade for row in report.rows}


def test_an_agent_that_obeys_has_every_grade(program: Path, tmp_path: Path) -> None:
    """In every scenario but that of a terminal, which it does not have; the report is as its schema says."""
    report = measured(program)
    without = {name for name, grade in grades(report).items() if not grade}
    assert without == {"block a terminal"}
    assert {row.scenario: row for row in report.rows if not row.is_well} == {}
    assert set(grades(report).values()) == {ENFORCED, ""}
    schema = json.loads((HERE / "report.schema.json").read_bytes())
    jsonschema.validate({"ok": report.is_well, "reports": [report.to_json()]}, schema)
    table = tmp_path / "measured.json"
    table.write_bytes(Path(MEASURED).read_bytes())
    before = json.loads(table.read_bytes())
    write(report, table)
    after = json.loads(table.read_bytes())
    assert {name: each for name, each in after.items() if name != "claude"} == {
        name: each for name, each in before.items() if name != "claude"
    }
    assert (after["claude"]["version"], after["claude"]["date"]) == ("9.9.9", report.date)
    assert after["claude"]["grades"]["block a tool"] == "enforced"


FAULTS = {
    "deaf": ("block a tool", "told only"),
    "twice": ("each call once", "cannot"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_agent_that_does_not_obey_has_a_lower_grade(program: Path, fault: str) -> None:
    """It runs what is refused and passes on the reason, or fires each hook twice; the report says what happened."""
    name, grade = FAULTS[fault]
    report = measured(program, name, fault=fault)
    [row] = report.rows
    assert (row.grade, row.is_well, report.is_well) == (grade, False, False), row
    assert row.why.startswith("exit 0, ")


def test_an_agent_that_hangs_is_ended(program: Path) -> None:
    """Nothing is measured then, and nothing is left of its processes."""
    [row] = measured(program, "continue a turn", fault="hang", seconds=1).rows
    assert (row.grade, row.is_well) == (NOT_MEASURED, False)
    assert row.why == "the agent took more than 1 s"


def test_another_runner_is_measured_by_its_commands(program: Path, tmp_path: Path) -> None:
    """Its `install` gets the hooks and is run in the account; `fire` is written into the agent's settings."""
    policy = tmp_path / "policy"
    policy.write_text(POLICY)
    policy.chmod(0o755)
    runner = Commands("policy", "cp {hooks} {home}/copy.json && test -d {project}", f"{policy} {{event}}")
    report = measured(program, "block a tool", "change its arguments", "broken config", runner=runner)
    assert grades(report) == {"block a tool": "enforced", "change its arguments": "cannot"}
    assert (report.runner, report.is_well) == ("policy", False)


def test_a_runner_that_cannot_be_installed_is_not_measured(program: Path) -> None:
    """The report has what its command said."""
    [row] = measured(program, "no hook", runner=Commands("other", "echo no-such-agent >&2; exit 3", "")).rows
    assert row.grade == NOT_MEASURED
    assert "exited with 3: no-such-agent" in row.why


def test_every_scenario_has_its_hooks_and_a_name_of_its_own() -> None:
    """No two have the same name, and scenarios about hookrun's configs are apart from the others."""
    assert len(BY_NAME) == len(SCENARIOS)
    for chosen in sessions(SCENARIOS).values():
        assert len({each.is_hookruns for each in chosen}) == 1
    assert Hookrun().is_hookrun


def path_with(program: Path) -> str:
    """Return a PATH on which the agent is found first."""
    return f"{program.parent}:{os.environ['PATH']}"


def test_the_command_prints_a_table_or_json(project: Project, program: Path) -> None:
    """For the agent on PATH; the exit status is that of the grades."""
    only = ("--only", "no hook")
    done = hookrun(project, "conformance", "claude", *only, PATH=path_with(program))
    assert done.status == 0, done.stderr
    first, columns, row = done.stdout.splitlines()
    assert first.startswith("claude 9.9.9, hookrun ")
    assert (columns.split(), row.split()) == (
        ["SCENARIO", "GRADE", "EXPECTED"],
        ["no", "hook", "enforced", "enforced"],
    )
    done = hookrun(project, "conformance", "claude", *only, "--install", "exit 1", "--json", PATH=path_with(program))
    assert done.status == 1
    assert done.json["ok"] is False


WRONG = {
    "scenario": (("claude", "--only", "no such thing"), "there are block a tool, "),
    "agent": (("clade",), "clade"),
    "program": (("codex",), "`codex` is not on PATH"),
    "write": (("claude", "--only", "no hook", "--write"), "--write needs every scenario"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_request_is_named(project: Project, wrong: str) -> None:
    """Nothing is run."""
    arguments, said = WRONG[wrong]
    done = hookrun(project, "conformance", *arguments, PATH="/usr/bin:/bin")
    assert done.status == 1
    assert said in done.stderr


def test_without_the_kit_the_command_says_what_to_install() -> None:
    """The package may be left out of an installation."""
    hidden = "import sys; sys.modules['hookrun_conformance'] = None"
    code = f"{hidden}; from hookrun.cli import run; sys.exit(run(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "conformance", "claude", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 1
    assert "pip install 'hookrun[conformance]'" in done.stderr, done.stderr
