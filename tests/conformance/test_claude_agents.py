"""One hook as it is written for Claude Code, under each of seven agents: the effect on the tool call is the same."""

from __future__ import annotations

import json

import pytest

from tests.conformance.claude import hook_line, own
from tests.conftest import Project
from tests.fire.agents import AGENTS, Agent, AgentOf, person_of
from tests.rows import rows


def declare(agent: Agent, output: object, *, event: str = "pre_tool_use", stderr: str = "", code: int = 0) -> None:
    """Declare the project's only hook, with this answer."""
    line = hook_line(output, stderr=stderr, code=code)
    agent.project.hooks({"dialect": "claude", "event": event, "command": line})


@rows("name", AGENTS)
def test_a_denial_in_json_refuses_the_tool_with_its_reason(name: str, agent_of: AgentOf) -> None:
    """In the agent's own words."""
    agent = agent_of(name)
    declare(agent, own("PreToolUse", permissionDecision="deny", permissionDecisionReason="not on Fridays"))
    assert agent.fire(agent.shell()).reason == "not on Fridays"


@rows(
    "name, matcher",
    [*((name, "Bash") for name in AGENTS), *(("gemini", each) for each in ("Ba*", ["Write", "Bash"], "Bash|Edit"))],
)
def test_a_matcher_has_claude_code_s_names_under_every_agent(name: str, matcher: object, agent_of: AgentOf) -> None:
    """In hookrun's own form, too; a tool that it does not name is not its business."""
    agent = agent_of(name)
    line = hook_line(None, stderr="no", code=2)
    agent.project.hooks({"dialect": "claude", "event": "pre_tool_use", "matcher": matcher, "command": line})
    assert agent.fire(agent.shell()).reason == "no"
    agent.project.hooks({"dialect": "claude", "event": "pre_tool_use", "matcher": "Read|Grep", "command": line})
    assert agent.fire(agent.shell()).stdout == b""


@pytest.mark.sampled(7)
def test_new_arguments_are_the_tool_s(agent: Agent) -> None:
    """All of them; an agent that takes none gets a refusal with the call that the model should make instead."""
    declare(agent, own("PreToolUse", permissionDecision="allow", updatedInput={"command": "ls -l"}))
    told = agent.fire(agent.shell("ls"))
    assert "ls -l" in json.dumps(told.args or told.reason)


@rows("name", AGENTS)
def test_exit_1_lets_the_tool_run_and_the_person_know(name: str, agent_of: AgentOf) -> None:
    """At once, or at the end of the turn; it is in the audit in any case."""
    agent = agent_of(name)
    declare(agent, "", stderr="oops", code=1)
    told = agent.fire(agent.shell())
    assert told.reason is None
    assert "failure" in json.dumps(agent.project.audit())
    assert "oops" in person_of(agent, told)


@rows("name", [name for name in AGENTS if name != "cline"])
def test_plain_text_at_the_prompt_reaches_the_model(name: str, agent_of: AgentOf) -> None:
    """In the agent's own form."""
    agent = agent_of(name)
    declare(agent, "be brief", event="user_prompt_submit")
    assert b"be brief" in agent.fire(agent.prompt()).stdout


def test_plain_text_at_the_prompt_does_not_reach_cline_s_model(project: Project) -> None:
    """The audit records that."""
    cline = Agent("cline", project)
    declare(cline, "be brief", event="user_prompt_submit")
    assert cline.fire(cline.prompt()).stdout == b""
    assert "context -> nothing" in str(project.audit()[-1]["degraded"])


@rows("name", AGENTS)
def test_a_file_that_is_written_is_a_call_of_write_or_edit(name: str, agent_of: AgentOf) -> None:
    """With its absolute path, also where the agent has a patch."""
    agent = agent_of(name)
    agent.project.hooks({"dialect": "claude", "command": "cat > read.json; echo no >&2; exit 2"})
    path = str(agent.project.root / "a.txt")
    assert agent.fire(agent.write(path)).reason
    seen = json.loads((agent.project.root / "read.json").read_text())
    assert seen["tool_name"] in ("Write", "Edit")
    assert seen["tool_input"]["file_path"] == path
