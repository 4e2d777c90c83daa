"""Hooks replace what a tool has returned and what the user has asked: the model is given the new text only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from hookrun_conformance import MCP_SERVER
from hookrun_conformance.driver import change
from hookrun_conformance.model import say, use
from tests.live.conftest import settle
from tests.live.run import Agent

DONE = say("all-is-done")

REDACTS: dict[str, Any] = {
    "name": "redacts",
    "event": ["post_tool_use", "post_tool_failure"],
    "matcher": "bash",
    "command": """python3 -c 'import json, sys; ctx = json.load(sys.stdin); print(json.dumps({"action": "modify", """
    """"modified_output": (ctx["tool_result_output"] or "").replace("hunter2", "[redacted]")}))'""",
}
"""A hook that replaces a word in a command's output."""

CANNOT_CHECK = {**REDACTS, "name": "cannot-check", "command": "exit 7", "on_failure": "block"}
"""A guard that fails."""

CORRECTS = {
    "name": "corrects",
    "event": "user_prompt_submit",
    "command": """echo '{"action": "modify", "modified_prompt": "the corrected prompt"}'""",
}

KEEPS_OUTPUT = {"qwen", "cline", "grok"}
"""Agents that give the model a tool's output whatever a hook answers."""

KEEPS_FAILURE = {*KEEPS_OUTPUT, "claude"}
"""Agents that give it the output of a tool that has failed."""

AS_REASON = {"codex", "gemini", "vibe"}
"""Agents that give it a hook's reason in place of the output."""

CHANGES_PROMPT = {"copilot", "opencode", "kilo", "pi"}

NO_PROMPT = {"cline", "vibe"}
"""Agents that send no event for a prompt."""

PRINTS = "printf 'hunt'; echo er2-here"
"""A command that prints the word, and does not contain it."""

KEY = "AKIA" + "Q3EGZ7XJW2KPV5TA"
PRINTS_KEY = f"printf 'key=AK'; echo {KEY[2:]}"
"""A credential, and a command that prints it, and does not contain it."""


def test_the_model_gets_the_replaced_output_only(agent: Agent) -> None:
    """Where the agent cannot replace it, it gets both."""
    agent.declare(REDACTS)
    ran = agent.run(agent.driver.shell(PRINTS), DONE)
    assert "[redacted]-here" in ran.heard, ran
    assert ("hunter2" in ran.heard) == (agent.name in KEEPS_OUTPUT), ran
    assert ("output -> context" in ran.degraded) == (agent.name in KEEPS_OUTPUT), ran
    assert ("output -> reason" in ran.degraded) == (agent.name in AS_REASON), ran
    assert [each["changed"] for each in ran.audit if each.get("hook") == "redacts"] == [["tool_result_output"]], ran


def test_secret_scan_redacts_what_the_model_gets(agent: Agent) -> None:
    """The ready-made recipe, also where the command fails."""
    agent.declare({"recipe": "secret-scan"})
    ran = agent.run(agent.driver.shell(PRINTS_KEY), agent.driver.shell(f"{PRINTS_KEY}; exit 3"), DONE)
    assert "key=" in ran.heard, ran
    kept = KEY in ran.heard
    assert kept == (agent.name in KEEPS_FAILURE), ran
    assert ("output -> context" in ran.degraded) == kept, ran
    assert KEY not in str(ran.audit), ran


def test_a_guard_that_fails_withholds_the_output(agent: Agent) -> None:
    """The model learns that it was withheld, and why."""
    agent.declare(CANNOT_CHECK)
    ran = agent.run(agent.driver.shell(PRINTS), DONE)
    assert "withheld" in ran.heard, ran
    assert ("hunter2" in ran.heard) == (agent.name in KEEPS_OUTPUT), ran


def test_the_model_gets_the_replaced_prompt_only(agent: Agent) -> None:
    """Where the agent cannot change the prompt, it is not sent."""
    agent.declare(CORRECTS)
    ran = agent.run(DONE, prompt="the first prompt")
    if agent.name in NO_PROMPT:
        return
    assert "the first prompt" not in ran.heard, ran
    assert ("the corrected prompt" in ran.heard) == (agent.name in CHANGES_PROMPT), ran
    assert ("prompt -> block" in ran.degraded) == (agent.name not in CHANGES_PROMPT), ran


def test_the_output_of_a_servers_tool_is_replaced(claude: Agent) -> None:
    """Claude Code takes one form for its own tools and those of MCP servers."""
    command = {"command": sys.executable, "args": [str(MCP_SERVER)]}
    change(claude.place.home / ".claude.json", mcpServers={"my_files": {"type": "stdio", **command}})
    tool = {"matcher": "mcp__my_files__make_it"}
    claude.declare(
        {**tool, "name": "allows", "event": "pre_tool_use", "command": """echo '{"action": "allow"}'"""},
        {**REDACTS, **tool, "command": REDACTS["command"].replace("hunter2", "it is made")},
    )
    made = str(claude.place.project / "made.txt")
    ran = claude.run(use("mcp__my_files__make_it", path=made), DONE)
    assert ran.files == {"made.txt": "made\n"}, ran
    assert "[redacted]" in ran.heard, ran
    assert "it is made" not in ran.heard, ran


@pytest.mark.only_cold
def test_kilo_replaces_output_and_prompt(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """In one session, as each takes it a minute without a network."""
    for kilo in settle("kilo", request, tmp_path):
        kilo.declare(REDACTS, CORRECTS)
        ran = kilo.run(kilo.driver.shell(PRINTS), DONE, prompt="the first prompt", waits=150)
        assert "[redacted]-here" in ran.heard, ran
        assert "hunter2" not in ran.heard, ran
        assert ("the first prompt" in ran.heard, "the corrected prompt" in ran.heard) == (False, True), ran
