"""A guard on a tool of an MCP server is asked, however the agent joins the names of server and tool."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from hookrun import agents
from hookrun.agents.known_tools import message_from_context
from hookrun.agents.mcp_names import name_mcp_tool
from hookrun.core.conditions import ConditionEvaluator
from tests.fire.agents import Agent, says
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

OWN = {
    ("copilot", "my_files-make_it"),
    ("copilot", "my_files/make_it"),
    ("opencode", "my_files_make_it"),
    ("cline", "my_files__make_it"),
    ("codex", "mcp__my_files__make_it"),
    ("gemini", "mcp_my_files_make_it"),
    ("qwen", "mcp__my_files__make_it"),
    ("claude", "mcp__my_files__make_it"),
}
"""What each agent was measured to call the tool `make_it` of the server `my_files`."""

EACH = pytest.mark.parametrize(("name", "own"), sorted(OWN))

SETTINGS = {
    "copilot": (".copilot/mcp-config.json", "mcpServers"),
    "opencode": (".config/opencode/opencode.json", "mcp"),
    "cline": (".cline/data/settings/cline_mcp_settings.json", "mcpServers"),
}


def _call(agent: Agent, tool: str) -> dict[str, Any]:
    """Return the agent's message before a tool of an MCP server."""
    message = json.loads(json.dumps(agent.shell()).replace('"run_commands"', f'"{tool}"'))
    if agent.name == "opencode":
        message["input"]["tool"] = tool
    elif agent.name != "cline":
        message["tool_name"] = tool
    if agent.name == "gemini":
        message["mcp_context"] = {"server_name": "my_files", "tool_name": "make_it"}
    return message  # type: ignore[no-any-return]  # what JSON gives


def _servers(root: Path, agent: str, *names: str) -> None:
    path, key = SETTINGS[agent]
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({key: {name: {} for name in names}}))


def _recorded(project: Project) -> dict[str, object]:
    return {str(record["hook"]): record["action"] for record in project.audit() if "hook" in record}


@pytest.mark.sampled(3)
@EACH
def test_a_guard_on_a_tool_of_a_server_blocks(project: Project, name: str, own: str) -> None:
    """By `mcp__SERVER__TOOL` and by globs of it, though no servers are known; no other server's guard runs.

    The project's own settings are what a call must not wait for.
    """
    (project.root / ".mcp.json").symlink_to("/dev/zero")
    os.mkfifo(project.root / "opencode.json")
    block = says(action="block", message="no")
    project.user_hooks(
        {"name": "other", "matcher": "mcp__other__*|mcp__my_files__else", "command": block},
        {"name": "when", "when": {"tool_name": "mcp__my_files__*"}, "command": "true"},
        {"name": "server", "matcher": "mcp__my_files__*", "command": "true"},
        {"name": "guard", "matcher": "mcp__my_files__make_it", "command": block},
    )
    agent = Agent(name, project)
    assert agent.fire(_call(agent, own), event=agent.events["pre"]).stdout
    assert _recorded(project) == {"when": "continue", "server": "continue", "guard": "block"}


@pytest.mark.sampled(3)
@EACH
def test_a_guard_written_for_claude_code_blocks(project: Project, name: str, own: str) -> None:
    """Its matcher, a regular expression, is tried on the same names, and so is its `if`."""
    handler = {"type": "command", "command": "echo no >&2; exit 2"}
    groups = [
        {"matcher": "mcp__other__.*", "hooks": [handler]},
        {"matcher": "mcp__my_files__.*", "hooks": [{**handler, "if": "mcp__my_files__make_it"}]},
    ]
    (project.root / "coder.json").write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
    agent = Agent(name, project)
    assert agent.fire(_call(agent, own), event=agent.events["pre"]).stdout
    assert list(_recorded(project).values()) == ["block"]


@pytest.mark.parametrize("name", SETTINGS)
def test_the_servers_of_the_user_decide_what_the_tool_is(project: Project, name: str) -> None:
    """Hooks see the canonical name, and a guard on a server that is part of another's name does not run."""
    _servers(project.home, name, "my_files", "else")
    seen = project.root / "seen"
    project.user_hooks(
        {"name": "shorter", "matcher": "mcp__my__*|mcp__my_files_make__*", "command": "exit 2"},
        {"name": "seen", "matcher": "mcp__*", "command": f"cat > {seen}"},
    )
    agent = Agent(name, project)
    own = next(own for each, own in sorted(OWN) if each == name)
    agent.fire(_call(agent, own), event=agent.events["pre"])
    assert _recorded(project) == {"seen": "continue"}
    context = json.loads(seen.read_text())
    assert (context["tool_name"], context["agent_tool_name"]) == ("mcp__my_files__make_it", own)


def test_a_project_s_servers_rule_no_reading_out(project: Project) -> None:
    """A clone that names its own server `my_files_make` does not mislead a guard on `my_files`."""
    (project.root / "opencode.json").write_text('{"mcp": {"my_files_make": {}}}')
    project.user_hooks({"name": "guard", "matcher": "mcp__my_files__make_it", "command": "exit 2"})
    agent = Agent("opencode", project)
    agent.fire(_call(agent, "my_files_make_it"), event=agent.events["pre"])
    assert _recorded(project) == {"guard": "block"}


@rows(
    "name, server, own, canonical",
    [
        ("copilot", "My Files.v2", "My-Files-v2-make", "mcp__My_Files_v2__make"),
        ("opencode", "a b.c", "a_b_c_make", "mcp__a_b_c__make"),
        ("cline", "io.github/files", "io_github_files__make_ea40cd60", "mcp__io_github_files__make"),
    ],
)
def test_a_server_whose_name_the_agent_changes(
    tmp_path: Path, name: str, server: str, own: str, canonical: str
) -> None:
    """As measured; its canonical name is the one that Claude Code has for it, and is matched if it is not known."""
    agent = agents.load(name)
    for called in (own, canonical):
        message = message_from_context(agent, "pre_tool_use", {"tool_name": own})
        name_mcp_tool(agent, message, home=str(tmp_path))
        fields = message.calls[0].fields
        assert fields["tool_name"] == called
        assert ConditionEvaluator(fields).tool_matches([canonical])
        _servers(tmp_path, name, server)


@rows("name", ["copilot", "opencode", "cline"])
def test_what_is_no_tool_of_a_server_has_no_other_name(name: str) -> None:
    """The agent's own tools, a name without a server or without a tool, a very long one."""
    agent = agents.load(name)
    join = agent.INSTALL["mcp"]["joins"][0]
    for own in (*agent.TOOLS, "skill", f"{join}x", f"x{join}"):
        fields = message_from_context(agent, "pre_tool_use", {"tool_name": own}).calls[0].fields
        assert not fields.get("possible_tool_names"), own
    fields = message_from_context(agent, "pre_tool_use", {"tool_name": f"a{join}b" * 50_000}).calls[0].fields
    assert len(str(fields["possible_tool_names"])) < 1_000_000


@rows(
    "name, own, argument",
    [("codex", "spawn_agent", "message"), ("copilot", "Agent", "prompt"), ("copilot", "task", "prompt")],
)
def test_the_tool_that_starts_a_subagent_is_task(name: str, own: str, argument: str) -> None:
    """With its text as `prompt`, and back."""
    agent = agents.load(name)
    message = agent.read(
        {"hook_event_name": "PreToolUse", "tool_name": own, "tool_input": {argument: "look"}}, "PreToolUse"
    )
    assert message.calls[0].fields["tool_name"] == "task"
    assert message.calls[0].fields["tool_args"] == {"prompt": "look"}
    assert message.to_native_args([{"prompt": "else"}]) == {argument: "else"}
