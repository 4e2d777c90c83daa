"""Guards hold in agents without a module, by their messages and documented answers: golden.documented."""

from __future__ import annotations

import json
from typing import Any

from hookrun.agents import others
from tests.conftest import Project
from tests.fire.agents import call
from tests.golden.documented import COMMAND, FILE, MESSAGES, ROOT
from tests.rows import rows

Json = dict[str, Any]

THROUGH_CLAUDE = ("cursor", "devin", "vscode")
"""They run the hooks in Claude Code's settings."""

BY_STATUS = sorted({*MESSAGES, "devin"} - {"cursor", "vscode"})
"""Exit status 2 refuses a call there, and stderr is the reason."""

ALSO_SAID: dict[str, Json] = {"cursor": {"permission": "deny"}, "vscode": {}}
"""What a refusal has beside Claude Code's form, where that is not `decision`."""

FORCE: Json = {
    "name": "no-force-push",
    "matcher": "bash",
    "python": "hookrun.recipes.no_force_push:check",
    "cwd": "/",
    "on_failure": "block",
}


def answer(project: Project, agent: str, message: Json, event: str = "PreToolUse") -> tuple[int, Json, str]:
    """Send a message about this project as the agent does; return the exit status, the JSON and stderr."""
    sent = json.loads(json.dumps(message).replace(ROOT, str(project.root)))
    wired = "claude" if agent in THROUGH_CLAUDE else agent
    project.approve()
    done = call(project, "fire", "--agent", wired, event, "--home", str(project.home), stdin=sent)
    return done.returncode, json.loads(done.stdout or b"{}"), done.stderr.decode()


def with_command(agent: str, command: str) -> Json:
    """Return the message before that command."""
    message: Json = json.loads(json.dumps(MESSAGES[agent][0]).replace(COMMAND, command))
    return message


@rows("agent, refused", [(agent, 2 * (agent in BY_STATUS)) for agent in MESSAGES])
def test_a_forced_push_is_refused_in_the_agent_s_own_form(agent: str, refused: int, project: Project) -> None:
    """By status 2 and stderr, or by JSON; a command that the recipe allows is not."""
    project.hooks(FORCE)
    status, said, stderr = answer(project, agent, with_command(agent, "git push --force origin main"))
    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert (status, "can overwrite commits" in stderr) == (refused, refused == 2)
    assert said.items() >= ALSO_SAID.get(agent, {"decision": "block"}).items()
    status, said, _ = answer(project, agent, with_command(agent, "git push origin main"))
    assert (status, said.get("hookSpecificOutput", {}).get("permissionDecision")) == (0, None)


@rows("agent", MESSAGES)
def test_a_guard_of_files_sees_the_file(agent: str, project: Project) -> None:
    """Whatever the agent calls the tool and the path."""
    project.hooks({"matcher": "write|edit", "command": "jq -r .tool_args.file_path >&2; exit 2", "on_failure": "block"})
    _, said, _ = answer(project, agent, MESSAGES[agent][1])
    reason = str(said["hookSpecificOutput"]["permissionDecisionReason"])
    assert FILE.replace(ROOT, str(project.root)) in reason


def test_a_hook_may_be_for_one_of_them_alone(project: Project) -> None:
    """By the name in its line, which the log has, too."""
    project.hooks({"matcher": "bash", "command": "exit 2", "agents": ["kimi"]})
    assert answer(project, "kimi", MESSAGES["kimi"][0])[0] == 2
    assert answer(project, "droid", MESSAGES["droid"][0])[0] == 0
    assert [each["agent"] for each in project.audit() if each["kind"] == "fire"] == ["kimi", "droid"]


@rows("agent", BY_STATUS)
def test_a_question_is_refused(agent: str, project: Project) -> None:
    """No documentation says that the agent asks; that of Droid's program only logs it."""
    project.hooks({"command": """cat >/dev/null; echo '{"action": "ask", "message": "sure?"}'"""})
    status, _, stderr = answer(project, agent, MESSAGES[agent][0])
    assert (status, "needs the user's approval: sure?" in stderr) == (2, True)


def test_windsurf_s_other_messages_are_read(project: Project) -> None:
    """Each event names the tool; a prompt and an MCP server's tool are known by their fields."""
    project.hooks(
        {"name": "prompts", "event": "user_prompt_submit", "command": "jq -r .user_prompt >&2; exit 2"},
        {"name": "servers", "matcher": "mcp__github__*", "command": "jq -r .tool_args.title >&2; exit 2"},
        {"name": "after", "event": "post_tool_use", "matcher": "bash", "command": "touch after"},
    )
    prompt = {"agent_action_name": "pre_user_prompt", "tool_info": {"user_prompt": "the secret"}}
    status, _, stderr = answer(project, "windsurf", prompt)
    assert (status, "the secret" in stderr) == (2, True)
    info = {"mcp_server_name": "github", "mcp_tool_name": "create_issue", "mcp_tool_arguments": {"title": "a bug"}}
    status, _, stderr = answer(project, "windsurf", {"agent_action_name": "pre_mcp_tool_use", "tool_info": info})
    assert (status, "a bug" in stderr) == (2, True)
    info = {"command_line": COMMAND, "cwd": ROOT}
    status, _, _ = answer(project, "windsurf", {"agent_action_name": "post_run_command", "tool_info": info})
    assert (status, (project.root / "after").exists()) == (0, True)


@rows("agent, key", [("goose", "event"), ("openhands", "event_type")])
def test_a_prompt_in_a_message_is_read(agent: str, key: str, project: Project) -> None:
    """Goose only shows it to hooks; OpenHands takes the refusal."""
    project.hooks({"event": "user_prompt_submit", "command": "jq -r .user_prompt >&2; exit 2"})
    sent = {key: "UserPromptSubmit", "session_id": "s1", "message": "the secret", "working_dir": ROOT}
    status, said, stderr = answer(project, agent, sent, "UserPromptSubmit")
    assert (status, said["decision"], "the secret" in stderr) == (2, "block", True)


def test_every_agent_that_is_wired_by_hand_has_a_message_here() -> None:
    """By the name in its line."""
    assert {names.split(maxsplit=1)[0] for names in others.BY_HAND} == {*MESSAGES} - {*THROUGH_CLAUDE}
