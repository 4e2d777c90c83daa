"""Recipes with the real programs: ruff formats and checks, git reports; and each missing one is reported once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import git_repository, notify_channels

if TYPE_CHECKING:
    from tests.recipes.account import Account

RUFF = str(Path(sys.executable).parent)


@pytest.fixture
def with_ruff(account: Account, monkeypatch: pytest.MonkeyPatch) -> Account:
    """Return an account with ruff on PATH."""
    monkeypatch.setenv("PATH", os.pathsep.join([RUFF, "/usr/bin", "/bin"]))
    return account


def written(account: Account, recipe: str, path: Path) -> dict[str, object]:
    """Return the recipe's message after a file was written; there is one."""
    args = {"file_path": str(path), "content": path.read_text()}
    answer = account.call(recipe, event="post_tool_use", tool_name="write", tool_args=args)
    assert answer is not None
    return answer


def test_ruff_formats_and_the_lines_are_told(with_ruff: Account) -> None:
    """The first line stays, the two after it become others."""
    path = with_ruff.write("a.py", 'a = "b"\nx={ }\ny=1\n')
    answer = written(with_ruff, "format_on_edit", path)
    assert path.read_text() == 'a = "b"\nx = {}\ny = 1\n'
    expected = "formatted a.py with ruff; lines 2 to 3 changed: read them again before you edit them"
    assert answer == {"action": "continue", "additional_context": expected}


def test_ruff_checks_and_its_lines_are_fed_back(with_ruff: Account) -> None:
    """With the file's own name."""
    path = with_ruff.write("src/a.py", "import os\n")
    answer = written(with_ruff, "lint_on_edit", path)
    assert answer["action"] == "block"
    assert str(answer["message"]).startswith("ruff found problems in src/a.py. Fix them:\nsrc/a.py:1:8: F401")


def test_what_is_missing_is_told_once(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each type of file, in a session."""
    monkeypatch.setenv("PATH", str(account.work))
    contexts = [{"file_path": str(account.write(name))} for name in ("a.py", "b.py", "c.go")]
    for recipe in ("format_on_edit", "lint_on_edit"):
        answers = [account.call(recipe, event="post_tool_use", tool_args=each) for each in contexts]
        assert [answer is None for answer in answers] == [False, True, False]


def test_project_tools_are_run_only_for_the_projects_own_declaration(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the user's own runs in every project: there untrusted programs are not run."""
    monkeypatch.setenv("PATH", "/nonexistent")
    path = account.write("a.py", "import os\n")
    account.write(".venv/bin/ruff", "#!/bin/sh\necho theirs\nexit 1\n", 0o755)
    assert "theirs" in str(written(account, "lint_on_edit", path)["message"])
    monkeypatch.setenv("HOOKRUN_CONFIG_DIR", str(account.home / ".config" / "hookrun"))
    answer = written(account, "lint_on_edit", path)
    assert (answer["action"], "project_tools" in str(answer["system_message"])) == ("continue", True)


def test_a_branch_is_read_as_git_has_it(account: Account) -> None:
    """In a repository, further down in it, in a worktree of it, and nowhere."""

    def run(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", *arguments], cwd=account.work, check=True)

    assert git_repository.branch(str(account.work)) is None
    run("init", "-q", "-b", "feature/AB-1")
    run("commit", "-q", "--allow-empty", "-m", "x")
    run("worktree", "add", "-q", "-b", "AB-2", "other")
    (account.work / "deep" / "er").mkdir(parents=True)
    names = [git_repository.branch(str(account.work / each)) for each in (".", "deep/er", "other")]
    assert names == ["feature/AB-1", "feature/AB-1", "AB-2"]
    run("checkout", "-q", "--detach")
    assert git_repository.branch(str(account.work)) is None


def test_a_ticket_is_told_once_until_the_branch_changes(account: Account) -> None:
    """With a prompt; when the session begins anew, after a compaction, it is given again."""

    def told(event: str, branch: str) -> bool:
        account.write(".git/HEAD", f"ref: refs/heads/{branch}\n")
        return account.call("ticket_from_branch", event=event) is not None

    prompts = [told("user_prompt_submit", branch) for branch in ("AB-1", "AB-1", "AB-2", "main", "AB-2")]
    assert prompts == [True, False, True, False, False]
    assert [told("session_start", "AB-2"), told("session_start", "AB-2")] == [True, True]


def test_without_ps_no_terminal_is_found(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bell reports it; nothing is raised."""
    monkeypatch.setenv("PATH", str(account.work))
    assert notify_channels.terminal_device() is None
