"""The README's way from an empty directory to a hook that Claude Code obeys, with the real Claude Code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hookrun_conformance.model import say
from tests import tour
from tests.live.installed import path
from tests.live.run import Agent

DONE = say("all-is-done")

pytestmark = pytest.mark.may_be_cold({"no-server"})  # installs by itself: the first run starts the server


@pytest.mark.parametrize("agent", ["claude"], indirect=True)
@pytest.mark.parametrize("language", ["sh", "python", "node"])
def test_claude_is_refused_by_the_first_hook(agent: Agent, language: str) -> None:
    """Written, tested and installed at a terminal: the refused call does not run, and the model gets the reason."""
    place = agent.place
    kept = place.project / ".env"
    env = place.environment(PATH=f"{Path(sys.prefix) / 'bin'}:{path()}", TERM="dumb")
    commands = (f"hookrun new protect-env --lang {language}", "hookrun test", "hookrun install claude")
    _, screen = tour.at_terminal(" && ".join(commands), place.project, env)
    assert "approved protect-env" in screen, screen
    assert "5 tests: 5 passed" in screen
    ran = agent.run(*agent.driver.write(kept, "A=1"), agent.driver.shell("echo hi > made.txt"), DONE)
    assert not kept.exists(), ran
    assert "holds secrets" in ran.heard, ran
    assert "made.txt" in ran.files, ran
