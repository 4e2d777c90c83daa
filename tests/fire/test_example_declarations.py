"""coder.example.json unchanged, run on the example contexts: each hook answers through hookrun."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, Fired, Project
from tests.rows import rows

CONTEXTS = ROOT / "examples" / "contexts"


@pytest.fixture
def example(project: Project) -> Project:
    """Return a project with the examples in it, on a branch that names a ticket, with a lock file of uv."""
    shutil.copytree(ROOT / "examples", project.root / "examples")
    shutil.copy(ROOT / "coder.example.json", project.root / "coder.json")
    shutil.rmtree(project.root / ".git")
    git = ["git", "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "--quiet", "."], cwd=project.root, check=True)
    subprocess.run([*git, "checkout", "--quiet", "-b", "feature/SHOP-7-cart"], cwd=project.root, check=True)
    (project.root / "uv.lock").touch()
    return project


def fire(project: Project, event: str, name: str, **change: object) -> Fired:
    """Fire an example context as if it came from the project."""
    context = json.loads((CONTEXTS / f"{name}.json").read_text())
    return project.fire({**context, "working_dir": str(project.root), **change}, event=event)


def needs(program: str) -> pytest.MarkDecorator:
    """Return the mark of a test that is skipped where a program is not installed."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@rows("name", ["rm_rf", "force_push"])
def test_a_destructive_command_is_blocked(name: str, example: Project) -> None:
    """The Python example blocks with a reason."""
    fired = fire(example, "pre_tool_use", name)
    assert (fired.status, fired.action) == (2, "block")
    assert fired.hook("block-destructive")["failure"] is None
    assert fired.verdict["message"]


def test_a_harmless_command_goes_on(example: Project) -> None:
    """No example has anything against `ls`-like commands."""
    fired = fire(example, "pre_tool_use", "harmless")
    assert (fired.status, fired.action, fired.stderr) == (0, "continue", "")


@needs("node")
def test_a_write_to_a_secrets_file_is_refused(example: Project) -> None:
    """The Node example refuses .env."""
    fired = fire(
        example, "pre_tool_use", "write_env", tool_args={"file_path": str(example.root / ".env"), "content": "A=1"}
    )
    assert (fired.status, fired.action) == (2, "block")
    assert fired.hook("protect-files")["failure"] is None


@needs("perl")
def test_pip_becomes_the_projects_tool(example: Project) -> None:
    """The Perl example turns pip into uv where there is a uv.lock, after the Python example has allowed it."""
    fired = fire(example, "pre_tool_use", "pip_install")
    assert (fired.status, fired.action) == (0, "modify")
    assert "uv add 'requests[socks]>=2.31'" in str(fired.verdict["modified_args"])


def test_the_ticket_of_the_branch_becomes_context(example: Project) -> None:
    """The sh example gives the ticket number to the prompt."""
    fired = fire(example, "user_prompt_submit", "prompt")
    assert fired.status == 0
    assert "SHOP-7" in str(fired.verdict["additional_context"])


@needs("cc")
def test_a_changed_file_is_formatted(example: Project) -> None:
    """The C example, built as its declaration describes, formats the changed file and notifies the model."""
    hooks = example.root / "examples" / "hooks"
    subprocess.run(["cc", "-O2", "-o", hooks / "format_changed", hooks / "format_changed.c"], check=True)
    tools = example.root / "tools"
    tools.mkdir()
    formatter = Path(example.script("tools/gofmt", '#!/bin/sh\nprintf "package main\\n" > "$2"\n'))
    assert formatter.name == "gofmt"
    changed = example.root / "a.go"
    changed.write_text("package   main\n")
    context = {"file_path": str(changed), "working_dir": str(example.root)}
    fired = example.fire(context, event="file_changed", env={"PATH": f"{tools}:/usr/bin:/bin"})
    assert fired.status == 0, fired.stderr
    assert "gofmt" in str(fired.verdict["additional_context"])
    assert changed.read_text() == "package main\n"


def test_a_program_that_was_not_built_is_seen(example: Project) -> None:
    """Before it is built the C example fails as `missing` and stops nothing."""
    fired = example.fire({"file_path": "a.go"}, event="file_changed")
    assert (fired.status, fired.hook("format-changed")["failure"]) == (0, "missing")
