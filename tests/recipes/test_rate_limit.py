"""rate-limit in several calls: exactly so many are let through, however many come at once, until time has passed."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

import pytest

from hookrun.core.state import file_name_for
from hookrun.recipes import recipe_state
from hookrun.recipes.rate_limit import NAME, RECIPE, check

if TYPE_CHECKING:
    from tests.conftest import Project
    from tests.recipes.account import Account


def calls(account: Account, *requests: str, tool: str = "bash", session: str = "s1") -> list[str]:
    """Return the action for each call."""
    answers = [account.call("rate_limit", tool_name=tool, request_id=each, session_id=session) for each in requests]
    return ["continue" if answer is None else answer["action"] for answer in answers]


def test_each_tool_and_each_session_has_a_limit_of_its_own(account: Account) -> None:
    """Calls of one do not count for the others."""
    account.options(calls=2)
    assert calls(account, "r1", "r2", "r3") == ["continue", "continue", "block"]
    assert calls(account, "r4", tool="edit") == ["continue"]
    assert calls(account, "r5", session="s2") == ["continue"]


def test_a_refused_call_does_not_count(account: Account) -> None:
    """Once the first call is old enough there is room again, however often was tried in vain."""
    account.options(calls=1)
    assert calls(account, "r1", "r2", "r3") == ["continue", "block", "block"]
    with recipe_state.LockedState(NAME, "s1", "bash") as remembered:
        assert len(cast("list[object]", remembered["calls"])) == 1
        remembered["calls"] = [[time.time() - 61, "r1"]]
    assert calls(account, "r4", "r5") == ["continue", "block"]


def test_a_call_that_is_looked_at_twice_counts_once(account: Account) -> None:
    """When another hook has changed a call, guards run once more on the same request."""
    account.options(calls=2)
    assert calls(account, "r1", "r1", "r2", "r2", "r3") == ["continue"] * 4 + ["block"]


@pytest.mark.slow
def test_a_call_that_a_later_layer_changes_counts_once(project: Project) -> None:
    """In real runs: the second call is still allowed, the third is not."""
    project.user_hooks({**RECIPE.hooks[0], "env": {"HOOKRUN_OPTION_CALLS": "2"}})
    project.script("change", '{"action": "modify", "args_patch": {"command": "ls -l"}}')
    project.hooks({"name": "change", "command": "cat change"})
    assert [project.fire().action for _ in range(3)] == ["modify", "modify", "block"]


def test_a_clock_that_was_put_back_does_not_lock_the_tool(account: Account) -> None:
    """Calls of the future are none."""
    account.options(calls=1)
    with recipe_state.LockedState(NAME, "s1", "bash") as remembered:
        remembered["calls"] = [[time.time() + 86_400, "r0"]]
    assert calls(account, "r1") == ["continue"]


def test_how_long_to_wait_is_told(account: Account) -> None:
    """In whole seconds, at least one, at most the span."""
    account.options(calls=1)
    calls(account, "r1")
    answer = account.call("rate_limit", tool_name="bash", request_id="r2")
    assert answer is not None
    words = answer["message"].split()
    assert words[:10] == ["bash", "is", "limited", "to", "1", "calls", "in", "60", "s:", "wait"]
    assert 1 <= int(words[10]) <= 60


def test_foreign_memories_are_none(account: Account) -> None:
    """Invalid data counts as no calls."""
    account.options(calls=1)
    with recipe_state.LockedState(NAME, "s1", "bash") as remembered:
        remembered["calls"] = {"r1": 1}
    assert calls(account, "r1", "r2") == ["continue", "block"]


class KilledError(BaseException):
    """Ends a call as a signal would."""


def killed(*_: object) -> None:
    """End the call."""
    raise KilledError


def test_a_call_that_is_killed_while_it_writes_leaves_a_whole_file(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between writing and cutting the file, and before: counted calls stay counted, and its lock is free again."""
    context = {"session_id": "s1", "tool_name": "bash", "request_id": "r9"}
    path = account.home / ".local/state/hookrun/recipes" / NAME / file_name_for("s1", "bash")
    with recipe_state.LockedState(NAME, "s1", "bash") as remembered:
        remembered["calls"] = [[time.time() - age, f"r{age}"] for age in (100, 100, 100, 5)]
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", killed)
        with pytest.raises(KilledError):
            check(context)
    assert [each[1] for each in json.loads(path.read_bytes())["calls"]] == ["r5", "r9"]
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", killed)
        with pytest.raises(KilledError):
            check(context | {"request_id": "r10"})
    assert path.read_bytes() == before
    assert calls(account, "r9") == ["continue"]


@pytest.mark.slow
def test_a_hundred_calls_at_once_are_a_hundred(project: Project) -> None:
    """Real runs, some of which find no file, or find it in use."""
    options = {"HOOKRUN_OPTION_CALLS": "101", "HOOKRUN_OPTION_SECONDS": "3600"}
    project.user_hooks({**RECIPE.hooks[0], "env": options})
    with ThreadPoolExecutor(8) as pool:
        fired = list(pool.map(lambda _: project.fire(), range(103)))
    assert sorted((each.action, each.status) for each in fired) == [("block", 2)] * 2 + [("continue", 0)] * 101
    path = project.home / ".local/state/hookrun/recipes" / NAME / file_name_for("s1", "bash")
    assert len(json.loads(path.read_bytes())["calls"]) == 101
