"""Check a program's context, and encode it as JSON for configured hooks.

A misspelled field is an error: matchers and conditions would silently miss it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from datetime import date, time
from enum import Enum
from functools import lru_cache
from typing import Any
from uuid import UUID

import orjson

from hookrun.config.schema import CONTEXT_FIELDS
from hookrun.core import context as contexts, fastjson
from hookrun.core.context import FIELDS, MISNAMED, ContextError
from hookrun.core.events import ALIASES, WITH_TOOL
from hookrun.core.text import closest, quote, suggest
from hookrun.events import CLASSES
from hookrun.library.event_contexts import Context, ContextField

ARGUMENTS_OF_FIRE = {"deadline": float}
# Types that errors call by JSON's names.
JSON_TYPES = (bool, int, float, str, list, dict)
# Similarity from which a name counts as a misspelling: more than 0.85, one letter in six may differ.
SIMILAR = 0.8501
# Minimum letters of a misspelling: `mode` is not `model`.
UNAMBIGUOUS = 6


def _fields(cls: type[Context]) -> dict[str, type]:
    own = {name: each for base in cls.__mro__ for name, each in vars(base).items() if isinstance(each, ContextField)}
    return {name: each.kind for name, each in own.items()}


def known_fields(cls: type[Context]) -> frozenset[str]:
    """Return the fields that a class of contexts knows."""
    return frozenset((*CONTEXT_FIELDS, *FIELDS, "possible_tool_names", *_fields(cls)))


# Canonical event -> the known fields of its context.
KNOWN = {event: known_fields(cls) for event, cls in CLASSES.items()}
KNOWN_ANYWHERE = known_fields(Context)
KNOWN_IN_ANY = KNOWN_ANYWHERE.union(*KNOWN.values())


def checked(data: Mapping[str, object], event: str, known: frozenset[str] = KNOWN_ANYWHERE) -> Mapping[str, object]:
    """Return the fields, with paths, UUIDs, dates, enumerations and numbers as text in those that are strings.

    Raises ContextError for a field of the wrong type, or one that is probably a misspelling of a known one. A field
    counts as the program's own if it resembles no known field, if that field is given too (even null), or if its value
    would be invalid for that field.

    >>> checked({"tool_name": "bash", "session_id": 7, "sandbox": "docker"}, "pre_tool_use")
    {'tool_name': 'bash', 'session_id': '7', 'sandbox': 'docker'}
    >>> try:
    ...     checked({"tool_nam": "bash"}, "pre_tool_use")
    ... except ContextError as error:
    ...     print(str(error).partition("?")[0])
    fire pre_tool_use: unknown field "tool_nam": did you mean "tool_name"
    """
    for name, value in data.items():
        if value is not None and (type_ := FIELDS.get(name)) is not None and not isinstance(value, type_):
            text = plain(value)
            if type_ is str and type(text) in (str, int, float):
                return checked({**data, name: str(text)}, event, known)
            if type(value) in JSON_TYPES:
                contexts.check({name: value}, f"fire {event}")
            expected = "a str" if type_ is str else "a dict"
            raise ContextError(f"fire {event}: {name} is of type {type(value).__name__}, not {expected} or None")
    if known.issuperset(data):
        return data
    for name, likely in _misspelled(data, event, known):
        raise ContextError(
            f"fire {event}: unknown field {quote(name)}: {suggest(likely)} (to use this name for a field of your own, "
            f"pass {likely.partition('.')[0]} as well, None if it has no value)"
        )
    return data


# Types that need no look: they are JSON as they are.
SCALARS = frozenset({str, int, float, bool, type(None)})


def plain(value: Any, levels: int = fastjson.MAX_DEPTH) -> Any:
    """Return a value with paths, UUIDs, dates and enumerations in it, also in objects and lists, as JSON has them.

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
    if isinstance(value, Mapping):
        return {key: plain(each, levels - 1) for key, each in value.items()}
    listed = isinstance(value, (list, tuple, set, frozenset))
    return [plain(each, levels - 1) for each in value] if listed else value


def without_misspelled(fields: Mapping[str, object], event: str) -> Mapping[str, object]:
    """Return an agent's fields without those that `check` would take for misspellings.

    They are no mistake of the program's: a new field of an agent may resemble a known one. Hooks find it in `payload`.
    """
    misspelled = dict(_misspelled(fields, event, KNOWN.get(event, KNOWN_ANYWHERE)))
    return {name: value for name, value in fields.items() if name not in misspelled} if misspelled else fields


def _misspelled(data: Mapping[str, object], event: str, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield each field that is probably a misspelling, with the path of the known one."""
    for name in data:
        if name in known or (likely := _likely_field(name, event, known)) is None:
            continue
        root = likely.partition(".")[0]
        if root not in data and (MISNAMED.get(name) == likely or _fits(data[name], root, event)):
            yield name, likely


@lru_cache(maxsize=1024)
def _likely_field(name: str, event: str, known: frozenset[str]) -> str | None:
    """Return the path of the known field probably meant by a name, None for the program's own field."""
    instead = MISNAMED.get(name, "")
    prefix = instead.partition("_")[0]
    wanted = {"tool": event in WITH_TOOL, "user": event == "user_prompt_submit"}.get(prefix, True)
    if instead and wanted and event in ALIASES:
        return instead
    letters = _letters(name)
    fields = (*ARGUMENTS_OF_FIRE, *sorted(known))
    likely = {_letters(each): each for each in fields if len(letters) >= UNAMBIGUOUS or each in FIELDS}
    near = closest(letters, likely, SIMILAR)
    return likely[near] if near else None


def _letters(name: str) -> str:
    return name[:60].replace("_", "").replace("-", "").lower()


def _fits(value: object, field: str, event: str) -> bool:
    expected = FIELDS.get(field) or _fields(CLASSES.get(event, Context)).get(field) or ARGUMENTS_OF_FIRE.get(field)
    return value is None or expected is None or isinstance(value, (expected, int) if expected is float else expected)


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
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        return {name: _simple(getattr(value, name), levels - 1) for name in names}
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
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"a value of type {type(value).__name__} cannot be encoded as JSON")
