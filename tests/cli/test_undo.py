"""`hookrun undo`: lists snapshots, shows what one would change, and brings it back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes.work_snapshots import take
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.recipes.test_git_losses import git

if TYPE_CHECKING:
    from tests.conftest import Project


@pytest.fixture
def snapshot(project: Project) -> str:
    """Return the id of a snapshot of two files that are lost since."""
    git(project.root, "init", "-q")
    (project.root / "src").mkdir()
    for name in ("a.txt", "src/b.txt"):
        (project.root / name).write_text("committed\n")
    git(project.root, "add", "a.txt", "src")
    git(project.root, "commit", "-qm", "Begin")
    for name in ("a.txt", "src/b.txt"):
        (project.root / name).write_text("work\n")
    made = take(str(project.root), "git checkout .")
    assert made is not None
    git(project.root, "checkout", "-q", ".")
    return made.id


def text(project: Project, name: str = "a.txt") -> str:
    """Return a file's content."""
    return (project.root / name).read_text()


def test_it_lists_snapshots(project: Project, snapshot: str) -> None:
    """With the call before which they were taken."""
    done = hookrun(project, "undo")
    assert done.status == 0
    assert snapshot in done.stdout
    assert "git checkout ." in done.stdout
    [row] = json.loads(hookrun(project, "undo", "--json").stdout)
    assert (row["id"], row["before"], row["left_out"]) == (snapshot, "git checkout .", [])


def test_it_shows_first_and_writes_with_yes(project: Project, snapshot: str) -> None:
    """Without a terminal nothing is asked; what was there comes back by another undo."""
    shown = hookrun(project, "undo", snapshot)
    assert (shown.status, text(project)) == (0, "committed\n")
    assert "~ a.txt" in shown.stdout
    done = hookrun(project, "undo", snapshot, "--yes")
    assert (done.status, text(project), text(project, "src/b.txt")) == (0, "work\n", "work\n")
    earlier = json.loads(hookrun(project, "undo", "--json").stdout)[0]
    assert earlier["before"] == f"hookrun undo {snapshot}"
    assert hookrun(project, "undo", earlier["id"], "--yes").status == 0
    assert text(project) == "committed\n"


def test_a_path_is_relative_to_the_working_directory(project: Project, snapshot: str) -> None:
    """Only what is under it is written."""
    done = hookrun(project, "undo", snapshot, "b.txt", "--yes", "--json", cwd=project.root / "src")
    assert done.json["written"] is True
    assert done.json["changes"] == [{"path": "src/b.txt", "missing": False, "problem": None}]
    assert (text(project), text(project, "src/b.txt")) == ("committed\n", "work\n")


def test_it_asks_at_a_terminal(project: Project, snapshot: str) -> None:
    """Yes writes, no does not."""
    at_terminal(project, "undo", snapshot, answers=("n\r",), question="]: ")
    assert text(project) == "committed\n"
    at_terminal(project, "undo", snapshot, answers=("y\r",), question="]: ")
    assert text(project) == "work\n"


def test_a_file_in_the_way_is_shown(project: Project, snapshot: str) -> None:
    """It stays, the others are written, and the status is 1."""
    (project.root / "a.txt").unlink()
    (project.root / "a.txt").mkdir()
    done = hookrun(project, "undo", snapshot, "--yes")
    assert (done.status, text(project, "src/b.txt")) == (1, "work\n")
    assert "cannot be kept" in done.stdout


def test_nothing_differs(project: Project, snapshot: str) -> None:
    """It says so."""
    hookrun(project, "undo", snapshot, "--yes")
    done = hookrun(project, "undo", snapshot)
    assert (done.status, "nothing differs" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("0",), "no snapshot `0` in this work tree\nhint: `hookrun undo` lists them"),
        (("--yes",), "needs an ID"),
    ],
)
def test_wrong_calls(project: Project, snapshot: str, arguments: tuple[str, ...], says: str) -> None:
    """An error with what to do."""
    assert snapshot
    done = hookrun(project, "undo", *arguments)
    assert done.status == 1
    assert says.replace("`0`", '"0"') in done.stderr or says in done.stderr


def test_outside_a_repository(project: Project) -> None:
    """There is nothing to list."""
    done = hookrun(project, "undo")
    assert (done.status, "is in no work tree of git" in done.stderr) == (1, True)


def test_without_snapshots_it_says_who_takes_them(project: Project) -> None:
    """The recipe is named."""
    git(project.root, "init", "-q")
    assert "hookrun add snapshot-before" in hookrun(project, "undo").stdout
