"""A user's first hour: hints that fit, complete examples, and no silence."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun, hookrun_process
from tests.cli.terminal import at_terminal, started_at_terminal, until_closed
from tests.rows import rows
from tests.waiting import ended

if TYPE_CHECKING:
    from tests.conftest import Project

LS = {"tool_name": "bash", "tool_args": {"command": "ls"}}
EXAMPLES = {
    "protect-env": "pre_tool_use",
    "no-conflict-markers": "post_tool_use",
    "house-rules": "user_prompt_submit",
    "finish-the-job": "stop",
    "read-the-rules": "session_start",
    "tell-me": "notification",
}
"""Name of an example in the help of `hookrun new` -> its event."""


@pytest.mark.slow
def test_the_examples_that_the_help_names_are_finished(project: Project) -> None:
    """By name alone, each for its own event, and its tests pass."""
    for name in EXAMPLES:
        assert name in " ".join(hookrun(project, "new", "--help").stdout.split())
        done = hookrun(project, "new", name, "--lang", "sh")
        assert (done.status, "stub" in done.stdout) == (0, False), done.stdout
    hooks = project.config()["hooks"]
    assert {each["name"]: each["event"] for each in hooks} == EXAMPLES
    assert hookrun(project, "test").status == 0


def test_a_matcher_of_your_own_makes_a_hook_of_your_own(project: Project) -> None:
    """An example's event would have no tool."""
    assert hookrun(project, "new", "tell-me", "--lang", "sh", "--matcher", "bash").status == 0
    assert project.config()["hooks"][0]["event"] == "pre_tool_use"


@rows("name", ["", "../x"])
def test_an_empty_name_and_a_path_are_no_names(project: Project, name: str) -> None:
    """No name is chosen instead."""
    done = hookrun(project, "new", name, "--lang", "sh")
    assert (done.status, done.stderr.splitlines()[0]) == (1, f'error: invalid name "{name}"')
    assert not (project.root / "hooks").exists()


def test_only_a_hook_that_blocks_on_failure_is_said_to_block(project: Project) -> None:
    """One with `on_failure: continue` blocks nothing while it waits for approval."""
    guard = hookrun(project, "new", "protect-env", "--lang", "sh")
    assert guard.stdout.rstrip().endswith("agents do not run it until then, and it blocks matching calls")
    after = hookrun(project, "new", "after", "--lang", "sh", "--event", "post_tool_use").stdout
    assert after.rstrip().endswith("agents do not run it until then")


@rows("arguments", [("disable", "x", "--json"), ("config", "schema", "--hook", ".")])
def test_an_option_that_many_commands_have_names_none_of_them(project: Project, arguments: tuple[str, ...]) -> None:
    """`hookrun log` has --json, but so have twenty others: the command's own help is what helps."""
    done = hookrun(project, *arguments)
    assert done.status == 1
    assert "--help` shows the usage" in done.stderr
    assert "has it" not in done.stderr


@rows("command", [("remove",), ("disable",), ("explain", "stop", "--hook"), ("try", "ls", "--hook")])
def test_a_hook_in_a_broken_file_is_not_just_unknown(project: Project, command: tuple[str, ...]) -> None:
    """`hookrun list` would not list it either."""
    project.script("coder.json", '{"hooks": [', 0o644)
    done = hookrun(project, *command, "guard")
    assert done.status == 1
    assert 'no hook named "guard" here\nhint: the config has errors: run `hookrun validate`' in done.stderr


def test_an_agents_name_of_a_tool_is_recognized(project: Project) -> None:
    """It means the same tool, whether an agent is named or not; other spellings do not."""
    project.hooks({"name": "guard", "matcher": "bash", "command": "true"})
    project.approve()
    for tool in ("Bash", "run_shell_command"):
        assert "1  guard  runs" in hookrun(project, "explain", "pre_tool_use", "--tool", tool).stdout
    assert "case-sensitive: write" in hookrun(project, "explain", "pre_tool_use", "--tool", "BASH").stdout
    known = hookrun(project, "explain", "pre_tool_use", "--tool", "Bash", "--agent", "claude").stdout
    assert "1  guard  runs" in known


def test_a_reason_is_given_once(project: Project) -> None:
    """Not "not approved: not approved"."""
    project.hooks({"name": "guard", "command": "true"})
    message = {"hook_event_name": "PreToolUse", "cwd": str(project.root), "tool_name": "Bash", "tool_input": {}}
    subprocess.run(
        project.command("fire", "--agent", "claude", "--home", str(project.home)),
        input=json.dumps(message).encode(),
        cwd=project.root,
        env=project.environment(),
        check=True,
    )
    for command in "why", "log":
        assert "  guard: not run: not approved: review with `hookrun trust" in hookrun(project, command).stdout


def test_a_run_without_a_verdict_has_a_result(project: Project) -> None:
    """An agent's unknown event: the answer to the agent, not `None`."""
    message = {"hook_event_name": "Nosuch", "cwd": str(project.root)}
    subprocess.run(
        project.command("fire", "--agent", "claude", "Nosuch", "--home", str(project.home)),
        input=json.dumps(message).encode(),
        cwd=project.root,
        env=project.environment(),
        check=True,
    )
    assert "Nosuch in claude: continue\n" in hookrun(project, "status").stdout


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("init",), ("new", "guard", "--lang", "sh"), ("disable", "--all"), ("trust",)])
def test_a_closed_stdin_is_no_terminal(project: Project, arguments: tuple[str, ...]) -> None:
    """As in a daemon: nothing is asked, and nothing crashes."""
    command = " ".join(["exec", *project.command(*arguments), "<&-"])
    done = subprocess.run(
        ["sh", "-c", command], cwd=project.root, env=project.environment(), capture_output=True, check=False, text=True
    )
    assert "internal error" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("init", "--no-install"), ("trust",)])
def test_ctrl_c_at_a_question_exits_with_130(project: Project, arguments: tuple[str, ...]) -> None:
    """As `hookrun help exit-codes` documents for every command."""
    project.hooks({"name": "guard", "command": "true"})
    process, master = started_at_terminal(project, *arguments)
    screen = b""
    while not re.search(rb"(\[[1-9,]+\]|\[none\]|\[q\]uit):$", screen.rstrip()):
        screen += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    os.write(master, b"\n")  # should the signal come before it reads
    assert (b"aborted" in until_closed(master), ended(process)) == (False, 130)


def test_a_name_that_the_locale_cannot_express_is_not_an_internal_error(project: Project) -> None:
    """A project with such a name may be in the log."""
    project.hooks({"name": "guard", "command": "true"})
    other = project.root.parent / "caf\u00e9"
    (other / ".git").mkdir(parents=True)
    project.fire(LS, cwd=other)
    done = hookrun_process(project, "log", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (done.status, "internal error" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize("command", [("doctor", "claude"), ("status",)])
def test_a_hook_that_is_declared_wrongly_is_a_problem(project: Project, command: tuple[str, ...]) -> None:
    """It fails at every call, and the exit status shows it."""
    project.hooks({"name": "guard", "command": "true"})
    hookrun(project, "install", "claude")
    project.user_hooks({"name": "mine", "command": "./mine.sh"})
    done = hookrun(project, *command)
    assert done.status == 1
    assert "relative path in a user or managed hook" in " ".join((done.stdout + done.stderr).split())
    assert "write the absolute path" in done.stdout + done.stderr


def test_an_agents_settings_cannot_be_yaml(project: Project) -> None:
    """The hint for a config file of hookrun's would not help; and doctor has nothing to leave unchanged."""
    project.hooks({"name": "guard", "command": "true"})
    (project.home / ".claude").mkdir()
    (project.home / ".claude" / "settings.json").write_text("// mine\n{}")
    done = hookrun(project, "install", "claude")
    assert "JSON has no comments\nhint: remove the comment; nothing was changed" in done.stderr
    shown = " ".join(hookrun(project, "doctor", "claude").stdout.split())
    assert "~/.claude/settings.json:1:1: JSON has no comments; remove the comment" in shown
    assert "nothing was changed" not in shown


def test_a_command_line_without_quotes_is_shown_with_them(project: Project) -> None:
    """Its options are not those of `try`; a misspelled one of `try` is still recognized."""
    done = hookrun(project, "try", "rm", "-rf", "build")
    assert done.stderr == "error: unknown option `-r`\nhint: quote the command line: `hookrun try 'rm -rf build'`\n"
    assert "did you mean `--agent`?" in hookrun(project, "try", "ls", "--agnet", "claude").stderr


def test_the_command_that_shows_why_nothing_matched_has_the_call(project: Project) -> None:
    """Without the call `explain` could only list the conditions."""
    project.hooks({"name": "guard", "matcher": "bash", "when": {"tool_args.command": "git*"}, "command": "true"})
    tried = hookrun(project, "try", "ls -l").stdout
    assert "`hookrun explain pre_tool_use --tool bash --arg 'command=ls -l'` shows why" in tried
    why = hookrun(project, "explain", "pre_tool_use", "--tool", "bash", "--arg", "command=ls -l").stdout
    assert 'tool_args.command is "ls -l", which "git*" does not match' in why


def test_a_text_for_model_and_user_is_shown_once(project: Project) -> None:
    """As of a hook that only advises."""
    project.hooks({"name": "guard", "mode": "advise", "command": "echo no >&2; exit 2"})
    project.approve()
    assert hookrun(project, "try", "ls").stdout.count("would block: no") == 1


def test_a_hook_for_one_agent_does_not_include_null(project: Project) -> None:
    """Without an agent it says so."""
    project.hooks({"name": "guard", "agents": ["gemini"], "command": "true"})
    fired = project.fire(LS, "--explain")
    assert 'agents: only for "gemini", and no agent runs it' in fired.stderr


@pytest.mark.slow
def test_your_own_hook_is_not_one_of_the_project(project: Project) -> None:
    """`disable` takes it all the same, and `remove --user` takes no other."""
    project.user_hooks({"name": "mine", "command": "/bin/true"})
    project.hooks({"name": "theirs", "command": "true"})
    for command in "disable", "enable":
        assert f"{command}d mine (~/.config/hookrun/hooks.json:" in at_terminal(project, command, "mine").screen
    done = hookrun(project, "remove", "theirs", "--user")
    assert done.stderr == 'error: no hook named "theirs" in your own config\nhint: leave out `--user`\n'


def test_a_handler_that_is_not_migrated_names_its_file_once(project: Project) -> None:
    """With the line, and the reason."""
    settings = project.root / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt": "done?"}]}]}}')
    done = hookrun(project, "migrate", "--dry-run")
    assert f"{settings}:1: not migrated: only Claude Code can run handlers" in done.stderr


def test_hooks_are_not_ready_where_the_approvals_cannot_be_read(project: Project) -> None:
    """No hook of the project runs then, so none is ready; that there is none is wrong, too."""
    project.hooks({"name": "guard", "command": "true"})
    project.user_hooks({"name": "mine", "command": "/bin/true"})
    project.approve()
    hookrun(project, "install", "claude")
    (project.home / ".local" / "share" / "hookrun" / "trust.json").write_text("garbage")
    listed, status, trust = (hookrun(project, command) for command in ("list", "status", "trust"))
    assert (listed.status, status.status, trust.status) == (1, 1, 1)
    assert all("trust.json" in done.stderr and done.stderr.count("\n") <= 3 for done in (listed, status, trust))
    states = {line.split()[0]: line.split()[3] for line in listed.stdout.splitlines()[1:]}
    assert states == {"mine": "ready", "guard": "unknown"}
    assert "hooks      2: 1 ready, 1 unknown\n" in status.stdout
    shown = hookrun(project, "doctor", "claude").stdout
    assert "\\n" not in shown
    assert "hint: remove it, then approve your hooks again" in shown


def test_an_old_run_is_not_taken_for_the_last_one(project: Project) -> None:
    """Where runs are no longer logged, `why` and `log` say so; not for a run given by id."""
    project.hooks({"name": "guard", "command": "true"})
    run_id = str(project.fire(LS).verdict["request_id"])
    path = project.home / ".config" / "hookrun" / "hooks.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"hookrun": {"audit": false}, "hooks": []}')
    for command in "why", "log":
        assert hookrun(project, command).stderr == "note: runs are not logged: the setting `audit` is false\n"
    assert hookrun(project, "why", run_id).stderr == ""


# --- a config file that does not apply here


def test_outside_a_repository_every_command_names_the_config_above(project: Project) -> None:
    """A guard that does not run in a subdirectory must not go unnoticed."""
    (project.root / ".git").rmdir()
    (project.root / "web").mkdir()
    project.hooks({"name": "guard", "command": "true"})
    for command in ("list",), ("status",), ("validate",), ("try", "ls"), ("explain", "pre_tool_use"):
        done = hookrun(project, *command, cwd=project.root / "web")
        assert "../coder.json has hooks, but no .git, so it is ignored" in done.stdout, command
    shown = hookrun(project, "doctor", "claude", cwd=project.root / "web").stdout
    assert "no hooks are configured here" in shown


@pytest.mark.parametrize("arguments", [("new", "guard", "--lang", "sh"), ("add", "no-force-push"), ("init", "--yes")])
def test_a_new_config_outside_a_repository_says_where_it_applies(project: Project, arguments: tuple[str, ...]) -> None:
    """In a repository it applies everywhere, so no note is needed."""
    text = "not a git repository: the hooks run in this directory, but not in the directories below it"
    assert text not in hookrun(project, *arguments, "--dry-run").stdout
    (project.root / ".git").rmdir()
    assert text in " ".join(hookrun(project, *arguments).stdout.split())
    assert text not in " ".join(hookrun(project, "add", "notify").stdout.split())


@rows("command", ["list", "status", "try ls", "explain pre_tool_use"])
def test_a_misspelled_key_is_named_where_there_are_no_hooks(project: Project, command: str) -> None:
    r"""Not only by `validate`, and on one line: the hint is part of the sentence, not a literal `\n`."""
    project.script("coder.json", '{"hook": []}', 0o644)
    shown = hookrun(project, *command.split()).stdout
    assert 'coder.json:1:10: hookrun ignores the key "hook"; did you mean "hooks"?' in shown
