"""A store in a separate directory, and a clock that the test sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrun.observe import ObserverDatabase

if TYPE_CHECKING:
    from pathlib import Path


class Clock:
    """A clock with a set time: seconds since 1970, or of a stopwatch."""

    def __init__(self, now: float = 1_767_348_000.0) -> None:
        """Begin at 2026-01-02T10:00:00Z."""
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> ObserverDatabase:
    """Return a store whose file does not exist yet."""
    return ObserverDatabase(tmp_path / "state" / "observe.db")


@pytest.fixture
def clock() -> Clock:
    """Return a clock at 2026-01-02T10:00:00Z."""
    return Clock()
