"""Writes files of cases into a project and runs them, in this process or with the real command."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING

from hookrun.testing.case_runner import run_cases
from hookrun.testing.cases import CaseFile, load
from hookrun.testing.results import CaseRun, TestRun
from tests.waiting import limit, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Project

GUARD: dict[str, object] = {
    "name": "no-force",
    "matcher": "bash|shell",
    "command": 'case "$(cat)" in *--force*) echo "no force push here" >&2; exit 2;; esac',
}
"""A hook that refuses a forced push."""

PUSH: dict[str, object] = {"event": "pre_tool_use", "tool": "bash", "args": {"command": "git push --force"}}
LIST: dict[str, object] = {"event": "pre_tool_use", "tool": "bash", "args": {"command": "ls"}}


def write(
    project: Project,
    *cases: dict[str, object],
    name: str = "hooks/a.hooktest.json",
    top: dict[str, object] | None = None,
) -> Path:
    """Write a file of cases; a case without a name gets a number."""
    path = project.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    named = [{"name": f"case {number}", **case} for number, case in enumerate(cases, 1)]
    path.write_text(json.dumps({**(top or {}), "cases": named}, indent=2) + "\n")
    return path


def text_file(project: Project, text: str, name: str = "a.hooktest.yaml") -> CaseFile:
    """Write a text as a file of cases and return it read."""
    path = project.root / name
    path.write_text(text)
    return load(str(path), name)


def run_here(project: Project, *cases: dict[str, object], top: dict[str, object] | None = None) -> TestRun:
    """Run cases in this process."""
    return run_cases([load(str(write(project, *cases, top=top)))])


def one(project: Project, case: dict[str, object], top: dict[str, object] | None = None) -> CaseRun:
    """Run one case, as a program would have it, and return the result."""
    (run,) = run_here(project, case, top=top).results
    return run


def differing(run: CaseRun) -> list[str]:
    """Return the keys of what does not hold."""
    assert not run.problems
    return [each.key for each in run.differences]


def interrupted(project: Project, *arguments: str, when: Callable[[], object]) -> None:
    """Start `hookrun test`, and send Ctrl-C once `when` returns: it ends as interrupted and leaves nothing it made."""
    place = project.home / "tmp"
    place.mkdir()
    process = subprocess.Popen(
        project.command("test", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=project.root,
        env=project.environment(TMPDIR=str(place)),
    )
    try:
        when()
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=limit())
    finally:
        process.kill()
    assert (process.returncode, "".join(output).strip()) == (130, "")
    assert list(place.iterdir()) == []


def until_there(path: Path) -> None:
    """Wait until a file is there."""
    until(path.exists, f"no {path}")
