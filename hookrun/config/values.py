"""Checks one declared value against its shape and returns it cleaned, or says what is wrong with it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookrun.config.problem import Problem, kind, nearest, shown
from hookrun.config.shapes import (
    Anything,
    Choice,
    Field,
    Flag,
    FlagOr,
    Integer,
    Many,
    Number,
    Record,
    Scalar,
    Shape,
    Table,
    Text,
    wording,
)

if TYPE_CHECKING:
    from hookrun.config.parsed import KeyPath
    from hookrun.config.source import Document


class Wrong(Exception):  # noqa: N818  # it is caught by whoever collects problems, never seen
    """The value does not have its shape; what is wrong has been reported."""


@dataclass(slots=True)
class Place:
    """A place in a document, and the list of what is wrong there and inside of it."""

    document: Document
    path: KeyPath
    problems: list[Problem] = field(default_factory=list)

    def at(self, *steps: str | int) -> Place:
        """Return a place further inside; its problems go to the same list."""
        return Place(self.document, (*self.path, *steps), self.problems)

    def report(self, found: str, expected: str, advice: str, *, nearest: str | None = None) -> None:
        """Add an error about the value here."""
        self.problems.append(self.document.problem(self.path, found, expected, advice, nearest=nearest))

    def warn(self, found: str, expected: str, advice: str, *, nearest: str | None = None) -> None:
        """Add a warning about the value here."""
        self.problems.append(
            self.document.problem(self.path, found, expected, advice, nearest=nearest, severity="warning")
        )

    def unknown_key(
        self,
        key: str,
        expected: str,
        valid: list[str],
        advice: str = "correct or remove it",
        *,
        near: str | None = None,
    ) -> None:
        """Add an error about a key of the object here that does not belong to it."""
        found = f"the unknown key {shown(key)}"
        near = near or nearest(key, valid)
        path = (*self.path, key)
        self.problems.append(self.document.problem(path, found, expected, advice, at_key=True, nearest=near))

    def mistaken(self, value: object, expected: str, advice: str | None = None, *, near: str | None = None) -> Wrong:
        """Report a value that is not what was expected, and return what the caller raises."""
        found = f"{shown(value)} ({kind(value)})"
        self.report(found, expected, advice or _advice(value, expected), nearest=near)
        return Wrong()


def check(shape: Shape, value: object, at: Place) -> object:  # noqa: C901, PLR0911  # one line for each shape
    """Return the value in the form that a hook keeps. Raises Wrong, when all is reported, if it does not fit."""
    match shape:
        case Flag():
            return _flag(value, at)
        case Number() | Integer():
            return _number(shape, value, at)
        case Text():
            return _text(shape, value, at)
        case Choice():
            return _choice(shape, value, at)
        case Scalar():
            return _scalar(value, at)
        case Many():
            return _many(shape, value, at)
        case Table():
            return _table(shape, value, at)
        case Anything():
            return _object(value, at, wording(shape))
        case Record():
            return record(shape, value, at)
        case FlagOr(inner):
            return value if isinstance(value, bool) else record(inner, value, at, wording(shape))


def record(shape: Record, value: object, at: Place, expected: str | None = None) -> dict[str, object]:
    """Return the fields of the object that fit; the others are reported. Raises Wrong when it is no object."""
    fields = {each.name: each for each in shape.fields}
    result: dict[str, object] = {}
    for key, item in _object(value, at, expected or shape.says).items():
        if key in fields:
            keep(result, fields[key], item, at)
        else:
            at.unknown_key(key, _one_of(shape, fields), list(fields))
    return result


def keep(result: dict[str, object], field_: Field, value: object, at: Place) -> None:
    """Put the value of a field into the result if it fits, else report it."""
    try:
        result[field_.name] = check(field_.shape, value, at.at(field_.name))
    except Wrong:
        return


def _one_of(shape: Record, fields: dict[str, Field]) -> str:
    few = 4
    return " or ".join(fields) if len(fields) <= few else f"a field of {shape.says}"


def _flag(value: object, at: Place) -> bool:
    if not isinstance(value, bool):
        raise at.mistaken(value, wording(Flag()))
    return value


def _number(shape: Number | Integer, value: object, at: Place) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise at.mistaken(value, wording(shape))
    if isinstance(shape, Number):
        if not shape.above < value <= MAX_NUMBER:
            raise at.mistaken(value, wording(shape))
        return float(value)
    if value != int(value) or value < shape.low or (shape.high is not None and value > shape.high):
        raise at.mistaken(value, wording(shape))
    return int(value)


MAX_NUMBER = 1.7976931348623157e308
"""Beyond this a whole number has no floating point form."""


def _text(shape: Text, value: object, at: Place) -> str:
    if not isinstance(value, str):
        raise at.mistaken(value, wording(shape))
    if shape.pattern is not None and not re.fullmatch(shape.pattern, value):
        raise at.mistaken(value, wording(shape), near=nearest(value, shape.known) if shape.known else None)
    if value in shape.but_not:
        raise at.mistaken(value, f"{wording(shape)} that is not known already", "leave it out: it exists")
    return value


def _choice(shape: Choice, value: object, at: Place) -> str:
    if not isinstance(value, str) or value not in shape.values:
        near = nearest(value, shape.values) if isinstance(value, str) else None
        raise at.mistaken(value, wording(shape), near=near)
    return value


def _scalar(value: object, at: Place) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise at.mistaken(value, wording(Scalar()))


def _many(shape: Many, value: object, at: Place) -> list[str]:
    if shape.alone is not None and not isinstance(value, list):
        try:
            return [_one(shape.alone, value, Place(at.document, at.path))]
        except Wrong:
            raise at.mistaken(value, wording(shape), near=_near(shape.alone, value)) from None
    if not isinstance(value, list) or len(value) < shape.least:
        raise at.mistaken(value, wording(shape))
    before = len(at.problems)
    items: list[str] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        here = at.at(index)
        try:
            text = _one(shape.first if shape.first and index == 0 else shape.item, item, here)
        except Wrong:
            continue
        if shape.unique and text in seen:
            here.report(f"{shown(text)} a second time", "each only once", "remove one of the two")
        seen.add(text)
        items.append(text)
    if any(problem.severity == "error" for problem in at.problems[before:]):
        raise Wrong
    return items


def _one(shape: Text | Scalar, value: object, at: Place) -> str:
    return _text(shape, value, at) if isinstance(shape, Text) else _scalar(value, at)


def _near(shape: Text | Scalar, value: object) -> str | None:
    return nearest(value, shape.known) if isinstance(shape, Text) and isinstance(value, str) and shape.known else None


def _table(shape: Table, value: object, at: Place) -> dict[str, object]:
    items = _object(value, at, wording(shape))
    if len(items) < shape.least:
        raise at.mistaken(value, wording(shape), "write at least one, or leave the field out")
    before = len(at.problems)
    result: dict[str, object] = {}
    for key, item in items.items():
        if shape.key.pattern is not None and not re.fullmatch(shape.key.pattern, key):
            at.unknown_key(key, wording(shape.key), [])
            continue
        try:
            result[key] = check(shape.value, item, at.at(key))
        except Wrong:
            continue
    if len(at.problems) > before:
        raise Wrong
    return result


def _object(value: object, at: Place, expected: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise at.mistaken(value, expected)
    return value


def _advice(value: object, expected: str) -> str:
    """Return what to do about a value of the wrong sort."""
    if value is None:
        return "write a value, or leave the field out"
    if isinstance(value, str) and value.strip().lower() in {"true", "false"} and "true" in expected:
        return "remove the quotes"
    if isinstance(value, str) and expected.startswith(("a number", "an integer")):
        return "write a number without quotes or unit"
    if isinstance(value, bool | int | float) and expected.startswith(
        ("a string", '"', "a name", "the name", "an event")
    ):
        return "quote it"
    if isinstance(value, str) and expected.startswith("a list"):
        return f"write [{shown(value)}]"
    return "write that instead"
