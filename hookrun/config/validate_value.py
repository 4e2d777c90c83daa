"""Validate one value against its shape: return it normalized, or report its errors."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookrun.config.diagnostics import Diagnostic, did_you_mean, field_name
from hookrun.config.schema import (
    MILLISECONDS,
    AnyObject,
    Bool,
    BoolOr,
    Choice,
    Field,
    Integer,
    ListOf,
    MapOf,
    Number,
    Record,
    Scalar,
    Shape,
    Str,
    describe,
)
from hookrun.text import one_of, quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.config.document import Document
    from hookrun.config.parse import KeyPath


EMPTY = {'""': "an empty string", "[]": "an empty list", "{}": "an empty object"}


class Invalid(Exception):  # noqa: N818  # control flow: always caught, never shown
    """The value does not have its shape; the error has been reported."""


@dataclass(slots=True)
class Location:
    """A place in a document, and the diagnostics reported there and inside it."""

    document: Document
    path: KeyPath
    problems: list[Diagnostic] = field(default_factory=list)

    def at(self, *steps: str | int) -> Location:
        """Return a place further inside; its diagnostics go to the same list."""
        return Location(self.document, (*self.path, *steps), self.problems)

    def report(self, message: str, hint: str | None = None) -> None:
        """Report an error about the value."""
        self.problems.append(self.document.problem(self.path, message, hint))

    def warn(self, message: str, hint: str | None = None) -> None:
        """Report a warning about the value."""
        self.problems.append(self.document.problem(self.path, message, hint, severity="warning"))

    def unknown_key(self, key: str, what: str, valid: Iterable[str], hint: str | None = None) -> None:
        """Report a key of the object that is not a `what`; the hint is by default the closest valid one."""
        hint = hint or did_you_mean(key, valid, "remove it")
        message = f"unknown {what} {quote(key)}"
        self.problems.append(self.document.problem((*self.path, key), message, hint, at_key=True))

    def type_error(self, value: object, expected: str, hint: str | None = None, *, note: str = "") -> Invalid:
        """Report a value that is not as expected, and return the exception for the caller to raise."""
        shown = EMPTY.get(quote(value), quote(value))
        message = f"{field_name(self.path)} must be {expected}, not {shown}{note}"
        self.report(message, hint or _hint(value, expected))
        return Invalid()

    def warn_milliseconds(self, timeout: object) -> None:
        """Warn about a timeout in seconds that was probably meant in milliseconds."""
        if isinstance(timeout, float) and timeout >= MILLISECONDS:
            hint = f"write {timeout / 1000:g} if you mean milliseconds"
            self.warn(f"a timeout of {timeout:g} seconds is probably too long", hint)


def check(shape: Shape, value: object, at: Location) -> object:  # noqa: C901, PLR0911  # one line for each shape
    """Return the value normalized. Raises Invalid, after reporting every error, if it does not fit."""
    match shape:
        case Bool():
            return _flag(value, at)
        case Number() | Integer():
            return _number(shape, value, at)
        case Str():
            return _text(shape, value, at)
        case Choice():
            return _choice(shape, value, at)
        case Scalar():
            return _scalar(value, at)
        case ListOf():
            return _many(shape, value, at)
        case MapOf():
            return _table(shape, value, at)
        case AnyObject():
            return _object(value, at, describe(shape))
        case Record():
            return _record(shape, value, at, describe(shape))
        case BoolOr(inner):
            return value if isinstance(value, bool) else _record(inner, value, at, describe(shape))


def _record(shape: Record, value: object, at: Location, expected: str) -> dict[str, object]:
    """Return the valid fields of an object and report the others. Raises Invalid if it is no object."""
    fields = {each.name: each for each in shape.fields}
    result: dict[str, object] = {}
    for key, item in _object(value, at, expected).items():
        if key in fields:
            validate_into(result, fields[key], item, at)
        else:
            hint = did_you_mean(key, fields, f"use {one_of(fields)}")
            at.unknown_key(key, f"{at.path[-1]} field", fields, hint)
    return result


def validate_into(result: dict[str, object], field_: Field, value: object, at: Location) -> None:
    """Add the value of a field to the result if it is valid; report it otherwise."""
    try:
        result[field_.name] = check(field_.shape, value, at.at(field_.name))
    except Invalid:
        return


def _flag(value: object, at: Location) -> bool:
    if not isinstance(value, bool):
        raise at.type_error(value, describe(Bool()))
    return value


def _number(shape: Number | Integer, value: object, at: Location) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise at.type_error(value, describe(shape))
    if isinstance(shape, Number):
        if not shape.above < value <= MAX_NUMBER:
            raise at.type_error(value, describe(shape))
        return float(value)
    if value != int(value) or value < shape.low or (shape.high is not None and value > shape.high):
        raise at.type_error(value, describe(shape))
    return int(value)


MAX_NUMBER = 1.7976931348623157e308
"""Largest float: a larger integer cannot become one."""


def _text(shape: Str, value: object, at: Location) -> str:
    if not isinstance(value, str):
        raise at.type_error(value, describe(shape))
    if "\0" in value:
        at.report(f"{field_name(at.path)} contains a NUL character", "remove it")
        raise Invalid
    if shape.pattern is not None and not re.fullmatch(shape.pattern, value):
        raise at.type_error(value, describe(shape), did_you_mean(value, shape.known))
    if value in shape.but_not:
        at.report(f"{quote(value)} is already known", "remove it")
        raise Invalid
    return value


def _choice(shape: Choice, value: object, at: Location) -> str:
    if not isinstance(value, str) or value not in shape.values:
        raise at.type_error(value, describe(shape), did_you_mean(value, shape.values))
    return value


def _scalar(value: object, at: Location) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise at.type_error(value, describe(Scalar()))


def _many(shape: ListOf, value: object, at: Location) -> list[object]:
    if shape.alone is not None and not isinstance(value, list):
        try:
            return [_one(shape.alone, value, Location(at.document, at.path))]
        except Invalid:
            known = shape.alone.known if isinstance(shape.alone, Str) else ()
            raise at.type_error(value, describe(shape), did_you_mean(value, known)) from None
    if not isinstance(value, list) or len(value) < shape.least:
        raise at.type_error(value, describe(shape))
    before = len(at.problems)
    items: list[object] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        here = at.at(index)
        if shape.record is not None and isinstance(item, dict):
            items.append(_record(shape.record, item, here, describe(shape.record)))
            continue
        try:
            text = _one(shape.first if shape.first and index == 0 else shape.item, item, here)
        except Invalid:
            continue
        if shape.unique and text in seen:
            here.report(f"{quote(text)} is listed twice", "remove one of the two")
        seen.add(text)
        items.append(text)
    if any(problem.severity == "error" for problem in at.problems[before:]):
        raise Invalid
    return items


def _one(shape: Str | Scalar, value: object, at: Location) -> str:
    return _text(shape, value, at) if isinstance(shape, Str) else _scalar(value, at)


def _table(shape: MapOf, value: object, at: Location) -> dict[str, object]:
    items = _object(value, at, describe(shape))
    if len(items) < shape.least:
        raise at.type_error(value, describe(shape), "add a key, or remove the field")
    before = len(at.problems)
    result: dict[str, object] = {}
    for key, item in items.items():
        if shape.key.pattern is not None and not re.fullmatch(shape.key.pattern, key):
            at.at(key).report(f"invalid key {quote(key)} in {field_name(at.path)}", f"use {describe(shape.key)}")
            continue
        try:
            result[key] = check(shape.value, item, at.at(key))
        except Invalid:
            continue
    if len(at.problems) > before:
        raise Invalid
    return result


def _object(value: object, at: Location, expected: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise at.type_error(value, expected)
    return value


def _hint(value: object, expected: str) -> str | None:
    if value is None:
        return "write a value, or remove the field"
    if value is False and '"off"' in expected:
        return 'write "off" in quotes'
    if isinstance(value, str) and value.strip().lower() in {"true", "false"} and "true" in expected:
        return "remove the quotes"
    if isinstance(value, str) and expected.startswith(("a number", "an integer")):
        return "write a number without quotes or unit"
    if isinstance(value, bool | int | float) and expected.startswith(
        ("a string", "a name", "the name", "an event", "globs")
    ):
        return "quote it"
    return f"write [{quote(value)}]" if isinstance(value, str) and expected.startswith("a list") else None
