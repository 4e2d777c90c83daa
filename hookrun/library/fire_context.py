"""Check a program's context.

A misspelled field is an error: matchers and conditions would silently miss it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from hookrun.agents.known_tools import canonical_tools
from hookrun.config.schema import CONTEXT_FIELDS
from hookrun.core import context as contexts
from hookrun.core.context import FIELDS, MISNAMED, ContextError
from hookrun.core.events import ALIASES, TOOLS, WITH_TOOL
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

    A tool's result that is another JSON value is its JSON; arguments of a tool of the program's own that are no object
    are `{"value": ...}`, so that every hook can read them.

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
        type_ = FIELDS.get(name)
        if type_ is not type(value) and type_ is not None and value is not None and not isinstance(value, type_):
            as_field = _in_the_type_of(name, value, data)
            if as_field is not None:
                return checked({**data, name: as_field}, event, known)
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


def _in_the_type_of(name: str, value: object, data: Mapping[str, object]) -> object:
    """Return a value as the string or object that a field holds, None if it is none."""
    from hookrun.library.encoding import as_text, plain  # rarely needed

    value = plain(value)
    if name == "tool_args" and type(value) in JSON_TYPES and _is_own_tool(data.get("tool_name")):
        return {"value": value}
    if name == "tool_result_output" and type(value) in (bool, list, dict):
        return as_text(value)
    return str(value) if FIELDS[name] is str and type(value) in (str, int, float) else None


def _is_own_tool(tool: object) -> bool:
    """Return whether no agent has a tool of this name: what hooks read of theirs are the arguments of an object."""
    return isinstance(tool, str) and tool not in TOOLS and not canonical_tools(tool)


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
