"""Lines about failed hooks say how the call ended: to the user, to the model, on stderr, in the log."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.cli.command import hookrun
from tests.conftest import Project
from tests.fire.agents import AGENTS, Agent, AgentOf, Json, says
from tests.rows import rows

FAILED = "failed (exit_code): it exited with status 3"
LINT: Json = {"name": "lint", "command": "exit 3"}
BLOCKS: Json = {"name": "guard", "command": says(action="block", message="not this")}
ASKS: Json = {"name": "guard", "command": says(action="ask", message="sure?")}
REPLACES: Json = {"name": "guard", "command": says(action="modify", modified_args={"command": "ls"})}
ON_THE_FIRST: Json = {"when": {"file_path": "*/one"}}
ON_THE_SECOND: Json = {"when": {"file_path": "*/two"}}
PATCH = "*** Begin Patch\n*** Add File: one\n+x\n*** Add File: two\n+x\n*** End Patch\n"
SHOWING = ("claude", "codex", "gemini", "copilot", "cline", "opencode", "kilo", "pi", "vibe", "grok")
"""Agents in which a text reaches the user before a tool, through the model perhaps."""


@pytest.fixture
def agent_of(tmp_path: Path, server: object) -> AgentOf:
    """Return a function that returns an agent with a project of its own, for the rows of a table."""
    return lambda name: Agent(name, Project(Path(tempfile.mkdtemp(prefix=name, dir=tmp_path))))


def recorded(agent: Agent) -> list[object]:
    """Return how the failures in the log say that their calls ended."""
    return [record.get("consequence") for record in agent.project.audit() if record.get("failure")]


ENDS: dict[str, tuple[tuple[Json, ...], dict[str, str], str]] = {
    "nobody objects": ((), {}, "the call continued"),
    "another blocks": ((BLOCKS,), {}, "the call was blocked"),
    "another asks": (
        (ASKS,),
        {
            **dict.fromkeys(("codex", "gemini", "cline", "opencode", "kilo", "pi", "vibe"), "the call was blocked"),
            "qwen": "the call needed the user's approval",
        },
        "the call needed the user's approval",
    ),
}
"""The hooks besides one that fails, and how its line ends: in agents that do otherwise, in all others."""


@rows("name", AGENTS)
@rows("hooks, elsewhere, consequence", ENDS.values(), ids=ENDS)
def test_the_log_and_the_user_learn_how_the_call_ended_after_a_failure(
    hooks: tuple[Json, ...], elsewhere: dict[str, str], consequence: str, name: str, agent_of: AgentOf
) -> None:
    """As the agent was answered: one that cannot ask blocks. The user sees it once, in the line about the failure."""
    agent, end = agent_of(name), elsewhere.get(name, consequence)
    agent.project.hooks(LINT, *hooks)
    shown = agent.fire(agent.shell()).shown
    assert recorded(agent) == [end]
    assert (shown.count(FAILED), shown.count(f"hook lint {FAILED}; {end}")) == (SHOWING.count(name),) * 2


@rows("name", AGENTS)
def test_a_failure_that_blocks_says_so_once(name: str, agent_of: AgentOf) -> None:
    """In the reason."""
    agent = agent_of(name)
    agent.project.hooks({**LINT, "on_failure": "block"})
    told = agent.fire(agent.shell())
    assert told.reason == f"hook lint {FAILED}, so the call was blocked"
    assert recorded(agent) == ["so the call was blocked"]


def test_what_cannot_be_changed_is_blocked(agent_of: AgentOf) -> None:
    """Where a change becomes a block, that is how the call ended."""
    agent = agent_of("codex")
    agent.project.hooks(LINT, {**REPLACES, "command": says(action="modify", modified_args={"file_path": "/x"})})
    told = agent.fire(agent.call("apply_patch", {"command": PATCH}))
    blocked = told.reason is not None
    assert set(recorded(agent)) == {"the call was blocked" if blocked else "the call continued"}
    assert blocked


@rows("failing, blocking", [(ON_THE_FIRST, ON_THE_SECOND), (ON_THE_SECOND, ON_THE_FIRST)])
def test_a_call_of_several_ends_as_all_of_it(failing: Json, blocking: Json, agent_of: AgentOf) -> None:
    """A hook fails on one file of a patch, another blocks the other file: nothing of the patch is applied."""
    agent = agent_of("codex")
    agent.project.hooks({**LINT, **failing}, {**BLOCKS, **blocking})
    told = agent.fire(agent.call("apply_patch", {"command": PATCH}))
    assert told.reason == "not this"
    assert f"hook lint {FAILED}; the call was blocked" in told.shown
    assert recorded(agent) == ["the call was blocked"]


@rows("guards, consequence", [((), "the prompt was sent"), ((BLOCKS,), "the prompt was blocked")])
def test_a_prompt_is_a_prompt(guards: tuple[Json, ...], consequence: str, agent_of: AgentOf) -> None:
    """Not a call."""
    agent = agent_of("claude")
    agent.project.hooks(*({**each, "event": "user_prompt_submit"} for each in (LINT, *guards)))
    assert f"hook lint {FAILED}; {consequence}" in agent.fire(agent.prompt()).shown


def test_a_permission_request_is_left_to_the_user(agent_of: AgentOf) -> None:
    """Where no hook answers it."""
    agent = agent_of("claude")
    agent.project.hooks({**LINT, "event": "permission_request"})
    message = {**agent.shell(), "hook_event_name": "PermissionRequest"}
    assert f"hook lint {FAILED}; the call needed the user's approval" in agent.fire(message).shown


def test_where_nothing_can_be_refused_nothing_is_added(agent_of: AgentOf) -> None:
    """After a tool, and at the end of a turn."""
    agent = agent_of("claude")
    agent.project.hooks({**LINT, "event": ["post_tool_use", "stop"]})
    assert agent.fire(agent.ran()).shown == f"hook lint {FAILED}"
    assert agent.fire({**agent.stop(), "session_id": "another"}).shown == f"hook lint {FAILED}"
    assert recorded(agent) == [None, None]


@rows("name", ["claude", "codex", "gemini", "opencode"])
def test_what_a_failing_hook_says_reaches_the_user_once_a_session_and_cause(name: str, agent_of: AgentOf) -> None:
    """What another hook says besides does so each time, and a refusal too; the log has every failure."""
    agent = agent_of(name)
    says_what: Json = {"name": "check", "dialect": "claude", "command": "cat cause >&2; exit 1"}
    agent.project.hooks(says_what, {"name": "told", "command": says(action="continue", system_message="each-time")})
    shown = []
    for cause in ("one", "one", "two", "one"):
        (agent.project.root / "cause").write_text(cause)
        shown.append(agent.fire(agent.shell()).shown)
    line = "hook check failed (exit_code): it exited with status 1; the call continued; stderr:"
    assert shown == [f"{line} one\neach-time", "each-time", f"{line} two\neach-time", "each-time"]
    assert recorded(agent) == ["the call continued"] * 4


def test_unapproved_hooks_say_it_in_each_line(agent_of: AgentOf) -> None:
    """Before what the model shall ask the user for."""
    agent = agent_of("claude")
    agent.project.hooks(LINT, {"name": "broken", "command": "true", "timeout": "soon", "on_failure": "block"})
    told = agent.fire(agent.shell(), approved=False)
    untrusted, declared, *_ = str(told.refusal).splitlines()
    assert untrusted.startswith("hook lint did not run: not approved: review with `hookrun trust ")
    assert untrusted.endswith("`; the call was blocked")  # not because of this one
    assert declared.startswith("hook broken failed (declaration): ")
    assert declared.endswith("; the call was blocked")


def test_what_the_hook_printed_comes_last(agent_of: AgentOf) -> None:
    """It may be long, be cut, and is not of hookrun's words."""
    agent = agent_of("claude")
    agent.project.hooks({"name": "lint", "command": "echo one >&2; echo two >&2; exit 3"})
    assert agent.fire(agent.shell()).shown == f"hook lint {FAILED}; the call continued; stderr: one\ntwo"


def test_a_guard_that_could_not_check_a_change_says_it(agent_of: AgentOf) -> None:
    """Its failure is a block, whatever its `on_failure`."""
    agent = agent_of("claude")
    fails = "grep -q '\"ls -l\"' && exit 3; true"
    agent.project.user_hooks({"name": "guard", "command": fails})
    agent.project.hooks(
        {**REPLACES, "name": "longer", "command": says(action="modify", args_patch={"command": "ls -l"})}
    )
    reason = agent.fire(agent.shell()).reason
    assert reason == (
        "hook guard could not check the changed arguments (exit_code: it exited with status 3), so the call was blocked"
    )


def test_a_user_sees_it_on_stderr_in_the_log_and_in_explanations(project: Project) -> None:
    """The log shows what was recorded."""
    project.hooks(LINT, {**BLOCKS, "when": {"tool_args.command": "rm *"}})
    fired = project.fire(None, "--explain")
    line = f"hook lint {FAILED}; the call continued"
    assert fired.verdict["system_message"] == line
    assert f"warning: {line}\n" in fired.stderr
    assert "failed (exit_code: it exited with status 3; the call continued)" in fired.stderr
    assert fired.audit[0]["consequence"] == "the call continued"
    shown = "it exited with status 3; the call continued"
    assert shown in hookrun(project, "log").stdout
    assert f"{shown} (coder.json:1)" in hookrun(project, "why").stdout
    assert '"consequence":"the call continued"' in hookrun(project, "log", "--json").stdout
    project.approve()
    assert f"exit_code: {shown}" in " ".join(hookrun(project, "try", "ls", "--agent", "claude").stdout.split())
    assert line in str(hookrun(project, "try", "ls", "--agent", "claude", "--json").json["told"])
    blocked = "it exited with status 3; the call was blocked"
    assert f"exit_code: {blocked}" in " ".join(hookrun(project, "try", "rm -r x", "--agent", "claude").stdout.split())


@pytest.mark.only_cold
def test_explain_says_what_will_become_of_it(project: Project) -> None:
    """Also of the call."""
    project.hooks({**LINT, "command": "./missing.sh", "on_failure": "block"})
    project.approve()
    shown = " ".join(hookrun(project, "explain", "pre_tool_use", "--tool", "bash", "--agent", "claude").stdout.split())
    assert "lint fails missing: its program ./missing.sh does not exist (blocks the call)" in shown
