"""`hookrun config schema`, and what every command has: help, version, one line for a mistake, never status 2."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hookrun.config.schema import schema
from tests.cli.command import hookrun, hookrun_process
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project


def test_schema_is_printed(project: Project) -> None:
    """The schema is JSON on stdout, indented."""
    done = hookrun(project, "config", "schema")
    assert (done.status, done.stderr) == (0, "")
    assert json.loads(done.stdout) == schema()


@rows("option", ["-h", "--help"])
def test_help_of_fire(project: Project, option: str) -> None:
    """It has a parser of its own, and prints what `hookrun help fire` does."""
    done = hookrun_process(project, "fire", option)
    assert (done.status, done.stderr, done.stdout) == (0, "", hookrun(project, "help", "fire").stdout)
    assert "Examples:" in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")  # a device
def test_output_that_cannot_be_written(project: Project) -> None:
    """A full disk is one line on stderr."""
    for arguments in (["config", "schema"], ["--help"], ["list"]):
        full = os.open("/dev/full", os.O_WRONLY)
        done = hookrun_process(project, *arguments, stdout=full)
        os.close(full)
        assert (done.status, done.stderr) == (1, "error: the output: No space left on device\n"), arguments


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [(["--help"], ["yaml", "rich", "json", "hookrun.config.schema"]), (["list"], ["yaml", "rich"])],
)
def test_only_what_is_needed_is_imported(project: Project, arguments: list[str], unwanted: list[str]) -> None:
    """The help imports no command, and no command imports modules that it does not need."""
    project.hooks({"command": "true"})
    code = "import sys; from hookrun.cli import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert not set(done.stderr.split()) & set(unwanted)


def test_interrupt(project: Project) -> None:
    """Ctrl-C ends a command with status 130 and without a traceback."""
    code = (
        "import os, signal, sys; from hookrun.cli import run; from hookrun.config import discovery\n"
        "discovery.find = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(run(['list']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


def test_terminal_without_unicode(project: Project) -> None:
    """Characters that the terminal's encoding lacks are escaped; there is no traceback."""
    project.hooks({"name": "日", "command": "true"})
    done = hookrun_process(project, "list", PYTHONIOENCODING="latin-1")
    assert (done.status, done.stderr) == (0, "")
    assert "\\u65e5" in done.stdout
