"""A command reports success only afterwards: where nothing can be written it claims nothing and changes nothing.

No file can grow here (`ulimit -f 0`), which stops root, too; stdout is a pipe.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import Done, hookrun
from tests.cli.terminal import at_terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Project

CLAIMS = ("added", "wrote", "updated", "removed", "wired", "approved", "written")
"""Verbs with which a command reports what it has done."""

LIMITED = ("/bin/sh", "-c", 'ulimit -f 0; exec "$@"', "sh")
"""Runs a command that can write no file."""


def hookrun_that_cannot_write(project: Project, *arguments: str) -> Done:
    """Run `hookrun` in a process that can write no file."""
    done = subprocess.run(
        [*LIMITED, *project.command(*arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=project.root,
        env=project.environment(PYTHONDONTWRITEBYTECODE="1"),
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def files(directory: Path) -> dict[str, bytes]:
    """Return every file below a directory but locks and caches, and its bytes."""
    found = (path for path in directory.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path): path.read_bytes() for path in found if ".cache" not in path.parts}


def _nothing(_project: Project) -> None:
    """Set nothing up."""


def _hook(project: Project) -> None:
    project.hooks({"name": "guard", "command": "true"})


def _recipe(project: Project) -> None:
    assert hookrun(project, "add", "no-force-push").status == 0
    declared = project.config()
    declared["hooks"][0]["description"] = "Mine."
    (project.root / "hookrun.yaml").write_text(json.dumps(declared))


def _without_cases(project: Project) -> None:
    assert hookrun(project, "add", "no-force-push").status == 0
    (project.root / "hooks" / "no-force-push.hooktest.yaml").unlink()


def _settings(project: Project) -> None:
    (project.root / ".claude").mkdir()
    (project.root / ".claude" / "settings.json").write_text(
        '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}'
    )


def _installed(project: Project) -> None:
    _hook(project)
    (project.home / ".claude").mkdir()
    (project.home / ".claude" / "settings.json").write_text('{"model": "big"}')
    assert hookrun(project, "install", "claude", "--all-events").status == 0


@pytest.mark.slow
@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("setup", "arguments"),
    [
        (_nothing, ("add", "no-force-push")),
        (_nothing, ("add", "no-force-push", "--user")),
        (_nothing, ("add", "no-force-push", "--json")),
        (_recipe, ("add", "no-force-push", "--option", "lease=yes")),
        (_without_cases, ("update",)),
        (_recipe, ("remove", "no-force-push")),
        (_nothing, ("new", "guard", "--lang", "sh")),
        (_nothing, ("init", "--yes")),
        (_hook, ("install", "claude")),
        (_hook, ("install", "codex", "--trust")),
        (_hook, ("install", "cline", "--all-events")),
        (_hook, ("install", "opencode", "--scope", "project")),
        (_installed, ("uninstall", "claude")),
        (_settings, ("migrate", ".claude/settings.json")),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else value.__name__.strip("_"),
)
def test_nothing_is_claimed_that_was_not_done(
    project: Project, setup: Callable[[Project], None], arguments: tuple[str, ...]
) -> None:
    """The command fails, names the file it could not write, and changes nothing."""
    setup(project)
    before = files(project.root.parent)
    done = hookrun_that_cannot_write(project, *arguments)
    assert done.status == 1, (done.stdout, done.stderr)
    assert "File too large" in done.stdout + done.stderr
    claimed = [word for word in CLAIMS for line in done.stdout.splitlines() if word in line and line[:1] not in "+- "]
    assert claimed == [], done.stdout
    assert "nothing else was changed" not in done.stderr
    assert files(project.root.parent) == before


@pytest.mark.parametrize(
    ("arguments", "answers"),
    [(("trust",), ("y",)), (("disable", "guard"), ()), (("disable", "--all"), ())],
)
def test_no_decision_is_claimed_that_was_not_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], answers: tuple[str, ...]
) -> None:
    """At a terminal: the store cannot be written, so nothing is decided."""
    _hook(project)
    command = project.command
    monkeypatch.setattr(project, "command", lambda *arguments: [*LIMITED, *command(*arguments)])
    session = at_terminal(project, *arguments, answers=answers, env={"PYTHONDONTWRITEBYTECODE": "1"})
    assert session.status == 1
    assert "so nothing was changed" in " ".join(session.screen.split())
    for claim in ("  approved", "disabled guard", "disabled all"):
        assert claim not in session.screen


def test_a_dry_run_claims_nothing(project: Project) -> None:
    """It reports what it would do."""
    done = hookrun(project, "add", "no-force-push", "--dry-run")
    assert done.stdout.startswith("no-force-push: would be added\n")
    assert hookrun(project, "add", "no-force-push").stdout.startswith("no-force-push: added\nwrote ")
    done = hookrun(project, "remove", "no-force-push", "--dry-run")
    assert done.stdout.startswith("no-force-push: would be removed from hookrun.yaml\n")
