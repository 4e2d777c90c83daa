"""The output of every command at terminals of 80, 120 and 200 columns matches the records in screens/."""

from __future__ import annotations

import sys

import pytest

from hookrun.cli.commands import COMMANDS
from tests.cli.screens import DIRECTORY, STEPS, WIDTHS, record, screens


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "darwin", reason="another temporary directory, other programs")
def test_every_screen_is_as_recorded() -> None:
    """`python -m tests.cli.screens` records them again: review the changes."""
    by_width = {width: screens(width) for width in WIDTHS}
    shown = {name: record(by_width, name) for name, _, _ in STEPS}
    assert shown == {path.stem: path.read_text() for path in DIRECTORY.glob("*.txt")}


@pytest.mark.lint
def test_no_screen_is_wider_than_its_terminal() -> None:
    """But for code, digests, JSON, config files and commands to be copied, which are never wrapped."""
    for path in DIRECTORY.glob("*.txt"):
        width = 0
        for line in path.read_text().splitlines():
            if line.startswith("--- ") and line.endswith(" columns"):
                width = int(line.split()[1])
            copied = (
                path.stem in ("config-show", "why")
                or "{" in line
                or "sha256:" in line
                or line.startswith(("$ hookrun", "      ", "+++", "---"))
            )
            assert copied or len(line) <= width, (path.name, line)


@pytest.mark.lint
def test_every_command_has_a_screen() -> None:
    """Those that serve programs, the wizard, and the kit are tested elsewhere."""
    covered = {arguments[0] for _, arguments, _ in STEPS}
    assert set(COMMANDS) - covered <= {"init", "help", "serve", "update", "completion", "conformance"}
