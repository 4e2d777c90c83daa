"""`hookrun explain`: each hook's state and its reason, and the answer to an agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cli.command import Done, hookrun
from tests.rows import rows

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
    """Neither a hook nor the audit is touched; `--run` is an option of the past, and its hint says what runs hooks."""
    project.hooks({"command": "touch ran"})
    project.approve()
    hookrun(project, "explain", *PUSH)
    hookrun(project, "explain", *PUSH, "--agent", "claude", "--json")
    assert not (project.root / "ran").exists()
    assert project.audit() == []
    refused = hookrun(project, "explain", *PUSH, "--run")
    assert refused.status == 1
    assert "unknown option `--run`\nhint: another command runs the hooks: see `hookrun help try`" in refused.stderr
    assert not (project.root / "ran").exists()


def test_what_an_agent_is_told_of_a_guard_that_is_not_approved(project: Project) -> None:
    """The refusal of `try` has the reason."""
    project.hooks({"name": "guard", "command": "true", "on_failure": "block"})
    told = hookrun(project, "try", "git push", "--agent", "claude", "--json").json["told"]
    reason = json.loads(str(told))["hookSpecificOutput"]["permissionDecisionReason"]
    assert reason.startswith("hook guard did not run: not approved")


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


def test_what_a_stranger_wrote_is_only_text(project: Project) -> None:
    """Escape sequences in a declaration or a context do not reach the terminal."""
    project.hooks({"name": "g", "matcher": "\x1b[31mx", "command": "true", "description": "\x1b[2J"})
    done = hookrun(project, "explain", "pre_tool_use", "--tool", "\x1b[2Jbash")
    assert "\x1b" not in done.stdout + done.stderr


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
    project.approve()
    states = fates(hookrun(project, "explain", *PUSH, "--json"))
    assert states["g"]["state"] == state


def test_unapproved_guards_are_answered_with_blocked(project: Project) -> None:
    """Not with "no hook would run": the call is blocked. A hook without `on_failure: block` blocks nothing."""
    guard: dict[str, object] = {"name": "one", "event": "pre_tool_use", "command": "true", "on_failure": "block"}
    other: dict[str, object] = {**guard, "name": "two", "on_failure": "continue"}
    project.hooks(guard)
    words = ("explain", "pre_tool_use", "--tool", "bash")
    assert hookrun(project, *words).stdout.startswith("pre_tool_use: one runs here; agents need your approval")
    project.hooks(guard, other)
    assert hookrun(project, *words).stdout.startswith("pre_tool_use: blocked: 2 not approved (one, two)")
    project.hooks(other)
    assert "blocked" not in hookrun(project, *words).stdout
