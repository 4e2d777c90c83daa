"""The script that takes hookrun out of agents' settings without hookrun, and without Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.agents import MARKERS_OF_OTHERS
from tests.cli.command import hookrun
from tests.cli.wiring import settings_file, tree

if TYPE_CHECKING:
    from tests.conftest import Project

AGENTS = ("claude", "codex", "gemini", "qwen", "copilot", "cline", "opencode", "kilo", "pi", "vibe", "grok")


def script_of(project: Project) -> Path:
    """Return the path of the script."""
    return project.home / ".local/share/hookrun/disconnect"


def run(project: Project, *, ancestor: str = "", terminal: bool = True, **env: str) -> tuple[int, str]:
    """Run the script as the user does; `ancestor` is what ps(1) prints of its parent. Return status and output."""
    programs = project.temporary / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "ps").write_text(f'#!/bin/sh\ncase $2 in args=) echo "{ancestor}" ;; *) echo 0 ;; esac\n')
    (programs / "ps").chmod(0o755)
    master, slave = os.openpty()
    done = subprocess.run(
        [script_of(project)],
        stdin=slave if terminal else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"PATH": f"{programs}:/usr/bin:/bin", **env},
        text=True,
        check=False,
    )
    os.close(master)
    os.close(slave)
    return done.returncode, done.stdout


def test_settings_get_their_bytes_back(project: Project) -> None:
    """Of every agent; approvals and the log stay."""
    settings = settings_file(project, "claude")
    settings.parent.mkdir(parents=True)
    settings.write_text('{ "model":"opus" }\n')
    before = {path: data for path, data in tree(project.home).items() if "hookrun" not in path}
    assert hookrun(project, "install", *AGENTS, "--all-events", "--trust").status == 0
    assert ".local/share/hookrun/" in settings.read_text()
    status, printed = run(project)
    assert (status, printed.splitlines()[-1]) == (0, "hookrun is disconnected from all agents")
    after = {path: data for path, data in tree(project.home).items() if "hookrun" not in path}
    assert {path: data for path, data in after.items() if data is not None} == {
        path: data for path, data in before.items() if data is not None
    }
    assert not [path for path in script_of(project).parent.iterdir() if path.name.partition(".")[0] in AGENTS]


def test_changed_settings_are_left_to_the_user(project: Project) -> None:
    """It names the lines, and until they are removed calls continue."""
    assert hookrun(project, "install", "claude", "--all-events", "--trust").status == 0
    settings = settings_file(project, "claude")
    text = settings.read_text().replace("{", '{\n  "model": "opus",', 1)
    settings.write_text(text)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "/hookrun/" in line]
    status, printed = run(project)
    assert status == 1
    assert f"remove what starts hookrun in line {', '.join(map(str, lines))}\n" in printed
    assert settings.read_text() == text
    launcher = project.home / ".local/share/hookrun/claude"
    done = subprocess.run([launcher, "PreToolUse"], input=b"{}", capture_output=True, check=False)
    assert done.returncode == 1  # seen, and no refusal
    assert done.stdout == b""


@pytest.mark.parametrize(
    "started",
    [
        {"ancestor": "/usr/bin/node /usr/local/bin/claude --print"},
        {"ancestor": "codex exec"},
        {"ancestor": "/usr/bin/node --no-warnings /opt/lib/@qwen-code/qwen-code/cli.js"},
        {"ancestor": "codex-linux-sandbox"},
        *({"ancestor": f"/home/me/.local/bin/{name} run"} for name in MARKERS_OF_OTHERS),
        {"ancestor": "node pi"},
        {"KILO": "1"},
        {"CLAUDECODE": "1"},
        {"HOOKRUN_CHAIN": "x;"},
        {"terminal": False},
    ],
)
def test_it_refuses_below_an_agent(project: Project, started: dict[str, str]) -> None:
    """By an ancestor, by a variable, without a terminal: nothing changes."""
    assert hookrun(project, "install", "claude", "--all-events", "--trust").status == 0
    before = tree(project.home)
    status, printed = run(project, **started)  # type: ignore[arg-type]  # mypy takes each value for one of any name
    assert status == 1
    assert "hint: run it in a terminal yourself" in printed
    assert tree(project.home) == before


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a ps(1)")
def test_without_ps_it_refuses_below_an_agent_too(project: Project) -> None:
    """Small containers have none: then /proc says what started it."""
    assert hookrun(project, "install", "claude", "--all-events", "--trust").status == 0
    programs = project.temporary / "few"
    programs.mkdir()
    for name in ("cat", "cut", "grep", "readlink", "rm", "sed", "sha256sum", "tr"):
        (programs / name).symlink_to(str(shutil.which(name)))
    shutil.copy(str(shutil.which("sh")), project.temporary / "codex")
    before = tree(project.home)
    master, slave = os.openpty()
    done = subprocess.run(
        [project.temporary / "codex", "-c", '"$0"; exit $?', script_of(project)],
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"PATH": str(programs)},
        text=True,
        check=False,
    )
    os.close(master)
    os.close(slave)
    assert (done.returncode, " is codex, so an agent or a hook" in done.stdout) == (1, True), done
    assert tree(project.home) == before


def test_a_path_that_it_cannot_read_is_named(project: Project) -> None:
    """A home may have any letters; what it cannot read in their list it names."""
    settings = project.home / "first/settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    link = settings_file(project, "claude")
    link.parent.mkdir(parents=True)
    for name, reads in (("lé 'x", True), ('lé "x', False)):
        settings = settings.parent.rename(project.home / name) / "settings.json"
        link.unlink(missing_ok=True)
        link.symlink_to(settings)
        assert hookrun(project, "install", "claude", "--all-events", "--trust").status == 0
        status, printed = run(project)
        assert (status == 0, "cannot read this path" not in printed) == (reads, reads), printed
        assert (settings.read_bytes() == b"{}") is reads


def test_it_works_below_other_programs(project: Project) -> None:
    """Also one that has an agent's name among its arguments, or as part of its own."""
    assert hookrun(project, "install", "claude", "--all-events", "--trust").status == 0
    for ancestor in ("-bash", "sh -c x pi", "/usr/bin/pip", "claudette", "node --title=pi /srv/app.js claude"):
        assert "may run this" not in run(project, ancestor=ancestor)[1]
        assert hookrun(project, "install", "claude", "--all-events", "--trust").status == 0


def test_an_uninstall_removes_it(project: Project) -> None:
    """With the last agent's launcher."""
    assert hookrun(project, "install", "claude", "codex", "--all-events", "--trust").status == 0
    assert hookrun(project, "uninstall", "claude").status == 0
    assert script_of(project).exists()
    assert hookrun(project, "uninstall", "codex").status == 0
    assert not script_of(project).exists()
