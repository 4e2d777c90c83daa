"""`hookrun log --to parquet DIR`: a file a day that only gains, and views whose figures are those of `stats`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.cli.parquet import COLUMNS
from tests.cli.command import hookrun
from tests.conftest import ROOT
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Project

duckdb = pytest.importorskip("duckdb", reason="no DuckDB: pip install 'hookrun[analysis]'")


def run(number: int, *hooks: dict[str, object], day: int = 1, **fields: object) -> list[dict[str, object]]:
    """Return the records of a run on a day of January: of its hooks and of the event."""
    moment = f"2026-01-{day:02}T10:{number // 60:02}:{number % 60:02}.123Z"
    about: dict[str, object] = {"v": 1, "time": moment, "request_id": f"{number:016x}", "event": "pre_tool_use"}
    of_hooks = [{**about, "kind": "hook", "source": "/p/coder.json:3", "action": "continue", **each} for each in hooks]
    return [*of_hooks, {**about, "kind": "fire", "action": "continue", "ms": 9.5, "own_ms": 1.5, **fields}]


def write_log(project: Project, *runs: list[dict[str, object]]) -> None:
    """Write a log of these runs."""
    project.audit_path.parent.mkdir(parents=True, exist_ok=True)
    project.audit_path.write_text("".join(json.dumps(each) + "\n" for records in runs for each in records))


def export(project: Project, *arguments: str) -> str:
    """Export all projects' runs into `days`; return what it printed."""
    done = hookrun(project, "log", "--all-projects", "--to", "parquet", "days", *arguments)
    assert (done.status, done.stderr) == (0, "")
    return done.stdout


def query(project: Project, sql: str) -> list[dict[str, Any]]:
    """Return the rows of a query with the views, as DuckDB's users open them: in the directory."""
    program = (
        "import duckdb, json, sys; database = duckdb.connect(); database.execute(open('views.sql').read())\n"
        "found = database.execute(sys.argv[1]); names = [each[0] for each in found.description]\n"
        "print(json.dumps([dict(zip(names, row)) for row in found.fetchall()], default=str))\n"
    )
    command = [sys.executable, "-c", program, sql]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=project.root / "days")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def many(count: int) -> Iterator[list[dict[str, object]]]:
    """Yield runs with everything that `stats` tells apart."""
    for number in range(count):
        quick: dict[str, object] = {"hook": "quick", "ms": number * 7 % 13 + 0.5}
        guard: dict[str, object] = {"hook": "guard", "ms": number % 5 * 100.0, "source": f"/q/coder.json:{number}"}
        if number % 3 == 0:
            guard |= {"failure": "timeout" if number % 2 else "exit_code"}
        if number % 7 == 0:
            quick |= {"interrupted": True}
        begun: dict[str, object] = {"hook": "later", "ms": 0.1, "background": True}
        ended: dict[str, object] = {"hook": "later", "ms": 5.0, "kind": "background", "failure": "killed"}
        other: dict[str, object] = {"hook": "quick", "ms": 2.0, "source": "/r/coder.json:1"}
        fields: dict[str, object] = (
            {"problems": ["x"]} if number % 4 == 0 else {"error": "y"} if number % 5 == 0 else {}
        )
        yield run(number, quick, guard, begun, ended, other, day=1 + number % 3, **fields)


@rows("count", [1, 2, 19, 20, 21, 100])
def test_the_views_have_the_figures_of_stats(project: Project, count: int) -> None:
    """Of each hook and of hookrun itself, in the same order."""
    write_log(project, *many(count))
    export(project)
    stats: Any = hookrun(project, "stats", "--all-projects", "--json").json
    assert query(project, "SELECT * FROM hooks") == stats["hooks"]
    (own,) = query(project, "SELECT * FROM hookrun")
    assert {**own, "name": "hookrun", "source": ""} == stats["hookrun"]


def test_a_file_has_the_records_of_a_day(project: Project) -> None:
    """Of the selected runs, as they are in the log; for this account only."""
    write_log(project, run(1, {"hook": "a", "ms": 1, "notes": ["x"], "changes": {"f": ["1", None]}}), run(2, day=2))
    shown = export(project, "--dry-run")
    assert not (project.root / "days").exists()
    assert export(project) == shown.replace("would write", "wrote")
    assert shown == "would write days/2026-01-01.parquet: 2 records\nwould write days/2026-01-02.parquet: 1 record\n"
    assert {path.name: path.stat().st_mode & 0o77 for path in (project.root / "days").iterdir()} == dict.fromkeys(
        ("2026-01-01.parquet", "2026-01-02.parquet", "views.sql"), 0
    )
    (found,) = query(project, "SELECT time, ms, notes, changes->'$.f' AS f, source FROM records WHERE hook = 'a'")
    assert found == {
        "time": "2026-01-01 10:00:01.123000", "ms": 1.0, "notes": ["x"], "f": '["1",null]', "source": "/p/coder.json:3",
    }  # fmt: skip
    found = hookrun(project, "log", "--all-projects", "-n", "1", "--to", "parquet", "last", "--json").json
    assert found == {"to": f"{project.root}/last", "days": {"2026-01-02": 1}, "dry_run": False}


def test_a_day_keeps_what_the_log_no_longer_has(project: Project) -> None:
    """And has nothing twice; a hook that ended in the background since is added."""
    begun: dict[str, object] = {"hook": "later", "background": True, "ms": 0.1}
    write_log(project, run(1, {"hook": "a", "ms": 1}, {"hook": "a", "ms": 1}), run(2, begun))
    export(project)
    export(project)
    assert query(project, "SELECT count(*) AS n FROM records") == [{"n": 5}]
    ended: dict[str, object] = {"hook": "later", "kind": "background", "ms": 5}
    write_log(project, run(2, begun, ended), run(3))
    export(project)
    found = query(project, "SELECT request_id, list(kind ORDER BY kind) AS kinds FROM records GROUP BY 1 ORDER BY 1")
    assert [each["kinds"] for each in found] == [["fire", "hook", "hook"], ["background", "fire", "hook"], ["fire"]]


def test_damaged_lines(project: Project) -> None:
    """A torn line is passed over, a record without a time has a file of its own."""
    write_log(project, run(1), [{"v": 1, "kind": "fire", "request_id": "odd", "time": "../../x"}])
    with project.audit_path.open("a") as file:
        file.write('{"v":1,"kind":"fire","time":"2026-01-0')
    export(project)
    found = query(project, "SELECT request_id, time IS NULL AS undated FROM records ORDER BY 2")
    assert [each["undated"] for each in found] == [False, True]
    assert (project.root / "days" / "undated.parquet").exists()


def test_no_room(project: Project) -> None:
    """It is an error; the files are those of before, and nothing is left beside them."""
    write_log(project, *many(20))
    export(project, "--until", "2026-01-01T10:00:05Z")
    before = {path: path.read_bytes() for path in (project.root / "days").iterdir()}
    words = project.command("log", "--all-projects", "--to", "parquet", "days")
    command = ("sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *words)
    environment = project.environment(PYTHONDONTWRITEBYTECODE="1")  # Python would cut its own .pyc files short
    done = subprocess.run(command, cwd=project.root, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"error: ")
    assert {path: path.read_bytes() for path in (project.root / "days").iterdir()} == before


def test_two_at_once(project: Project) -> None:
    """One waits for the other: the runs of both are in the files."""
    write_log(project, *sorted(many(40), key=lambda records: str(records[0]["time"])))
    started = [
        subprocess.Popen(
            project.command("log", "--all-projects", "--to", "parquet", "days", option, "2026-01-02T00:00:00Z"),
            cwd=project.root,
            env=project.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for option in ("--until", "--since")
    ]
    assert [each.communicate()[1] for each in started] == [b"", b""]
    assert query(project, "SELECT count(*) AS n FROM records") == [{"n": 40 * 6}]


def test_every_field_of_the_log_is_a_column() -> None:
    """Those of the table in the reference."""
    page = (ROOT / "docs" / "reference" / "environment.md").read_text().partition("## Log")[2]
    fields = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE)))
    assert len(fields) > 40
    assert sorted({*fields} - {*COLUMNS}) == []


@rows(
    "arguments, error",
    [
        ("--to parquet days --follow", "--prune, --to and --follow exclude each other"),
        ("--to parquet days --prune", "--prune, --to and --follow exclude each other"),
        ("--to csv days", "invalid value for `--to`: \"csv\" is not 'parquet'"),
        ("--to parquet coder.json", "is a file"),
    ],
)
def test_wrong_options(project: Project, arguments: str, error: str) -> None:
    """The error says what is wrong."""
    project.hooks()
    done = hookrun(project, "log", *arguments.split())
    assert done.status == 1
    assert error in done.stderr


def test_without_duckdb(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra; a dry run needs none."""
    write_log(project, run(1))
    monkeypatch.setitem(sys.modules, "duckdb", None)
    done = hookrun(project, "log", "--all-projects", "--to", "parquet", "days")
    assert done.stderr == "error: `--to parquet` needs DuckDB\nhint: `pip install 'hookrun[analysis]'`\n"
    assert export(project, "--dry-run") == "would write days/2026-01-01.parquet: 2 records\n".replace(
        "2 records", "1 record"
    )


def test_nothing_is_selected(project: Project, tmp_path: Path) -> None:
    """It says why."""
    assert "no matching entries\nhint: nothing is recorded yet" in export(project)
