"""Encode JSON in a long-lived process: with orjson, or with the hot path's encoder for values it rejects."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from enum import Enum
from math import isfinite
from typing import Any

import orjson

from hookrun import fastjson


def dumps(data: Mapping[str, object]) -> bytes:
    """Return the context as JSON in UTF-8, as a configured hook reads it.

    Dates, UUIDs, enumerations and dataclasses are encoded as by orjson, paths as strings, pydantic models by their
    fields; NaN and infinities become null, as in JavaScript. Raises ValueError for anything else.
    """
    try:
        return orjson.dumps(data, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        try:
            return fastjson.dumps(_simple(data)).encode("ascii")  # integers beyond 64 bits, lone surrogates
        except (TypeError, ValueError, RecursionError):
            raise ValueError(str(error.__cause__ or error)) from error


def _simple(value: Any) -> Any:
    """Return the value for the hot path's encoder, in the form that orjson would encode. Raises TypeError."""
    if isinstance(value, dict):
        return {_key(key): _simple(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_simple(each) for each in value]
    if value is None or (isinstance(value, (str, int)) and not isinstance(value, Enum)):
        return value
    return _of_python(value)


def _of_python(value: Any) -> Any:
    """Return the same for a value that JSON has no form for."""
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
    raise TypeError(f"a value of type {type(value).__name__} cannot be encoded as JSON")
