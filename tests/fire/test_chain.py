"""Several hooks on one call, as real processes: each sees the earlier changes, and no change bypasses a guard."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Project
from tests.waiting import limit

SEES = 'grep -q -e "{text}" && {{ echo "{text} is not allowed" >&2; exit 2; }}; exit 0'


def patches(**change: object) -> str:
    """Return a shell line that patches the arguments."""
    return f"cat >/dev/null; echo '{json.dumps({'action': 'modify', 'args_patch': change})}'"


def refuses(text: str) -> str:
    """Return a shell line that blocks a context with this text in it."""
    return SEES.format(text=text)


CONTEXT = {"tool_name": "bash", "tool_args": {"command": "git push", "timeout": 5}}


def test_a_projects_change_does_not_slip_past_the_users_guard(project: Project) -> None:
    """A user guard passes the call, a project hook turns it into what the guard forbids: blocked on the recheck."""
    project.user_hooks({"name": "guard", "matcher": "bash", "command": refuses("--force")})
    project.hooks({"name": "rewrite", "command": patches(command="git push --force")})
    fired = project.fire(CONTEXT)
    assert (fired.status, fired.verdict["message"]) == (2, "--force is not allowed")
    assert [(hook["name"], hook.get("recheck")) for hook in fired.verdict["hooks"]] == [  # type: ignore[attr-defined]
        ("guard", None),
        ("rewrite", None),
        ("guard", True),
    ]
    assert fired.record("guard")["recheck"] is True


def test_a_project_hook_cannot_come_before_the_users(project: Project) -> None:
    """Priority orders hooks within a layer only: the user's guard runs before any hook of the project."""
    project.user_hooks({"name": "guard", "priority": 1000, "command": "cat >/dev/null; exit 2"})
    project.hooks({"name": "eager", "priority": 0, "command": "touch ran"})
    assert project.fire(CONTEXT).status == 2
    assert not (project.root / "ran").exists()


def test_parallel_hooks_really_run_side_by_side(project: Project) -> None:
    """Two parallel hooks that wait for each other both finish."""
    wait = "touch {0}; while [ ! -e {1} ]; do sleep 0.02; done"
    project.hooks(
        {"name": "a", "command": wait.format("a", "b"), "parallel": True, "timeout": limit()},
        {"name": "b", "command": wait.format("b", "a"), "parallel": True, "timeout": limit()},
    )
    fired = project.fire(CONTEXT)
    assert [hook["failure"] for hook in fired.verdict["hooks"]] == [None, None]  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_same_input_gives_the_same_answer(project: Project) -> None:
    """Eight parallel hooks that race to change one key give one answer, twenty times over."""
    project.hooks(*({"name": f"h{i}", "command": patches(command=f"c{i}"), "parallel": True} for i in range(8)))
    answers = {json.dumps(project.fire(CONTEXT).verdict["modified_args"]) for _ in range(20)}
    assert answers == {'{"command": "c7", "timeout": 5}'}


def test_a_decoy_key_does_not_exempt_from_a_guard(project: Project) -> None:
    """A key with a dot, added to the arguments, neither hides a value from `when` nor satisfies `unless`."""
    project.hooks(
        {"name": "when", "when": {"tool_args.to.path": "/etc/*"}, "mode": "advise", "command": "exit 2"},
        {"name": "unless", "unless": {"tool_args.to.path": "/tmp/*"}, "command": "exit 2"},
    )
    fired = project.fire({"tool_name": "write", "tool_args": {"to": {"path": "/etc/passwd"}, "to.path": "/tmp/x"}})
    assert fired.status == 2
    assert [hook["name"] for hook in fired.verdict["hooks"]] == ["when", "unless"]  # type: ignore[attr-defined]


def test_arguments_nested_to_the_limit_do_not_lose_a_block(project: Project) -> None:
    """An answer nested nearly too deeply does not make the next hook unreadable, and a block after it is kept."""
    brackets = "printf '[%.0s' $(seq 199); printf ']%.0s' $(seq 199)"
    deep = f"""printf '{{"action": "modify", "args_patch": {{"a": '; {brackets}; echo }}}}"""
    project.hooks(
        {"name": "deep", "command": deep},
        {"name": "guard", "command": "cat >/dev/null; exit 2"},
        {"name": "watch", "command": "cat >/dev/null", "always": True},
    )
    fired = project.fire(CONTEXT)
    assert (fired.status, fired.action) == (2, "block")


def test_the_context_is_kept_where_the_user_wants_that(project: Project) -> None:
    """`audit.details: full` in the user layer puts the whole context into the audit."""
    project.hooks({"command": "true"})
    assert "context" not in project.fire(CONTEXT).audit[-1]
    project.user_hooks(audit={"details": "full"})
    assert project.fire(CONTEXT).audit[-1]["context"]["tool_args"] == CONTEXT["tool_args"]  # type: ignore[index]
    large = {**CONTEXT, "user_prompt": "x" * (2 << 20)}
    assert int(str(project.fire(large).audit[-1]["context_bytes"])) > 2 << 20
