"""require-plan over a session: what is a plan, for whom, and what undoes none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrun.recipes.require_plan import PLANNING, RECIPE

if TYPE_CHECKING:
    from tests.conftest import Project
    from tests.recipes.account import Account


def edits(account: Account, **context: object) -> str:
    """Return the action for an edit."""
    answer = account.call("require_plan", tool_name="edit", file_path=str(account.work / "a.py"), **context)
    return "continue" if answer is None else str(answer["action"])


def plans(account: Account, **context: object) -> None:
    """Report that a planning tool was used."""
    given = {"tool_name": "TodoWrite", "tool_args": {"todos": [{"content": "look"}]}, **context}
    assert account.call("require_plan:note", **given) is None


def test_a_plan_lets_the_session_edit_from_then_on(account: Account) -> None:
    """Before it an edit is refused, after it none, in this session."""
    assert edits(account) == "block"
    plans(account)
    assert [edits(account), edits(account), edits(account, session_id="s2")] == ["continue", "continue", "block"]


def test_a_plan_that_failed_or_is_empty_is_none(account: Account) -> None:
    """A refused plan mode comes as a failure; a list without anything to do plans nothing."""
    plans(account, tool_result_error="the person said no")
    plans(account, tool_args={"todos": []})
    assert edits(account) == "block"


def test_a_subagent_has_the_plan_of_the_session_it_came_from(account: Account) -> None:
    """If the agent names that session."""
    plans(account)
    assert edits(account, session_id="sub", root_session_id="s1") == "continue"
    assert edits(account, session_id="sub") == "block"


def test_a_plan_of_a_subagent_is_its_own(account: Account) -> None:
    """Its parent session still needs one."""
    plans(account, session_id="sub", root_session_id="s1")
    assert edits(account) == "block"


def test_a_plan_file_that_is_gone_is_no_plan(account: Account) -> None:
    """It counts as long as the file exists."""
    plan = account.write("PLAN.md", "1. Look.")
    assert edits(account) == "continue"
    plan.unlink()
    assert edits(account) == "block"


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("tool", [PLANNING[0], "update_plan", "write_todos", "todowrite"])
def test_through_real_fires(project: Project, tool: str) -> None:
    """The tool by which an agent plans is noted by the second hook, and asked for by the first."""
    project.user_hooks(*map(dict, RECIPE.hooks))
    edit = {
        "session_id": "s1",
        "tool_name": "edit",
        "tool_args": {"file_path": "a.py"},
        "working_dir": str(project.root),
    }
    assert project.fire(edit).action == "block"
    plan = {"session_id": "s1", "tool_name": tool, "tool_args": {"plan": ["look"]}, "tool_result_output": "ok"}
    noted = project.fire(plan, event="post_tool_use")
    assert [hook["name"] for hook in noted.verdict["hooks"]] == ["require-plan-made"]  # type: ignore[attr-defined]
    assert project.fire(edit).action == "continue"
