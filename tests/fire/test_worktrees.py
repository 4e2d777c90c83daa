"""A session that moves to a git worktree is judged there by that one's own scripts; the main checkout's guards stay."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.fire.agents import call

OBSERVER: dict[str, object] = {"event": "pre_tool_use", "name": "note", "command": "./note.sh"}
GUARD: dict[str, object] = {"event": "pre_tool_use", "name": "guard", "command": "./guard.sh", "on_failure": "block"}


def git(directory: Path, *arguments: str) -> None:
    """Run git with a name and an address."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


def write_scripts(root: Path, name: str) -> None:
    """Write the scripts of the hooks: each appends where it is to a file of the main checkout."""
    for script in ("note", "guard"):
        path = root / f"{script}.sh"
        path.write_text(f'#!/bin/sh\nprintf "%s %s\\n" {script} {name} >> "$OUT"\n')
        path.chmod(0o755)


@pytest.fixture
def main(project: Project) -> Project:
    """A project with both hooks, committed and approved."""
    git(project.root, "init", "--quiet")
    out = str(project.root.parent / "ran")
    project.hooks(*({**each, "env": {"OUT": out}} for each in (OBSERVER, GUARD)))
    write_scripts(project.root, "main")
    git(project.root, "add", "--all")
    git(project.root, "commit", "--quiet", "--message", "1")
    project.approve()
    return project


def fire(main: Project, place: Path, session: str = "s1") -> list[str]:
    """Fire a call made in a place, by an agent whose variable names the main checkout; return which scripts ran."""
    ran = main.root.parent / "ran"
    ran.write_text("")
    message = {"hook_event_name": "PreToolUse", "session_id": session, "cwd": str(place), "tool_use_id": "c1"}
    message |= {"tool_name": "Bash", "tool_input": {"command": "ls"}, "transcript_path": "/t"}  # type: ignore[dict-item]
    done = call(
        main,
        *("fire", "--agent", "claude", "--home", str(main.home)),
        stdin=json.dumps(message).encode(),
        env={"CLAUDE_PROJECT_DIR": str(main.root)},
    )
    assert done.returncode == 0, done
    return sorted(ran.read_text().splitlines())


BOTH = ["guard main", "note main"]


@pytest.mark.parametrize("where", [".claude/worktrees/f", "../beside"])
def test_a_worktrees_own_scripts_run(where: str, main: Project) -> None:
    """In a directory of it, too; the guards of the checkout in which the session began judge the call as well."""
    assert fire(main, main.root) == BOTH
    worktree = (main.root / where).resolve()
    git(main.root, "worktree", "add", "--quiet", str(worktree))
    write_scripts(worktree, "worktree")
    main.approve(worktree)
    (worktree / "src").mkdir()
    for place in (worktree, worktree / "src"):
        assert fire(main, place) == ["guard main", "guard worktree", "note worktree"]
    assert fire(main, main.root) == BOTH


def test_what_is_no_worktree_of_it_changes_nothing(main: Project) -> None:
    """Another repository, a worktree without the config, a submodule's directory: the project's hooks run."""
    other, bare, sub = (main.root / name for name in ("other", "bare", "sub"))
    for made in (other, sub):
        made.mkdir()
        write_scripts(made, made.name)
        (made / "coder.json").write_bytes((main.root / "coder.json").read_bytes())
    git(other, "init", "--quiet")
    (sub / ".git").write_text("gitdir: ../.git/modules/sub\n")
    git(main.root, "worktree", "add", "--quiet", str(bare))
    (bare / "coder.json").unlink()
    for place in (other, sub, bare):
        assert "note main" in fire(main, place), place
        assert f"note {place.name}" not in fire(main, place), place


def test_a_pipe_in_gits_place_is_not_waited_for(main: Project, tmp_path: Path) -> None:
    """What a call's directory holds there is anybody's: nothing may hang on it."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    os.mkfifo(place / ".git")
    assert fire(main, place) == ["guard main", "note main"]
