"""Recipes that ask git: no program that a repository names is run."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrun.process import git_query

if TYPE_CHECKING:
    from pathlib import Path

    from tests.recipes.account import Account

ATTRIBUTES = "* filter=x diff=x merge=x\n"


def git(directory: Path, *arguments: str) -> None:
    """Run git, which has to succeed."""
    subprocess.run(["git", "-C", str(directory), *arguments], check=True, capture_output=True)


def programs(account: Account) -> dict[str, str]:
    """Return settings of git that run a program, each of which would leave a file."""
    trap = f"touch {account.home}/RAN; cat"
    return {
        "core.fsmonitor": trap, "core.pager": trap, "pager.status": trap, "pager.log": trap, "pager.config": trap,
        "filter.x.clean": trap, "filter.x.smudge": trap, "filter.x.process": trap, "filter.x.required": "true",
        "diff.x.textconv": trap, "diff.x.command": trap, "merge.x.driver": trap, "diff.external": trap,
        "log.showSignature": "true", "gpg.program": trap, "core.sshCommand": trap, "core.editor": trap,
        "alias.status": f"!{trap}", "alias.log": f"!{trap}", "core.askPass": trap, "core.untrackedCache": "true",
    }  # fmt: skip


def make_repository(directory: Path, file: str) -> None:
    """Make a repository of a directory, with a commit of a file whose attributes name programs."""
    git(directory, "init", "-q", "-b", "main")
    (directory / file).write_text("one\n")
    (directory / ".gitattributes").write_text(ATTRIBUTES)
    git(directory, "add", ".")
    git(directory, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")


@pytest.fixture
def clone(account: Account) -> Account:
    """Return an account that works in a repository with a commit."""
    make_repository(account.work, "a.txt")
    return account


def ran(account: Account) -> bool:
    """Return whether one of the programs was run."""
    return (account.home / "RAN").exists()


def context(account: Account, where: str) -> str:
    """Return the recipe's context at the start of a session in a directory."""
    told = account.call("inject_git_context", event="session_start", working_dir=str(account.work / where))
    return "" if told is None else str(told["additional_context"])


@pytest.mark.parametrize("settings", [{"core.bare": "true"}, {"core.bare": "false", "core.worktree": ".."}])
def test_a_bare_repository_that_a_clone_brings_is_none(clone: Account, settings: dict[str, str]) -> None:
    """A session that begins in a directory which looks like git's own runs nothing that its settings name."""
    tracked = clone.work / "docs"
    git(clone.work, "init", "-q", "--bare", "docs")
    for name, value in {**programs(clone), **settings}.items():
        git(tracked, "--git-dir=.", "config", name, value)
    (tracked / "info" / "attributes").write_text(ATTRIBUTES)
    (tracked / "hooks" / "post-index-change").write_text(f"#!/bin/sh\ntouch {clone.home}/RAN\n")
    (tracked / "hooks" / "post-index-change").chmod(0o755)
    clone.write("a.txt", "two\n")
    assert context(clone, "docs") == ""
    assert git_query.run(str(tracked), "config", "--get-regexp", "^alias") is None
    assert not ran(clone)


def test_programs_of_the_repositorys_own_settings_are_not_run(clone: Account) -> None:
    """Filters, monitors, pagers, hooks, signatures: the state is reported all the same."""
    for name, value in programs(clone).items():
        git(clone.work, "config", name, value)
    (clone.work / ".git" / "info" / "attributes").write_text(ATTRIBUTES)
    clone.write("a.txt", "two\n")
    clone.write("b.txt", "new\n")
    told = context(clone, "")
    assert "Branch main" in told
    assert "M a.txt" in told
    assert "?? b.txt" in told
    assert "first" in told
    assert not ran(clone)


def test_a_filter_of_any_name_is_switched_off(clone: Account) -> None:
    """Also one whose name has dots, special characters and spaces."""
    name = "a.b =c;d"
    for key in ("clean", "process"):
        git(clone.work, "config", f"filter.{name}.{key}", f"touch {clone.home}/RAN; cat")
    git(clone.work, "config", f"filter.{name}.required", "true")
    (clone.work / ".git" / "info" / "attributes").write_text("* filter=x\n")
    git(clone.work, "config", "filter.x.clean", f"touch {clone.home}/RAN; cat")
    clone.write("a.txt", "two\n")
    assert "M a.txt" in context(clone, "")
    assert not ran(clone)


def test_a_submodule_is_not_looked_into(clone: Account) -> None:
    """Its settings are another repository's: git would run their programs too."""
    inner = clone.work / "sub"
    inner.mkdir()
    make_repository(inner, "x.txt")
    git(clone.work, "add", "sub")
    for name, value in programs(clone).items():
        git(inner, "config", name, value)
    (inner / "x.txt").write_text("two\n")
    assert "Branch main" in context(clone, "")
    assert not ran(clone)
