"""An approval counts where it was given: in that directory, wherever it moves, and in git's worktrees of the project.

The digest covers what a hook names as code. What else it runs, such as a project's tests, is another project's there.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun, states
from tests.torture.strangers import Stranger

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

RUNS_WHAT_IS_THERE: dict[str, object] = {"name": "tests", "command": "python3 -m unittest -q; exit 0"}
"""A hook whose digest says nothing about the tests that it runs."""


@pytest.fixture
def approved(project: Project) -> Stranger:
    """Return a project with such a hook, approved."""
    project.script("test_it.py", "open('ran', 'w')\n", 0o644)
    project.hooks(RUNS_WHAT_IS_THERE)
    stranger = Stranger(project, "agent")
    assert len(stranger.approve()) == 1
    return stranger


def copy_of(project: Project) -> Path:
    """Copy the project, with other tests behind the same entry; return its root."""
    root = project.root.parent / "hostile"
    shutil.copytree(project.root, root)
    (root / "test_it.py").write_text("open('stolen', 'w')\n")
    return root


def git(root: Path, *words: str) -> None:
    """Run git."""
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=root, check=True)


def test_the_same_entry_in_another_repository_runs_none_of_its_code(approved: Stranger) -> None:
    """Nor does every command but the agent's say that it is approved there; approving it there takes nothing here."""
    root = copy_of(approved.project)
    assert approved.digests(root) == approved.digests()
    answer = approved.fire(cwd=root)
    assert not (root / "stolen").exists()
    assert "not approved" in answer.output
    project = approved.project
    here, project.root = project.root, root
    assert states(project) == {"tests": "new"}
    assert "1 not approved" in hookrun(project, "status").stdout
    project.approve()
    approved.fire(cwd=root)
    assert (root / "stolen").exists()
    project.root = here
    assert states(project) == {"tests": "approved"}
    approved.fire()
    assert (here / "ran").exists()


def test_a_moved_project_stays_approved(approved: Stranger) -> None:
    """It is the same directory."""
    project = approved.project
    moved = project.root.parent / "moved"
    project.root.rename(moved)
    approved.fire(cwd=moved)
    assert (moved / "ran").exists()


def test_a_link_to_the_project_is_the_project(approved: Stranger) -> None:
    """Also where it has no repository."""
    project = approved.project
    for each in project.root.parent / "linked", project.root.parent / "again":
        each.symlink_to(project.root)
        approved.fire(cwd=each)
        assert (project.root / "ran").exists()
        (project.root / "ran").unlink()
        shutil.rmtree(project.root / ".git", ignore_errors=True)
        approved.approve()


def test_a_worktree_is_as_approved_as_its_repository(approved: Stranger) -> None:
    """A directory that only says that it is one is not."""
    project = approved.project
    shutil.rmtree(project.root / ".git")
    git(project.root, "init", "-q")
    git(project.root, "add", "-A")
    git(project.root, "commit", "-qm", "a")
    work = project.root.parent / "work"
    git(project.root, "worktree", "add", "-q", str(work))
    approved.fire(cwd=work)
    assert (work / "ran").exists()
    false = project.root.parent / "false"
    shutil.copytree(work, false)
    (false / "test_it.py").write_text("open('stolen', 'w')\n")
    approved.fire(cwd=false)
    assert not (false / "stolen").exists()
