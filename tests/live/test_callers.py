"""Guards installed into Claude Code work in Grok Build, which runs those hooks too, and each call is judged once."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrun_conformance import MCP_SERVER
from hookrun_conformance.driver import Serving, put
from hookrun_conformance.model import say, use
from tests.live.conftest import settle
from tests.live.run import Agent

DONE = say("all-is-done")


@pytest.fixture
def grok(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Grok Build, without an entry of its own."""
    yield from settle("grok", request, tmp_path)


def wire(agent: Agent, *hooks: dict[str, object]) -> None:
    """Declare the user's own hooks, and install hookrun for Claude Code."""
    put(agent.place.hooks, {"hooks": list(hooks)})
    agent.install(name="claude")


def before(matcher: str | None, answer: str) -> dict[str, object]:
    """Return a guard that answers with a shell line before a tool is called: it shuts Claude Code's entry."""
    guard = {"name": "guard", "event": "pre_tool_use", "command": answer, "on_failure": "block"}
    return {**guard, **({"matcher": matcher} if matcher else {})}


BLOCK = "echo reason-of-guard >&2; exit 2"
BEFORE = ("session_start", "pre_tool_use")


@pytest.mark.parametrize("matcher", ["bash", "Bash", None])
def test_a_guard_on_the_shell_blocks(grok: Agent, matcher: str | None) -> None:
    """By hookrun's name, by Claude Code's, and without one; the model gets the reason, `doctor` names the caller."""
    wire(grok, before(matcher, BLOCK))
    ran = grok.run(grok.driver.shell("echo hi > out.txt"), DONE)
    assert ran.files == {}, ran
    (result,) = ran.model.results()
    assert result.startswith("Hook denied: reason-of-guard (`hookrun why "), ran
    fires = [each for each in ran.audit if each["kind"] == "fire"]
    assert {(each.get("agent"), each.get("through")) for each in fires} == {("grok", "claude")}, ran
    assert re.search(r"other agents +Grok Build", grok.hookrun("doctor", "claude"))


def test_a_guard_on_files_blocks_each_way_to_change_one(grok: Agent) -> None:
    """To make one, to change one, and the tool that writes a whole one."""
    project = grok.place.project
    (project / "a.txt").write_text("x\n")
    wire(grok, before("write|edit", BLOCK))
    turns = [
        *grok.driver.write(project / "b.txt", "new\n"),
        *grok.driver.edit(project / "a.txt", "x", "y"),
        use("write", file_path=str(project / "c.txt"), content="x"),
    ]
    ran = grok.run(*turns, DONE)
    assert ran.files == {"a.txt": "x\n"}, ran
    assert [each.get("tool") for each in ran.audit if each["kind"] == "hook"] == ["write", "edit", "write"], ran


def test_a_guard_on_what_is_written_blocks_a_new_file(grok: Agent) -> None:
    """The tool that makes a file by the replacement of nothing writes a file."""
    guard = {**before("write", BLOCK), "when": {"tool_args.content": "*secret*"}}
    wire(grok, guard)
    ran = grok.run(*grok.driver.write(grok.place.project / "a.txt", "a secret\n"), DONE)
    assert ran.files == {}, ran


def test_a_guard_on_what_is_written_blocks_what_it_cannot_see(grok: Agent) -> None:
    """Of a large file it is given the beginning only."""
    wire(grok, {**before("write", BLOCK), "when": {"tool_args.content": "*secret*"}})
    write = use("write", file_path=str(grok.place.project / "a.txt"), content="x" * 200_000 + "a secret")
    ran = grok.run(write, DONE)
    assert ran.files == {}, ran
    assert "do it in smaller parts" in ran.heard, ran


def test_a_guard_blocks_the_monitor_of_a_command(grok: Agent) -> None:
    """It runs a shell command under another name."""
    wire(grok, before("bash", BLOCK))
    ran = grok.run(use("monitor", command="echo hi > out.txt", description="w"), DONE)
    assert ran.files == {}, ran


def test_a_guard_on_a_tool_of_a_server_blocks(grok: Agent) -> None:
    """By its canonical name and its own arguments, though Grok Build calls it through another tool."""
    assert isinstance(grok.driver, Serving)
    made = {"path": str(grok.place.project / "made.txt")}
    turns = grok.driver.serve(grok.place.home, [sys.executable, str(MCP_SERVER)], made)
    wire(grok, {**before("mcp__my_files__make_it", BLOCK), "when": {"tool_args.path": "*/made.txt"}})
    ran = grok.run(*turns, DONE)
    assert ran.files == {}, ran
    assert "reason-of-guard" in ran.heard, ran


def test_a_changed_command_is_the_one_that_runs(grok: Agent) -> None:
    """Grok Build obeys new arguments."""
    answer = """echo '{"action": "modify", "args_patch": {"command": "echo new > new.txt"}}'"""
    wire(grok, before("bash", answer))
    ran = grok.run(grok.driver.shell("echo hi > out.txt"), DONE)
    assert ran.files == {"new.txt": "new\n"}, ran


def test_a_question_that_nobody_would_be_asked_is_a_refusal(grok: Agent) -> None:
    """With --always-approve Grok Build would run a call despite an ask: it gets a block, the model the reason."""
    wire(grok, before("bash", """echo '{"action": "ask", "message": "reason-of-guard"}'"""))
    ran = grok.run(grok.driver.shell("echo hi > out.txt"), DONE)
    assert ran.files == {}, ran
    assert "needs the user's approval: reason-of-guard" in ran.heard, ran
    assert "ask -> block" in ran.degraded, ran


def test_a_question_is_asked_where_somebody_can_be(grok: Agent) -> None:
    """Without --always-approve the ask is passed on: here it gets no answer, and nothing runs."""
    wire(grok, before("bash", """echo '{"action": "ask", "message": "reason-of-guard"}'"""))
    ran = grok.run(grok.driver.shell("echo hi > out.txt"), DONE, allowed=False)
    assert ran.files == {}, ran
    assert "ask -> block" not in ran.degraded, ran


def test_a_prompt_is_kept_from_the_model(grok: Agent) -> None:
    """Nothing is asked of it."""
    wire(grok, {"name": "guard", "event": "user_prompt_submit", "command": BLOCK})
    ran = grok.run(DONE)
    assert ran.model.requests == [], ran


def test_the_turn_continues_once_and_ends_once(grok: Agent) -> None:
    """A block of `stop` is the next instruction; the end of the session is not a second end of a turn."""
    answer = """grep -q '"stop_hook_active":true' || { echo go-on-please >&2; exit 2; }"""
    wire(grok, {"name": "guard", "event": "stop", "command": answer})
    ran = grok.run(say("first"), DONE)
    assert "go-on-please" in ran.heard, ran
    assert [each["action"] for each in ran.audit if each["kind"] == "hook"] == ["block", "continue"], ran


def test_text_for_the_model_reaches_it(grok: Agent) -> None:
    """Before a tool and after it; a text that it cannot receive at once reaches it with the next tool."""
    answer = """echo '{{"action": "continue", "additional_context": "{}"}}'"""
    events = ("session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use")
    hooks: list[dict[str, object]] = [
        {"name": event, "event": event, "command": answer.format(f"at-{event}")} for event in events
    ]
    wire(grok, *hooks)
    ran = grok.run(grok.driver.shell("true"), DONE)
    assert [event for event in events if f"at-{event}" not in ran.heard] == [], ran


@pytest.mark.parametrize("claude", ["user", "project"])
@pytest.mark.parametrize("own", ["user", "project"])
def test_where_both_are_installed_each_event_is_judged_once(grok: Agent, own: str, claude: str) -> None:
    """And answered once: the refused command does not run, the model gets the reason once."""
    guard = {"name": "guard", "event": [*BEFORE], "command": f"cat >> $HOME/seen.jsonl; {BLOCK}"}
    put(grok.place.hooks, {"hooks": [guard]})
    grok.install("--scope", claude, name="claude")
    grok.install("--scope", own)
    ran = grok.run(grok.driver.shell("echo hi > out.txt"), grok.driver.shell("echo hi > out.txt"), DONE)
    assert ran.files == {}, ran
    assert [each["event"] for each in ran.seen] == ["session_start", "pre_tool_use", "pre_tool_use"], ran
    assert [result.count("reason-of-guard") for result in ran.model.results()] == [1, 1], ran


def test_where_its_own_hooks_are_disabled_claude_s_answer(grok: Agent) -> None:
    """It skips what the user has switched off, so the entry in Claude Code's settings judges the call."""
    wire(grok, {"name": "guard", "event": "pre_tool_use", "command": f"cat >> $HOME/seen.jsonl; {BLOCK}"})
    grok.install()
    put(grok.place.home / ".grok" / "disabled-hooks", "global/hookrun:pre_tool_use[0].hooks[0]\n")
    ran = grok.run(grok.driver.shell("echo hi > out.txt"), DONE)
    assert (ran.files, len(ran.seen)) == ({}, 1), ran


def test_where_it_leaves_claude_s_settings_alone_its_own_answer(grok: Agent) -> None:
    """Those of a project, too."""
    wire(grok, {"name": "guard", "event": "pre_tool_use", "command": f"cat >> $HOME/seen.jsonl; {BLOCK}"})
    grok.install("--scope", "project")
    config = grok.place.home / ".grok" / "config.toml"
    config.write_text(f"{config.read_text()}\n[compat.claude]\nhooks = false\n")
    ran = grok.run(grok.driver.shell("echo hi > out.txt"), DONE)
    assert (ran.files, len(ran.seen)) == ({}, 1), ran


def test_claude_code_s_own_monitor_of_a_command_is_a_shell(claude: Agent) -> None:
    """It runs a shell command, which a guard on those refuses."""
    claude.declare(before("bash", BLOCK))
    monitor = use("Monitor", command="echo hi > out.txt", description="x", timeout_ms=5000, persistent=False)
    ran = claude.run(monitor, DONE)
    assert ran.files == {}, ran
    assert "reason-of-guard" in ran.heard, ran
