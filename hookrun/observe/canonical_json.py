"""Serialize a value so that equal values give equal strings, whatever the order of their keys."""

from __future__ import annotations

import json


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
