"""A program's objects as JSON has them: for conditions, and encoded for configured hooks."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from datetime import date, time
from enum import Enum
from typing import Any
from uuid import UUID

import orjson

from hookrun.core import fastjson

# Types that need no look: they are JSON as they are.
SCALARS = frozenset({str, int, float, bool, type(None)})


def plain(value: Any, levels: int = fastjson.MAX_DEPTH) -> Any:
    """Return a value with paths, UUIDs, dates, enumerations, dataclasses and models in it as JSON has them.

    Conditions read it so: on such an object they would never match, and the hook would not be asked. Hooks of the
    program get the objects themselves. What is nested deeper than `levels`, or holds itself, is left as it is there.

    >>> plain({"id": UUID(int=5), "days": (date(2026, 1, 2),), "other": b"x"})
    {'id': '00000000-0000-0000-0000-000000000005', 'days': ['2026-01-02'], 'other': b'x'}
    """
    if type(value) in SCALARS or levels < 0:
        return value
    if isinstance(value, Enum):
        return plain(value.value, levels)
    if isinstance(value, (date, time, UUID)):
        return str(value) if isinstance(value, UUID) else value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    value = _with_fields(value)
    if isinstance(value, Mapping):
        return {key: plain(each, levels - 1) for key, each in value.items()}
    listed = isinstance(value, (list, tuple, set, frozenset))
    return [plain(each, levels - 1) for each in value] if listed else value


def _with_fields(value: Any) -> Any:
    """Return an object of a dataclass, or a model of pydantic's, as a dictionary; anything else as it is."""
    if isinstance(value, type):
        return value
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        return {name: getattr(value, name) for name in names}
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else value


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
        except (TypeError, RecursionError):
            raise ValueError(str(error.__cause__ or error)) from error


def _simple(value: Any, levels: int = fastjson.MAX_DEPTH) -> Any:
    """Return the value for the hot path's encoder, in orjson's form. Raises TypeError, ValueError if it is too deep."""
    if levels < 0:  # said here: on a stack that is full no `__del__` of the program's would run
        raise ValueError(f"nested more than {fastjson.MAX_DEPTH} deep")
    try:
        return orjson.loads(orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS))
    except TypeError:  # for the value, or for a part of it
        pass
    if isinstance(value, Enum):
        return _simple(value.value, levels)
    value = _with_fields(value)
    if isinstance(value, dict):
        return {_key(key): _simple(each, levels - 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_simple(each, levels - 1) for each in value]
    return value if isinstance(value, (str, int)) else _simple(_plain(value), levels - 1)


def _key(key: Any) -> str:
    try:
        (text,) = orjson.loads(orjson.dumps({key: None}, option=orjson.OPT_NON_STR_KEYS))
    except TypeError:
        if isinstance(key, Enum):
            return _key(key.value)
        if not isinstance(key, (str, int)):
            raise
        return str(key)
    return str(text)


def _plain(value: object) -> object:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if (found := _with_fields(value)) is not value:
        return found
    raise TypeError(f"a value of type {type(value).__name__} cannot be encoded as JSON")


def safe_str(value: object) -> str | None:
    """Return `str(value)`, or None if that raises."""
    try:
        return str(value)
    except Exception:
        return None


def as_text(value: object) -> str:
    """Return a tool's result as text: strings as they are, None as "", everything else as JSON.

    A value that is not JSON is converted with `str`, or named by its type if that fails.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except Exception:  # keys that are not strings, a cycle, a `__str__` that raises, ...
        text = safe_str(value)
        return f"({type(value).__name__} that cannot be converted to text)" if text is None else text
