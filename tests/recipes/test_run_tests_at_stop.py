"""run-tests-at-stop over a session: when tests run again, how often a turn continues, what ends with them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import run_tests_at_stop
from tests.recipes.account import assert_dead

if TYPE_CHECKING:
    from tests.recipes.account import Account

COMMAND = "echo ran >> $HOME/runs; test ! -e broken"
"""Tests that fail while there is a file `broken`, and leave a line each time they run."""


@pytest.fixture
def tested(account: Account) -> Account:
    """Return an account whose project has tests."""
    account.options(command=COMMAND)
    account.write("a.py")
    return account


def stops(account: Account, **context: object) -> str:
    """Return the recipe's answer at the end of a turn."""
    answer = account.call("run_tests_at_stop", event="stop", **context)
    return "continue" if answer is None else str(answer.get("system_message") or answer["action"])


def runs(account: Account) -> int:
    """Return how often the tests ran."""
    path = account.home / "runs"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_after_a_green_run_nothing_runs_until_a_file_changes(tested: Account) -> None:
    """In this session and in another. Changed, new and removed files are changes."""
    assert [stops(tested), stops(tested), runs(tested)] == ["continue", "continue", 1]
    assert [stops(tested, session_id="s2"), runs(tested)] == ["continue", 1]
    tested.write("a.py", "other\n")
    assert [stops(tested), stops(tested), runs(tested)] == ["continue", "continue", 2]
    tested.write("new.py")
    assert [stops(tested), runs(tested)] == ["continue", 3]
    (tested.work / "new.py").unlink()
    assert [stops(tested), runs(tested)] == ["continue", 4]


def test_after_a_red_run_they_run_again_without_a_change(tested: Account) -> None:
    """Only green is remembered."""
    tested.write("broken")
    assert [stops(tested), stops(tested), runs(tested)] == ["block", "block", 2]
    (tested.work / "broken").unlink()
    assert [stops(tested), runs(tested)] == ["continue", 3]


def test_a_session_that_has_changed_nothing_is_not_tested(tested: Account) -> None:
    """Also where the tests failed before it began; what it changes is."""
    tested.write("broken")
    tested.call("run_tests_at_stop:begin", event="session_start")
    assert [stops(tested), runs(tested)] == ["continue", 0]
    tested.write("a.py", "other\n")
    assert [stops(tested), runs(tested)] == ["block", 1]


def test_a_session_that_is_resumed_has_the_beginning_that_it_had(tested: Account) -> None:
    """A change before a compaction still counts."""
    tested.call("run_tests_at_stop:begin", event="session_start")
    tested.write("broken")
    tested.call("run_tests_at_stop:begin", event="session_start")
    assert stops(tested) == "block"


def test_a_turn_goes_on_only_so_often(tested: Account) -> None:
    """After the attempts the turn ends and the user is notified; then the count begins anew."""
    tested.write("broken")
    tested.options(attempts=2)
    said = [stops(tested, stop_hook_active=active) for active in (False, True, True, True)]
    assert said[:2] == ["block", "block"]
    assert said[2].startswith("run-tests-at-stop: ")
    assert said[2].endswith("; the turn ends after 2 blocks")
    assert said[3] == "block"


def test_a_new_turn_has_all_attempts(tested: Account) -> None:
    """The agent reports that the turn was not continued by a hook: the count starts again."""
    tested.write("broken")
    tested.options(attempts=1)
    assert [stops(tested, stop_hook_active=False) for _ in range(3)] == ["block"] * 3


def test_an_agent_that_does_not_say_is_counted_for(tested: Account) -> None:
    """If the agent does not report whether a hook continued the turn, consecutive blocks count."""
    tested.write("broken")
    tested.options(attempts=2)
    assert [stops(tested)[:9] for _ in range(3)] == ["block", "block", "run-tests"]


def test_a_green_run_ends_the_row(tested: Account) -> None:
    """The attempts are there again."""
    tested.write("broken")
    tested.options(attempts=1)
    assert stops(tested) == "block"
    (tested.work / "broken").unlink()
    assert stops(tested) == "continue"
    tested.write("broken")
    assert stops(tested) == "block"


def test_new_files_of_the_tests_are_no_change(account: Account) -> None:
    """A report that the tests write does not make them run forever."""
    account.options(command="echo ran >> $HOME/runs; echo 1 > report.xml")
    account.write("a.py")
    assert [stops(account), stops(account), runs(account)] == ["continue", "continue", 1]


def test_a_file_that_changes_while_they_run_is_a_change(account: Account) -> None:
    """Their last success was with the earlier files."""
    account.options(command="echo ran >> $HOME/runs; echo changed > a.py")
    account.write("a.py")
    assert [stops(account), stops(account), runs(account)] == ["continue", "continue", 2]


def test_what_git_ignores_is_no_change(tested: Account) -> None:
    """Git determines which files belong to a repository."""
    subprocess.run(["git", "init", "-q"], cwd=tested.work, check=True)
    tested.write(".gitignore", "*.log\n")
    assert stops(tested) == "continue"
    tested.write("a.log")
    tested.write("__pycache__/a.pyc")
    assert [stops(tested), runs(tested)] == ["continue", 1]
    tested.write("src/b.py")
    assert [stops(tested), runs(tested)] == ["continue", 2]


@pytest.mark.slow
def test_real_tests_of_pytest(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by their files, run by the pytest on PATH: what failed is reported, and once it is right the turn ends."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    account.write("tests/test_a.py", "def test_sum():\n    assert 1 + 1 == 3\n")
    answer = account.call("run_tests_at_stop", event="stop")
    assert answer is not None
    assert answer["message"].startswith("pytest failed (exit status 1)")
    assert "FAILED tests/test_a.py::test_sum" in answer["message"]
    account.write("tests/test_a.py", "def test_sum():\n    assert 1 + 1 == 2\n")
    assert stops(account) == "continue"
    monkeypatch.setenv("PATH", "/nonexistent")
    assert stops(account) == "continue"


def test_a_project_with_too_many_files_is_always_tested(tested: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are too many to check, a change is possible."""
    monkeypatch.setattr(run_tests_at_stop, "MAX_FILES", 1)
    tested.write("b.py")
    assert [stops(tested), stops(tested), runs(tested)] == ["continue", "continue", 2]


@pytest.mark.slow
def test_what_tests_have_started_ends_with_them(account: Account) -> None:
    """Tests that take too long are killed with all their child processes."""
    account.options(command="sleep 300 & echo $! > pid; wait", seconds="0.5")
    account.write("a.py")
    with pytest.raises(SystemExit, match="timed out"):
        stops(account)
    assert_dead((account.work / "pid").read_text().strip())
