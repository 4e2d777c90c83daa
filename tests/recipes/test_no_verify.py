"""no-verify in a repository: aliases that it has, and directories of hooks."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.recipes.account import Account


@pytest.fixture
def repository(account: Account) -> Account:
    """Return an account whose working directory is a repository with aliases."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(account.work)], check=True)
    for name, value in (("ci", "commit --no-verify"), ("quick", "!HUSKY=0 git commit"), ("st", "status")):
        subprocess.run(["git", "-C", str(account.work), "config", f"alias.{name}", value], check=True)
    return account


def test_aliases_are_followed(repository: Account) -> None:
    """Of git's commands, and those that are lines of shell."""
    assert repository.wrong("no_verify", ["git ci -m x", "git quick -m x", "git -C . ci"], "block") == []
    assert repository.wrong("no_verify", ["git st", "git -c alias.ci=commit ci -m x"], "continue") == []


def test_a_directory_in_the_repository_may_have_the_hooks(repository: Account) -> None:
    """By its absolute path, too; not one outside, nor one of another name."""
    inside = f"git config core.hooksPath {repository.work}/.githooks"
    outside = [f"git config core.hooksPath {place}" for place in ("/tmp/hooks", "../hooks", "~/.githooks", "''")]
    assert repository.wrong("no_verify", [inside, "git config core.hooksPath ./.husky/_"], "continue") == []
    assert repository.wrong("no_verify", outside, "block") == []


def test_a_link_to_the_hooks_is_followed(repository: Account) -> None:
    """The cheap test sees it, and so does the check."""
    (repository.work / "h").symlink_to(repository.work / ".git" / "hooks")
    assert repository.wrong("no_verify", ["rm h/pre-commit", "cd h && rm pre-commit"], "block") == []


def test_a_script_that_the_line_runs_counts(repository: Account) -> None:
    """The cheap test sees it, and the reason names the script and its line."""
    repository.write("release", "#!/bin/sh\nset -e\ngit commit --no-verify -m x\n", 0o755)
    repository.write("quiet.sh", "rm .git/hooks/pre-commit\n")
    repository.write("fine.sh", "git commit -m x\n")
    assert repository.wrong("no_verify", ["./release", "sh release", "sh ./quiet.sh"], "block") == []
    assert repository.wrong("no_verify", ["sh fine.sh", "sh missing.sh"], "continue") == []
    assert (repository.answer("no_verify", "./release") or {})["message"].count("(./release, line 3)") == 1
