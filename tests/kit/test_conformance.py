"""The conformance kit, with an agent that obeys hooks and one that does not: what it measures, writes and prints."""

from __future__ import annotations

import json
import os
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from hookrun.agents.grades import ENFORCED, MEASURED
from hookrun_conformance import HERE
from hookrun_conformance.declared import declare
from hookrun_conformance.drivers import DRIVERS
from hookrun_conformance.drivers.claude import Claude
from hookrun_conformance.measure import NOT_MEASURED, Report, measure, write
from hookrun_conformance.place import Installation
from hookrun_conformance.runners import Commands, Hookrun, Runner
from hookrun_conformance.scenarios import BY_NAME, LACKED, NOT_DRIVEN, SCENARIOS, hooks_measured, sessions
from tests.cli.command import hookrun
from tests.conftest import ROOT, Project
from tests.waiting import is_running, limit, until

PROGRAM = Path(__file__).parent / "programs" / "agent.py"
RUNNER = PROGRAM.with_name("runner.py")

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
    assert {name for name, grade in grades(report).items() if grade == LACKED} == {"block a terminal"}
    assert {row.scenario: row for row in report.rows if not row.is_well} == {}
    assert set(grades(report).values()) == {ENFORCED, LACKED}
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


def test_what_the_agent_lacks_and_what_its_driver_cannot_use_are_two_things(program: Path) -> None:
    """In the table and as JSON; neither is below what is expected."""

    class Undriven(Claude):
        serve = None  # type: ignore[assignment]
        lacks: tuple[str, ...] = ("block a subagent",)

    installation = Installation(program, os.environ["PATH"])
    names = ("block an MCP tool", "block a subagent")
    report = measure(Undriven(), installation, "9.9.9", limit=limit(), only=[BY_NAME[name] for name in names])
    assert grades(report) == {"block an MCP tool": NOT_DRIVEN, "block a subagent": LACKED}
    shown = report.to_json()
    assert [row["grade"] for row in shown["scenarios"]] == ["not driven", None]
    assert report.is_well
    jsonschema.validate({"ok": True, "reports": [shown]}, json.loads((HERE / "report.schema.json").read_bytes()))


def test_what_a_run_did_not_come_to_is_measured_in_another(program: Path) -> None:
    """An agent that ends its run at a refusal is graded for that refusal, and not for all that was to follow."""
    names = ("block a tool", "block an MCP tool", "text after a tool", "crash, continue")
    assert grades(measured(program, *names, fault="gives up")) == {
        "block a tool": "enforced",
        "block an MCP tool": "best effort",
        "text after a tool": "enforced",
        "crash, continue": "enforced",
    }


@pytest.mark.parametrize(("fault", "grade"), [("", "enforced"), ("mute", "best effort"), ("deaf", "told only")])
def test_a_subagent_is_blocked_if_it_asked_the_model_nothing(program: Path, fault: str, grade: str) -> None:
    """Whether the model heard why is another question."""
    assert grades(measured(program, "block a subagent", fault=fault)) == {"block a subagent": grade}


def test_an_agent_that_hangs_is_ended(program: Path, tmp_path: Path) -> None:
    """Nothing is measured then, and nothing is left of its processes, one in a session of its own included."""
    beside = tmp_path / "beside"
    installation = Installation(program, os.environ["PATH"], (("FAULT", "hang"), ("BESIDE", str(beside))))
    chosen = [BY_NAME["continue a turn"]]
    [row] = measure(Claude(), installation, "9.9.9", limit=limit() / 10, only=chosen).rows
    assert (row.grade, row.is_well) == (NOT_MEASURED, False)
    assert row.why == f"the agent took more than {limit() / 10:.0f} s"
    until(lambda: not is_running(int(beside.read_text())), "the end of the process beside it")


def test_a_prompt_of_the_agent_is_no_word_about_a_hook(program: Path) -> None:
    """Agents tell their models about hooks, and use the words that hooks are named by."""
    assert grades(measured(program, "no hook", fault="english")) == {"no hook": ENFORCED}


def test_another_runner_is_measured_by_its_commands(program: Path, tmp_path: Path) -> None:
    """Its `install` gets the hooks and is run in the account; `fire` is written into the agent's settings."""
    policy = tmp_path / "policy"
    policy.write_text(POLICY)
    policy.chmod(0o755)
    runner = Commands("policy", "cp {hooks} {home}/copy.json && test -d {project}", f"{policy} {{event}}")
    report = measured(program, "block a tool", "change its arguments", "broken config", runner=runner)
    assert grades(report) == {"block a tool": "enforced", "change its arguments": "cannot"}
    assert (report.runner, report.is_well) == ("policy", False)


def test_a_runner_that_follows_the_readme_has_every_grade(program: Path) -> None:
    """It runs the programs that the file of hooks names, at the events and for the tools that it names."""
    runner = Commands("other", "", f"{shlex.join([sys.executable, str(RUNNER)])} {{hooks}}")
    report = measured(program, runner=runner)
    assert {row.scenario: row for row in report.rows if not row.is_well} == {}
    assert {name for name, grade in grades(report).items() if grade in (LACKED, NOT_DRIVEN)} == {"block a terminal"}


@pytest.mark.parametrize(
    ("agent", "event", "matcher"),
    [
        ("claude", "Stop", "Write|Edit|MultiEdit|NotebookEdit"),
        ("codex", "Stop", "apply_patch"),
        ("vibe", "post_agent", "file_system.write_file|file_system.search_replace"),
    ],
)
def test_another_runner_gets_the_agent_s_own_names(tmp_path: Path, agent: str, event: str, matcher: str) -> None:
    """Of events and tools; hooks for an event that the agent does not have are left out."""
    hooks = declare(tmp_path, agent, DRIVERS[agent].before_a_tool, hooks_measured("calls"))
    found = {hook["name"]: hook for hook in json.loads(hooks.read_bytes())["hooks"]}
    assert found["not-done-yet"]["event"] == event
    assert ("told-at-start" in found) == (agent != "vibe")
    assert found["guarded-files"]["matcher"] == matcher


def test_a_hook_can_refuse_by_its_exit_status(program: Path) -> None:
    """Its program is asked to by an argument."""
    names = ("block a tool", "block a new file", "block a prompt", "continue a turn", "text at the start")
    runner = Commands("other", "", f"{shlex.join([sys.executable, str(RUNNER)])} {{hooks}} status")
    assert set(grades(measured(program, *names, runner=runner)).values()) == {ENFORCED}


def test_what_a_runner_has_no_means_for_is_no_failure(program: Path) -> None:
    """Its installer says so of a hook; the other scenarios are measured, and one is graded by what happened."""
    runner = Commands("other", "echo hello; echo 'without hanging-guard: no time limit'; cat {kit}/hooks.json", "true")
    report = measured(program, "hang, block", "hang, continue", "crash, block", runner=runner)
    assert [(row.grade, row.is_well) for row in report.rows] == [(LACKED, True), (ENFORCED, True), ("cannot", False)]
    assert report.rows[0].why == "no time limit"
    runner = Commands("other", "echo 'without no-secrets: no prompts'", "")
    report = measured(program, "block a prompt", fault="hang", seconds=1, runner=runner)  # the agent is not even run
    assert report.rows[0].why == "no prompts"


def test_a_runner_that_cannot_be_installed_is_not_measured(program: Path) -> None:
    """The report has what its command said."""
    [row] = measured(program, "no hook", runner=Commands("other", "echo no-such-agent >&2; exit 3", "")).rows
    assert row.grade == NOT_MEASURED
    assert "exited with 3: no-such-agent" in row.why


@pytest.mark.lint
def test_the_recorded_results_are_those_of_the_commands() -> None:
    """Hookrun and five others in their pinned versions, all with the same agent, and each report as its schema says."""
    peers = runpy.run_path(str(ROOT / "scripts" / "measure_peers.py"))["PEERS"]
    recorded = json.loads((HERE / "peers" / "results.json").read_bytes())
    stated = [{name: each[name] for name in ("name", "version", "source")} for each in recorded]
    assert stated == [{"name": peer.name, "version": peer.version, "source": peer.source} for peer in peers]
    assert [shlex.split(each["command"]) for each in recorded] == [peer.command for peer in peers]
    assert len({(each["report"]["agent"], each["report"]["version"]) for each in recorded}) == 1
    schema = json.loads((HERE / "report.schema.json").read_bytes())
    for each in recorded:
        jsonschema.validate({"ok": each["report"]["ok"], "reports": [each["report"]]}, schema)
        assert [row["scenario"] for row in each["report"]["scenarios"]] == [
            scenario.name for scenario in SCENARIOS if each["name"] == "hookrun" or not scenario.is_hookruns
        ]


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


def test_doctor_measures_the_agents(project: Project, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All scenarios, as the command does."""
    monkeypatch.setattr("hookrun_conformance.command.SCENARIOS", (BY_NAME["no hook"],))
    done = hookrun(project, "doctor", "claude", "--measure", PATH=path_with(program))
    assert (done.status, "no hook" in done.stdout) == (0, True), done.stderr


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


def test_without_the_kit_both_commands_say_what_to_install() -> None:
    """The package may be left out of an installation."""
    hidden = "import sys; sys.modules['hookrun_conformance'] = None"
    code = f"{hidden}; from hookrun.cli import run; sys.exit(run(sys.argv[1:]))"
    for arguments in (("conformance", "claude", "--json"), ("doctor", "claude", "--measure")):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 1
        assert "pip install 'hookrun[conformance]'" in done.stderr, done.stderr
