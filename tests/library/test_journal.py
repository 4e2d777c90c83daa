"""The audit of a long-running program: the same records as usual, in the current file, and nothing left open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun import Engine
from hookrun.core import audit

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Project

OBJECTION_FREE = "cat >/dev/null"


def engine_of(project: Project, **settings: object) -> Engine:
    """Return an engine whose only hook continues."""
    project.hooks({"event": "stop", "name": "quiet", "command": OBJECTION_FREE})
    if settings:
        project.user_hooks(**settings)
    return Engine.load(project.root, home=project.home, trust_project=True)


def open_files() -> list[str]:
    """Return the audit's files that this process has open, one that was deleted included."""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            continue
    return [file for file in found if "audit.jsonl" in file]


def test_the_audit_stays_open_once_and_is_closed_with_the_engine(project: Project) -> None:
    """However many fires there were."""
    engine = engine_of(project)
    for _ in range(5):
        assert engine.fire_sync("stop").action == "continue"
    assert open_files() == [str(project.audit_path)]
    engine.close_sync()
    assert open_files() == []
    assert [record["kind"] for record in project.audit()] == ["hook", "fire"] * 5


def replace(path: Path) -> None:
    """Put another file instead of one."""
    other = path.with_name("other")
    other.write_bytes(b"")
    other.replace(path)


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.rename(path.with_suffix(".jsonl.1")), replace])
def test_records_go_to_the_file_that_is_there(
    project: Project, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    """An open file is not believed to be the audit for long."""
    with engine_of(project) as engine:
        engine.fire_sync("stop")
        change(project.audit_path)
        monkeypatch.setattr(audit, "RECHECK_AFTER", 0)  # as if that time had passed
        request = engine.fire_sync("stop").request_id
        assert {record["request_id"] for record in project.audit()} == {request}
        assert len(open_files()) == 1


def test_a_file_that_grows_too_large_is_put_aside_and_a_new_one_begun(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whichever writer exceeds the limit; lines of others count."""
    with engine_of(project, audit={"max_bytes": 65536, "keep": 2}) as engine:
        engine.fire_sync("stop")
        with project.audit_path.open("ab") as file:
            file.write(b'{"v":1}\n' * 9000)
        engine.fire_sync("stop")
        assert not project.audit_path.exists()
        monkeypatch.setattr(audit, "RECHECK_AFTER", 0)  # as if that time had passed
        engine.fire_sync("stop")
        assert [record["kind"] for record in project.audit()] == ["hook", "fire"]
        assert len(project.audit_path.with_suffix(".jsonl.1").read_bytes().splitlines()) == 9004


def test_where_the_audit_is_switched_off_nothing_is_opened(project: Project) -> None:
    """Nor is it made."""
    with engine_of(project, audit=False) as engine:
        engine.fire_sync("stop")
        assert open_files() == []
        assert not project.audit_path.exists()
