"""Formatting and linting once at the end of the turn, over the files that it edited."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.recipes import turn_files
from tests.cli.command import hookrun
from tests.fire.agents import AGENTS, Agent

if TYPE_CHECKING:
    from tests.conftest import Project
    from tests.recipes.account import Account

UNUSED = "import os\nx = {  'a':1 }\n"
FORMATTED = 'import os\n\nx = {"a": 1}\n'


@pytest.fixture
def tools(account: Account, monkeypatch: pytest.MonkeyPatch) -> Account:
    """Return an account with ruff, whose calls are counted, and hooks that wait for the end of the turn."""
    ruff = Path(sys.executable).parent / "ruff"
    account.write("bin/ruff", f'#!/bin/sh\necho "$1" >> {account.home}/calls\nexec {ruff} "$@"\n', 0o755)
    monkeypatch.setenv("PATH", f"{account.work}/bin:/usr/bin:/bin")
    account.options(at="stop")
    return account


def edit(account: Account, name: str, recipe: str, text: str = UNUSED, **context: object) -> dict[str, Any] | None:
    """Have an edit of a file, after which the recipe runs."""
    path = account.write(name, text)
    args = {"file_path": str(path)}
    return account.call(recipe, event="post_tool_use", tool_name="edit", tool_args=args, **context)


def stop(account: Account, recipe: str, **context: object) -> dict[str, Any]:
    """End the turn; return what the recipe answers."""
    return account.call(f"{recipe}:check_turn", event="stop", **context) or {}


def calls(account: Account) -> list[str]:
    """Return what ruff was called for."""
    path = account.home / "calls"
    return path.read_text().split() if path.exists() else []


def test_problems_of_all_files_keep_the_model_working_once(tools: Account) -> None:
    """Each file is linted once, however often it was edited; the next end of the turn has nothing to check."""
    for name in ("a.py", "src/b.py", "a.py", "good.py"):
        assert edit(tools, name, "lint_on_edit", "x = 1\n" if name == "good.py" else UNUSED) is None
    assert calls(tools) == []
    answer = stop(tools, "lint_on_edit")
    assert answer["action"] == "block"
    assert [answer["message"].count(each) for each in ("in a.py", "in src/b.py", "F401", "good.py")] == [1, 1, 2, 0]
    assert calls(tools) == ["check"] * 3
    assert stop(tools, "lint_on_edit", stop_hook_active=True) == {}
    edit(tools, "a.py", "lint_on_edit", "x = 1\n")
    assert stop(tools, "lint_on_edit", stop_hook_active=True) == {}
    assert calls(tools) == ["check"] * 4


def test_files_are_formatted_once(tools: Account) -> None:
    """The user is notified; a file that was removed meanwhile, and one of another session, are left alone."""
    for name in ("a.py", "b.py", "gone.py"):
        assert edit(tools, name, "format_on_edit") is None
    edit(tools, "other.py", "format_on_edit", session_id="s2")
    (tools.work / "gone.py").unlink()
    answer = stop(tools, "format_on_edit")
    assert (answer["action"], set(answer)) == ("continue", {"action", "system_message"})
    assert [answer["system_message"].count(f"formatted {each} with ruff") for each in ("a.py", "b.py")] == [1, 1]
    texts = [(tools.work / each).read_text() for each in ("a.py", "b.py", "other.py")]
    assert texts == [FORMATTED, FORMATTED, UNUSED]
    assert calls(tools) == ["format"] * 2


def test_the_directory_of_the_edit_counts(tools: Account) -> None:
    """Where the agent is at the end of its turn may be another repository."""
    edit(tools, "a.py", "lint_on_edit")
    assert stop(tools, "lint_on_edit", working_dir=str(tools.home))["action"] == "block"


def test_a_linter_that_fails_blocks_nothing(tools: Account) -> None:
    """The user is notified once."""
    tools.write("bin/ruff", "#!/bin/sh\necho broken >&2\nexit 2\n", 0o755)
    edit(tools, "a.py", "lint_on_edit")
    edit(tools, "b.py", "lint_on_edit")
    answer = stop(tools, "lint_on_edit")
    assert (answer["action"], answer["system_message"].count("ruff failed")) == ("continue", 1)


def test_without_time_the_rest_is_named(tools: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found before counts."""
    monkeypatch.setattr(turn_files, "SECONDS", -1.0)
    edit(tools, "a.py", "lint_on_edit")
    assert stop(tools, "lint_on_edit")["system_message"] == "lint-on-edit: no time for 1 of 1 files"


def test_after_each_edit_by_default(tools: Account) -> None:
    """The end of the turn has nothing to do then."""
    tools.options(at="edit")
    assert (edit(tools, "a.py", "lint_on_edit") or {})["action"] == "block"
    assert stop(tools, "lint_on_edit") == {}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [each for each in AGENTS if each != "cline"])  # which cannot be kept working
def test_through_an_agent(project: Project, name: str) -> None:
    """The recipe as it is added: a write by the agent's own tool, then the end of its turn."""
    agent = Agent(name, project)
    assert hookrun(project, "add", "lint-on-edit", "--option", "at=stop", "--option", "linters=bash").status == 0
    path = project.root / "a.sh"
    path.write_text("if true; then\n")
    assert b"found problems" not in agent.fire(agent.write(str(path), "post"), event=agent.events["post"]).stdout
    assert b"found problems" in agent.fire(agent.stop(), event=agent.events["stop"]).stdout
    again = agent.fire(agent.stop(), event=agent.events["stop"])
    assert b"found problems" not in again.stdout
