"""What may be kept: texts and values without credentials, cut to a size, that SQLite takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrun.process.prepare import looks_like_credential
from hookrun.redact import HIDDEN, redact

if TYPE_CHECKING:
    from hookrun.library.context import Context

LARGEST = 50_000
"""Characters of a text that are looked at."""
DEEPEST, MOST_NAMES = 8, 20
"""Levels of a value that are kept, and names of parts that are not."""


def text(value: str, longest: int) -> str:
    """Return a text without credentials, its middle left out where it is longer than `longest` characters."""
    value = redact(_cut(value, LARGEST))
    return _encodable(_cut(value, longest))


def line(value: str, longest: int) -> str:
    """Return a text as one line without credentials, its end cut off."""
    value = _encodable(" ".join(redact(_cut(value, LARGEST)).split()))
    return value if len(value) <= longest else value[: max(longest - 3, 0)] + "..."


def name(value: str | None) -> str:
    """Return an identifier as it is kept: empty for none."""
    return _encodable(value or "")[:500]


def session(context: Context) -> str:
    """Return the session of a context, empty for none: what has none is one session."""
    return name(context.session_id)


def as_json(value: object, longest: int) -> str:
    """Return a JSON value as text, without credentials, in about `longest` characters.

    Of an object too large the smallest parts are kept, and the names of the others as `left_out`; anything else too
    large becomes a cut text.
    """
    clean = _clean(value, DEEPEST)
    whole = _dumps(clean)
    if len(whole) <= longest:
        return whole
    if not isinstance(clean, dict):
        return _dumps(_cut(whole, longest))
    parts: dict[str, object] = {}
    room = longest
    for key in sorted(clean, key=lambda key: len(_dumps(clean[key]))):
        room -= len(_dumps({key: clean[key]}))
        if room >= 0:
            parts[key] = clean[key]
    return _dumps({**parts, "left_out": sorted(clean.keys() - parts.keys())[:MOST_NAMES]})


def _dumps(value: object) -> str:
    return _encodable(json.dumps(value, ensure_ascii=False, sort_keys=True))


def _clean(value: object, depth: int) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth == 0 or not isinstance(value, str | dict | list | tuple | set | frozenset):
        value = repr(value)
    if isinstance(value, str):
        return text(value, LARGEST)
    if isinstance(value, dict):
        return {text(str(key), 200): _named(str(key), each, depth - 1) for key, each in value.items()}
    return [_clean(each, depth - 1) for each in value]


def _named(key: str, value: object, depth: int) -> object:
    """Return what stands under a key: hidden if the key says that it is a credential."""
    if isinstance(value, str | list | tuple) and looks_like_credential(key.encode("utf-8", "replace")):
        return HIDDEN
    return _clean(value, depth)


def _cut(value: str, longest: int) -> str:
    if len(value) <= longest:
        return value
    mark = f"\n... ({len(value) - longest} characters left out)\n"
    head = longest // 3
    return value[:head] + mark + value[len(value) - (longest - head) :]


def _encodable(value: str) -> str:
    """Return the text as UTF-8 can have it: half of a surrogate pair, which JSON can name, is a question mark."""
    return value.encode("utf-8", "replace").decode()
