"""protect-branches with real repositories: which branch a command or an edit is on."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.recipes.account import Account

IDENTITY = ("-c", "user.name=me", "-c", "user.email=me@example.com")


def git(account: Account, *words: str, where: str = ".") -> None:
    """Run git in a directory of the account's."""
    subprocess.run(["git", "-C", str(account.work / where), *IDENTITY, *words], check=True, capture_output=True)


@pytest.fixture
def repository(account: Account) -> Account:
    """Return an account whose working directory is a repository on `main`, with a commit."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(account.work)], check=True)
    account.write("a.py")
    account.write(".gitignore", "build/\n")
    git(account, "add", "-A")
    git(account, "commit", "-qm", "Begin")
    return account


def blocked(account: Account, line: str) -> bool:
    """Return whether a line is blocked."""
    return account.answer("protect_branches", line) is not None


def edit(account: Account, path: str) -> bool:
    """Return whether an edit of a file is blocked."""
    args = {"file_path": path, "old_string": "a", "new_string": "b"}
    return account.call("protect_branches", tool_name="edit", tool_args=args, event="pre_tool_use") is not None


def test_the_branch_is_that_of_the_directory_of_the_command(repository: Account) -> None:
    """In a worktree, in another repository, with packed branches, and where the head is detached."""
    git(repository, "worktree", "add", "-q", "-b", "fix", "../tree")
    other = repository.work.parent / "other"
    subprocess.run(["git", "init", "-q", "-b", "main", str(other)], check=True)
    assert blocked(repository, "git commit -m x")
    assert not blocked(repository, "cd ../tree && git commit -m x")
    assert not blocked(repository, "git -C ../tree commit -m x")
    assert not blocked(repository, "git --git-dir=../tree/.git --work-tree=../tree commit -m x")
    assert not blocked(repository, "cd ../other && git commit -m Begin")
    assert blocked(repository, "cd ../other && git commit -m Begin && cd - && git commit -m x")
    git(repository, "pack-refs", "--all")
    assert blocked(repository, "git -C . commit -m x")
    assert not blocked(repository, "git -C ../tree push")
    git(repository, "switch", "-q", "--detach")
    assert not blocked(repository, "git commit -m x")


def test_a_line_s_own_switches_count(repository: Account) -> None:
    """A file of that name is no branch; a branch of that name is no file."""
    git(repository, "branch", "fix")
    assert not blocked(repository, "git checkout fix && git commit -m x")
    assert blocked(repository, "git checkout a.py && git commit -m x")
    assert blocked(repository, "git checkout fix && git checkout main && git commit -m x")
    assert not blocked(repository, "git init ../new && git -C ../new commit -m Begin")
    git(repository, "switch", "-q", "fix")
    assert blocked(repository, "git switch main; git merge fix")
    assert blocked(repository, "git push origin HEAD:main")
    assert not blocked(repository, "git push origin HEAD")


def test_edits_are_judged_by_the_repository_of_their_file(repository: Account) -> None:
    """Not by the working directory. Files that git ignores may change, and links are followed."""
    git(repository, "worktree", "add", "-q", "-b", "fix", "../tree")
    (repository.work.parent / "link.py").symlink_to(repository.work / "a.py")
    assert edit(repository, "a.py")
    assert edit(repository, "new/b.py")
    assert edit(repository, "../link.py")
    assert not edit(repository, "../tree/a.py")
    assert not edit(repository, "build/a.py")
    assert not edit(repository, str(repository.home / "a.py"))
    repository.options(edits="no")
    assert not edit(repository, "a.py")


def test_branches_that_cannot_be_read_count(repository: Account) -> None:
    """What cannot be read may hold the branch."""
    git(repository, "pack-refs", "--all")
    packed = repository.work / ".git" / "packed-refs"
    packed.unlink()
    packed.mkdir()
    assert blocked(repository, "git commit -m x")


def test_git_is_asked_where_its_format_hides_the_branch(
    repository: Account, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The format reftable has no branch in HEAD; older versions of git cannot read it."""
    (repository.work / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    (repository.work / ".git" / "reftable").mkdir()
    program = tmp_path / "git"
    program.write_text('#!/bin/sh\n[ "$*" = "${*%symbolic-ref*}" ] || echo main\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert blocked(repository, "git commit -m x")
    program.write_text('#!/bin/sh\n[ "$*" = "${*%symbolic-ref*}" ] || echo fix\n')
    assert not blocked(repository, "git commit -m x")


def test_a_script_that_the_line_runs_counts(repository: Account) -> None:
    """The cheap test sees it, and the reason names the script and its line."""
    repository.write("release", "#!/bin/sh\ngit tag v1\ngit push origin main\n", 0o755)
    repository.write("save.sh", "git commit -am x\n")
    repository.write("aside.sh", "git switch -c aside && git commit -am x\n")
    assert repository.wrong("protect_branches", ["./release", "sh release", "bash save.sh"], "block") == []
    assert repository.wrong("protect_branches", ["sh aside.sh", "sh missing.sh"], "continue") == []
    assert (repository.answer("protect_branches", "./release") or {})["message"].count("(./release, line 3)") == 1
