"""`hookrun list`: every hook in running order, for people and for programs."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from hookrun.core.model import Hook
from hookrun.trust.project import locked_store
from tests.cli.command import hookrun, hookrun_process
from tests.cli.terminal import at_terminal

if TYPE_CHECKING:
    from tests.conftest import Project


def test_hooks_in_running_order(project: Project) -> None:
    """User hooks come before the project's, lower priorities first, each on one line."""
    project.hooks(
        {"name": "late", "command": "./late.sh", "matcher": "bash|write", "timeout": 2.5, "on_failure": "block"},
        {"name": "early", "args": ["a b", "c"], "priority": 1, "mode": "advise", "always": True},
    )
    project.user_hooks({"name": "user", "command": "/u", "event": ["PreToolUse", "stop"]})
    done = hookrun(project, "list")
    assert (done.status, done.stderr) == (0, "")
    assert [re.split(" {2,}", line) for line in done.stdout.splitlines()] == [
        ["NAME", "EVENT", "MATCHER", "STATE", "FILE"],
        ["user", "pre_tool_use, stop", "any", "ready", "~/.config/hookrun/hooks.json"],
        ["early", "pre_tool_use", "any", "not approved", "coder.json"],
        ["late", "pre_tool_use", "bash|write", "not approved", "coder.json"],
    ]


def test_the_state_of_each_hook(project: Project) -> None:
    """Whether agents run it, and if not, why."""
    approved: list[dict[str, object]] = [{"name": name, "command": "true"} for name in ("ready", "changed")]
    project.hooks(*approved)
    project.approve()
    with locked_store(str(project.home)) as decided:
        decided.disabled.append(
            {"name": "disabled", "root": str(project.root), "digest": "", "time": 0.0, "until": None}
        )
    project.hooks(
        {"name": "ready", "command": "true"},
        {"name": "changed", "command": "false"},
        {"name": "disabled", "command": "true"},
        {"name": "off", "command": "true", "mode": "off"},
        {"name": "error", "command": "true", "timout": 3},
    )
    done = hookrun(project, "list")
    states = [line.split()[3] for line in done.stdout.splitlines()[1:]]
    assert states == ["ready", "changed", "disabled", "off", "error"]
    assert (done.status, done.stderr.count("timout")) == (0, 1)


def test_filters(project: Project) -> None:
    """`--hook`, `--event` and `--agent` each leave only the hooks that match."""
    project.hooks(
        {"name": "a", "command": "x", "agents": ["codex"]},
        {"name": "b", "command": "x"},
        {"name": "c", "event": "mine", "command": "x"},
        events=["mine"],
    )

    def names(*options: str) -> list[str]:
        hooks = hookrun(project, "list", "--json", *options).json["hooks"]
        assert isinstance(hooks, list)
        return [hook["name"] for hook in hooks]

    assert names("--agent", "codex", "--event", "PreToolUse") == ["a", "b"]
    assert names("--agent", "claude", "--event", "PreToolUse") == ["b"]
    assert names("--hook", "b") == ["b"]
    assert names("--event", "mine") == ["c"]
    assert hookrun(project, "list", "--event", "stop").stdout == "no hooks match --event stop\n"
    done = hookrun(project, "list", "--hook", "d")
    assert (done.status, done.stdout) == (1, "")
    assert '"d"' in done.stderr


def test_json_has_every_field_and_no_secret(project: Project) -> None:
    """`--json` gives back every field of a hook; header values, credentials in env and in the URL are masked."""
    project.hooks(
        {"name": "a", "command": "x", "env": {"API_TOKEN": "s3cret", "MODE": "fast"}},
        {"name": "b", "url": "https://u:s3cret@h/x", "headers": {"X-Key": "s3cret"}},
    )
    done = hookrun(project, "list", "--json")
    assert done.status == 0
    assert "s3cret" not in done.stdout
    report = done.json
    assert (report["root"], report["problems"]) == (str(project.root), [])
    hooks = report["hooks"]
    assert isinstance(hooks, list)
    assert set(hooks[0]) == {*Hook(name="", events=()).to_dict(), "trust", "off", "not_connected"}
    assert hooks[0]["env"] == {"API_TOKEN": "***", "MODE": "fast"}
    assert (hooks[1]["target"], hooks[1]["headers"]) == ("https://***@h/x", {"X-Key": "***"})
    assert "s3cret" not in hookrun(project, "list").stdout


@pytest.mark.parametrize("columns", [80, 120])
def test_table_on_a_terminal(project: Project, columns: int) -> None:
    """A line a hook in the terminal's width, long cells cut; markup in a project's file is only text there."""
    project.hooks(
        {"name": "[bold]a[/nope]", "command": "x"},
        {
            "name": "block-" * 20,
            "event": ["pre_tool_use", "post_tool_use"],
            "matcher": "read|write|edit",
            "command": "x",
        },
    )
    project.user_hooks({"name": "mine", "command": "/bin/true"})
    lines = at_terminal(project, "list", columns=columns).screen.splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[1].split()[-1].endswith("/hooks.json")
    assert lines[2].split()[0] == "[bold]a[/nope]"
    assert "block-block" in lines[3]
    assert "…  pre_tool_use" in lines[3]
    assert lines[4:] == ["", "2 hooks to approve: run `hookrun trust`"]


def test_reader_that_goes_away(project: Project) -> None:
    """A closed reader ends the command without a message."""
    hooks: list[dict[str, object]] = [{"name": f"hook-{number}", "command": "x" * 50} for number in range(300)]
    project.hooks(*hooks)
    reader, writer = os.pipe()
    os.close(reader)
    done = hookrun_process(project, "list", stdout=writer)
    os.close(writer)
    assert (done.status, done.stderr) == (1, "")
