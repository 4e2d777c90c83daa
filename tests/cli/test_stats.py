"""`hookrun stats`: hook runs from the audit, recorded metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.cli.printing import percentile
from hookrun.cli.stats import AllHookStats
from hookrun.events import (
    AfterInference,
    PostCheckpoint,
    PostToolFailure,
    PostToolUse,
    SessionEnd,
    SessionStart,
)
from hookrun.observe import CauseChains, CostTracker, ObserverDatabase, PatternLearning, ToolTimes, WorkflowMetrics
from hookrun.observe.spool import default_path
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal

if TYPE_CHECKING:
    from tests.conftest import Project


RISING = "improving (+20.0 a checkpoint)"


def fill(store: ObserverDatabase) -> None:
    """Put two sessions of a day long ago into a store, one of them with something of everything."""
    same: dict[str, Any] = {"session_id": "s1", "working_dir": "/srv/app"}
    workflow, times, causes = WorkflowMetrics(store), ToolTimes(store), CauseChains(store)
    workflow.on_start(SessionStart(**same, timestamp="2025-03-01T10:00:00Z"))
    for minute, score in (("20", 70), ("40", 90)):
        data = {"quality_score": score, "summary": "Tests first"}
        context = PostCheckpoint(**same, timestamp=f"2025-03-01T10:{minute}:00Z", checkpoint_data=data)
        workflow.on_checkpoint(context)
        PatternLearning(store).on_checkpoint(context)
    call: dict[str, Any] = {**same, "tool_name": "bash", "tool_args": {"command": "make"}}
    failure = PostToolFailure(  # type: ignore[call-arg]
        **call, tool_result_error="no rule\n\x1b[31mto make", duration_ms=1234, timestamp="2025-03-01T10:41:00Z"
    )
    for handler in (times.on_failure, workflow.on_failure, causes.on_failure):
        handler(failure)
    edit = {"file_path": "/srv/app/Makefile", "old_string": "a", "new_string": "b"}
    for each in (
        PostToolUse(**same, tool_name="edit", tool_args=edit, duration_ms=5, timestamp="2025-03-01T10:42:00Z"),  # type: ignore[call-arg]
        PostToolUse(**call, duration_ms=65_000, timestamp="2025-03-01T10:44:00Z"),  # type: ignore[call-arg]
    ):
        for result in (times.on_result, workflow.on_result, causes.on_result):
            result(each)
    costs = CostTracker({"large": {"input": 3, "output": 15}}, store)
    for model in ("large", "new"):
        usage = {"input_tokens": 400_000, "output_tokens": 10_000}
        costs.on_inference(AfterInference(**same, model=model, usage=usage, timestamp="2025-03-01T10:45:00Z"))
    workflow.on_end(SessionEnd(**same, timestamp="2025-03-01T11:00:00Z"))
    workflow.on_start(SessionStart(session_id="s2", timestamp="2025-03-02T11:00:00Z"))


@pytest.fixture
def filled(project: Project) -> ObserverDatabase:
    """Fill the account's store."""
    store = ObserverDatabase(default_path(str(project.home)))
    fill(store)
    return store


def cells(stdout: str) -> dict[str, list[list[str]]]:
    """Return the rows of each table by its title."""
    tables = {}
    for table in re.sub(r"\n\n\d+ runs.*", "", stdout).rstrip("\n").split("\n\n"):
        title, _, *rows = table.splitlines()
        tables[title] = [re.split(r" {2,}", row) for row in rows]
    return tables


def test_nothing_is_there_yet(project: Project) -> None:
    """It says so and how to find out why; the status is 0, and no file is created."""
    done = hookrun(project, "stats")
    hint = "hint: nothing is recorded yet; `hookrun doctor` checks whether agents call hookrun"
    assert (done.status, done.stdout, done.stderr) == (0, f"no matching entries\n{hint}\n", "")
    assert list(project.home.iterdir()) == []


def test_nothing_for_programs(project: Project) -> None:
    """A program reads an empty report, not a sentence, and nothing is made either."""
    done = hookrun(project, "stats", "--json")
    assert (done.status, done.stderr) == (0, "")
    assert '"sessions": [], "tools": [],' in " ".join(done.stdout.split())
    assert list(project.home.iterdir()) == []


def test_tables(project: Project, filled: ObserverDatabase) -> None:
    """Sessions, velocity, trend, times, costs, errors and what fixed them, in units that people read."""
    done = hookrun(project, "stats", TZ="UTC")
    assert (done.status, done.stderr) == (0, "")
    tables = cells(done.stdout)
    assert list(tables) == ["SUMMARY", "SESSIONS", "TOOLS", "COSTS BY MODEL", "COSTS BY SESSION", "ERRORS, 1 fixed"]
    summary = {row[0]: row[1] for row in tables["SUMMARY"]}
    assert summary["time"] == "1 h 00 min"
    assert summary["tool calls"] == "3, 1 failed"
    assert summary["velocity"] == "2.0 checkpoints and 3.0 calls an hour"
    assert summary["quality"] == f"80.0 on average, {RISING}"
    assert summary["busiest hours"] == "10:00, 11:00"
    assert summary["patterns learned"] == "1"
    assert tables["SESSIONS"] == [
        ["s2", "2025-03-02T11:00:00Z", "0 s", "0", "0", "0", "0", "-", "-", "-"],
        ["s1", "2025-03-01T10:00:00Z", "1 h 00 min", "3", "1", "1", "2", "2.0", RISING, "/srv/app"],
    ]
    assert tables["TOOLS"] == [
        ["bash", "2", "1", "1 min 06 s", "33 s", "1234 ms", "1 min 05 s", "1 min 05 s"],
        ["edit", "1", "0", "5 ms", "5 ms", "5 ms", "5 ms", "5 ms"],
    ]
    assert tables["COSTS BY MODEL"] == [
        ["large", "1", "400000", "10000", "0", "0", "$1.35"],
        ["new", "1", "400000", "10000", "0", "0", "unknown"],
    ]
    assert tables["COSTS BY SESSION"] == [["s1", "2", "800000", "20000", "0", "0", "$1.35 and 1 unknown"]]
    (error,) = tables["ERRORS, 1 fixed"]
    assert error == ["2025-03-01T10:41:00Z", "no rule \\x1b[31mto make", "bash", "1", 'editing Makefile ("a" -> "b")']


def test_a_terminal(project: Project, filled: ObserverDatabase) -> None:
    """On a terminal they are tables too, and what an error message holds does not reach it."""
    session = at_terminal(project, "stats", env={"TERM": "xterm", "TZ": "UTC"}, columns=160)
    assert session.status == 0
    for text in ("SESSIONS", "2025-03-01T10:00:00Z", "editing Makefile", "$1.35", "\\x1b[31mto make"):
        assert text in session.screen
    assert "\x1b[31mto" not in session.screen


def test_one_session(project: Project, filled: ObserverDatabase) -> None:
    """`--session` shows only that one; an unknown one is an error."""
    tables = cells(hookrun(project, "stats", "--session", "s2").stdout)
    assert list(tables) == ["SUMMARY", "SESSIONS"]
    assert [row[0] for row in tables["SESSIONS"]] == ["s2"]
    done = hookrun(project, "stats", "--session", "s\x1b9")
    assert (done.status, done.stdout.splitlines()[0]) == (0, "no matching entries")


def test_since(project: Project, filled: ObserverDatabase) -> None:
    """`--since` leaves out older data; if nothing is left it says so."""
    done = hookrun(project, "stats", "--since", "7d")
    assert (done.status, done.stdout.splitlines()[0]) == (0, "no matching entries")
    WorkflowMetrics(filled).on_start(SessionStart(session_id="now"))
    sessions = cells(hookrun(project, "stats", "--since", "12h").stdout)["SESSIONS"]
    assert [row[0] for row in sessions] == ["now"]
    assert len(cells(hookrun(project, "stats", "--since", "2000-01-01").stdout)["SESSIONS"]) == 3


def test_for_programs(project: Project, filled: ObserverDatabase) -> None:
    """JSON has the whole report."""
    report = hookrun(project, "stats", "--json").json
    sessions = report["sessions"]
    assert isinstance(sessions, list)
    assert [each["id"] for each in sessions] == ["s2", "s1"]


def test_for_prometheus(project: Project, filled: ObserverDatabase) -> None:
    """The file of `export` has programs' totals, too."""
    done = hookrun(project, "export", "--prometheus", "x.prom", "--dry-run")
    assert 'hookrun_tool_calls_total{tool="bash",result="failed"} 1\n' in done.stdout
    assert done.status == 0


@pytest.mark.usefixtures("filled")
def test_another_home(project: Project) -> None:
    """HOME selects the database; nothing is created there."""
    elsewhere = str(project.root)
    assert "nothing is recorded yet" in hookrun(project, "stats", HOME=elsewhere).stdout
    assert not (project.root / ".local").exists()


def test_a_database_that_cannot_be_read(project: Project, filled: ObserverDatabase) -> None:
    """The one-line error names the file and the fix, the status is 1, and the file is unchanged."""
    path = Path(filled.path)
    before = b"#!/bin/sh\n" * 20 + path.read_bytes()[200:]
    path.write_bytes(before)
    for command in (("stats",), ("stats", "--json"), ("export", "--prometheus", "x.prom")):
        done = hookrun(project, *command)
        assert (done.status, done.stdout) == (1, "")
        assert done.stderr.startswith(f"error: {path}: not a readable database; move it away")
        assert done.stderr.count("\n") == 1
    assert path.read_bytes() == before


def test_hooks_from_the_audit(project: Project) -> None:
    """Runs, failures, and percentiles that are times of actual runs; hookrun's own time besides."""
    project.hooks({"name": "fast", "command": "true"}, {"name": "bad", "command": "exit 3"})
    for session in ("s1", "s1", "s2"):
        project.fire({"session_id": session, "tool_name": "bash", "tool_args": {"command": "ls"}})
    times = sorted(record["ms"] for record in project.audit() if record.get("hook") == "fast")  # type: ignore[type-var]
    report = hookrun(project, "stats", "--json").json
    hooks = {each["name"]: each for each in report["hooks"]}  # type: ignore[attr-defined]
    assert hooks["fast"] == {
        "name": "fast",
        "source": f"{project.root}/coder.json",
        "runs": 3,
        "failures": {},
        "p50_ms": times[1],
        "p95_ms": times[2],
        "max_ms": times[2],
    }
    assert hooks["bad"]["failures"] == {"exit_code": 3}
    assert report["hookrun"]["runs"] == 3  # type: ignore[index]
    rows = {row[0]: row for row in cells(hookrun(project, "stats", "--session", "s2").stdout)["HOOKS"]}
    assert rows["bad"][1:3] == ["1", "1 exit_code"]
    assert rows["fast"][-1] == "coder.json"
    shown = hookrun(project, "stats", "--since", "12h").stdout
    assert shown.startswith("HOOKS\n")
    assert "hookrun" not in {row[0] for row in cells(shown)["HOOKS"]}
    assert re.search(r"^3 runs; hookrun itself took \d+ ms \(P50\), \d+ ms \(P95\)$", shown, re.MULTILINE)


def test_filters(project: Project) -> None:
    """`--hook`, `--event` and `--agent` are those of the other commands; metrics of programs are left out."""
    project.hooks({"name": "guard", "command": "true"}, {"name": "b", "event": "stop", "command": "true"})
    project.fire({"tool_name": "bash", "tool_args": {}})
    project.fire({}, event="stop")

    def hooks(*options: str) -> list[str]:
        found = hookrun(project, "stats", "--json", *options).json["hooks"]
        assert isinstance(found, list)
        return sorted(each["name"] for each in found)

    assert hooks() == ["b", "guard"]
    assert hooks("--hook", "b") == ["b"]
    assert hooks("--event", "Stop") == ["b"]
    assert hooks("--agent", "claude") == []
    nothing = hookrun(project, "stats", "--agent", "claude")
    assert nothing.stdout == "no matching entries\nhint: `hookrun log` shows the latest runs\n"
    misspelt = hookrun(project, "stats", "--hook", "gard")
    assert (misspelt.status, misspelt.stderr) == (1, 'error: no hook named "gard" here\nhint: did you mean "guard"?\n')


def test_filters_leave_out_metrics(project: Project, filled: ObserverDatabase) -> None:
    """As JSON, too, and they do not count as matching entries."""
    project.hooks({"name": "a", "command": "true"})
    project.fire({"session_id": "s1"})
    assert list(hookrun(project, "stats", "--json", "--hook", "a").json) == ["hooks", "hookrun"]
    for options in (("--event", "stop"), ("--agent", "claude")):
        done = hookrun(project, "stats", *options)
        assert (done.status, done.stdout.splitlines()[:1]) == (0, ["no matching entries"])


def test_one_scope(project: Project) -> None:
    """This project's runs, or all with `--all-projects`, or those of another one; since a time or all."""
    project.user_hooks({"name": "guard", "command": "exit 2", "on_failure": "block"})
    other = project.root.parent / "other"
    (other / ".git").mkdir(parents=True)
    project.fire(cwd=other)
    (run,) = [each for each in project.audit() if each["kind"] == "fire"]

    def finds_it(command: str, *options: str) -> bool:
        shown = hookrun(project, command, *options, "--json").stdout
        if command == "stats":
            return '"name": "guard"' in shown
        return str(run["request_id"]) in shown or str(run["time"]) in shown

    for command in ("log", "stats"):
        assert not finds_it(command), command
        for options in (("--all-projects",), ("--project", str(other)), ("--all-projects", "--since", "1h")):
            assert finds_it(command, *options), (command, options)
        assert not finds_it(command, "--all-projects", "--since", "2100-01-01"), command


@pytest.mark.parametrize("command", ["log", "stats"])
def test_names_that_are_not_hookruns_own(project: Project, command: str) -> None:
    """A configured event, and an agent known by a run of it; any other agent is an error."""
    project.hooks({"name": "a", "event": "deploy", "command": "true"}, events=["deploy"])
    project.fire({"agent": "mine"}, event="deploy")
    for options in (("--event", "deploy"), ("--agent", "mine")):
        done = hookrun(project, command, *options, "--json")
        assert (done.status, '"a"' in done.stdout) == (0, True), done.stderr
    for more in ((), ("--json",)):
        done = hookrun(project, command, "--agent", "cluade", *more)
        expected = 'error: unknown agent "cluade"\nhint: did you mean "claude"?\n'
        assert (done.status, done.stdout, done.stderr) == (1, "", expected)


def test_failures_of_hookrun_itself(project: Project) -> None:
    """Errors of the call or the config count in its row, by their fields in the log."""
    for context in (b"[]", b""):
        project.fire(context)
    project.fire()
    project.broken_user_hooks()
    project.fire()
    own = hookrun(project, "stats", "--json").json["hookrun"]
    assert (own["runs"], own["failures"]) == (4, {"problems": 1, "error": 2})  # type: ignore[index]


def test_a_background_hook_counts_even_if_it_ended_before_its_event(project: Project) -> None:
    """Its record is then further up than those of the run, which are read first."""
    about = {"v": 1, "time": "2026-01-01T10:00:00.000Z", "event": "stop", "hook": "later", "source": "/p/coder.json:3"}
    records = [
        {**about, "request_id": "a", "kind": "background", "ms": 5.0},
        {**about, "request_id": "b", "kind": "fire", "ms": 1.0},
        {**about, "request_id": "a", "kind": "hook", "background": True, "ms": 0.1},
        {**about, "request_id": "a", "kind": "fire", "ms": 1.0},
    ]
    project.audit_path.parent.mkdir(parents=True)
    project.audit_path.write_text("".join(json.dumps(each) + "\n" for each in records))
    hooks: Any = hookrun(project, "stats", "--all-projects", "--json").json["hooks"]
    assert [(each["name"], each["runs"], each["max_ms"]) for each in hooks] == [("later", 1, 5.0)]


def test_percentiles_are_nearest_rank() -> None:
    """Of twenty values the tenth and the nineteenth."""
    assert [percentile(range(1, 21), share) for share in (0.5, 0.95)] == [10, 19]
    assert (percentile([7], 0.5), percentile([], 0.5)) == (7, None)


def test_whole_milliseconds_are_times() -> None:
    """Other programs' JSON writes 12 for 12.0."""
    table = AllHookStats()
    for ms in (12, 12.5, None, "12"):
        table.add({"kind": "hook", "hook": "guard", "source": "coder.json:3", "ms": ms})
    (stats,) = table.sorted()
    assert (stats.to_dict()["runs"], stats.to_dict()["max_ms"]) == (2, 12.5)
