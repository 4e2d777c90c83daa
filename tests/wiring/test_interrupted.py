"""An install that is killed between any two calls of the system leaves whole files, and can be undone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import hookrun
from tests.conftest import Project

OLD = b'{\n  "theme": "dark", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}\n}'
CONFIG = b'model = "m" # mine\n'
DRIVER = Path(__file__).parent / "programs" / "killed_anywhere.py"

MOST = 160
"""Homes that are made: the command has to be done within so many calls."""


def _homes(tmp_path: Path) -> Path:
    """Make homes with settings in them, each for one try."""
    homes = tmp_path / "homes"
    for number in range(MOST):
        directory = homes / str(number) / ".codex"
        directory.mkdir(parents=True)
        (directory / "hooks.json").write_bytes(OLD)
        (directory / "config.toml").write_bytes(CONFIG)
    return homes


def _drive(project: Project, homes: Path, command: str, *options: str) -> int:
    """Run the driver; return how many homes it has been through."""
    done = subprocess.run(
        [sys.executable, DRIVER, project.home, command, *options, homes],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return len([line for line in done.stderr.splitlines() if line.endswith(b" 77")])


@pytest.fixture(autouse=True)
def _declared(project: Project) -> None:
    project.hooks({"name": "a", "command": "true"})


@pytest.mark.slow
def test_an_install_that_is_killed_anywhere_leaves_old_or_new_files(project: Project, tmp_path: Path) -> None:
    """Each file is the old or the new one; installing again completes it; taking it out gives the old ones back."""
    homes = _homes(tmp_path)
    tried = _drive(project, homes, "install", "--trust")
    assert 20 < tried < MOST
    new_hooks, new_config = _both(homes / str(tried))
    seen = _old_or_new(homes, tried)
    assert seen == {(True, True), (False, True), (False, False)}
    assert _is_wired(new_hooks)
    assert new_config != CONFIG
    for number in range(0, tried, 7):
        home = homes / str(number)
        assert hookrun(project, "install", "codex", "--trust", HOME=str(home)).status == 0
        assert hookrun(project, "uninstall", "codex", HOME=str(home)).status == 0
        assert _both(home) == (OLD, CONFIG)
        assert sorted(path.name for path in (home / ".codex").iterdir()) == ["config.toml", "hooks.json"]


@pytest.mark.slow
def test_an_uninstall_that_is_killed_anywhere_leaves_old_or_new_files(project: Project, tmp_path: Path) -> None:
    """The same on the way out: each file is with hookrun or without, and a second uninstall ends it."""
    homes = _homes(tmp_path)
    tried = _drive(project, homes, "uninstall")
    assert 10 < tried < MOST
    _old_or_new(homes, tried)
    for number in range(0, tried, 7):
        home = homes / str(number)
        assert hookrun(project, "uninstall", "codex", HOME=str(home)).status == 0
        assert _both(home) == (OLD, CONFIG)


def _old_or_new(homes: Path, tried: int) -> set[tuple[bool, bool]]:
    """Check that each file of each home is the old or the new one; return which of the two were old."""
    found = [_both(homes / str(number)) for number in range(tried)]
    for hooks, config in found:
        assert hooks == OLD or _is_wired(hooks)
        assert config == CONFIG or config.startswith(CONFIG + b"\n[hooks.state.")
    return {(hooks == OLD, config == CONFIG) for hooks, config in found}


def _both(home: Path) -> tuple[bytes, bytes]:
    return (home / ".codex" / "hooks.json").read_bytes(), (home / ".codex" / "config.toml").read_bytes()


def _is_wired(hooks: bytes) -> bool:
    data = json.loads(hooks)
    own, *others = data["hooks"]["Stop"]
    return data["theme"] == "dark" and "mine" in str(own) and len(others) == 1 and "PreToolUse" in data["hooks"]
