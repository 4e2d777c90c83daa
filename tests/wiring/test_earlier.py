"""What an earlier hookrun wrote is still its own: it is recognised, repaired, and removed to the byte.

`earlier/` is a home into which the hookrun of 2026-11-21 installed itself, each file with nothing else in it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.wiring.ledger import Ledger, LedgerEntry, digest
from tests.cli.command import hookrun
from tests.cli.wiring import ALL, BEFORE_TOOL, TOOL_CALLS, settings_file
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

EARLIER = Path(__file__).parent / "earlier"


KNOWN_THEN = [agent for agent in ALL if agent not in {"kilo", "pi", "vibe", "grok"}]


@pytest.fixture(autouse=True)
def _installed(project: Project) -> None:
    for directory in EARLIER.iterdir():
        shutil.copytree(directory, project.home / f".{directory.name}")
    project.hooks({"name": "a", "command": "true"})
    project.approve()


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("agent", KNOWN_THEN)
def test_it_is_recognised_and_repaired(project: Project, agent: str) -> None:
    """The program that is gone is named; install puts this hookrun in its place, once."""
    found = hookrun(project, "doctor", agent)
    assert "/opt/hookrun/bin/python3 does not exist any more" in found.stdout
    assert "written by hand" not in found.stdout
    assert hookrun(project, "install", agent, "--trust").status == 0
    assert "/opt/hookrun" not in settings_file(project, agent).read_text()
    done = hookrun(project, "doctor", agent, "--prove")
    events = TOOL_CALLS.get(agent, [BEFORE_TOOL[agent]])
    assert (done.status, done.stdout.count("the probe blocked the call")) == (0, len(events)), done.stdout
    assert "  ok    installed  in the user settings for " in done.stdout
    assert "not connected" not in done.stdout


WHOLE_FILE = ("copilot", "cline", "opencode")
"""Agents in whose directory hookrun has a file for itself."""


THEIRS = b' {"mine" :1}\n'
OURS_ALONE = [(agent, None, None, 0) for agent in WHOLE_FILE]
SHARED = [(agent, THEIRS, digest(THEIRS), 1) for agent in KNOWN_THEN if agent not in WHOLE_FILE]


@rows("agent, original, before, more", [*SHARED, *OURS_ALONE])
def test_what_was_there_before_it_comes_back(
    project: Project, agent: str, original: bytes | None, before: str | None, more: int
) -> None:
    """By the ledger that the earlier hookrun left, to the byte; where there was nothing, its own file goes."""
    path = settings_file(project, agent)
    path.write_text(path.read_text().replace("{", '{"mine": 1,', more))
    with Ledger(str(project.home)).locked():
        pass
    entry = LedgerEntry(agent, ["user"], digest(path.read_bytes()), before)
    Ledger(str(project.home)).keep(str(path), entry, original)
    assert hookrun(project, "uninstall", agent).status == 0
    assert (path.read_bytes() if path.exists() else None) == original
