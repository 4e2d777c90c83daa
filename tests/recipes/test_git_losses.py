"""What git's commands would lose, judged in real repositories: a clean one, one with changes, worktrees, submodules."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.rows import rows

if TYPE_CHECKING:
    from tests.recipes.account import Account

GUARD = "block_destructive_commands"
IDENTITY = ("-c", "user.name=me", "-c", "user.email=me@example.com")


def git(where: Path, *words: str) -> str:
    """Run git and return its output."""
    call = ["git", *IDENTITY, "-c", "protocol.file.allow=always", *words]
    return subprocess.run(call, cwd=where, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def clean(account: Account) -> Account:
    """Return an account in a repository on `feature` whose work is committed, with a merged and an unmerged branch."""
    git(account.work, "init", "-q", "-b", "main")
    account.write("a.txt")
    account.write("src/b.txt")
    git(account.work, "add", "-A")
    git(account.work, "commit", "-qm", "Begin")
    git(account.work, "branch", "merged")
    git(account.work, "switch", "-qc", "lonely")
    git(account.work, "commit", "-qm", "Only here", "--allow-empty")
    git(account.work, "switch", "-qc", "feature", "main")
    return account


@pytest.fixture
def dirty(clean: Account) -> Account:
    """Return the same with a changed, a staged and a new file."""
    clean.write("a.txt", "changed\n")
    clean.write("staged.txt")
    git(clean.work, "add", "staged.txt")
    clean.write("new.txt")
    return clean


CHANGES = [
    "git checkout .",
    "git checkout -- a.txt",
    "git checkout a.txt",
    "git checkout HEAD a.txt src",
    "git checkout -f main",
    "git checkout -qf main",
    "git checkout --pathspec-from-file=x",
    "git restore .",
    "git restore -SW a.txt",
    "git restore -s HEAD~1 a.txt",
    "git restore --pathspec-from-file=x",
    "git reset --hard",
    "git reset --har HEAD~1",
    "git reset --merge",
    "git switch -f main",
    "git switch --discard-changes main",
    "git switch --disc main",
    "git rm -rf .",
    "git rm -f staged.txt a.txt",
    "git read-tree -u --reset HEAD",
    "git checkout-index -fa",
    "git checkout-index -f a.txt",
    "git show HEAD:a.txt > a.txt",
    "git cat-file -p HEAD:a.txt >| a.txt",
    "git diff | git apply -R",
    "git diff HEAD --name-only | xargs git checkout --",
    "cd src && git checkout -- ../a.txt",
    "git checkout -- $FILES",
    "git fetch; git reset --hard origin/main",
    "git commit -m x || git reset --hard",
]
"""Lines that lose changes where there are some, and nothing where there are none."""


def test_changes_are_asked_about_only_where_there_are_some(clean: Account) -> None:
    """Git is asked: the same line passes in a clean work tree."""
    assert clean.wrong(GUARD, CHANGES, "continue") == []
    clean.write("a.txt", "changed\n")
    clean.write("staged.txt")
    git(clean.work, "add", "staged.txt")
    assert clean.wrong(GUARD, CHANGES, "ask") == []


UNTRACKED = [
    "git clean -fd",
    "git clean -qfd",
    "git clean --force -d",
    "git ls-files -o | xargs rm",
    "rm $(git ls-files --others)",
]
"""Lines that lose files which git does not have."""


def test_new_files_are_asked_about_only_where_there_are_some(clean: Account) -> None:
    """Ignored files count if they would be removed, too."""
    assert clean.wrong(GUARD, [*UNTRACKED, "git add -A && git reset --hard", "git clean -fdX"], "continue") == []
    clean.write(".gitignore", "*.log\n")
    git(clean.work, "add", "-A")
    git(clean.work, "commit", "-qm", "Ignore logs")
    clean.write("x.log")
    assert clean.wrong(GUARD, UNTRACKED, "continue") == []
    assert clean.wrong(GUARD, ["git clean -fdx", "git clean -fX"], "ask") == []
    clean.write("new.txt")
    assert clean.wrong(GUARD, [*UNTRACKED, "git add -A && git reset --hard"], "ask") == []


ELSEWHERE = [
    "git stash drop",
    "git stash clear",
    "git stash && git pull && git stash drop",
    "git branch -D lonely",
    "git branch -d -f lonely",
    "git branch --delete --force lonely merged",
    "git branch -D nowhere",
    "git branch | xargs git branch -D",
    "git update-ref -d refs/heads/lonely",
    "git worktree remove --force nowhere",
    "git reflog expire --expire=now --all",
    "git reflog delete HEAD@{0}",
    "git filter-branch --tree-filter 'rm x' HEAD",
    "git filter-repo --path x",
    "git tag -l | xargs git tag -d",
    "git submodule update --force",
    "git submodule deinit -f .",
    "git stash pop && git checkout .",
    "git --git-dir=../other/.git reset --hard",
    "GIT_WORK_TREE=../other git checkout -f",
    "git -C nowhere reset --hard",
    "cd $X && git reset --hard",
    "hg update --clean",
    "hg purge",
    "svn revert -R .",
    "jj abandon @",
]
"""Lines that are asked about in a clean work tree, too: what they lose is not in it, or git cannot say."""

HARMLESS = [
    "git checkout main",
    "git checkout -b fix/f",
    "git checkout -bfix",
    "git checkout --theirs a.txt",
    "git checkout --help",
    "git checkout $BRANCH",
    "git switch -c fix",
    "git restore --staged .",
    "git restore -S a.txt",
    "git restore src",
    "git checkout -- src",
    "git reset",
    "git reset --keep HEAD~1",
    "git clean -nd",
    "git clean -fdn",
    "git clean -i",
    "git clean -fd src",
    "git rm --cached a.txt",
    "git rm -rf --cached .",
    "git rm -fn a.txt",
    "git stash",
    "git stash pop",
    "git stash apply && git stash drop",
    "git stash -u -m 'before' && git reset --hard && git stash pop",
    "git branch -D merged",
    "git branch -Dr origin/old",
    "git branch -d lonely",
    "git update-ref refs/heads/x HEAD",
    "git reflog",
    "git reflog expire --all",
    "git filter-repo --analyze",
    "git tag -d v1",
    "git worktree remove ../x",
    "git submodule update --init",
    "git show HEAD:a.txt > /tmp/a.old",
    "git show HEAD:a.txt > other.txt",
    "git apply -R fix.patch",
    "git rebase main",
    "git rebase --abort",
    "git -C /tmp/clone reset --hard",
    'cd "$(mktemp -d)" && git init -q && git reset --hard',
    "mkdir new && cd new && git init && git clean -fdx",
    "git clone -q . copy && cd copy && git reset --hard",
    "git commit -m 'git reset --hard'",
    "echo x | xargs rm",
    "git status; rm a.txt",
    "hg update", "svn update", "jj new",
]  # fmt: skip
"""Lines that lose nothing, even beside changes."""


def test_what_is_not_in_the_work_tree_is_asked_about(clean: Account) -> None:
    """A branch with commits that nothing else has, a stash, another repository; and whatever git cannot say."""
    assert clean.wrong(GUARD, ELSEWHERE, "ask") == []


def test_harmless_commands_pass_beside_changes(dirty: Account) -> None:
    """Also those that name the dangerous ones, and those in temporary or new repositories."""
    assert dirty.wrong(GUARD, HARMLESS, "continue") == []


def test_a_reason_names_the_files(dirty: Account) -> None:
    """The first of them."""
    answer = dirty.answer(GUARD, "git reset --hard")
    assert answer is not None
    assert "a.txt, staged.txt" in answer["message"]


def test_init_in_a_repository_makes_no_new_one(dirty: Account) -> None:
    """It has what it had."""
    assert dirty.wrong(GUARD, ["git init && git reset --hard"], "ask") == []


def test_a_worktree_s_own_changes_count(clean: Account) -> None:
    """Of the one that is removed, or in which the command runs."""
    other = clean.work / "other"
    git(clean.work, "worktree", "add", "-q", str(other), "main")
    lines = [f"git worktree remove -f {other}", f"git -C {other} checkout ."]
    assert clean.wrong(GUARD, lines, "continue") == []
    (other / "a.txt").write_text("changed\n")
    assert clean.wrong(GUARD, lines, "ask") == []
    assert clean.wrong(GUARD, ["git checkout ."], "continue") == []


def test_a_program_of_the_repository_never_runs(dirty: Account) -> None:
    """Neither its filters nor its monitor of files, when git is asked."""
    trace = dirty.home / "ran"
    for name in ("core.fsmonitor", "filter.x.clean", "filter.x.process"):
        git(dirty.work, "config", name, f"touch {trace}")
    dirty.write(".gitattributes", "* filter=x\n")
    (dirty.work / "a.txt").write_text("other\n")
    assert dirty.wrong(GUARD, ["git checkout .", "git reset --hard"], "ask") == []
    assert not trace.exists()


@pytest.fixture
def no_git(dirty: Account, monkeypatch: pytest.MonkeyPatch) -> Account:
    """Return the account without a git to ask."""
    monkeypatch.setenv("PATH", str(dirty.home))
    return dirty


def test_without_git_everything_is_asked_about(no_git: Account) -> None:
    """What cannot be asked counts as a loss."""
    assert no_git.wrong(GUARD, ["git checkout .", "git clean -fd", "git branch -D merged"], "ask") == []


PUSHES = [
    ("feature", "git push -f", "continue"),
    ("feature", "git push --force-with-lease", "continue"),
    ("feature", "git push -f origin HEAD", "continue"),
    ("feature", "git push -f origin", "continue"),
    ("feature", "git push origin +feature", "continue"),
    ("feature", "git rebase main && git push -f", "continue"),
    ("feature", "git fetch && git rebase origin/main && git push --force-with-lease", "continue"),
    ("feature", "git checkout -- . && git push -f", "continue"),
    ("feature", "git switch lonely && git push -f", "continue"),
    ("feature", "git checkout -b fix main && git push -f", "continue"),
    ("feature", "git push -f --tags", "block"),
    ("feature", "git push -f --all", "block"),
    ("feature", "git push -f origin main", "block"),
    ("feature", "git push -f origin HEAD:main", "block"),
    ("feature", "git push -f origin release/2", "block"),
    ("feature", "git push -f origin refs/tags/v2", "block"),
    ("feature", "git push -f origin $BRANCH", "block"),
    ("feature", "git push origin +refs/heads/*:refs/heads/*", "block"),
    ("feature", "git push --mirror", "block"),
    ("feature", "git push origin --delete v1.0", "block"),
    ("feature", "git switch main && git push -f", "block"),
    ("feature", "git checkout a.txt && git push -f", "continue"),
    ("main", "git checkout a.txt && git push -f", "block"),
    ("feature", "git switch main || git switch feature; git push -f", "block"),
    ("feature", "git switch --detach && git push -f", "continue"),
    ("feature", "git rebase --continue && git push -f", "block"),
    ("feature", "git init ../x && git push -f", "continue"),
    ("feature", "git switch - && git push -f", "block"),
    ("feature", "git branch -m main && git push -f", "block"),
    ("feature", "git rebase main main && git push -f", "block"),
    ("feature", "git --git-dir ../x/.git push -f", "block"),
    ("feature", "cd $X && git push -f", "block"),
    ("feature", "git -C nowhere push -f", "block"),
    ("feature", "git -c push.default=matching push -f", "block"),
    ("feature", "git -c push.default=upstream push -f", "block"),
    ("main", "git push -f", "block"),
    ("main", "git push --force-with-lease", "block"),
    ("main", "git push -f origin feature", "continue"),
]


@rows("on, line, action", PUSHES)
def test_a_force_push_depends_on_its_branch(clean: Account, on: str, line: str, action: str) -> None:
    """HEAD's branch counts where none is named; an unknown one counts as protected."""
    git(clean.work, "checkout", "-q", on)
    assert clean.wrong("no_force_push", [line], action) == []


def test_a_worktree_has_a_branch_of_its_own(clean: Account) -> None:
    """Main in the repository, a feature in its worktree, and the other way round."""
    other = clean.work / "other"
    git(clean.work, "worktree", "add", "-q", str(other), "main")
    assert clean.wrong("no_force_push", [f"git -C {other} push -f"], "block") == []
    assert clean.wrong("no_force_push", ["git push -f"], "continue") == []
    git(other, "checkout", "-q", "--detach")
    assert clean.wrong("no_force_push", [f"git -C {other} push -f"], "continue") == []
    assert clean.wrong("no_force_push", [f"git -C {other} push -f origin HEAD:main"], "block") == []
    git(clean.work, "checkout", "-q", "main")
    git(other, "checkout", "-q", "feature")
    assert clean.wrong("no_force_push", [f"cd {other} && git push -f"], "continue") == []
    assert clean.wrong("no_force_push", ["git push -f"], "block") == []


def test_an_upstream_s_branch_counts(clean: Account) -> None:
    """Where the settings push to it."""
    git(clean.work, "config", "branch.feature.merge", "refs/heads/main")
    assert clean.wrong("no_force_push", ["git push -f"], "continue") == []
    git(clean.work, "config", "push.default", "upstream")
    assert clean.wrong("no_force_push", ["git push -f"], "block") == []
