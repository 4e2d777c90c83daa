"""Options that choose tests, or their order: `--quarter SEED`, `--shuffle SEED` and `--live AGENT,...`."""

from __future__ import annotations

import hashlib
import random
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

import pytest

from tests.live.installed import PINS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

T = TypeVar("T")

AGENTS = {name for name, pin in PINS.items() if pin.is_agent}

SMOKE = frozenset(
    {
        "test_a_refused_command_does_not_run_and_the_model_hears_why",
        "test_a_guard_on_the_shell_blocks",  # Grok's
    }
)
"""Tests that `--live` keeps for every agent: a guard blocks."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("hookrun")
    group.addoption("--quarter", metavar="SEED", help="run a quarter of the selected tests, the same for the same seed")
    group.addoption("--shuffle", metavar="SEED", help="shuffle the files, and the tests of each")
    group.addoption("--live", metavar="AGENTS", help="of the real agents test these; of each other one case")


def register(config: pytest.Config) -> None:
    """Follow the options in a run, or in a worker of it."""
    config.pluginmanager.register(Chosen(), "hookrun-chosen")


class Chosen:
    """Follows the options."""

    @pytest.hookimpl(trylast=True)  # after `-m` and `-k`, and after pytest has ordered the tests by their fixtures
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect and shuffle."""
        option = config.getoption
        if (seed := option("quarter")) is not None:
            _keep(lambda item: in_quarter(item.nodeid, seed), config, items)
        if (names := option("live")) is not None:
            wanted = frozenset(filter(None, names.split(",")))
            if unknown := wanted - AGENTS:
                raise pytest.UsageError(f"--live: no agent is called {min(unknown)!r}")
            kept = of_agents(items, wanted)
            _keep(lambda item: item.nodeid in kept, config, items)
        if (seed := option("shuffle")) is not None:
            items[:] = shuffled(items, seed, lambda item: item.path)


def _keep(wanted: Callable[[pytest.Item], bool], config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if not wanted(item)]
    items[:] = [item for item in items if wanted(item)]
    config.hook.pytest_deselected(items=left_out)


def in_quarter(name: str, seed: str) -> bool:
    """Return whether a test belongs to the quarter of a seed."""
    return hashlib.sha256(f"{seed} {name}".encode()).digest()[0] % 4 == 0


def shuffled(items: Iterable[T], seed: str, file_of: Callable[[T], Path]) -> list[T]:
    """Return the tests with the files in a random order, and the tests of each file, too."""
    order = random.Random(seed)  # noqa: S311
    files = [list(tests) for _, tests in groupby(items, file_of)]
    order.shuffle(files)
    return [test for tests in files for test in order.sample(tests, len(tests))]


def of_agents(items: Iterable[pytest.Item], wanted: Collection[str]) -> set[str]:
    """Return the tests of these agents, those of none, and for each other agent the first that is a smoke test."""
    kept, smoked = set(), set(wanted)
    for item in items:
        agents = agents_of(item)
        test = item.name.partition("[")[0]
        if not agents or agents & set(wanted):
            kept.add(item.nodeid)
        elif test in SMOKE and not agents <= smoked:
            smoked |= agents
            kept.add(item.nodeid)
    return kept


def agents_of(item: pytest.Item) -> set[str]:
    """Return the agents that a test runs: by its parameters, its fixtures, or the name of its file."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    names = {value for value in parameters if isinstance(value, str)}
    return AGENTS & names.union(getattr(item, "fixturenames", ()), item.path.stem.split("_"))
