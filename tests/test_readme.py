"""The README: its commands are those that CI runs, its guards block as described, its links lead to files."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

README = (ROOT / "README.md").read_text()

LINES = [
    ("rm -r -f /", "block"),
    ("rm -fR ~", "block"),
    ('git commit -m "do not rm -rf"', "continue"),
    ("git push -f", "block"),
    ("git push origin +main", "block"),
    ("git push origin new-feature", "continue"),
]


def test_the_first_hooks_are_right(project: Project) -> None:
    """The hooks that `hookrun init` proposes block each spelling of a command, and no text that only mentions it."""
    assert "hookrun init" in README
    assert hookrun(project, "init", "--yes", "--no-install").status == 0
    fired = {line: project.fire({"tool_name": "bash", "tool_args": {"command": line}}).action for line, _ in LINES}
    assert fired == dict(LINES)


def command(name: str) -> str:
    """Return the one line of a command for a fresh machine, where CI takes it from."""
    (found,) = re.findall(rf"<!-- command: {name} -->\n```sh\n(.*?)\n```", README, re.DOTALL)
    return str(found)


@pytest.mark.lint
def test_the_commands_for_a_fresh_machine_are_where_ci_takes_them_from() -> None:
    """The two commands are alone in their blocks, one line each."""
    for line in (command("try"), command("test")):
        assert "\n" not in line
        assert "venv" in line


def test_the_try_command_succeeds_only_if_hookrun_blocks(tmp_path: Path) -> None:
    """In an interactive shell and under `bash -e`: hookrun's status 2 is the success, any other and pip's a failure."""
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    path = {"PATH": f"{programs}:/usr/bin:/bin"}
    wrong = []
    for pip, fired, shown in ((0, 2, True), (0, 0, False), (0, 1, False), (2, 2, False)):
        for name, status in (("python3", 0), ("pip", pip), ("hookrun", fired)):
            (programs / name).write_text(f"#!/bin/sh\nexit {status}\n")
            (programs / name).chmod(0o755)
        for options in ((), ("-e",)):
            shell = ["bash", *options, "-c", command("try")]
            done = subprocess.run(shell, cwd=tmp_path, env=path, capture_output=True, text=True, check=False)
            if (done.returncode == 0, done.stdout) != (shown, "blocked, as it should be\n" * shown):
                wrong.append((pip, fired, options, done))
    assert not wrong, wrong


@pytest.mark.lint
def test_every_link_leads_somewhere() -> None:
    """Files that the README and the docs link to exist."""
    for page in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "examples" / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
