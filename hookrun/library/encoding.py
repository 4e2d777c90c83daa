"""JSON for a process that lives on: orjson's, and where that does not take a value, the hot path's."""

from __future__ import annotations

import dataclasses
import os
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING, Any

import orjson

from hookrun import fastjson

if TYPE_CHECKING:
    from collections.abc import Mapping


def dumps(data: Mapping[str, object]) -> bytes:
    """Return the context as a declared hook reads it: a JSON object in UTF-8.

    Dates, UUIDs, enumerations and dataclasses are said as orjson says them, paths as text, pydantic's models by their
    fields; NaN and the infinities, which JSON does not know, become null, as in JavaScript. Raises ValueError for
    anything else.
    """
    try:
        return orjson.dumps(data, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        try:
            return fastjson.dumps(_simple(data)).encode("ascii")  # integers beyond 64 bits, half characters
        except (TypeError, ValueError, RecursionError):
            raise ValueError(str(error.__cause__ or error)) from error


def _simple(value: Any) -> Any:
    """Return the value as the hot path's encoder takes it, everything said as orjson says it. Raises TypeError."""
    if isinstance(value, dict):
        return {_key(key): _simple(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_simple(each) for each in value]
    if value is None or (isinstance(value, (str, int)) and not isinstance(value, Enum)):
        return value
    return _of_python(value)


def _of_python(value: Any) -> Any:
    """The same for what JSON has no form of."""
    if isinstance(value, Enum):
        return _simple(value.value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        return {name: _simple(getattr(value, name)) for name in names}
    try:
        return orjson.loads(orjson.dumps(value))  # dates, UUIDs
    except TypeError:
        return _simple(_plain(value))


def _key(key: Any) -> str:
    if isinstance(key, Enum):
        return _key(key.value)
    if isinstance(key, str):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(int(key))
    (text,) = orjson.loads(orjson.dumps({key: None}, option=orjson.OPT_NON_STR_KEYS))
    return str(text)


def _plain(value: object) -> object:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"a value of type {type(value).__name__} cannot be said in JSON")
