"""One hook as it is written for Claude Code, under each of seven agents: the effect on the tool call is the same."""

from __future__ import annotations

import json

import pytest

from tests.conformance.claude import hook_line, own
from tests.conftest import Project
from tests.fire.agents import AGENTS, Agent
from tests.fire.test_agent_verdicts import MODIFIES


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest, project: Project) -> Agent:
    """Return each agent in turn."""
    return Agent(request.param, project)


def declare(agent: Agent, output: object, *, event: str = "pre_tool_use", stderr: str = "", code: int = 0) -> None:
    """Declare the project's only hook, with this answer."""
    line = hook_line(output, stderr=stderr, code=code)
    agent.project.hooks({"dialect": "claude", "event": event, "command": line})


@pytest.mark.sampled(3)
def test_a_denial_in_json_refuses_the_tool_with_its_reason(agent: Agent) -> None:
    """In the agent's own words."""
    declare(agent, own("PreToolUse", permissionDecision="deny", permissionDecisionReason="not on Fridays"))
    assert agent.fire(agent.shell()).reason == "not on Fridays"


@pytest.mark.sampled(7)
@pytest.mark.parametrize("matcher", ["Bash", "Ba*", ["Write", "Bash"], "Bash|Edit"])
def test_a_matcher_has_claude_code_s_names_under_every_agent(agent: Agent, matcher: object) -> None:
    """In hookrun's own form, too; a tool that it does not name is not its business."""
    line = hook_line(None, stderr="no", code=2)
    agent.project.hooks({"dialect": "claude", "event": "pre_tool_use", "matcher": matcher, "command": line})
    assert agent.fire(agent.shell()).reason == "no"
    agent.project.hooks({"dialect": "claude", "event": "pre_tool_use", "matcher": "Read|Grep", "command": line})
    assert agent.fire(agent.shell()).stdout == b""


@pytest.mark.sampled(4)
def test_new_arguments_are_the_tool_s(agent: Agent) -> None:
    """All of them; an agent that takes none gets a refusal with the call that the model should make instead."""
    declare(agent, own("PreToolUse", permissionDecision="allow", updatedInput={"command": "ls -l"}))
    told = agent.fire(agent.shell("ls"))
    if agent.name in MODIFIES:
        assert (told.command, told.reason) == ("ls -l", None)
    else:
        assert '{"command": "ls -l"}' in str(told.reason)


@pytest.mark.sampled(3)
def test_exit_1_lets_the_tool_run_and_the_person_know(agent: Agent) -> None:
    """Where the agent can show it to the user; it is in the audit in any case."""
    declare(agent, "", stderr="oops", code=1)
    told = agent.fire(agent.shell())
    assert told.reason is None
    assert "failure" in json.dumps(agent.project.audit())
    degraded = str(agent.project.audit()[-1].get("degraded"))
    assert "oops" in told.person or "system_message -> nothing" in degraded or "system_message -> later" in degraded


@pytest.mark.sampled(4)
def test_plain_text_at_the_prompt_reaches_the_model(agent: Agent) -> None:
    """Or the audit records that it did not."""
    declare(agent, "be brief", event="user_prompt_submit")
    told = agent.fire(agent.prompt())
    degraded = str(agent.project.audit()[-1].get("degraded"))
    assert "be brief" in told.stdout.decode() or "context -> nothing" in degraded


@pytest.mark.sampled(3)
def test_a_file_that_is_written_is_a_call_of_write_or_edit(agent: Agent) -> None:
    """With its absolute path, also where the agent has a patch."""
    agent.project.hooks({"dialect": "claude", "command": "cat > read.json; echo no >&2; exit 2"})
    path = str(agent.project.root / "a.txt")
    assert agent.fire(agent.write(path)).reason
    seen = json.loads((agent.project.root / "read.json").read_text())
    assert seen["tool_name"] in ("Write", "Edit")
    assert seen["tool_input"]["file_path"] == path
