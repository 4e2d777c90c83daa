"""Is my guard alive? A row for each guard in `hookrun status`, and `hookrun doctor --prove`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.fire.agents import Agent
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

GUARD: dict[str, object] = {
    "name": "guard",
    "matcher": "bash",
    "command": "grep -q deploy && exit 2; exit 0",
    "on_failure": "block",
}
TESTS = """\
defaults: {event: pre_tool_use, tool: bash, hook: guard}
cases:
  - {name: a deploy, args: {command: make deploy}, expect: {action: block}}
  - {name: a build, args: {command: make build}, expect: {action: continue}}
  - {name: a test, args: {command: make test}, expect: {action: continue}}
"""


def fire(project: Project, command: str, tool: str = "Bash", *, approved: bool = True) -> None:
    """Fire a call of Claude Code, with the project's hooks `approved` first."""
    agent = Agent("claude", project)
    call = agent.call(tool, {"command": command} if tool == "Bash" else {"file_path": command})
    agent.fire(call, event="PreToolUse", approved=approved)


def guards(project: Project) -> dict[str, dict[str, object]]:
    """Return the rows of `hookrun status`."""
    listed = hookrun(project, "status", "--json").json["guards"]
    assert isinstance(listed, list)
    return {each["name"]: each for each in listed}


def age(project: Project) -> None:
    """Let the config files be older than all that happens now."""
    for path in (project.root / "coder.json", project.home / ".config" / "hookrun" / "hooks.json"):
        if path.exists():
            os.utime(path, (1_000_000_000, 1_000_000_000))


def test_a_guard_has_its_last_run_and_refusal(project: Project) -> None:
    """And whether it is approved and connected; calls for other tools do not make it silent."""
    project.hooks(GUARD, {"name": "watcher", "command": "true"})
    age(project)
    assert guards(project).keys() == {"guard"}
    assert (guards(project)["guard"]["approved"], guards(project)["guard"]["state"]) == (False, "not approved")
    for command in ("make deploy", "make build"):
        fire(project, command)
    fire(project, "/a", "Read")
    row = guards(project)["guard"]
    blocked, passed = [each for each in project.audit() if each.get("hook") == "guard"]
    assert (row["last_refusal"], row["last_run"]) == (blocked["time"], passed["time"])
    assert (row["approved"], row["silent_since"]) == (True, None)
    assert "GUARD" in hookrun(project, "status").stdout


def test_a_guard_that_no_call_reaches_is_silent(project: Project) -> None:
    """Here one with a matcher that means no tool; one whose condition did not match has been asked."""
    project.user_hooks(
        {**GUARD, "matcher": "Bsh"},
        {**GUARD, "name": "choosy", "when": {"tool_args.command": "*deploy*"}},
    )
    age(project)
    assert guards(project)["guard"]["silent_since"] is None  # nothing has happened
    fire(project, "make deploy")
    fire(project, "make build")
    first = next(each["time"] for each in project.audit() if each["kind"] == "fire")
    silent = {name: (row["silent_since"], row["calls_since"]) for name, row in guards(project).items()}
    assert silent == {"guard": (first, 2), "choosy": (None, 1)}
    assert "2 calls without a run" in hookrun(project, "status").stdout


def test_calls_before_its_approval_do_not_make_a_guard_silent(project: Project) -> None:
    """Nor are they runs of it: a refusal because it is not approved is none."""
    project.hooks({**GUARD, "matcher": "write"}, {**GUARD, "name": "asked"})
    age(project)
    fire(project, "make build", approved=False)
    project.approve()
    rows = guards(project)
    assert {name: (row["last_run"], row["silent_since"], row["calls_since"]) for name, row in rows.items()} == {
        "guard": (None, None, 0),
        "asked": (None, None, 0),
    }
    assert "approved " in hookrun(project, "status").stdout
    fire(project, "make build")
    first = project.audit()[-1]["time"]
    rows = guards(project)
    assert (rows["guard"]["silent_since"], rows["guard"]["calls_since"], rows["asked"]["last_run"] is None) == (
        first,
        1,
        False,
    )


@pytest.fixture
def connected(project: Project) -> Project:
    """Return a project in which Claude Code is connected, with a guard and its tests."""
    guard = {"event": "pre_tool_use", **GUARD}
    path = project.home / ".config" / "hookrun" / "hooks.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"hooks": [guard, {"recipe": "no-force-push"}, {**guard, "name": "untested"}]}))
    (project.root / "guard.hooktest.yaml").write_text(TESTS)
    assert hookrun(project, "install", "claude").status == 0
    return project


def proofs(project: Project) -> tuple[int, dict[str, tuple[str, str]]]:
    """Return the exit status of `doctor --prove`, and what it found about each guard."""
    done = hookrun(project, "doctor", "claude", "--prove", "--json")
    agents = done.json["agents"]
    assert isinstance(agents, list)
    found = [each for each in agents[0]["findings"] if each["check"] == "guards"]
    return done.status, {each["found"].partition(":")[0]: (each["level"], each["found"]) for each in found}


@pytest.mark.slow
def test_prove_sends_each_guard_what_it_must_block_and_let_pass(connected: Project) -> None:
    """By its tests, or its recipe's; the log marks the runs, which nothing counts."""
    _, found = proofs(connected)
    assert found["guard"] == ("ok", 'guard: blocked "bash make deploy"; 2 harmless calls passed')
    assert found["no-force-push"][1].endswith("; 10 harmless calls passed")
    assert found["untested"][0] == "note"
    runs = [each for each in connected.audit() if each["kind"] == "fire"]
    assert {each.get("proof") for each in runs} == {"guard", "no-force-push"}
    assert len(runs) == 3 + 11
    assert {str(each["hook"]) for each in connected.audit() if each["kind"] == "hook"} == {"guard", "no-force-push"}
    assert hookrun(connected, "stats", "--json").json["hooks"] == []
    assert "no matching entries" in hookrun(connected, "log").stdout
    assert guards(connected)["guard"]["last_run"] is None


@pytest.mark.slow
@rows(
    "command, said",
    [
        ("exit 0", 'guard: did not block "bash make deploy"'),
        ("exit 2", 'guard: blocked "bash make build", which must pass; blocked "bash make test", which must pass'),
        ("exit 1", 'guard: blocked "bash make build", which must pass; blocked "bash make test", which must pass'),
    ],
)
def test_a_guard_that_fails_is_a_problem(connected: Project, command: str, said: str) -> None:
    """With exit status 1."""
    connected.user_hooks({**GUARD, "command": command})
    status, found = proofs(connected)
    assert (status, found["guard"]) == (1, ("problem", said))


def test_a_proof_runs_only_its_guard(project: Project) -> None:
    """Not the other hooks, which may have effects; `why` finds the run by its id."""
    project.user_hooks({"name": "other", "command": "touch ran"}, GUARD)
    agent = Agent("claude", project)
    told = agent.fire(agent.shell("make deploy"), "--proof", "guard", event="PreToolUse")
    assert told.refusal is not None
    assert not (project.root / "ran").exists()
    (run,) = [each for each in project.audit() if each["kind"] == "fire"]
    assert run["proof"] == "guard"
    assert "other: did not run: another guard is proved" in hookrun(project, "why", str(run["request_id"])).stdout
    assert "hookrun allow" not in json.dumps(told.json)  # no tool runs: there is nothing to let through
