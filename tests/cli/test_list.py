"""`hookrun list`: every hook in running order, for people and for programs."""

from __future__ import annotations

import os
import pty
import subprocess
from typing import TYPE_CHECKING

from hookrun.model import Hook
from tests.cli.command import hookrun, hookrun_process

if TYPE_CHECKING:
    from tests.conftest import Project


def test_hooks_in_running_order(project: Project) -> None:
    """User hooks come before the project's, lower priorities first, with what matters of each on one line."""
    project.hooks(
        {"name": "late", "command": "./late.sh", "matcher": "bash|write", "timeout": 2.5, "on_failure": "block"},
        {"name": "early", "args": ["a b", "c"], "priority": 1, "mode": "advise", "always": True},
    )
    project.user_hooks({"name": "user", "command": "/u", "event": ["PreToolUse", "stop"]})
    done = hookrun(project, "list")
    assert (done.status, done.stderr) == (0, "")
    lines = [line.split("  ") for line in done.stdout.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    where = f"{project.root}/coder.json:1"
    assert cells[0][0] == "NAME"
    assert cells[1][:5] == ["user", "pre_tool_use, stop", "user", "any", "/u"]
    assert cells[2] == [
        "early",
        "pre_tool_use",
        "project",
        "any",
        '["a b", "c"]',
        "30 s",
        "1",
        "continue",
        "advise, always, not approved",
        where,
    ]
    assert cells[3] == [
        "late",
        "pre_tool_use",
        "project",
        "bash|write",
        "./late.sh",
        "2.5 s",
        "500",
        "block",
        "not approved",
        where,
    ]


def test_only_the_hooks_of_an_event(project: Project) -> None:
    """`--event` takes any name of an event, and declared ones."""
    project.hooks({"name": "a", "command": "x"}, {"name": "b", "event": "mine", "command": "x"}, events=["mine"])
    for event, names in (("PreToolUse", ["a"]), ("mine", ["b"]), ("stop", [])):
        hooks = hookrun(project, "list", "--event", event, "--json").json["hooks"]
        assert isinstance(hooks, list)
        assert [hook["name"] for hook in hooks] == names
    assert hookrun(project, "list", "--event", "stop").stdout == "no hooks are declared here for stop\n"


def test_unknown_event(project: Project) -> None:
    """An event that nobody knows is an error with the nearest one, and the status is not 2."""
    done = hookrun(project, "list", "--event", "pre_tool_us")
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "did you mean pre_tool_use?" in done.stderr


def test_wrong_hook_is_listed_with_its_error(project: Project) -> None:
    """A hook that is declared wrongly is in its place, with what is wrong beneath it."""
    project.hooks({"command": "x", "timeout": 0})
    done = hookrun(project, "list")
    assert done.status == 0
    assert f"\n  error: {project.root}/coder.json:1:" in done.stdout


def test_trouble_with_a_file(project: Project) -> None:
    """A file that cannot be read is named on stderr, the other hooks are listed, the status is 1."""
    project.user_hooks({"name": "user", "command": "/u"})
    (project.root / "coder.json").write_text("{")
    done = hookrun(project, "list")
    assert done.status == 1
    assert "user" in done.stdout
    assert done.stderr.startswith(f"error: {project.root}/coder.json:1:2: found the end of the file")


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
    assert set(hooks[0]) == {*Hook(name="", events=()).to_dict(), "trust", "paused"}
    assert hooks[0]["env"] == {"API_TOKEN": "***", "MODE": "fast"}
    assert (hooks[1]["target"], hooks[1]["headers"]) == ("https://***@h/x", {"X-Key": "***"})
    assert "s3cret" not in hookrun(project, "list").stdout


def test_table_on_a_terminal(project: Project) -> None:
    """On a terminal the hooks are a table; markup in a stranger's file is only text there."""
    project.hooks({"name": "[bold]a[/nope]", "command": "x"}, {"name": "b", "command": "x", "timeout": 0})
    leader, follower = pty.openpty()
    environment = project.environment(TERM="xterm", COLUMNS="300")
    done = subprocess.run(
        project.command("list"),
        cwd=project.root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(follower)
    shown = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "[bold]a[/nope]" in shown
    assert "expected a number greater than 0" in shown


def test_reader_that_goes_away(project: Project) -> None:
    """Output that nobody reads ends the command without a word."""
    hooks: list[dict[str, object]] = [{"name": f"hook-{number}", "command": "x" * 50} for number in range(300)]
    project.hooks(*hooks)
    reader, writer = os.pipe()
    os.close(reader)
    done = hookrun_process(project, "list", stdout=writer)
    os.close(writer)
    assert (done.status, done.stderr) == (1, "")
