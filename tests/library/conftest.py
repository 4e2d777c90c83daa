"""Fixtures of the library's tests: an engine that is closed, both ways to fire, layers of declarations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from hookrun import Engine
from tests.conftest import Project
from tests.library import firing


@pytest.fixture(autouse=True)
def _reaped() -> None:
    """Reap what tests of other rooms have left to this process: here every child counts."""
    with suppress(ChildProcessError):  # there are none, as nearly always
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Return an engine without declarations; it is closed at the end."""
    with Engine() as engine:
        yield engine


@pytest.fixture(params=["fire", "fire_sync"])
def fire(request: pytest.FixtureRequest) -> firing.Fire:
    """Return a function that fires: in a task, and once more in a thread without a loop."""
    return firing.fire_async if request.param == "fire" else firing.fire_sync


Load = Callable[..., Engine]


@pytest.fixture
def load(project: Project) -> Iterator[Load]:
    """Return a function that creates engines with the declarations of `project`; each is closed at the end."""
    engines: list[Engine] = []

    def make(**options: object) -> Engine:
        engines.append(Engine.load(project.root, **{"home": project.home, **options}))  # type: ignore[arg-type]
        return engines[-1]

    yield make
    for engine in engines:
        engine.close_sync()
