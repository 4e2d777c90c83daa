"""The context as JSON: both encoders give the same text."""

from __future__ import annotations

import json
import os
import traceback
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from hookrun import Engine, Verdict
from hookrun.core.fastjson import MAX_DEPTH
from hookrun.library import encoding
from tests.rows import rows

HALF = "\ud800"
WIDE = 1 << 70


class Colour(Enum):
    """An enumeration."""

    RED = "red"
    WHEN = date(2026, 1, 2)


class Level(IntEnum):
    """One of numbers."""

    HIGH = 3


def depth() -> int:
    """Return the number of frames on the stack."""
    return sum(1 for _ in traceback.walk_stack(None))


# A level takes two frames at most, one a comprehension's on Python 3.11.
MOST = 2 * MAX_DEPTH + 20


class Probe(os.PathLike[str]):
    """A path that notes the depth of the stack where it is asked for its text."""

    def __init__(self) -> None:
        self.depths: list[int] = []

    def __fspath__(self) -> str:
        """Return a text."""
        self.depths.append(depth())
        return "x"


@dataclass
class Point:
    """An object with fields."""

    x: Any
    y: float = float("inf")
    _hidden: int = 5


class Model:
    """An object that lists its own fields, as pydantic's models do."""

    def model_dump(self, mode: str) -> dict[str, object]:
        """Return them."""
        return {"mode": mode, "path": Path("/m")}


VALUES: list[Any] = [
    Path("/x"), date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, 6, UTC), time(1, 2), UUID(int=5),
    Colour.RED, Colour.WHEN, Level.HIGH, Point(Path("/p")), Point(Point(None)), Model(), (1, (2,)), {"s"}, float("nan"),
    1.5, True, None, "é\x1b", {1: 1, None: 2, False: 3, 1.5: 4, date(2026, 1, 2): 5, Colour.RED: 6, Level.HIGH: 7},
]  # fmt: skip


@pytest.mark.parametrize("strange", [HALF, WIDE])
@rows("value", VALUES, ids=[f"{n}-{type(value).__name__}" for n, value in enumerate(VALUES)])
def test_what_stands_beside_a_strange_value_is_said_as_ever(value: object, strange: object) -> None:
    """A half character, or a number beyond 64 bits, changes nothing for the paths and dates of the same context."""
    alone = json.loads(encoding.dumps({"value": value}))
    beside = json.loads(encoding.dumps({"value": [value, Point(strange)], "strange": strange}))
    assert beside == {"value": [alone["value"], {"x": strange, "y": None}], "strange": strange}


@pytest.mark.parametrize("strange", [HALF, WIDE, 1])
@rows("value", [object(), b"x", {b"x": 1}, {object(): 1}])
def test_what_nobody_can_say_is_an_error(value: object, strange: object) -> None:
    """Whatever is beside it."""
    with pytest.raises(ValueError, match=r"."):
        encoding.dumps({"value": value, "strange": strange})


def test_what_holds_itself_is_an_error() -> None:
    """And leaves the stack room: what is collected in its depths has a `__del__` that must run."""
    probe = Probe()
    ring: list[object] = [probe, HALF]
    ring.append(ring)
    with pytest.raises(ValueError, match="nested more than 200 deep"):
        encoding.dumps({"ring": ring})
    assert max(probe.depths) - depth() < MOST


@rows("value", [Point(Path("/p/key")), Model(), [Point(b"x", 2.0), Point(Path("/p/key"))]])
def test_conditions_read_the_fields_of_an_object(value: object) -> None:
    """Of a dataclass or of pydantic: in a tool's typed argument a guard's condition would else never match."""
    engine = Engine()
    where = {"tool_args.at.x": "*key", "tool_args.at.path": "/m", "tool_args.at.1.x": "*key"}
    for number, (path, glob) in enumerate(where.items()):
        engine.register("pre_tool_use", lambda _: Verdict.block("no"), name=f"guard{number}", when={path: glob})
    assert engine.fire_sync("pre_tool_use", tool_name="read", tool_args={"at": value}).action == "block"
    assert encoding.plain(Point) is Point


def test_what_holds_itself_is_plain_as_deep_as_hooks_read() -> None:
    """Conditions on its other fields match."""
    probe = Probe()
    ring: list[object] = [probe]
    ring.append(ring)
    assert encoding.plain({"path": Path("a"), "ring": ring})["path"] == "a"
    assert max(probe.depths) - depth() < MOST
