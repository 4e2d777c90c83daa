"""Makes strings and values fit for storage: without credentials, cut to a size, and in a form that SQLite takes.

`canonical_json` gives equal values equal strings, whatever the order of their keys.
"""

from __future__ import annotations

import json

from hookrun.credentials import HIDDEN, redact
from hookrun.process.prepare import looks_like_credential

MAX_CHARS = 50_000
"""Characters of a string that are examined."""
MAX_DEPTH, MAX_NAMES = 8, 20
"""Levels of a value that are stored, and names of members that are left out."""


def text(value: str, longest: int) -> str:
    """Return a string without credentials; of one longer than `longest` characters the middle is left out."""
    return _encodable(_shorten(redact(_shorten(value, MAX_CHARS)), longest))


def line(value: str, longest: int) -> str:
    """Return a string as one line without credentials, cut at its end."""
    value = _encodable(" ".join(redact(_shorten(value, MAX_CHARS)).split()))
    return value if len(value) <= longest else value[: max(longest - 3, 0)] + "..."


def name(value: str | None) -> str:
    """Return an identifier as it is stored: empty for None."""
    return _encodable(value or "")[:500]


def as_json(value: object, longest: int) -> str:
    """Return a JSON value as a string of about `longest` characters, without credentials.

    Of an object that is too large the smallest members are kept, and the names of the others as `left_out`; anything
    else that is too large becomes a shortened string.
    """
    clean = _clean(value, MAX_DEPTH)
    whole = _dumps(clean)
    if len(whole) <= longest:
        return whole
    if not isinstance(clean, dict):
        return _dumps(_shorten(whole, longest))
    members: dict[str, object] = {}
    room = longest
    for key in sorted(clean, key=lambda key: len(_dumps(clean[key]))):
        room -= len(_dumps({key: clean[key]}))
        if room >= 0:
            members[key] = clean[key]
    return _dumps({**members, "left_out": sorted(clean.keys() - members.keys())[:MAX_NAMES]})


def _dumps(value: object) -> str:
    return _encodable(json.dumps(value, ensure_ascii=False, sort_keys=True))


def _clean(value: object, depth: int, key: str = "") -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if key and isinstance(value, str | list | tuple) and looks_like_credential(key.encode("utf-8", "replace")):
        return HIDDEN
    if depth == 0 or not isinstance(value, str | dict | list | tuple | set | frozenset):
        value = repr(value)
    if isinstance(value, str):
        return text(value, MAX_CHARS)
    if isinstance(value, dict):
        return {text(str(key), 200): _clean(each, depth - 1, str(key)) for key, each in value.items()}
    return [_clean(each, depth - 1) for each in value]


def _shorten(value: str, longest: int) -> str:
    if len(value) <= longest:
        return value
    mark = f"\n... ({len(value) - longest} characters left out)\n"
    head = longest // 3
    return value[:head] + mark + value[len(value) - (longest - head) :]


def _encodable(value: str) -> str:
    # JSON can name half of a surrogate pair, which UTF-8 cannot have: it becomes a question mark.
    return value.encode("utf-8", "replace").decode()


def canonical_json(value: object) -> str:
    """Return an ASCII string that is the same for equal values. Never raises."""
    try:
        return json.dumps(value, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return json.dumps(_with_string_keys(value), sort_keys=True, default=repr)
    except (ValueError, RecursionError):  # circular, or very deep
        return type(value).__name__


def _with_string_keys(value: object) -> object:
    if isinstance(value, dict):
        return {ascii(key): _with_string_keys(each) for key, each in value.items()}
    return [_with_string_keys(each) for each in value] if isinstance(value, list | tuple) else value
