"""Claude Code's settings as declarations, in real runs: by a user, by other agents, by Claude Code itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.fire.agents import Agent

if TYPE_CHECKING:
    from tests.conftest import Project

SETTINGS = ".claude/settings.json"


def settings(project: Project, *groups: dict[str, object], event: str = "PreToolUse", include: bool = True) -> None:
    """Write the project's Claude Code settings, and let its declarations take them in."""
    path = project.root / SETTINGS
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": {event: list(groups)}}))
    if include:
        project.hooks(include_claude=True)


def group(command: str, matcher: str = "Bash", **fields: object) -> dict[str, object]:
    """Return a group with one handler."""
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command, **fields}]}


def test_a_named_settings_file_runs_as_it_is(project: Project) -> None:
    """`--config .claude/settings.json` is all that it takes; the hook is in Claude's dialect and finds its project."""
    guard = project.script(".claude/hooks/guard.sh", "#!/bin/sh\ngrep -q '\"Bash\"' && { echo no >&2; exit 2; }\n")
    settings(project, group(f'"$CLAUDE_PROJECT_DIR"/{guard[2:]}', **{"if": "Bash(rm *)"}), include=False)
    refused = project.fire({"tool_name": "bash", "tool_args": {"command": "ls; rm x"}}, "--config", SETTINGS)
    assert (refused.action, refused.verdict["message"]) == ("block", "no")
    assert project.fire(None, "--config", SETTINGS).action == "continue"


def test_other_agents_run_what_claude_code_has(project: Project) -> None:
    """Once it is approved: whatever they call the tool, the hook sees and matches Claude Code's name."""
    settings(project, group("echo 'not that' >&2; exit 2", "Bash"))
    for name in ("codex", "gemini", "cline"):
        agent = Agent(name, project)
        assert "not that" in str(agent.fire(agent.shell("rm x")).reason), name


def test_a_strangers_settings_are_not_run(project: Project) -> None:
    """They are the project's, and have no approval."""
    settings(project, group("touch ran; exit 2"))
    message = Agent("codex", project).shell()
    project.fire(message, "--agent", "codex", "--home", str(project.home), event="PreToolUse")
    assert not (project.root / "ran").exists()
    assert "untrusted" in [each.get("failure") for each in project.audit()]


def test_claude_code_runs_its_own_settings_itself(project: Project) -> None:
    """In a run by Claude Code they are skipped, and `--explain` says so; our own hooks run."""
    settings(project, group("touch theirs"))
    project.hooks({"command": "touch ours", "name": "ours"}, include_claude=True)
    agent = Agent("claude", project)
    done = agent.fire(agent.shell(), "--explain")
    assert (project.root / "ours").exists()
    assert not (project.root / "theirs").exists()
    assert "does not apply: Claude Code runs it itself" in done.stderr


def test_claudes_form_in_our_file_runs_under_claude_code_too(project: Project) -> None:
    """Claude Code does not read coder.json."""
    (project.root / "coder.json").write_text(json.dumps({"hooks": {"PreToolUse": [group("touch ran")]}}))
    agent = Agent("claude", project)
    agent.fire(agent.shell())
    assert (project.root / "ran").exists()


def test_the_same_handler_runs_once(project: Project) -> None:
    """In two groups that both match, and in two files."""
    once = group("echo x >> ran")
    settings(project, once, group("echo x >> ran", "Bash|Edit"))
    (project.root / ".claude" / "settings.local.json").write_text(json.dumps({"hooks": {"PreToolUse": [once]}}))
    fired = project.fire(None, "--explain")
    assert (project.root / "ran").read_text() == "x\n"
    assert fired.stderr.count("the same handler is declared before and applies") == 2


def test_a_handler_that_cannot_be_run_is_told_once(project: Project) -> None:
    """The user is notified in the first run of a session; the audit records it in each."""
    settings(project, {"hooks": [{"type": "prompt", "prompt": "Is it safe?"}]})
    agent = Agent("codex", project)
    told = [agent.fire(agent.shell()).person for _ in range(2)]
    assert 'only Claude Code can run handlers of type "prompt"' in told[0]
    assert told[1] == ""
    assert len([each for each in project.audit() if each.get("failure") == "declaration"]) == 2


def test_settings_that_claude_code_rejects_are_trouble(project: Project) -> None:
    """A list as a matcher voids the file: it is reported, and none of its hooks run."""
    settings(project, {"matcher": ["Bash"], "hooks": [{"type": "command", "command": "touch ran"}]})
    fired = project.fire()
    assert fired.status == 1
    assert "Claude Code rejects the whole file" in fired.stderr
    assert not (project.root / "ran").exists()


@pytest.mark.only_cold("decides about hooks and runs none")
def test_a_moved_project_needs_no_new_approval(project: Project) -> None:
    """Nor does one in which another declaration comes before the same handler."""
    settings(project, group("touch ran", **{"if": "Edit(/a)"}), group("touch ran"))
    project.approve()
    listed = hookrun(project, "trust", "--digest").stdout
    elsewhere = project.root.parent / "elsewhere"
    project.root.rename(elsewhere)
    project.root = elsewhere
    assert hookrun(project, "trust", "--digest").stdout == listed


@pytest.mark.only_cold("lists hooks and runs none")
def test_list_shows_matcher_and_rule(project: Project) -> None:
    """In the words of the settings."""
    settings(project, group("true", "Edit|Bash", **{"if": "Bash(git *)"}))
    assert "Edit|Bash if Bash(git *)" in hookrun(project, "list").stdout
    assert "never runs" not in hookrun(project, "validate").stdout


@pytest.mark.only_cold("installs and runs nothing")
def test_claude_code_is_not_wired_for_what_it_runs_itself(project: Project) -> None:
    """Another agent is, for the same hooks: here those of an event that is connected for hooks only."""
    settings(project, group("true"), event="MessageDisplay")
    (project.root / "coder.json").write_text(json.dumps({"hookrun": {"include_claude": True}}))
    for name, wired in (("claude", False), ("qwen", True)):
        assert ("MessageDisplay" in hookrun(project, "install", name, "--dry-run").stdout) is wired


def test_an_agent_may_not_edit_the_scripts_of_claudes_hooks(project: Project) -> None:
    """The recipe that protects hooks knows them by the project's variable."""
    script = project.script(".claude/hooks/guard.sh", "#!/bin/sh\n")[2:]
    settings(project, group(f'"$CLAUDE_PROJECT_DIR"/{script}', "Bash"))
    project.user_hooks({"python": "hookrun.recipes.protect_hooks:guard", "cwd": "/", "name": "protect"})
    edit = {"tool_name": "edit", "tool_args": {"file_path": str(project.root / script)}}
    assert project.fire(edit).hook("protect")["action"] == "block"
