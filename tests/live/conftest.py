"""Every test of this room is run once for each real agent that is here, in a place of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.drivers import DRIVERS
from tests.live.installed import absent
from tests.live.run import Agent, Place


@pytest.fixture(params=DRIVERS)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Each agent in turn; one that cannot be run is skipped, and named when all is over."""
    name: str = request.param
    request.node.user_properties.append(("agent", name))
    if reason := absent(name):
        pytest.skip(f"{name}: {reason}")
    with Agent(DRIVERS[name], Place(tmp_path)) as settled:
        yield settled


@pytest.fixture
def obeying(agent: Agent) -> Agent:
    """Each agent in turn, with the hooks of `hooks.json` declared and wired: the same for all of them."""
    agent.declare(*json.loads((Path(__file__).parent / "hooks.json").read_bytes())["hooks"])
    return agent
