"""One hook as it is written for Claude Code, under each of seven agents: the effect on the tool call is the same."""

from __future__ import annotations

import json

from tests.conformance.claude import hook_line
from tests.fire.agents import AGENTS, AgentOf, person_of
from tests.rows import rows


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


@rows("name", AGENTS)
def test_what_is_no_answer_arrives_all_the_same(name: str, agent_of: AgentOf) -> None:
    """Exit status 1 lets the tool run, and the user sees it; the model gets plain text at the prompt, or the audit."""
    agent = agent_of(name)
    failing: dict[str, object] = {"dialect": "claude", "name": "failing", "command": hook_line(stderr="oops", code=1)}
    agent.project.hooks(failing, {**failing, "event": "user_prompt_submit", "name": "text", "command": "echo be brief"})
    told = agent.fire(agent.shell())
    assert told.reason is None
    assert "oops" in person_of(agent, told)
    if "prompt" not in agent.events:  # it has no such event
        return
    said = agent.fire(agent.prompt()).stdout.decode()
    lost = "context -> nothing" in str(agent.project.audit()[-1].get("degraded"))
    assert ("be brief" in said, lost) == (name not in ("cline", "grok"), name == "cline")  # Grok Build: a later event


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
