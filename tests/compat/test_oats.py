"""A program on the first engine's hook engine changes its import, and nothing else."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookrun.compat.oats import HookContext, HookEngine, HookEvent, HookResult

HERE = Path(__file__).parent
PROGRAM = HERE / "oats_program.py"
PRINTED = HERE / "oats_printed.txt"
"""The output of the program on oats-coder 1.0.19 itself, without that engine's log lines."""

OATS = "HOOKRUN_OATS_PYTHON"
"""Names an interpreter that has oats-coder (`pip install --no-deps oats-coder ujson rich` is enough for its hooks)."""


def printed(python: str, module: str) -> list[str]:
    """Return the output of the program on the engine of a module, without log lines."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent.parent)}
    done = subprocess.run([python, PROGRAM, module], capture_output=True, text=True, check=True, env=environment)
    return [line for line in done.stdout.splitlines() if not line.startswith("20")]


def test_the_same_program_prints_the_same_on_both() -> None:
    """Continue, block, modify, a matcher that misses, a failing hook, no JSON, a timeout, no tool, None."""
    assert printed(sys.executable, "hookrun.compat.oats") == PRINTED.read_text().splitlines()


@pytest.mark.skipif(OATS not in os.environ, reason=f"{OATS} names no interpreter that has oats-coder")
def test_what_is_written_down_is_what_oats_coder_prints() -> None:
    """The recording is that of the real engine."""
    assert printed(os.environ[OATS], "oats.hook.engine") == PRINTED.read_text().splitlines()


def fire(*hooks: dict[str, object], tool: str = "bash") -> HookResult:
    """Return the result of these hooks before a tool."""
    context = HookContext("s1", HookEvent.PRE_TOOL_USE, tool_name=tool, tool_args={"n": 1})
    declared = [{"event": "pre_tool_use", **hook} for hook in hooks]
    return asyncio.run(HookEngine(declared).fire(HookEvent.PRE_TOOL_USE, context))


def answer(text: str) -> str:
    """Return a command that answers this JSON."""
    return f"cat >/dev/null; echo '{text}'"


def test_a_first_modify_does_not_hide_a_later_block() -> None:
    """The first engine returned at the first `modify`; here the guard behind it sees the change, and counts."""
    result = fire(
        {"command": answer('{"action": "modify", "modified_args": {"n": 2}}')},
        {"command": """case "$(cat)" in *'"n":2'*) echo no two >&2; exit 2;; esac"""},
    )
    assert (result.action, result.message) == ("block", "no two")


def test_every_change_arrives() -> None:
    """The first engine kept the first change only."""
    result = fire(
        {"command": answer('{"action": "modify", "args_patch": {"a": 1}}')},
        {"command": answer('{"action": "modify", "args_patch": {"b": 2}}')},
    )
    assert (result.action, result.modified_args) == ("modify", {"n": 1, "a": 1, "b": 2})


@pytest.mark.parametrize("action", ["skip", "stop", "ask"])
def test_what_the_first_engine_has_no_word_for_is_a_block(action: str) -> None:
    """Nothing that must not be done passes for `continue`."""
    assert fire({"command": answer(f'{{"action": "{action}"}}')}).action == "block"


def test_a_failure_is_named() -> None:
    """The first engine only logged it."""
    result = fire({"name": "broken", "command": "cat >/dev/null; exit 3"})
    assert result.action == "continue"
    assert result.failures["broken"].startswith("exit_code: it exited with status 3")


def test_a_wrong_declaration_is_told() -> None:
    """The first engine ignored an event that it did not know, and a hook without a command."""
    with pytest.raises(ValueError, match="unknown event"):
        HookEngine([{"event": "pre_tool_usage", "command": "true"}])
    with pytest.raises(ValueError, match="nothing to run"):
        HookEngine([{"event": "pre_tool_use"}])


def test_a_member_that_is_none_is_not_given() -> None:
    """The first engine's own program dumps its declarations with every member; None for `timeout` is no limit."""
    declared: dict[str, object] = {
        "event": "pre_tool_use",
        "matcher": None,
        "command": "exit 2",
        "timeout": None,
        "name": None,
    }
    engine = HookEngine([declared])
    (hook,) = engine.engine.hooks()
    assert (hook.matcher, hook.name) == (None, "exit")
    assert hook.timeout > 365 * 24 * 3600
    assert fire(declared).action == "block"


def test_no_hooks_continue() -> None:
    """As in the first engine, hooks are optional."""
    context = HookContext("s1", HookEvent.SESSION_START)
    assert asyncio.run(HookEngine().fire(HookEvent.SESSION_START, context)) == HookResult.continue_result()
