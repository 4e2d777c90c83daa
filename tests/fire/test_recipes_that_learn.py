"""The recipes that learn, run by `hookrun fire`: whatever is wrong with their store, verdicts are the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun import Engine
from hookrun.observe import CauseChains, ObserverDatabase, ToolTimes, WorkflowMetrics
from hookrun.recipes import learn_from_errors, learn_patterns, tool_times

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Project

GUARD: dict[str, object] = {"name": "guard", "command": "grep -q sudo && exit 2; exit 0", "on_failure": "block"}
RECIPES = (learn_from_errors, learn_patterns, tool_times)


def learning(project: Project) -> ObserverDatabase:
    """Have a guard and all recipes that learn in a project; return the store."""
    env = {"HOOKRUN_OPTION_TELL": "yes"}
    hooks: list[dict[str, object]] = [{**hook, "env": env} for module in RECIPES for hook in module.RECIPE.hooks]
    project.hooks(GUARD, *hooks)
    return ObserverDatabase(project.home / ".local/state/hookrun/observe.db")


def answers(project: Project, session: str = "s1") -> list[tuple[int, object]]:
    """Return the statuses and actions of a session with a guarded, a failing and a working call."""

    def fire(event: str, command: str, **more: str) -> tuple[int, object]:
        context = {"session_id": session, "tool_name": "bash", "tool_args": {"command": command}, **more}
        fired = project.fire(context, event=event)
        return fired.status, fired.action if fired.status == 0 else None

    return [
        fire("pre_tool_use", "sudo ls"),
        fire("pre_tool_use", "make"),
        fire("post_tool_failure", "make", tool_result_error="make: *** no rule"),
        fire("post_tool_use", "pip install x"),
        fire("post_tool_use", "make"),
        fire("stop", ""),
    ]


def torn(path: Path) -> None:
    """Leave half of something that was a database."""
    path.write_bytes(b"SQLite format 3\0" + b"\x13" * 3000)


def in_the_way(path: Path) -> None:
    """Have a directory where the database and the spool belong."""
    path.mkdir()
    path.with_name("observe.db.spool").mkdir()


def never_emptied(path: Path) -> None:
    """Have a spool that is as large as it may be, and a database that takes nothing."""
    torn(path)
    path.with_name("observe.db.spool").write_bytes(b"\n" * (9 << 20))


def full(path: Path) -> None:
    """Have a spool that takes no byte, as on a full disk."""
    path.with_name("observe.db.spool").symlink_to("/dev/full")


def half_a_line(path: Path) -> None:
    """Have a spool whose last line was torn."""
    path.with_name("observe.db.spool").write_bytes(b'\n{"id": "x", "at": 1.0, "eve')


@pytest.mark.parametrize("trouble", [torn, in_the_way, never_emptied, full, half_a_line])
def test_no_verdict_changes(project: Project, trouble: Callable[[Path], None]) -> None:
    """The guard blocks as before and nothing else does; what the recipes failed at is in the log as theirs."""
    store = learning(project)
    wanted = answers(project)
    assert wanted[:2] == [(2, None), (0, "continue")]
    path = Path(store.path)
    path.unlink()
    trouble(path)
    assert answers(project, "s2") == wanted
    failed = {record["hook"] for record in project.audit() if record.get("failure")}
    assert failed <= {hook["name"] for module in RECIPES for hook in module.RECIPE.hooks}
    assert bool(failed) is (trouble is not half_a_line)


def test_a_home_that_cannot_be_written_to(project: Project) -> None:
    """Nothing blocks: there is no place for the state at all."""
    learning(project)
    wanted = answers(project)
    state = project.home / ".local/state/hookrun"
    state.rename(state.with_name("former"))
    state.write_text("")
    assert answers(project, "s2") == wanted


def test_what_is_learned_of_calls(project: Project) -> None:
    """By way of the command: times, sessions, a lesson that is reported after two sessions, once an event."""
    store = learning(project)
    for session in ("s1", "s2"):
        answers(project, session)
    (bash,) = ToolTimes(store).per_tool()
    assert (bash.tool, bash.count, bash.failures, bash.timed) == ("bash", 6, 2, 2)
    assert WorkflowMetrics(store).session("s2").tool_calls == 3
    assert [each.fix for each in CauseChains(store).lessons()] == ["running `pip install x`"]
    context = {"session_id": "s3", "tool_name": "bash", "tool_args": {"command": "make"}}
    fired = project.fire({**context, "tool_result_error": "make: *** no rule"}, event="post_tool_failure")
    assert "pip install x" in str(fired.verdict["additional_context"])
    again = project.fire({**context, "tool_result_error": "make: *** no rule"}, event="post_tool_failure")
    assert "pip install x" not in str(again.verdict.get("additional_context"))


def test_each_call_of_a_request_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program's `request_id` may be that of many."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with Engine(hooks=[{"recipe": "tool-times"}], directory=tmp_path) as engine:
        request = engine.session(session_id="s1")
        for _ in range(3):
            request.fire_sync("post_tool_use", {"duration_ms": 5}, tool_name="bash", tool_args={"command": "make"})
    (times,) = ToolTimes(ObserverDatabase(tmp_path / ".local/state/hookrun/observe.db")).per_tool()
    assert times.count == 3


@pytest.mark.slow
def test_two_processes_at_once(project: Project) -> None:
    """Calls of two agents that store at the same moment are all there."""
    store = learning(project)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: answers(project, name), ("a", "b")))
    assert [each.tool_calls for each in WorkflowMetrics(store).sessions()] == [3, 3]
