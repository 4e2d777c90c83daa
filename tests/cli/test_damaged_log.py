"""What reads the log says the same with a torn last line and after rotations; what writes on a full disk says so."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.command import hookrun
from tests.fire.agents import says

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

READERS = (
    "log --json",
    "log --oneline",
    "why --json",
    "stats --json",
    "report --json",
    "replay --json",
    "export --otlp http://127.0.0.1:1 --dry-run",
    "export --prometheus totals.prom --dry-run",
    "log --to parquet days --dry-run --json",
)
WRITERS = (
    "report",
    "report --html report.html",
    "export --prometheus totals.prom",
    "replay --junit replay.xml",
    "record on",
    "record off",
    "log --to parquet days",
)


@pytest.fixture
def logged(project: Project) -> Project:
    """Fire twice while whole calls are kept; one call would be refused now."""
    assert hookrun(project, "record", "on").status == 0
    for action in ("continue", "block"):
        project.hooks({"name": "guard", "command": says(action=action, message="no")})
        project.fire(
            {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "git push --force origin main"}}
        )
    (project.root / "coder.json").write_text(json.dumps({"hooks": [{"recipe": "no-force-push"}]}))
    return project


def printed(project: Project) -> dict[str, Any]:
    """Return what each reader prints, without the time at which it did."""
    found: dict[str, Any] = {}
    for line in READERS:
        done = hookrun(project, *line.split())
        assert (done.status, done.stderr) == (int(line.startswith("replay")), ""), line
        found[line] = done.stdout if line != "report --json" else {**done.json, "made": 0}
    return found


def files(project: Project) -> dict[Path, bytes]:
    """Return every file of the project and the account, but the report for a CI server."""
    found = (path for path in project.root.parent.rglob("*") if path.is_file() and path.suffix != ".xml")
    return {path: path.read_bytes() for path in found}


def test_a_torn_line_and_rotations_change_nothing(logged: Project) -> None:
    """A record that was cut short is passed over, in whatever file it is."""
    expected = printed(logged)
    log = logged.audit_path
    torn = log.read_bytes().splitlines()[-1][:-20]
    log.write_bytes(log.read_bytes() + torn)
    assert printed(logged) == expected
    log.rename(log.with_name("audit.jsonl.2"))
    log.with_name("audit.jsonl.1").write_bytes(torn + b"\n" + torn)
    log.write_bytes(torn + b"\n")
    assert printed(logged) == expected


@pytest.mark.slow
def test_a_full_disk_is_an_error(logged: Project) -> None:
    """One line about it, and what was there before stays as it was, but for the report for a CI server."""
    for line in WRITERS:
        hookrun(logged, *line.split())
    assert hookrun(logged, "record", "1d").status == 0
    before = files(logged)
    logged.audit_path.write_bytes(logged.audit_path.read_bytes().replace(b'"s1"', b'"s2"'))
    before[logged.audit_path] = logged.audit_path.read_bytes()
    environment = logged.environment(PYTHONDONTWRITEBYTECODE="1")  # Python would cut its own .pyc files short
    for line in WRITERS:
        command = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *logged.command(*line.split()))
        done = subprocess.run(command, cwd=logged.root, env=environment, capture_output=True, check=False)
        assert done.returncode == 1, line
        assert done.stderr.startswith(b"error: "), (line, done.stderr)
        assert b"internal error" not in done.stderr, (line, done.stderr)
    now = files(logged)
    assert {path.name for path in now.keys() - before.keys()} == set()
    assert [path.name for path in before if before[path] != now.get(path)] == []
