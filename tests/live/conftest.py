"""Tests of this room run once for each real agent that they concern and that is installed, in a separate home."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hookrun_conformance import HOOKS
from hookrun_conformance.driver import Driver
from hookrun_conformance.drivers import DRIVERS, PATCHING, SLOW
from tests.conftest import records
from tests.live.installed import absent
from tests.live.run import Agent, Place

SAME_FOR_ALL = json.loads(HOOKS.read_bytes())["hooks"]
"""One file of declarations, in canonical terms."""


WITH_AGENT = {"agent", "obeying", "patching", "granting", "claude", "codex", "copilot"}


WITHOUT_AGENTS = ("test_model.py", "test_summary.py")


@pytest.hookimpl(tryfirst=True)  # before pytest leaves the slow ones out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what needs an agent."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name not in WITHOUT_AGENTS:
            item.add_marker(pytest.mark.slow)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test with an agent cold and warm, but those marked `only_cold`."""
    if WITH_AGENT.intersection(metafunc.fixturenames):
        only_cold = metafunc.definition.get_closest_marker("only_cold")
        metafunc.parametrize("way", ["cold"] if only_cold else ["cold", "warm"], indirect=True)


@pytest.fixture(autouse=True)
def way(request: pytest.FixtureRequest) -> str:
    """Return whether hookrun's runs are `cold` or `warm`: whether a server listens in the agent's home."""
    return str(getattr(request, "param", "cold"))


@pytest.fixture(params=DRIVERS)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Each agent in turn."""
    yield from _settled(DRIVERS[request.param], request, tmp_path)


@pytest.fixture
def obeying(agent: Agent) -> Agent:
    """Each agent in turn, with the hooks of `hooks.json` declared and installed."""
    agent.declare(*SAME_FOR_ALL)
    return agent


@pytest.fixture(params=PATCHING)
def patching(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Each agent in turn that changes files by patches, with those hooks."""
    for settled in _settled(PATCHING[request.param], request, tmp_path):
        settled.declare(*SAME_FOR_ALL)
        yield settled


@pytest.fixture(params=["claude", "copilot"])
def granting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Each agent in turn to which a hook can grant a call that it would ask about, with those hooks."""
    for settled in _settled(DRIVERS[request.param], request, tmp_path):
        settled.declare(*SAME_FOR_ALL)
        yield settled


@pytest.fixture
def claude(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Claude Code, which other agents are compared with."""
    yield from _settled(DRIVERS["claude"], request, tmp_path)


@pytest.fixture
def codex(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Codex, whose programs the model can type into."""
    yield from _settled(DRIVERS["codex"], request, tmp_path)


@pytest.fixture
def copilot(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Copilot, which runs the hooks in Claude's settings too."""
    yield from _settled(DRIVERS["copilot"], request, tmp_path)


def needs(request: pytest.FixtureRequest, *agents: str) -> None:
    """Skip a test about the last of these agents where one of them cannot be run; it is named at the end."""
    request.node.user_properties.append(("agent", agents[-1]))
    for agent in agents:
        if reason := absent(agent):
            pytest.skip(f"{agent}: {reason}")


def _settled(driver: Driver, request: pytest.FixtureRequest, directory: Path) -> Iterator[Agent]:
    """Yield an agent in its home; one that cannot be run is skipped, and named at the end."""
    needs(request, driver.name)
    if request.getfixturevalue("way") == "cold":
        with Agent(driver, Place(directory)) as settled:
            yield settled
        return
    with TemporaryDirectory(prefix="hw-", dir="/tmp") as short:  # a socket's path has room for a hundred bytes
        place = Place(Path(short))
        with Agent(driver, place, warm=True) as settled:
            yield settled
        ran = [each for each in records(place.audit) if "cold" in each or "warm" in each]
        reasons = {str(each["cold"]) for each in ran if "cold" in each}
        marker = request.node.get_closest_marker("may_be_cold")
        assert reasons <= set(marker.args[0] if marker else ()), reasons


def settle(name: str, request: pytest.FixtureRequest, directory: Path) -> Iterator[Agent]:
    """Yield the agent of this name as the fixtures do, for tests that need it in another way."""
    yield from _settled({**DRIVERS, **SLOW}[name], request, directory)
