"""log-tools: a file of the account's alone, whole under many processes."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.recipes.log_tools import RECIPE
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project
    from tests.recipes.account import Account

NAME = "Ada Lovelace"
FILE = ".local/state/hookrun/recipes/log-tools/tools.jsonl"


def logged(project: Project) -> list[dict[str, Any]]:
    """Return the records of the default file."""
    return [json.loads(line) for line in (project.home / FILE).read_text().splitlines()]


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
    records = logged(project)
    assert sorted(int(each["tool_use_id"]) for each in records) == list(range(12))
    assert {each["tool_input"]["command"].partition("; ")[2] for each in records} == {"export TOKEN=[redacted]"}
    assert stat.S_IMODE((project.home / FILE).stat().st_mode) == 0o600


def test_a_call_that_another_hook_refuses_is_logged(project: Project) -> None:
    """The call is logged whatever the other hooks answer, with its agent."""
    project.user_hooks(*map(dict, RECIPE.hooks), {"name": "no", "command": "echo no >&2; exit 2"})
    assert project.fire().action == "block"
    (record,) = logged(project)
    assert (record["event_type"], record["tool_name"], record["session_id"]) == ("pre_tool", "bash", "s1")


def test_a_call_that_a_later_layer_changes_is_logged_as_it_was_and_as_it_is(project: Project) -> None:
    """The user's log runs again for the call that a project's hook has changed."""
    project.user_hooks(*map(dict, RECIPE.hooks))
    project.script("change", '{"action": "modify", "args_patch": {"command": "ls -l"}}')
    project.hooks({"name": "change", "command": "cat change"})
    assert project.fire().action == "modify"
    assert [record["tool_input"]["command"] for record in logged(project)] == ["ls", "ls -l"]


@rows("priority, output", [({}, "hid [redacted]"), ({"priority": 0}, f"hid {NAME}")])
def test_the_original_of_a_redacted_output_is_logged_only_where_told_to(
    project: Project, priority: dict[str, object], output: str
) -> None:
    """By default it runs last, and sees what a hook has put there."""
    (project.home / FILE).unlink(missing_ok=True)
    hide = f"""jq -c '{{action: "modify", modified_output: (.tool_result_output | gsub("{NAME}"; "[redacted]"))}}'"""
    project.user_hooks(
        *({**hook, **priority} for hook in RECIPE.hooks),
        {"name": "hide", "event": "post_tool_use", "command": hide, "priority": 500},
    )
    project.fire({"tool_name": "bash", "tool_result_output": f"hid {NAME}"}, event="post_tool_use")
    (record,) = logged(project)
    assert record["tool_output"] == output


def test_only_so_many_rotated_files_are_kept(account: Account) -> None:
    """The oldest goes."""
    account.options(file=str(account.work / "log.jsonl"), max_bytes=9, keep=1)
    for _ in range(3):
        account.call("log_tools", event="pre_tool_use", tool_name="bash", tool_args={"command": "make"})
    assert [each.name for each in account.work.glob("log.jsonl.*")] == ["log.jsonl.1"]
