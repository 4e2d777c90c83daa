"""A hookrun that was moved or removed: each agent continues, and the user is notified, in that agent's way."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.wiring import BEFORE_TOOL, before_tool, run_line, wired_line
from tests.conftest import copy_package

if TYPE_CHECKING:
    from tests.conftest import Project

TOLD_AS = {
    "claude": ("systemMessage",),
    "codex": ("systemMessage",),
    "gemini": ("systemMessage",),
    "qwen": ("systemMessage",),
    "copilot": ("additionalContext",),
    "cline": ("context",),
}
"""Agent -> where its answer has the text for the user; Copilot and Cline can only pass it on through the model."""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return a directory with a copy of hookrun in it."""
    directory = tmp_path / "a copy"
    copy_package(directory / "hookrun")
    return directory


def _install_from(elsewhere: Path, project: Project, *agents: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", str(elsewhere / "hookrun" / "__main__.py"), "install", *agents, "--trust"],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("agent", list(TOLD_AS))
def test_the_agent_goes_on_and_the_person_is_told(project: Project, elsewhere: Path, agent: str) -> None:
    """At its path it answers normally; moved away, the installed line lets the tool run and reports the problem."""
    project.user_hooks({"name": "no", "command": "echo not this >&2; exit 2"})
    _install_from(elsewhere, project, agent)
    line = wired_line(project, agent, BEFORE_TOOL[agent])
    message = before_tool(project, agent)
    there = run_line(project, line, message)
    assert b"not this" in there.stdout
    assert there.returncode == 0
    elsewhere.rename(elsewhere.with_name("moved"))
    gone = run_line(project, line, message)
    assert gone.returncode == 0
    answer = json.loads(gone.stdout)
    assert tuple(answer) == TOLD_AS[agent]
    text = answer[TOLD_AS[agent][0]]
    assert f"hookrun is no longer at {elsewhere}/hookrun/__main__.py, so no hook has run" in text
    assert f"hookrun install {agent}" in text


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "status"), [("claude", 1), ("gemini", 1), ("copilot", 0)])
def test_a_hookrun_that_is_not_whole_refuses_nothing(
    project: Project, elsewhere: Path, agent: str, status: int
) -> None:
    """While it is being replaced, an agent continues: 1 is seen and no refusal, but to Copilot, which gets a 0."""
    project.user_hooks({"name": "no", "command": "echo not this >&2; exit 2"})
    _install_from(elsewhere, project, agent)
    (elsewhere / "hookrun" / "fire" / "invocation.py").unlink()
    shutil.rmtree(elsewhere / "hookrun" / "__pycache__")
    done = run_line(project, wired_line(project, agent, BEFORE_TOOL[agent]), before_tool(project, agent))
    assert (done.returncode, done.stdout) == (status, b"")
    assert b"hookrun: cannot be loaded, so no hook has run: No module named 'hookrun.fire.invocation'" in done.stderr


@pytest.mark.slow
def test_what_is_wired_imports_nothing_from_where_it_runs(project: Project, elsewhere: Path) -> None:
    """A project's json.py, hookrun/ or sitecustomize.py, also by PYTHONPATH, are not imported by the installed line."""
    project.user_hooks({"name": "no", "command": "echo not this >&2; exit 2"})
    _install_from(elsewhere, project, "claude")
    for name in ("json.py", "sitecustomize.py", "usercustomize.py", "os.py", "yaml.py"):
        (project.root / name).write_text("raise SystemExit('taken over')")
    (project.root / "hookrun").mkdir()
    (project.root / "hookrun" / "__init__.py").write_text("raise SystemExit('taken over')")
    done = run_line(
        project,
        wired_line(project, "claude", "PreToolUse"),
        before_tool(project, "claude"),
        PYTHONPATH=str(project.root),
        PYTHONSTARTUP=str(project.root / "json.py"),
        HOME=str(project.root),
    )
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
