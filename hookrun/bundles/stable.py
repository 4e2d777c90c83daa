"""One text for one value, by which calls are told apart: whatever its keys are, and in whatever order they stand."""

from __future__ import annotations

import json


def stable(value: object) -> str:
    """Return a text of the value, ASCII, that is the same for the same value."""
    try:
        return json.dumps(value, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return json.dumps(_with_plain_keys(value), sort_keys=True, default=repr)
    except (ValueError, RecursionError):  # it holds itself, or is very deep
        return type(value).__name__


def _with_plain_keys(value: object) -> object:
    if isinstance(value, dict):
        return {ascii(key): _with_plain_keys(each) for key, each in value.items()}
    return [_with_plain_keys(each) for each in value] if isinstance(value, list | tuple) else value
