"""`hookrun explain`: each hook's state and its reason, the run that it shows, and the answer to an agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import Done, hookrun, hookrun_process
from tests.conftest import ROOT
from tests.fire.agents import says
from tests.rows import rows
from tests.waiting import ended

if TYPE_CHECKING:
    from tests.conftest import Project

PUSH = ("pre_tool_use", "--tool", "bash", "--arg", "command=git push")


def first(done: Done) -> str:
    """Return the first line of the answer."""
    return done.stdout.partition("\n")[0]


def fates(done: Done) -> dict[str, dict[str, object]]:
    """Return the report on each hook of the first call, by its name."""
    calls = done.json["calls"]
    assert isinstance(calls, list)
    return {each["name"]: each for each in calls[0]}


def test_what_is_not_given_is_named_as_what_it_depends_on(project: Project) -> None:
    """Without a context a hook without conditions would run; every other is shown with what it depends on."""
    project.hooks(
        {"name": "any", "command": "true"},
        {"name": "every-tool", "matcher": "*", "command": "true"},
        {"name": "bash", "matcher": "bash", "when": {"tool_args.command": "git*"}, "command": "true"},
        {"name": "unless", "unless": {"session_id": "s*"}, "command": "true"},
        {"name": "codex", "agents": ["codex"], "command": "true"},
    )
    project.approve()
    states = fates(hookrun(project, "explain", "PreToolUse", "--json"))
    assert {name: fate["state"] for name, fate in states.items()} == {
        "any": "runs",
        "every-tool": "runs",
        "bash": "depends",
        "unless": "depends",
        "codex": "depends",
    }
    assert states["bash"]["depends"] == ['the tool ("bash")', 'tool_args.command ("git*")']
    assert states["unless"]["depends"] == ['session_id (not "s*")']
    assert states["codex"]["depends"] == ["the agent (codex only)"]
    known = fates(hookrun(project, "explain", *PUSH, "--json"))
    assert [known[name]["state"] for name in ("bash", "unless", "codex")] == ["runs", "depends", "depends"]


def test_a_condition_that_fails_decides_whatever_else_is_not_known(project: Project) -> None:
    """A wrong tool is one also where the session is not known; an exception of which one part fails is none."""
    project.hooks(
        {"name": "other", "matcher": "write", "when": {"session_id": "x"}, "command": "true"},
        {"name": "half", "unless": {"tool_args.command": "ls", "session_id": "s*"}, "command": "true"},
    )
    project.approve()
    states = fates(hookrun(project, "explain", *PUSH, "--json"))
    assert (states["other"]["state"], states["half"]["state"]) == ("does not apply", "runs")


def test_order_layer_and_place_of_every_hook(project: Project) -> None:
    """The user's come first, then by priority; each is shown with its file and line; other events are named briefly."""
    project.hooks(
        {"name": "late", "command": "true"},
        {"name": "early", "priority": 3, "always": True, "command": "true"},
        {"name": "elsewhere", "event": "stop", "command": "true"},
    )
    project.user_hooks({"name": "mine", "command": "/bin/true"})
    project.approve()
    done = hookrun(project, "explain", "pre_tool_use")
    assert done.stdout == (
        "pre_tool_use: 3 of 3 hooks would run: mine, early, late\n"
        "\n"
        "#  HOOK   STATE  WHY\n"
        "1  mine   runs\n"
        "2  early  runs\n"
        "3  late   runs   unless an earlier hook blocks\n"
        "\n"
        "hooks of other events: stop (elsewhere)\n"
    )
    only = hookrun(project, "explain", "pre_tool_use", "--hook", "late")
    assert only.stdout == (
        "pre_tool_use: late would run\n\n#  HOOK  STATE  WHY\n3  late  runs   unless an earlier hook blocks\n"
    )
    hooks = hookrun(project, "explain", "pre_tool_use", "--json").json["calls"]
    assert isinstance(hooks, list)
    assert [(each["layer"], each["priority"], each["line"]) for each in hooks[0]] == [
        ("user", 500, 1),
        ("project", 3, 1),
        ("project", 500, 1),
    ]


def test_nothing_is_run(project: Project) -> None:
    """Neither a hook nor the audit is touched before `--run` is given."""
    project.hooks({"command": "touch ran"})
    project.approve()
    hookrun(project, "explain", *PUSH)
    hookrun(project, "explain", *PUSH, "--agent", "claude", "--json")
    assert not (project.root / "ran").exists()
    assert project.audit() == []
    hookrun(project, "explain", *PUSH, "--run")
    assert (project.root / "ran").exists()
    assert [record["kind"] for record in project.audit()] == ["hook", "fire"]


def test_the_run_shows_what_each_hook_did_and_what_became_of_the_arguments(project: Project) -> None:
    """What each hook read, wrote and returned, and the arguments before and after, as a diff."""
    project.hooks(
        {"name": "dry", "command": says(action="modify", args_patch={"command": "git push --dry-run"})},
        {"name": "loud", "command": "echo beware >&2; exit 3"},
    )
    done = hookrun(project, "explain", *PUSH, "--run")
    assert first(done).startswith("pre_tool_use: modify; ran: dry, loud; loud failed (exit_code: ")
    for expected in (
        "dry   modify  ",
        "; changed command\n",
        'dry\n  input   {"hook": "dry",',
        'loud\n  input   {"hook": "loud",',
        '  -  "command": "git push"\n  +  "command": "git push --dry-run"\n',
        "  stderr  beware\n  exit status 3\n",
    ):
        assert expected in done.stdout, done.stdout
    report = hookrun(project, "explain", *PUSH, "--run", "--json").json["run"]
    assert isinstance(report, dict)
    fire = report["fires"][0]
    assert fire["arguments"]["after"] == {"command": "git push --dry-run"}
    assert json.loads(fire["hooks"][1]["input"])["tool_args"] == {"command": "git push --dry-run"}
    assert [hook["exit"] for hook in fire["hooks"]] == [0, 3]


def test_an_interrupt_ends_the_hook_that_runs(project: Project) -> None:
    """Ctrl-C during `--run` ends with status 130 and leaves no process."""
    begun = project.root / "begun"
    os.mkfifo(begun)
    project.hooks({"event": "stop", "command": "echo $$ > begun; exec sleep 60"})
    with subprocess.Popen(
        project.command("explain", "stop", "--run"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=project.root,
        env=project.environment(),
    ) as process:
        hook = int(begun.read_text())
        process.send_signal(signal.SIGINT)
        assert ended(process) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(hook, 0)


def test_a_person_who_runs_it_is_not_asked_for_approval_and_an_agent_is(project: Project) -> None:
    """As with `hookrun fire`, with and without `--agent`."""
    project.hooks({"name": "guard", "command": says(action="block", message="R")})
    assert first(hookrun(project, "explain", *PUSH, "--run")) == "pre_tool_use: block by guard (R); ran: guard"
    states = first(hookrun(project, "explain", *PUSH, "--run", "--agent", "claude"))
    assert states.startswith("pre_tool_use: continue; no hook ran; guard failed (untrusted: not approved")


@pytest.mark.parametrize("question", [("PreToolUse", "--ctx", "m.json"), PUSH])
def test_what_an_agent_would_be_told_to_the_byte(project: Project, question: tuple[str, ...]) -> None:
    """For an agent's own message, or for a hookrun context, which is translated into one of the agent's."""
    project.hooks({"name": "asks", "matcher": "Bash", "command": says(action="skip", message="R")})
    project.approve()
    message = (ROOT / "tests" / "golden" / "payloads" / "claude" / "shell.02.PreToolUse.json").read_text()
    (project.root / "m.json").write_text(json.dumps({**json.loads(message), "cwd": str(project.root)}))
    done = hookrun(project, "explain", *question, "--agent", "claude", "--run", "--json")
    run = done.json["run"]
    assert isinstance(run, dict)
    assert json.loads(run["told"])["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert (run["exit"], run["degraded"]) == (0, ["skip -> block"])
    assert json.loads(run["fires"][0]["hooks"][0]["input"])["agent_tool_name"] == "Bash"


def test_what_an_agent_cannot_be_told_is_known_before_anything_runs(project: Project) -> None:
    """Each action that its event does not support, and its fallback."""
    project.hooks({"command": "true"})
    done = hookrun(project, "explain", "BeforeTool", "--agent", "gemini")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("unsupported by Gemini CLI, ")]
    assert "ask -> block" in line
    assert "block -> " not in line


def test_what_an_agent_is_told_is_known_where_no_hook_would_run(project: Project) -> None:
    """An unapproved guard refuses: the exact answer is known, and it is the one that `fire` gives."""
    project.hooks({"name": "guard", "command": "true", "on_failure": "block"})
    states = hookrun(project, "explain", *PUSH, "--agent", "claude", "--json").json["told"]
    run = hookrun(project, "explain", *PUSH, "--agent", "claude", "--run", "--json").json["run"]
    assert isinstance(run, dict)
    reason = json.loads(str(states))["hookSpecificOutput"]
    assert reason["permissionDecisionReason"].startswith("hook guard failed (untrusted): not approved")
    assert reason == json.loads(run["told"])["hookSpecificOutput"]
    project.approve()
    assert hookrun(project, "explain", *PUSH, "--agent", "claude", "--json").json["told"] is None


def test_the_project_of_a_message_is_where_the_message_says(project: Project) -> None:
    """As in the agent's fire: the directory that it names, not the one we are in."""
    project.hooks({"name": "here", "command": "true"})
    other = project.root.parent / "other"
    (other / ".git").mkdir(parents=True)
    hook = {"name": "there", "event": "pre_tool_use", "command": "true"}
    (other / "coder.json").write_text(json.dumps({"hooks": [hook]}))
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    message = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(other), **call}
    (project.root / "m.json").write_text(json.dumps(message))
    done = hookrun(project, "explain", "pre_tool_use", "--agent", "claude", "--ctx", "m.json", "--json")
    assert list(fates(done)) == ["there"]


def test_a_patch_of_several_files_is_as_many_calls(project: Project) -> None:
    """Each is explained, for a hook may apply to one and not to the other."""
    project.hooks({"name": "docs", "when": {"file_path": "*.md"}, "command": "true"})
    project.approve()
    patch = "*** Begin Patch\n*** Add File: a.md\n+x\n*** Add File: b.py\n+x\n*** End Patch\n"
    call = {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    message = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(project.root), **call}
    (project.root / "m.json").write_text(json.dumps(message))
    report = hookrun(project, "explain", "pre_tool_use", "--agent", "codex", "--ctx", "m.json", "--json").json
    calls = report["calls"]
    assert isinstance(calls, list)
    assert [call[0]["state"] for call in calls] == ["runs", "does not apply"]
    assert len(str(report["answer"])) <= 120
    screen = hookrun(project, "explain", "pre_tool_use", "--agent", "codex", "--ctx", "m.json").stdout
    assert "call 1 of 2: a.md\n#  HOOK  STATE  WHY\n1  docs  runs" in screen
    assert "call 2 of 2: b.py\n#  HOOK  STATE     WHY\n1  docs  no match  when: file_path is " in screen


def test_the_error_of_a_config_file_is_reported_once(project: Project) -> None:
    """The answer names it, the error follows, the status is 1."""
    (project.root / "coder.json").write_text("{")
    done = hookrun(project, "explain", "stop")
    assert done.status == 1
    assert done.stdout == "stop: no hook would run: 1 config error\n"
    assert done.stderr.count("coder.json:1:2: ") == 1


def test_each_input_is_shown_once(project: Project) -> None:
    """Hooks that read the same context differ in the name of the hook only; `--hook` leaves one."""
    command = "cat >/dev/null; echo seen >&2"
    project.hooks({"name": "one", "command": command}, {"name": "two", "command": command})
    screen = hookrun(project, "explain", *PUSH, "--run").stdout
    assert screen.count('"tool_args"') == 1
    assert "two\n  input   as above\n  stderr  seen\n" in screen
    screen = hookrun(project, "explain", *PUSH, "--run", "--hook", "two").stdout
    assert screen.count('"tool_args"') == screen.count("stderr  seen") == 1
    assert '"hook": "two"' in screen


def test_what_a_stranger_wrote_is_only_text(project: Project) -> None:
    """Escape sequences in a declaration or a context do not reach the terminal."""
    project.hooks({"name": "g", "matcher": "\x1b[31mx", "command": "true", "description": "\x1b[2J"})
    done = hookrun(project, "explain", "pre_tool_use", "--tool", "\x1b[2Jbash")
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_background_hook_was_started(project: Project) -> None:
    """`--run` does not claim that no hook ran: it names the one started, and how to see its result.

    In a separate process: its supervisor is a child of its caller until that ends.
    """
    project.hooks({"name": "later", "event": "stop", "command": "true", "background": True})
    done = hookrun_process(project, "explain", "stop", "--run")
    assert first(done) == "stop: continue; started in the background: later"
    assert "1  later  started  " in done.stdout
    assert "shows how it ends\n" in done.stdout
    assert "  `hookrun why " in done.stdout
    states = hookrun_process(project, "explain", "stop", "--run", "--json").json["run"]
    assert isinstance(states, dict)
    assert states["fires"][0]["hooks"][0]["background"] is True


def test_a_hook_that_is_declared_wrongly_is_not_called_approved(project: Project) -> None:
    """It has no approval, and can have none."""
    project.hooks({"name": "bad", "event": "stop", "command": "true", "timout": 3})
    states = fates(hookrun(project, "explain", "stop", "--json"))
    assert (states["bad"]["state"], states["bad"]["trust"]) == ("fails", "declared wrongly")


@rows(
    "text, fields, state",
    [
        ("#!/bin/sh\n", {"command": "./g.sh"}, "runs"),
        ("exit 0\n", {"command": "./g.sh"}, "runs"),
        ("exit 0\n", {"args": ["sh", "./g.sh"]}, "runs"),
        ("exit 0\n", {"args": ["./g.sh"]}, "fails"),
        ("#!/no/such/sh\n", {"args": ["./g.sh"]}, "fails"),
        ("#!/no/such/sh\n", {"command": "./g.sh"}, "fails"),
        ("#! /usr/bin/env sh\n", {"command": "./g.sh"}, "runs"),
        ("", {"python": "json:dumps"}, "runs"),
        ("", {"python": "sys:exit"}, "runs"),
        ("", {"python": "nosuch.module:f"}, "fails"),
    ],
)
def test_what_can_be_seen_of_a_program_without_running_it(
    project: Project, text: str, fields: dict[str, object], state: str
) -> None:
    """A #! line, and the file of a module, are looked at; a shell runs a script without a #! line."""
    project.script("g.sh", text)
    project.hooks({"name": "g", **fields})
    states = fates(hookrun(project, "explain", *PUSH, "--run", "--json"))
    assert states["g"]["state"] == state


def test_unapproved_guards_are_answered_with_blocked(project: Project) -> None:
    """Not with "no hook would run": the call is blocked. A hook without `on_failure: block` blocks nothing."""
    guard: dict[str, object] = {"name": "one", "event": "pre_tool_use", "command": "true", "on_failure": "block"}
    other: dict[str, object] = {**guard, "name": "two", "on_failure": "continue"}
    project.hooks(guard)
    words = ("explain", "pre_tool_use", "--tool", "bash")
    assert hookrun(project, *words).stdout.startswith("pre_tool_use: blocked: one is not approved")
    project.hooks(guard, other)
    assert hookrun(project, *words).stdout.startswith("pre_tool_use: blocked: 2 not approved (one, two)")
    project.hooks(other)
    assert "blocked" not in hookrun(project, *words).stdout
