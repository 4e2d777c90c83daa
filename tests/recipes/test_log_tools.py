"""log-tools: a file of the account's alone, whole under many processes."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes.log_tools import RECIPE

if TYPE_CHECKING:
    from tests.conftest import Project


@pytest.mark.slow
def test_calls_at_once_are_all_there_on_whole_lines(project: Project) -> None:
    """12 real runs side by side, into the default file, 0600."""
    project.user_hooks(*map(dict, RECIPE.hooks))

    def fire(number: int) -> str:
        args = {"command": f"echo {number}; export TOKEN=abcdefgh{number}"}
        context = {"session_id": "s1", "tool_name": "bash", "tool_args": args, "tool_use_id": str(number)}
        return project.fire(context).action

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fire, range(12))) == ["continue"] * 12
    path = project.home / ".local/state/hookrun/recipes/log-tools/tools.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(int(each["tool_use_id"]) for each in records) == list(range(12))
    assert {each["tool_input"]["command"].partition("; ")[2] for each in records} == {"export TOKEN=[redacted]"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_call_that_another_hook_refuses_is_logged(project: Project) -> None:
    """The call is logged whatever the other hooks answer, with its agent."""
    project.user_hooks(*map(dict, RECIPE.hooks), {"name": "no", "command": "echo no >&2; exit 2"})
    assert project.fire().action == "block"
    path = project.home / ".local/state/hookrun/recipes/log-tools/tools.jsonl"
    (record,) = [json.loads(line) for line in path.read_text().splitlines()]
    assert (record["event_type"], record["tool_name"], record["session_id"]) == ("pre_tool", "bash", "s1")


def test_a_call_that_a_later_layer_changes_is_logged_as_it_was_and_as_it_is(project: Project) -> None:
    """The user's log runs again for the call that a project's hook has changed."""
    project.user_hooks(*map(dict, RECIPE.hooks))
    project.script("change", '{"action": "modify", "args_patch": {"command": "ls -l"}}')
    project.hooks({"name": "change", "command": "cat change"})
    assert project.fire().action == "modify"
    path = project.home / ".local/state/hookrun/recipes/log-tools/tools.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["tool_input"]["command"] for record in records] == ["ls", "ls -l"]
