"""A guard on a tool of an MCP server, and one on the tool that starts a subagent, blocks in agents with other names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.conftest import settle
from tests.live.driver import change, put
from tests.live.model import Call, Turn, say, use
from tests.live.run import Agent

DONE = say("all-is-done")

OWN = {"copilot": "my_files-make_it", "opencode": "my_files_make_it", "cline": "my_files__make_it"}
SERVER = [sys.executable, str(Path(__file__).parent / "mcp_server.py")]


@pytest.fixture(params=OWN)
def serving(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Each agent in turn, with a server of the user's called `my_files`."""
    for agent in settle(str(request.param), request, tmp_path):
        home, command = agent.place.home, {"command": SERVER[0], "args": SERVER[1:]}
        if agent.name == "copilot":
            server = {"type": "local", "tools": ["*"], **command}
            put(home / ".copilot" / "mcp-config.json", {"mcpServers": {"my_files": server}})
        elif agent.name == "opencode":
            settings = home / ".config" / "opencode" / "opencode.json"
            change(settings, mcp={"my_files": {"type": "local", "enabled": True, "command": SERVER}})
        else:
            settings = home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
            put(settings, {"mcpServers": {"my_files": command}})
        yield agent


def test_a_tool_of_a_server_is_seen_by_its_canonical_name(serving: Agent) -> None:
    """It runs where no guard is against it."""
    serving.declare({"name": "seen", "event": "pre_tool_use", "command": 'cat >> "$HOME/seen.jsonl"'})
    made = serving.place.project / "made.txt"
    ran = serving.run(use(OWN[serving.name], path=str(made)), DONE)
    assert ran.files == {"made.txt": "made\n"}, ran
    assert [each["tool_name"] for each in ran.seen] == ["mcp__my_files__make_it"], ran


def test_a_guard_on_a_tool_of_a_server_blocks(serving: Agent) -> None:
    """The file is not made."""
    guard = {"name": "guard", "event": "pre_tool_use", "matcher": "mcp__my_files__make_it"}
    serving.declare({**guard, "command": "echo reason-of-guard >&2; exit 2"})
    made = serving.place.project / "made.txt"
    ran = serving.run(use(OWN[serving.name], path=str(made)), DONE)
    assert ran.files == {}, ran
    assert [each["action"] for each in ran.audit if each.get("hook") == "guard"] == ["block"], ran


LOOKER = {"description": "look", "prompt": "look around", "agent_type": "general-purpose", "name": "looker"}
SPAWN = {
    "codex": use("multi_agent_v1.spawn_agent", message="look around"),
    "copilot": Turn("", (Call("task", {**LOOKER, "mode": "sync"}),)),
}
"""How the model starts a subagent. With `features.multi_agent_v2` Codex does not fire `PreToolUse` for it."""


@pytest.mark.parametrize("name", SPAWN)
def test_a_guard_on_task_blocks_a_subagent(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The model gets the reason, and no subagent starts."""
    for agent in settle(name, request, tmp_path):
        guard = {"name": "guard", "event": "pre_tool_use", "matcher": "task", "when": {"tool_args.prompt": "look*"}}
        agent.declare({**guard, "command": "echo reason-of-guard >&2; exit 2"})
        ran = agent.run(SPAWN[name], DONE)
        assert "reason-of-guard" in ran.heard, ran
        assert len(ran.model.requests) == 2, ran


ENDINGS = ("subagent_start", "subagent_stop", "stop")
SPAWN_IN_CLINE = use("spawn_agent", task="look around", systemPrompt="You look.")


@pytest.mark.parametrize(
    ("name", "spawn", "events"),
    [("copilot", SPAWN["copilot"], (*ENDINGS, "user_prompt_submit")), ("cline", SPAWN_IN_CLINE, ENDINGS)],
    ids=["copilot", "cline"],
)
def test_a_subagent_starts_and_ends_once_and_is_no_end_of_the_turn(
    name: str, spawn: Turn, events: tuple[str, ...], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Hooks for the turn's end and for prompts get the user's only, hooks for subagents get the subagent's once."""
    for agent in settle(name, request, tmp_path):
        agent.declare(*({"name": event, "event": event, "command": "true"} for event in events))
        ran = agent.run(spawn, say("sub-done"), DONE)
        heard = [str(each["hook"]) for each in ran.audit if each["kind"] == "hook"]
        assert sorted(heard) == sorted(events), ran
