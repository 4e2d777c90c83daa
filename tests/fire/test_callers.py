"""Guards installed into Claude Code work in other agents that run its hooks, each answered in a form that it obeys."""

from __future__ import annotations

import json
from typing import Any

from tests.agents.test_callers import message
from tests.cli.command import hookrun
from tests.fire.agents import Agent, AgentOf, Told, says, without_origin
from tests.rows import rows

Json = dict[str, Any]

SHELL = {
    "grok": "run_terminal_command",
    "cursor": "Shell",
    "devin": "exec",
    "vscode": "run_in_terminal",
    "unknown": "run_it",
}
"""A caller -> its tool for shell commands."""

CALLERS = rows("caller", SHELL)
BY_STATUS = ("devin", "unknown")
"""Callers that are refused by exit status and stderr as well."""


def shell(claude: Agent, caller: str, command: str = "echo hi", **more: object) -> Json:
    """Return the message before a shell command, in this project."""
    root = str(claude.project.root)
    about = {"workspace_roots": [root]} if caller == "cursor" else {"cwd": root}
    return {**message(caller, SHELL[caller], command=command), **about, **more}


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


@rows(
    "caller, guard",
    [
        *((caller, {"matcher": "bash"}) for caller in SHELL),
        *(("grok", guard) for guard in ({"matcher": "Bash"}, {"agents": ["claude"]}, {})),
    ],
)
def test_a_guard_holds(caller: str, guard: Json, agent_of: AgentOf) -> None:
    """By hookrun's name of the tool, by Claude Code's, and if it is for Claude Code alone."""
    claude = agent_of("claude")
    claude.project.hooks({"name": "guard", "command": "echo no >&2; exit 2", **guard})
    told = claude.fire(shell(claude, caller))
    assert refusal(told, caller) == "no"
    fire = claude.project.audit()[-1]
    assert (fire["agent"], fire["through"], fire["tool"]) == (caller, "claude", "bash")


@CALLERS
def test_a_guard_in_claude_s_dialect_holds(caller: str, agent_of: AgentOf) -> None:
    """It reads Claude Code's name of the tool in a message of Claude Code's form."""
    claude = agent_of("claude")
    script = """grep -q '"tool_name":"Bash"' && { echo no >&2; exit 2; }"""
    handler = {"matcher": "Bash", "hooks": [{"type": "command", "command": script}]}
    (claude.project.root / "coder.json").write_text(json.dumps({"hooks": {"PreToolUse": [handler]}}))
    assert refusal(claude.fire(shell(claude, caller)), caller) == "no"


NEW = {"command": "echo new"}


@rows("caller, its_own", [("grok", None), ("cursor", NEW), ("devin", None), ("vscode", None)])
def test_a_change_is_made(caller: str, its_own: Json | None, agent_of: AgentOf) -> None:
    """In Claude Code's words, and in its own as well for Cursor."""
    claude = agent_of("claude")
    claude.project.hooks({"command": says(action="modify", args_patch=NEW)})
    told = claude.fire(shell(claude, caller))
    assert (refusal(told, caller), told.args, told.json.get("updated_input")) == (None, NEW, its_own)


def test_a_change_for_an_unknown_caller_is_refused(claude: Agent) -> None:
    """It might run the old command."""
    claude.project.hooks({"command": says(action="modify", args_patch=NEW)})
    assert json.dumps(NEW) in str(refusal(claude.fire(shell(claude, "unknown")), "unknown"))


@rows("caller", ["grok", "vscode"])
def test_a_question_is_asked(caller: str, agent_of: AgentOf) -> None:
    """Grok Build and VS Code ask."""
    claude = agent_of("claude")
    claude.project.hooks({"command": says(action="ask", message="sure?")})
    told = claude.fire(shell(claude, caller))
    assert (told.status, told.own["permissionDecision"]) == (0, "ask")


@rows("caller", ["cursor", "devin", "unknown"])
def test_a_question_is_refused(caller: str, agent_of: AgentOf) -> None:
    """Where it is not known whether they ask, or known that they do not."""
    claude = agent_of("claude")
    claude.project.hooks({"command": says(action="ask", message="sure?")})
    assert refusal(claude.fire(shell(claude, caller)), caller) == "needs the user's approval: sure?"


def test_grok_is_not_asked_to_ask_where_it_approves_everything(claude: Agent) -> None:
    """Measured: it would run the tool."""
    claude.project.hooks({"command": says(action="ask", message="sure?")})
    told = claude.fire(shell(claude, "grok", permissionMode="bypassPermissions"))
    assert refusal(told, "grok") == "needs the user's approval: sure?"


@rows("caller, notice", [(caller, caller == "unknown") for caller in SHELL])
def test_nothing_to_say_is_said_by_nothing(caller: str, notice: bool, agent_of: AgentOf) -> None:
    """No notice is needed for a known caller."""
    claude = agent_of("claude")
    claude.project.hooks({"matcher": "write", "command": "exit 2"})
    told = claude.fire(shell(claude, caller))
    assert (told.status, bool(told.stdout)) == (0, notice)


def test_the_user_is_told_once_of_a_tool_that_is_taken_by_its_arguments(claude: Agent) -> None:
    """Once per session and tool; `doctor` reports it as well."""
    claude.project.hooks({"matcher": "read", "command": "exit 2"})
    told = claude.fire(shell(claude, "unknown"))
    assert "`run_it` is treated as `bash`" in told.person
    assert claude.fire(shell(claude, "unknown")).stdout == b""
    assert "is treated" in claude.fire(shell(claude, "unknown", session_id="s2")).person


@rows(
    "caller, event, refused",
    [
        ("cursor", {"hook_event_name": "beforeSubmitPrompt"}, {"continue": False}),
        ("vscode", {"hookEventName": "UserPromptSubmit"}, {"continue": False}),
        ("grok", {"hook_event_name": "UserPromptSubmit"}, {"decision": "block"}),
    ],
)
def test_a_prompt_is_refused(caller: str, event: Json, refused: Json, agent_of: AgentOf) -> None:
    """Each in its own way."""
    claude = agent_of("claude")
    claude.project.hooks({"event": "user_prompt_submit", "command": "echo no >&2; exit 2"})
    prompt = {name: value for name, value in shell(claude, caller).items() if not name.startswith("tool_")}
    told = claude.fire({**prompt, **event, "prompt": "do"})
    assert told.json.items() >= refused.items()
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


def test_a_project_s_wiring_is_silent_where_the_user_s_answers(claude: Agent) -> None:
    """For callers that read the user's settings of Claude Code, too; no guard is lost for another."""
    claude.project.hooks({"matcher": "bash", "command": "echo no >&2; exit 2"})
    assert hookrun(claude.project, "install", "claude").status == 0
    answered = [caller for caller in SHELL if claude.fire(shell(claude, caller), "--scope", "project").stdout]
    assert answered == [*BY_STATUS]


def test_doctor_names_who_else_fires(claude: Agent) -> None:
    """And does not take it for Claude Code."""
    claude.project.hooks({"command": says(action="continue")})
    assert hookrun(claude.project, "install", "claude").status == 0
    for caller in SHELL:
        claude.fire(shell(claude, caller))
    told = hookrun(claude.project, "doctor", "claude").stdout
    lines = "\n".join(line for line in told.splitlines() if "other agents" in line)
    titles = ("Grok Build", "Cursor", "Devin", "VS Code", "an unknown agent")
    assert [title for title in titles if f"{title}, last 20" in lines] == [*titles]
    assert "no run in the log yet" in told


CUT_OFF = "hooks (guard) cannot read all of this: the agent does not pass all of its arguments: do it in smaller parts"


@rows(
    "guard, reason",
    [
        ({"matcher": "write", "when": {"tool_args.file_path": "*/secret"}, "command": "echo no >&2; exit 2"}, "no"),
        ({"matcher": "write", "when": {"tool_args.content": "*never*"}, "command": "exit 2"}, CUT_OFF),
        ({"matcher": "write", "command": says(action="continue")}, CUT_OFF),
        ({"matcher": "bash", "command": "exit 2"}, None),
    ],
)
def test_arguments_that_are_cut_off_are_not_let_pass(guard: Json, reason: str | None, agent_of: AgentOf) -> None:
    """Grok Build gives hooks the first 128 KiB of them: a guard on the tool cannot judge the rest."""
    claude = agent_of("claude")
    claude.project.hooks({"name": "guard", **guard})
    args = json.dumps({"file_path": "/p/secret", "content": "x" * 1000})[:500] + " [truncated]"
    about = message("grok", "write")
    told = claude.fire({**about, "cwd": str(claude.project.root), "tool_input": args, "toolInputTruncated": True})
    assert refusal(told, "grok") == reason


@rows("given", ["echo hi", ["echo hi"], 1])
@rows("name", ["claude", "codex", "gemini", "qwen"])
def test_arguments_that_are_no_object_are_not_let_pass(name: str, given: object, agent_of: AgentOf) -> None:
    """A guard on the tool would see a call without arguments; the log of all calls is no guard."""
    agent = agent_of(name)
    guard: Json = {"name": "guard", "matcher": "bash", "when": {"tool_args.command": "*never*"}, "command": "exit 2"}
    agent.project.hooks(guard)
    assert "in smaller parts" in str(agent.fire({**agent.shell(), "tool_input": given}).refusal)
    assert agent.fire({**agent.shell(), "tool_input": None}).refusal is None
    agent.project.hooks({"name": "log", "command": says(action="continue"), "background": True})
    assert agent.fire({**agent.shell(), "tool_input": given}).refusal is None
