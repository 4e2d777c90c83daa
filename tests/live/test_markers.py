"""An agent is known by the environment of the commands that it runs: it does not approve its own hooks."""

from __future__ import annotations

import pytest

from hookrun.agents import MARKERS_OF_OTHERS, env_markers, load
from tests.live.driver import put
from tests.live.model import say
from tests.live.run import Agent

DONE = say("all-is-done")
HOOK = {"name": "own", "event": "pre_tool_use", "command": "exit 0"}


@pytest.mark.only_cold("no hook runs")
def test_its_shell_has_a_variable_that_only_agents_set(driven: Agent) -> None:
    """Its own one; all names are printed."""
    ran = driven.run(driven.driver.shell("env > env.txt"), DONE)
    names = sorted(line.partition("=")[0] for line in ran.files["env.txt"].splitlines() if "=" in line)
    print(f"{driven.name}: {' '.join(names)}")
    own = MARKERS_OF_OTHERS.get(driven.name) or load(driven.name).ENV_MARKERS
    assert set(own).intersection(names), names
    assert set(own) <= set(env_markers())


@pytest.mark.only_cold("no hook runs")
def test_it_cannot_approve_a_hook_at_a_terminal_of_its_own(driven: Agent) -> None:
    """It writes a hook into the project and answers the question with yes: nothing is approved."""
    place = driven.place
    put(place.project / "coder.json", {"hooks": [HOOK]})
    line = f"(echo y; echo y) | script -qec '{place.programs}/hookrun trust' /dev/null > said.txt 2>&1; echo over"
    ran = driven.run(driven.driver.shell(line), DONE)
    assert "an agent or a hook runs this command" in " ".join(ran.files["said.txt"].split()), ran
    assert not (place.home / ".local/share/hookrun/trust.json").exists()
