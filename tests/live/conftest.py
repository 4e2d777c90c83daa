"""Every test of this room is run once for each real agent that is here, in a place of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.driver import Driver
from tests.live.drivers import DRIVERS, PATCHING
from tests.live.installed import absent
from tests.live.run import Agent, Place

SAME_FOR_ALL = json.loads((Path(__file__).parent / "hooks.json").read_bytes())["hooks"]
"""One file of declarations, in canonical terms."""


@pytest.fixture(params=DRIVERS)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Each agent in turn; one that cannot be run is skipped, and named when all is over."""
    driver = DRIVERS[request.param]
    _need(driver, request)
    with Agent(driver, Place(tmp_path)) as settled:
        yield settled


@pytest.fixture(params=PATCHING)
def patching(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Each agent in turn that changes files by patches, with the hooks of `hooks.json`."""
    driver = PATCHING[request.param]
    _need(driver, request)
    with Agent(driver, Place(tmp_path)) as settled:
        settled.declare(*SAME_FOR_ALL)
        yield settled


@pytest.fixture
def obeying(agent: Agent) -> Agent:
    """Each agent in turn, with the hooks of `hooks.json` declared and wired."""
    agent.declare(*SAME_FOR_ALL)
    return agent


def _need(driver: Driver, request: pytest.FixtureRequest) -> None:
    request.node.user_properties.append(("agent", driver.name))
    if reason := absent(driver.name):
        pytest.skip(f"{driver.name}: {reason}")


@pytest.fixture
def copilot(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Copilot, which runs the hooks in Claude's settings too."""
    _need(DRIVERS["copilot"], request)
    with Agent(DRIVERS["copilot"], Place(tmp_path)) as settled:
        yield settled
