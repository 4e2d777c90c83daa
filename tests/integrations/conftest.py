"""An engine for the tests of adapters, and hooks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrun import Context, Engine, Verdict
from hookrun.core.literals import EventName

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "library"


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An engine without hooks."""
    with Engine() as engine:
        yield engine


def answering(engine: Engine, event: EventName, verdict: Verdict, name: str = "guard") -> None:
    """Register a hook that always gives the same answer."""
    engine.register(event, lambda _: verdict, name=name, replace=True)


def listen(engine: Engine, *events: str) -> list[Context]:
    """Return the list that every context of these events will be in."""
    heard: list[Context] = []
    engine.register(events, heard.append, name="listener", priority=1000, always=True, replace=True)  # type: ignore[arg-type]
    return heard
