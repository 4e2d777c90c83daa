"""The shapes a declared value can have: what the checker checks and what the JSON Schema is made from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flag:
    """`true` or `false`."""


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number greater than `above`."""

    above: float


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number from `low` to `high`."""

    low: int
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A string; `pattern` (a regular expression that Python and ECMAScript read alike) describes the whole of it.

    `says` is how messages call it. `known` are the values that are proposed, `but_not` those that are refused.
    """

    says: str
    pattern: str | None = None
    known: tuple[str, ...] = ()
    but_not: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One string out of `values`."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, a number or a boolean; numbers and booleans stand for their JSON text."""


@dataclass(frozen=True, slots=True)
class Many:
    """A list of `item`, of at least `least`; or `alone`: one value in the place of a list of one."""

    item: Text | Scalar
    says: str
    alone: Text | Scalar | None = None
    first: Text | None = None
    least: int = 1
    unique: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """An object whose keys fit `key` and whose values fit `value`, with at least `least` of them."""

    key: Text
    value: Text | Many
    says: str
    least: int = 0


@dataclass(frozen=True, slots=True)
class Anything:
    """Any object: what is in it is nobody's business here."""


@dataclass(frozen=True, slots=True)
class Record:
    """An object with these fields and no others, none of them required."""

    fields: tuple[Field, ...]
    says: str


@dataclass(frozen=True, slots=True)
class FlagOr:
    """`true`, `false`, or a record."""

    record: Record


Shape = Flag | Number | Integer | Text | Choice | Scalar | Many | Table | Anything | Record | FlagOr


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name, the shape of its value, what it is for in a sentence, its default (None: it has none)."""

    name: str
    shape: Shape
    description: str
    default: object = None


def wording(shape: Shape) -> str:  # noqa: PLR0911  # one line for each shape
    """Return what a value of this shape is called in messages and in the reference."""
    match shape:
        case Flag():
            return "true or false"
        case Number(above):
            return f"a number greater than {above:g}"
        case Integer(low, None):
            return f"an integer of at least {low}"
        case Integer(low, high):
            return f"an integer from {low} to {high}"
        case Choice(values):
            return " or ".join(f'"{value}"' for value in values)
        case Scalar():
            return "a string, number or boolean"
        case Anything():
            return "an object"
        case FlagOr(record):
            return f"true, false or {record.says}"
        case Text() | Many() | Table() | Record():
            return shape.says
