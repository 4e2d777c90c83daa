"""Shapes of config values, which they name in messages, validate and write as JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from hookrun.config.document import Invalid, Location, field_name
from hookrun.core.text import did_you_mean, one_of, quote

Schema = dict[str, object]

# Largest float: a larger integer cannot become one.
MAX_NUMBER = 1.7976931348623157e308


class Shape:
    """The shape of a value: `says` names it in messages, `schema` is its JSON Schema, `known` are suggested values.

    `normal` returns a value without parts, normalized, or None if it does not fit.
    """

    def __init__(
        self,
        says: str,
        schema: Schema,
        known: tuple[str, ...] = (),
        normal: Callable[[object], object] = lambda _value: None,
    ) -> None:
        self.says = says
        self.schema = schema
        self.known = known
        self.normal = normal

    def check(self, value: object, at: Location) -> object:
        """Return the value normalized. Raises Invalid, after reporting all errors, if it does not fit."""
        normal = self.normal(value)
        if normal is None:
            raise at.type_error(value, self.says, did_you_mean(value, self.known))
        return normal


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


BOOL = Shape("true or false", {"type": "boolean"}, normal=lambda value: value if isinstance(value, bool) else None)
NUMBER = Shape(
    "a number greater than 0",
    {"type": "number", "exclusiveMinimum": 0},
    normal=lambda value: float(value) if _is_number(value) and 0 < value <= MAX_NUMBER else None,
)
OBJECT = Shape("an object", {"type": "object"}, normal=lambda value: value if isinstance(value, dict) else None)


def _scalar(value: object) -> str | None:
    return value if isinstance(value, str) else json.dumps(value) if isinstance(value, int | float) else None


# Numbers and booleans are converted to their JSON text.
SCALAR = Shape("a string, number or boolean", {"type": ["string", "number", "boolean"]}, normal=_scalar)


class Integer(Shape):
    """A whole number from `low` to `high`."""

    def __init__(self, low: int, high: int | None = None) -> None:
        says = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
        schema: Schema = {"type": "integer", "minimum": low} | ({} if high is None else {"maximum": high})
        super().__init__(says, schema, normal=self._whole)
        self._low, self._high = low, high

    def _whole(self, value: object) -> int | None:
        if not _is_number(value) or value % 1 or value < self._low:
            return None
        return int(value) if self._high is None or value <= self._high else None


class Choice(Shape):
    """One string out of `values`."""

    def __init__(self, values: tuple[str, ...]) -> None:
        says = one_of(f'"{value}"' for value in values)
        super().__init__(says, {"enum": list(values)}, values, lambda value: value if value in values else None)


class Str(Shape):
    """A string that `pattern`, which Python and ECMAScript read alike, matches as a whole.

    `but_not` are rejected values.
    """

    def __init__(
        self, says: str, pattern: str | None = None, known: tuple[str, ...] = (), but_not: tuple[str, ...] = ()
    ) -> None:
        schema: Schema = {"type": "string"}
        if but_not:
            schema["not"] = {"enum": list(but_not)}
        if pattern is not None:  # Python's `$` also matches before a final line break
            schema["pattern"] = rf"^(?:{pattern})(?!\n)$"
        if known:
            schema = {"anyOf": [{"enum": list(known)}, schema]}
        super().__init__(says, schema, known, self._fitting)
        self.pattern = pattern
        self._but_not = but_not

    def check(self, value: object, at: Location) -> object:
        """Return the string. Raises Invalid."""
        if isinstance(value, str) and "\0" in value:
            at.report(f"{field_name(at.path)} contains a NUL character", "remove it")
            raise Invalid
        text = super().check(value, at)
        if text in self._but_not:
            at.report(f"{quote(text)} is already known", "remove it")
            raise Invalid
        return text

    def _fitting(self, value: object) -> str | None:
        fits = isinstance(value, str) and (self.pattern is None or re.fullmatch(self.pattern, value))
        return value if isinstance(value, str) and fits else None


class ListOf(Shape):
    """A list of at least `least` items or, with `alone`, one value for a list of one.

    The `first` item may have another shape.
    """

    def __init__(
        self,
        item: Shape,
        says: str,
        alone: Shape | None = None,
        *,
        first: Shape | None = None,
        least: int = 1,
        unique: bool = False,
    ) -> None:
        schema: Schema = {"type": "array", "items": item.schema}
        if least:
            schema["minItems"] = least
        if first is not None:
            schema["prefixItems"] = [first.schema]
        if unique:
            schema["uniqueItems"] = True
        super().__init__(says, schema if alone is None else {"anyOf": [alone.schema, schema]})
        self._item, self._alone, self._first = item, alone, first or item
        self._least, self._unique = least, unique

    def check(self, value: object, at: Location) -> list[object]:
        """Return the list. Raises Invalid."""
        if self._alone is not None and not isinstance(value, list):
            try:
                return [self._alone.check(value, Location(at.document, at.path))]
            except Invalid:
                raise at.type_error(value, self.says, did_you_mean(value, self._alone.known)) from None
        if not isinstance(value, list) or len(value) < self._least:
            raise at.type_error(value, self.says)
        before = len(at.problems)
        items: list[object] = []
        seen: set[object] = set()
        for index, each in enumerate(value):
            try:
                items.append((self._item if index else self._first).check(each, at.at(index)))
            except Invalid:
                continue
            if self._unique and items[-1] in seen:
                at.at(index).report(f"{quote(items[-1])} is listed twice", "remove one of the two")
            if self._unique:
                seen.add(items[-1])
        if len(at.problems) > before:
            raise Invalid
        return items


class MapOf(Shape):
    """An object of at least `least` keys of shape `key` with values of shape `value`."""

    def __init__(self, key: Str, value: Shape, says: str, least: int = 0) -> None:
        schema: Schema = {"type": "object", "propertyNames": key.schema, "additionalProperties": value.schema}
        super().__init__(says, schema | ({"minProperties": least} if least else {}))
        self._key, self._value, self._least = key, value, least

    def check(self, value: object, at: Location) -> dict[str, object]:
        """Return the object. Raises Invalid."""
        if not isinstance(value, dict) or len(value) < self._least:
            raise at.type_error(value, self.says, "add a key, or remove the field" if value == {} else None)
        before = len(at.problems)
        normal: dict[str, object] = {}
        for key, each in value.items():
            if self._key.pattern is not None and not re.fullmatch(self._key.pattern, key):
                at.at(key).report(f"invalid key {quote(key)} in {field_name(at.path)}", f"use {self._key.says}")
                continue
            try:
                normal[key] = self._value.check(each, at.at(key))
            except Invalid:
                continue
        if len(at.problems) > before:
            raise Invalid
        return normal


class Record(Shape):
    """An object with these optional fields only; messages say what they are fields `of`."""

    def __init__(self, fields: tuple[Field, ...], says: str, hint: str | None = None, *, of: str | None = None) -> None:
        super().__init__(says, object_schema(fields))
        self.fields, self._hint, self._of = fields, hint, of

    def check(self, value: object, at: Location) -> dict[str, object]:
        """Return an object's valid fields and report the others. Raises Invalid for a non-object."""
        if not isinstance(value, dict):
            raise at.type_error(value, self.says, self._hint)
        fields = names(self.fields)
        valid: dict[str, object] = {}
        for key, each in value.items():
            if key in fields:
                validate_into(valid, key, fields[key].shape, each, at)
            else:
                self.report_unknown(key, fields, at)
        return valid

    def report_unknown(self, key: str, fields: dict[str, Field], at: Location) -> None:
        """Report a key that is none of the fields."""
        if self._of is not None:
            at.unknown_key(key, f"field of {self._of}:", fields)
            return
        hint = did_you_mean(key, fields, f"use {one_of(fields)}")
        of = next(step for step in reversed(at.path) if isinstance(step, str))
        at.unknown_key(key, f"{of} field", fields, hint)


class OrRecord(Shape):
    """A value of another shape, or a record."""

    def __init__(self, other: Shape, record: Record) -> None:
        super().__init__(other.says, {"anyOf": [other.schema, record.schema]})
        self._other, self._record = other, record

    def check(self, value: object, at: Location) -> object:
        """Return the value, or the valid fields of an object. Raises Invalid."""
        return (self._record if isinstance(value, dict) else self._other).check(value, at)


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its name, its value's shape, its description and its default (None for none).

    `runs` marks the fields that name what a hook runs; a hook has exactly one.
    """

    name: str
    shape: Shape
    description: str
    default: object = None
    runs: bool = False


def names(fields: Iterable[Field]) -> dict[str, Field]:
    """Return the fields by name."""
    return {field.name: field for field in fields}


def object_schema(fields: Iterable[Field]) -> Schema:
    """Return the JSON Schema of an object with only these fields."""
    properties = {
        field.name: {
            **field.shape.schema,
            "description": field.description,
            **({} if field.default is None else {"default": field.default}),
        }
        for field in fields
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}


def validate_into(result: dict[str, object], name: str, shape: Shape, value: object, at: Location) -> None:
    """Add a field's value to the result if valid; report it otherwise."""
    try:
        result[name] = shape.check(value, at.at(name))
    except Invalid:
        return


def list_at(values: Mapping[str, object], name: str) -> list[object]:
    """Return the list under this name, empty if missing."""
    value = values.get(name)
    return value if isinstance(value, list) else []


def texts(values: Mapping[str, object], name: str) -> list[str]:
    """Return the list under this name as strings, empty if missing."""
    return list(map(str, list_at(values, name)))
