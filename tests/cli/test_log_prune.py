"""Rotated logs beyond `audit.max_size` and `audit.max_age` are removed, by `hookrun log --prune` and at a rotation."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tests.cli.command import hookrun
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

DAY = 86_400
SIZE = 100_000


def write_logs(project: Project) -> None:
    """Write a log and three rotated ones, the oldest last written 50 days ago."""
    log = project.audit_path
    log.parent.mkdir(parents=True, exist_ok=True)
    for number, days in ((0, 0), (1, 10), (2, 20), (3, 50)):
        path = log.with_name(f"{log.name}.{number}" if number else log.name)
        path.write_text("x" * (SIZE - 1) + "\n")
        os.utime(path, (time.time() - days * DAY,) * 2)


def names(project: Project) -> str:
    """Return the numbers of the rotated logs that are there."""
    return "".join(sorted(path.suffix[1:] for path in project.audit_path.parent.glob("audit.jsonl.?")))


@rows(
    "limits, left",
    [
        ({"max_age": 30}, "12"),
        ({"max_age": 15}, "1"),
        ({"max_age": 60}, "123"),
        ({"max_size": 3 * SIZE}, "12"),
        ({"max_size": SIZE}, ""),
        ({"max_size": 65536}, ""),
        ({"max_size": 3 * SIZE, "max_age": 15}, "1"),
    ],
)
def test_what_is_removed(project: Project, limits: dict[str, int], left: str) -> None:
    """The oldest ones, never the log itself; a dry run only shows them."""
    project.user_hooks(audit=limits)
    write_logs(project)
    shown = hookrun(project, "log", "--prune", "--dry-run")
    assert (shown.status, names(project)) == (0, "123")
    done = hookrun(project, "log", "--prune")
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout == shown.stdout.replace("would remove", "removed")
    assert names(project) == left
    assert project.audit_path.exists()
    assert hookrun(project, "log", "--prune").stdout == "nothing to remove\n"


def test_what_it_prints(project: Project) -> None:
    """A line for each; as JSON, the paths."""
    project.user_hooks(audit={"max_age": 30})
    write_logs(project)
    oldest = f"{project.audit_path}.3"
    assert hookrun(project, "log", "--prune", "--dry-run", "--json").json == {"removed": [oldest], "dry_run": True}
    line = hookrun(project, "log", "--prune").stdout
    assert line.startswith("removed ")
    assert "/audit.jsonl.3: 0.1 MB, last written 2" in line


def test_a_rotation_removes_them_too(project: Project) -> None:
    """Whoever rotates it."""
    project.user_hooks(audit={"max_bytes": 65536, "max_age": 15})
    write_logs(project)
    project.fire()
    assert names(project) == "12"


def test_no_limit_is_set(project: Project) -> None:
    """The error shows how to set one; nothing is removed."""
    write_logs(project)
    done = hookrun(project, "log", "--prune")
    assert (done.status, done.stdout, names(project)) == (1, "", "123")
    assert done.stderr.startswith("error: no limit is set\nhint: set `audit.max_size` or `audit.max_age` in your own")
    assert hookrun(project, "log", "--dry-run").stderr.startswith("error: --dry-run is only for --prune")
