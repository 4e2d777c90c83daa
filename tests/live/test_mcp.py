"""A guard on a tool of an MCP server, and one on the tool that starts a subagent, blocks in agents with other names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrun_conformance import MCP_SERVER
from hookrun_conformance.driver import Delegating, Serving
from hookrun_conformance.model import Turn, say
from tests.live.conftest import settle
from tests.live.run import Agent

DONE = say("all-is-done")


@pytest.fixture(params=["copilot", "opencode", "cline"])
def serving(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Each agent in turn that has names of its own for a server's tools."""
    yield from settle(str(request.param), request, tmp_path)


def make(agent: Agent) -> tuple[Turn, ...]:
    """Return the turns that have the tool of a server called `my_files` make a file."""
    assert isinstance(agent.driver, Serving)
    server = [sys.executable, str(MCP_SERVER)]
    return agent.driver.serve(agent.place.home, server, {"path": str(agent.place.project / "made.txt")})


def test_a_tool_of_a_server_is_seen_by_its_canonical_name(serving: Agent) -> None:
    """It runs where no guard is against it."""
    serving.declare({"name": "seen", "event": "pre_tool_use", "command": 'cat >> "$HOME/seen.jsonl"'})
    ran = serving.run(*make(serving), DONE)
    assert ran.files == {"made.txt": "made\n"}, ran
    assert [each["tool_name"] for each in ran.seen] == ["mcp__my_files__make_it"], ran


def test_a_guard_on_a_tool_of_a_server_blocks(serving: Agent) -> None:
    """The file is not made."""
    guard = {"name": "guard", "event": "pre_tool_use", "matcher": "mcp__my_files__make_it"}
    serving.declare({**guard, "command": "echo reason-of-guard >&2; exit 2"})
    ran = serving.run(*make(serving), DONE)
    assert ran.files == {}, ran
    assert [each["action"] for each in ran.audit if each.get("hook") == "guard"] == ["block"], ran


@pytest.mark.parametrize("name", ["codex", "copilot", "cline"])
def test_a_guard_on_task_blocks_a_subagent(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The model gets the reason, and no subagent starts."""
    for agent in settle(name, request, tmp_path):
        guard = {"name": "guard", "event": "pre_tool_use", "matcher": "task", "when": {"tool_args.prompt": "look*"}}
        agent.declare({**guard, "command": "echo reason-of-guard >&2; exit 2"})
        assert isinstance(agent.driver, Delegating)
        ran = agent.run(agent.driver.subagent("look around"), DONE)
        assert "reason-of-guard" in ran.heard, ran
        assert len(ran.model.requests) == 2, ran


ENDINGS = ("subagent_start", "subagent_stop", "stop")


@pytest.mark.parametrize(
    ("name", "events"), [("copilot", (*ENDINGS, "user_prompt_submit")), ("cline", ENDINGS)], ids=["copilot", "cline"]
)
def test_a_subagent_starts_and_ends_once_and_is_no_end_of_the_turn(
    name: str, events: tuple[str, ...], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Hooks for the turn's end and for prompts get the user's only, hooks for subagents get the subagent's once."""
    for agent in settle(name, request, tmp_path):
        agent.declare(*({"name": event, "event": event, "command": "true"} for event in events))
        assert isinstance(agent.driver, Delegating)
        ran = agent.run(agent.driver.subagent("look around"), say("sub-done"), DONE)
        heard = [str(each["hook"]) for each in ran.audit if each["kind"] == "hook"]
        assert sorted(heard) == sorted(events), ran
