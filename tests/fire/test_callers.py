"""Guards installed into Claude Code work in other agents that run its hooks, each answered in a form that it obeys."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.agents.test_callers import message
from tests.conftest import Project
from tests.fire.agents import Agent, Told, says, without_origin

pytestmark = pytest.mark.sampled(3)

Json = dict[str, Any]

SHELL = {
    "grok": "run_terminal_command",
    "cursor": "Shell",
    "devin": "exec",
    "vscode": "run_in_terminal",
    "unknown": "run_it",
}
"""A caller -> its tool for shell commands."""

CALLER = pytest.mark.parametrize("caller", SHELL)
BY_STATUS = ("devin", "unknown")
"""Callers that are refused by exit status and stderr as well."""


@pytest.fixture
def claude(project: Project) -> Agent:
    """The agent whose settings they read."""
    return Agent("claude", project)


def shell(claude: Agent, caller: str, command: str = "echo hi", **more: object) -> Json:
    """Return the message before a shell command, in this project."""
    root = str(claude.project.root)
    about = {"workspace_roots": [root]} if caller == "cursor" else {"cwd": root}
    return {**message(caller, SHELL[caller], command=command), **about, **more}


def hookrun(claude: Agent, command: str) -> str:
    """Run a command about Claude Code, and return what it printed."""
    done = subprocess.run(
        claude.project.command(command, "claude", "--home", str(claude.project.home)),
        capture_output=True,
        cwd=claude.project.root,
        env=claude.project.environment(),
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def refusal(told: Told, caller: str) -> str | None:
    """Return the reason of a refusal, None if it is none: in each form that the caller may obey."""
    if told.own.get("permissionDecision") != "deny":
        assert told.status == 0
        return None
    reason = str(told.own["permissionDecisionReason"])
    if caller not in ("grok", "vscode"):
        assert (told.json["permission"], told.json["agent_message"]) == ("deny", reason)
        assert (told.json["decision"], told.json["reason"]) == ("block", reason)
    assert told.status == (2 if caller in BY_STATUS else 0)
    assert told.stderr == (f"hookrun: {reason}\n" if caller in BY_STATUS else "")
    return without_origin(reason)


@pytest.mark.sampled(7)
@CALLER
@pytest.mark.parametrize("guard", [{"matcher": "bash"}, {"matcher": "Bash"}, {"agents": ["claude"]}, {}])
def test_a_guard_holds(claude: Agent, caller: str, guard: Json) -> None:
    """By hookrun's name of the tool, by Claude Code's, and if it is for Claude Code alone."""
    claude.project.hooks({"name": "guard", "command": "echo no >&2; exit 2", **guard})
    told = claude.fire(shell(claude, caller))
    assert refusal(told, caller) == "no"
    fire = claude.project.audit()[-1]
    assert (fire["agent"], fire["through"], fire["tool"]) == (caller, "claude", "bash")


@CALLER
def test_a_guard_in_claude_s_dialect_holds(claude: Agent, caller: str) -> None:
    """It reads Claude Code's name of the tool in a message of Claude Code's form."""
    script = """grep -q '"tool_name":"Bash"' && { echo no >&2; exit 2; }"""
    handler = {"matcher": "Bash", "hooks": [{"type": "command", "command": script}]}
    (claude.project.root / "coder.json").write_text(json.dumps({"hooks": {"PreToolUse": [handler]}}))
    assert refusal(claude.fire(shell(claude, caller)), caller) == "no"


@CALLER
def test_a_change_is_made_or_refused(claude: Agent, caller: str) -> None:
    """An unknown caller might run the old command."""
    claude.project.hooks({"command": says(action="modify", args_patch={"command": "echo new"})})
    told = claude.fire(shell(claude, caller))
    if caller == "unknown":
        assert '{"command": "echo new"}' in str(refusal(told, caller))
        return
    assert refusal(told, caller) is None
    assert told.args == {"command": "echo new"}
    assert told.json.get("updated_input") == ({"command": "echo new"} if caller == "cursor" else None)


@CALLER
def test_a_question_is_asked_or_refused(claude: Agent, caller: str) -> None:
    """Grok Build and VS Code ask; of the others it is not known, or known that they do not."""
    claude.project.hooks({"command": says(action="ask", message="sure?")})
    told = claude.fire(shell(claude, caller))
    if caller in ("grok", "vscode"):
        assert (told.status, told.own["permissionDecision"]) == (0, "ask")
    else:
        assert refusal(told, caller) == "needs the user's approval: sure?"


def test_grok_is_not_asked_to_ask_where_it_approves_everything(claude: Agent) -> None:
    """Measured: it would run the tool."""
    claude.project.hooks({"command": says(action="ask", message="sure?")})
    told = claude.fire(shell(claude, "grok", permissionMode="bypassPermissions"))
    assert refusal(told, "grok") == "needs the user's approval: sure?"


@pytest.mark.sampled(2)
@CALLER
def test_nothing_to_say_is_said_by_nothing(claude: Agent, caller: str) -> None:
    """No notice is needed for a known caller."""
    claude.project.hooks({"matcher": "write", "command": "exit 2"})
    told = claude.fire(shell(claude, caller))
    assert told.status == 0
    assert bool(told.stdout) is (caller == "unknown")


def test_the_user_is_told_once_of_a_tool_that_is_taken_by_its_arguments(claude: Agent) -> None:
    """Once per session and tool; `doctor` reports it as well."""
    claude.project.hooks({"matcher": "read", "command": "exit 2"})
    told = claude.fire(shell(claude, "unknown"))
    assert "`run_it` is treated as `bash`" in told.person
    assert claude.fire(shell(claude, "unknown")).stdout == b""
    assert "is treated" in claude.fire(shell(claude, "unknown", session_id="s2")).person


@pytest.mark.sampled
@pytest.mark.parametrize(("caller", "field"), [("cursor", "continue"), ("vscode", "continue"), ("grok", "decision")])
def test_a_prompt_is_refused(claude: Agent, caller: str, field: str) -> None:
    """Each in its own way."""
    claude.project.hooks({"event": "user_prompt_submit", "command": "echo no >&2; exit 2"})
    event = {"cursor": "beforeSubmitPrompt", "vscode": "UserPromptSubmit", "grok": "UserPromptSubmit"}[caller]
    key = "hookEventName" if caller == "vscode" else "hook_event_name"
    prompt = {name: value for name, value in shell(claude, caller).items() if not name.startswith("tool_")}
    told = claude.fire({**prompt, key: event, "prompt": "do"})
    assert told.json[field] == {"continue": False, "decision": "block"}[field]
    assert without_origin(told.json["reason"]) == "no"


def test_what_cursor_says_next_is_the_reason_of_a_block_of_stop(claude: Agent) -> None:
    """Its own words beside Claude Code's."""
    claude.project.hooks({"event": "stop", "command": "echo go on >&2; exit 2"})
    about = {name: value for name, value in shell(claude, "cursor").items() if not name.startswith("tool_")}
    told = claude.fire({**about, "hook_event_name": "stop", "status": "completed"})
    assert (told.json["followup_message"], told.json["decision"], told.status) == ("go on", "block", 0)


def test_devin_s_message_without_the_name_of_an_event_is_understood(claude: Agent) -> None:
    """Its documentation names none: a tool without a result is about to be called."""
    claude.project.hooks({"event": "post_tool_use", "matcher": "bash", "command": says(action="continue")})
    done = {**shell(claude, "devin"), "tool_response": {"success": True, "output": "out", "error": None}}
    assert claude.fire(done).status == 0
    assert claude.project.audit()[-1]["hooks"] == 1


def test_the_hooks_of_a_project_are_those_of_the_message_s_directory(claude: Agent) -> None:
    """Cursor has no `cwd`, but its workspace."""
    claude.project.hooks({"command": "pwd >&2; exit 2"})
    told = claude.fire(shell(claude, "cursor"), env={"CLAUDE_PROJECT_DIR": ""})
    assert refusal(told, "cursor") == str(claude.project.root)


@pytest.mark.sampled
@CALLER
def test_a_project_s_wiring_is_silent_where_the_user_s_answers(claude: Agent, caller: str) -> None:
    """For callers that read the user's settings of Claude Code, too; no guard is lost for another."""
    claude.project.hooks({"matcher": "bash", "command": "echo no >&2; exit 2"})
    hookrun(claude, "install")
    told = claude.fire(shell(claude, caller), "--scope", "project")
    assert bool(told.stdout) is (caller in BY_STATUS)


@pytest.mark.sampled
@CALLER
def test_doctor_names_who_else_fires(claude: Agent, caller: str) -> None:
    """And does not take it for Claude Code."""
    claude.project.hooks({"command": says(action="continue")})
    hookrun(claude, "install")
    claude.fire(shell(claude, caller))
    told = hookrun(claude, "doctor")
    title = {"grok": "Grok Build", "cursor": "Cursor", "devin": "Devin", "vscode": "VS Code"}
    (line,) = (line for line in told.splitlines() if "other agents" in line)
    assert f"{title.get(caller, 'an unknown agent')}, last 20" in line
    assert "no run in the log yet" in told


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("guard", "reason"),
    [
        ({"matcher": "write", "when": {"tool_args.file_path": "*/secret"}, "command": "echo no >&2; exit 2"}, "no"),
        ({"matcher": "write", "when": {"tool_args.content": "*never*"}, "command": "exit 2"}, "in smaller parts"),
        ({"matcher": "write", "command": says(action="continue")}, "in smaller parts"),
        ({"matcher": "bash", "command": "exit 2"}, None),
    ],
)
def test_arguments_that_are_cut_off_are_not_let_pass(claude: Agent, guard: Json, reason: str | None) -> None:
    """Grok Build gives hooks the first 128 KiB of them: a guard on the tool cannot judge the rest."""
    claude.project.hooks({"name": "guard", **guard})
    args = json.dumps({"file_path": "/p/secret", "content": "x" * 1000})[:500] + " [truncated]"
    about = message("grok", "write")
    told = claude.fire({**about, "cwd": str(claude.project.root), "tool_input": args, "toolInputTruncated": True})
    assert reason in refusal(told, "grok") if reason else refusal(told, "grok") is None  # type: ignore[operator]


@pytest.mark.parametrize("given", ["echo hi", ["echo hi"], 1])
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "qwen"])
def test_arguments_that_are_no_object_are_not_let_pass(project: Project, agent: str, given: object) -> None:
    """A guard on the tool would see a call without arguments; the log of all calls is no guard."""
    wired = Agent(agent, project)
    event = "BeforeTool" if agent == "gemini" else "PreToolUse"
    tool = "run_shell_command" if agent in {"gemini", "qwen"} else "Bash"
    about = {"session_id": "s", "cwd": str(project.root), "hook_event_name": event, "tool_name": tool}
    project.hooks({"name": "guard", "matcher": "bash", "when": {"tool_args.command": "*never*"}, "command": "exit 2"})
    told = wired.fire({**about, "tool_input": given})
    assert "in smaller parts" in str(told.refusal)
    assert wired.fire({**about, "tool_input": None}).refusal is None
    project.hooks({"name": "log", "command": says(action="continue"), "background": True})
    assert wired.fire({**about, "tool_input": given}).refusal is None
