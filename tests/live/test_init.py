"""Two commands lead from an empty directory to a guarded agent: `hookrun init`, answered with Enter, and the agent."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from hookrun_conformance.model import say
from tests.cli.terminal import until_closed
from tests.live.installed import PINS, path
from tests.live.run import Agent
from tests.waiting import ended, limit

DONE = say("all-is-done")
DESTROY = "rm -rf ~/precious ~"
REASONS = {"protect-hooks": "only the user may change", "block-destructive-commands": "would remove"}

pytestmark = pytest.mark.may_be_cold({"no-server"})  # installs by itself: the first run starts the server


def at_terminal(agent: Agent, *words: str, answers: int) -> str:
    """Run hookrun in the project, press Enter at each of its questions, and return the screen."""
    place = agent.place
    programs = f"{Path(sys.prefix) / 'bin'}:{PINS[agent.name].program.parent}:{path()}"
    master, terminal = os.openpty()
    process = subprocess.Popen(
        ["hookrun", *words],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=place.project,
        env=place.environment(PATH=programs, TERM="dumb", COLUMNS="80"),
        start_new_session=True,
    )
    os.close(terminal)
    screen = b""
    for asked in range(1, answers + 1):
        while screen.count(b"]: ") < asked:
            ready, _, _ = select.select([master], [], [], limit())
            assert ready, screen
            screen += os.read(master, 65536)
        os.write(master, b"\n")
    screen += until_closed(master)
    assert ended(process) == 0, screen.decode()
    return screen.decode()


@pytest.mark.parametrize(
    ("agent", "words", "answers", "guard"),
    [
        ("claude", ("init",), 3, "protect-hooks"),
        ("codex", ("init", "--agent", "codex"), 2, "protect-hooks"),
        ("gemini", ("init", "--agent", "gemini"), 2, "protect-hooks"),
        ("claude", ("init", "--recipe", "block-destructive-commands", "--yes"), 0, "block-destructive-commands"),
    ],
    indirect=["agent"],
)
def test_two_commands_guard_an_agent(agent: Agent, words: tuple[str, ...], answers: int, guard: str) -> None:
    """Hooks that are tested, approved and installed; the calls they block do not run.

    The first that blocks what would remove the home directory protects the hooks in it.
    """
    place = agent.place
    (place.project / ".git").rename(place.home / "unused")
    precious = place.home / "precious"
    precious.mkdir()
    screen = at_terminal(agent, *words, answers=answers)
    tried = at_terminal(agent, "try", DESTROY, answers=0)
    assert "approved block-destructive-commands" in screen, screen
    assert f"{agent.name}: installed for" in screen, screen
    assert f"result: blocked by {guard}" in tried, tried
    ran = agent.run(agent.driver.shell(DESTROY), agent.driver.shell("echo hi > made.txt"), DONE)
    assert precious.exists(), ran
    assert "made.txt" in ran.files, ran
    assert REASONS[guard] in ran.heard, ran
