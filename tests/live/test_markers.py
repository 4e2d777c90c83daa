"""An agent is known by its processes and by the environment of the commands that it runs: it does not approve hooks."""

from __future__ import annotations

import shlex

import pytest

from hookrun.agents import env_markers, load
from hookrun_conformance.driver import put
from hookrun_conformance.model import say
from hookrun_conformance.place import Place
from tests.live.run import Agent

DONE = say("all-is-done")
HOOK = {"name": "own", "event": "pre_tool_use", "command": "exit 0"}


@pytest.mark.only_cold("no hook runs")
def test_its_shell_has_a_variable_that_only_agents_set(agent: Agent) -> None:
    """Its own one; all names are printed."""
    ran = agent.run(agent.driver.shell("env > env.txt"), DONE)
    names = sorted(line.partition("=")[0] for line in ran.files["env.txt"].splitlines() if "=" in line)
    print(f"{agent.name}: {' '.join(names)}")
    own = load(agent.name).ENV_MARKERS
    assert set(own).intersection(names), names
    assert set(own) <= set(env_markers())


def trust_lines(place: Place) -> dict[str, str]:
    """Return ways to answer the question of `hookrun trust` with yes, by the file with what is said."""
    trust = shlex.quote(f"{place.programs}/hookrun trust")
    clean = f"env -i NO_COLOR=1 PATH=/usr/bin:/bin HOME={shlex.quote(str(place.home))}"
    cut = "setsid --fork sh -c {} ; while ! [ -e {}.over ]; do sleep 0.1; done"
    answered = "(echo y; echo y) | {} script -qec {} /dev/null >{} 2>&1; : >{}.over"
    return {
        "plain": answered.format("", trust, "plain", "plain"),
        "clean": answered.format(clean, trust, "clean", "clean"),
        "cut": cut.format(shlex.quote(answered.format("", trust, "cut", "cut")), "cut"),
        "both": cut.format(shlex.quote(answered.format(clean, trust, "both", "both")), "both"),
    }


@pytest.mark.only_cold("no hook runs")
def test_it_cannot_approve_a_hook_at_a_terminal_of_its_own(agent: Agent) -> None:
    """It answers the question with yes: below its process, also without its variables; by these; by the terminal."""
    place = agent.place
    put(place.project / "coder.json", {"hooks": [HOOK]})
    lines = trust_lines(place)
    ran = agent.run(agent.driver.shell("; ".join(lines.values())), DONE)
    said = {name: " ".join(ran.files.get(name, "").split()) for name in lines}
    title = load(agent.name).DISPLAY_NAME
    assert f"it runs below {title} (`" in said["plain"], ran
    assert f"it runs below {title} (`" in said["clean"], ran
    assert " is set, so an agent or a hook runs this command" in said["cut"], ran
    assert "container or editor has opened its terminal" in said["both"], ran
    assert not (place.home / ".local/share/hookrun/trust.json").exists()
