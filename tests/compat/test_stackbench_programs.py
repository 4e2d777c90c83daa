"""A program on StackBench's hooks changes its import: its hooks go to the SDK, deny, and write both logs."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookrun.compat.stackbench import AgentLogger, HookManager
from tests.conftest import ROOT

pytest.importorskip("claude_agent_sdk", reason="it needs the package claude-agent-sdk")

PROGRAM = Path(__file__).with_name("programs") / "stackbench_program.py"


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the output of the program, which prints its logs at the end."""
    command = [sys.executable, str(PROGRAM), "hookrun.compat.stackbench"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    directory = tmp_path_factory.mktemp("program")
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=directory, env=environment)
    return done.stdout.splitlines()


def test_a_documented_program_denies_what_is_invalid(lines: list[str]) -> None:
    """By the manager's hooks, by either hook alone, and a file in the wrong directory; others pass."""
    decisions = [line.split(" ", 3)[1:] for line in lines[:7]]
    assert [(tool, decision) for tool, decision, _ in decisions] == [
        ("Read", "None"), ("Read", "None"), ("Read", "None"), ("Write", "deny"), ("Write", "deny"), ("Write", "None"),
        ("Write", "deny"),
    ]  # fmt: skip
    assert decisions[3][2].startswith("a_analysis.json does not match")
    assert decisions[4][2].startswith("a_validation.json does not match")
    assert decisions[6][2].startswith("b_analysis.json does not belong in")


def test_the_hooks_are_configurations_of_the_events(lines: list[str]) -> None:
    """`PreToolUse` and `PostToolUse`, from each function; and what the SDK needs beside them."""
    assert lines[7] == "{'tool_calls': 2, 'tools': {'Read': 1, 'Write': 1}, 'messages': 1, 'errors': 2}"
    assert lines[8].count("'PostToolUse', 'PostToolUseFailure', ") == 2
    assert lines[8].count("'PreToolUse'") == 2


def test_calls_are_logged_with_native_names_and_objects(lines: list[str]) -> None:
    """`Read`, its output as an object, its error; a denied call with its reason."""
    pre, post, failed, denied = (line for line in lines if line.startswith("{'event_type'"))
    call = "'tool_name': 'Read', 'tool_input': {'file_path': '/a.md'}, 'tool_use_id': 'toolu_1'"
    assert pre == f"{{'event_type': 'pre_tool', {call}}}"
    assert post == f"{{'event_type': 'post_tool', {call}, 'tool_output': {{'content': '...'}}, 'error': None}}"
    assert failed.endswith("'tool_output': None, 'error': 'no such file'}")
    assert denied.startswith("{'event_type': 'pre_tool', 'tool_name': 'Write', ")
    assert "'error': 'denied: a_analysis.json does not match" in denied


def test_the_hooks_write_the_log_for_people(lines: list[str]) -> None:
    """A line for each call, result, error and denial, beside the program's own messages."""
    assert [line for line in lines if line.startswith(("[I", "[W", "[E"))] == [
        '[INFO] Read {"file_path": "/a.md"}',
        "[INFO] Read finished",
        "[ERROR] Read failed: no such file",
        '[INFO] Write {"file_path": "data/run_123/results/extraction/a_analysis.json", "content": "{}"}',
        "[WARNING] Write denied: a_analysis.json does not ",
        "[INFO] Debug info",
    ]


def test_a_denial_is_for_its_own_call(tmp_path: Path) -> None:
    """The next call, which is valid or of another tool, is logged without it."""
    from hookrun import Engine

    logger = AgentLogger(tmp_path / "a_agent.log", tmp_path / "a_tools.jsonl")
    with Engine().use(HookManager("extraction", logger, tmp_path)) as engine:
        for path in ("x_analysis.json", "notes.txt"):
            engine.fire_sync("pre_tool_use", tool_name="write", tool_args={"file_path": path, "content": "{}"})
    entries = [json.loads(line) for line in (tmp_path / "a_tools.jsonl").read_text().splitlines()]
    assert ["error" in entry for entry in entries] == [True, False]


def test_a_denial_is_for_its_own_call_of_a_request(tmp_path: Path) -> None:
    """Though the calls of one request have its id, and one is logged while another is judged."""
    from hookrun import Context, Engine

    logger = AgentLogger(tmp_path / "a_agent.log", tmp_path / "a_tools.jsonl")

    async def calls() -> None:
        denied, read = asyncio.Event(), asyncio.Event()

        async def wait(ctx: Context) -> None:
            if ctx.tool_name == "write":
                denied.set()
                await read.wait()

        with Engine().use(HookManager("extraction", logger, tmp_path)) as engine:
            engine.register("pre_tool_use", wait, priority=900, always=True)
            request = engine.session(session_id="s1")
            invalid = {"file_path": "x_analysis.json", "content": "{}"}
            write = asyncio.create_task(request.fire("pre_tool_use", tool_name="write", tool_args=invalid))
            await denied.wait()
            await request.fire("pre_tool_use", tool_name="read", tool_args={"file_path": "a"})
            read.set()
            assert (await write).action == "block"

    asyncio.run(calls())
    entries = [json.loads(line) for line in (tmp_path / "a_tools.jsonl").read_text().splitlines()]
    assert [(entry["tool_name"], "error" in entry) for entry in entries] == [("read", False), ("write", True)]
