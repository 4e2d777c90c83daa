"""JSON for a process that lives on: orjson's, and where that does not take a value, the hot path's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import orjson

from hookrun.fastjson import dumps

if TYPE_CHECKING:
    from collections.abc import Mapping


def context(data: Mapping[str, object]) -> bytes:
    """Return the context as a declared hook reads it: a JSON object in UTF-8.

    Dates, UUIDs, enumerations and dataclasses are said as orjson says them, paths as text, pydantic's models by their
    fields; NaN and the infinities, which JSON does not know, become null, as in JavaScript. Raises ValueError for
    anything else.
    """
    try:
        return orjson.dumps(data, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        try:
            return dumps(data).encode("ascii")  # integers beyond 64 bits, half characters
        except (TypeError, ValueError, RecursionError):
            raise ValueError(str(error.__cause__ or error)) from error


def _plain(value: object) -> object:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"a value of type {type(value).__name__} cannot be said in JSON")
