"""Find misspelled fields of a context: every matcher and condition would silently miss them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hookrun.config.schema import CONTEXT_FIELDS
from hookrun.context import FIELDS, MISNAMED, ContextError
from hookrun.events import ALIASES, WITH_TOOL
from hookrun.library.event_contexts import CLASSES
from hookrun.library.handler_context import Context, ContextField

ARGUMENTS_OF_FIRE = {"deadline": float}
SIMILAR = 0.85
"""Similarity from which a name counts as a misspelling of another: one letter in six may differ."""
UNAMBIGUOUS = 6
"""Minimum letters of a name that may be a misspelling: `mode` is not `model`."""
MAX_REMEMBERED = 1024
"""Names whose meaning is cached; they may come from outside."""


def _fields(cls: type[Context]) -> dict[str, type]:
    """Return the fields that the class has as attributes, with the type of their values."""
    own = {name: each for base in cls.__mro__ for name, each in vars(base).items() if isinstance(each, ContextField)}
    return {name: each.kind for name, each in own.items()}


KNOWN = {event: {*CONTEXT_FIELDS, *FIELDS, "possible_tool_names", *_fields(cls)} for event, cls in CLASSES.items()}
"""Canonical event -> the known fields of its context."""
KNOWN_ANYWHERE = {*CONTEXT_FIELDS, *FIELDS, "possible_tool_names", *_fields(Context)}
_LIKELY: dict[tuple[str, str], str | None] = {}


def check_names(data: Mapping[str, object], event: str) -> None:
    """Raise ContextError for a field that is probably a misspelling or a common other name of a known one.

    A field counts as the program's own if it resembles no known field, if that field is given too (null is enough), or
    if its value would not be valid for that field.

    >>> check_names({"tool_name": "bash", "sandbox": "docker"}, "pre_tool_use")
    >>> try:
    ...     check_names({"tool_nam": "bash"}, "pre_tool_use")
    ... except ContextError as error:
    ...     print(str(error).partition("?")[0])
    fire pre_tool_use: unknown field 'tool_nam': did you mean tool_name
    """
    known = KNOWN.get(event, KNOWN_ANYWHERE)
    for name in data:
        if name in known:
            continue
        likely = _likely_field(name, event)
        if likely is None or (root := likely.partition(".")[0]) in data:
            continue
        if MISNAMED.get(name) == likely or _fits(data[name], root, event):
            raise ContextError(
                f"fire {event}: unknown field {name!r}: did you mean {likely}? "
                f"(to use this name for a field of your own, pass {root} as well, None if it has no value)"
            )


def _likely_field(name: str, event: str) -> str | None:
    """Return the path of the known field that a name probably stands for, or None for a field of the program's own."""
    key = (event, name)
    if key not in _LIKELY:
        if len(_LIKELY) >= MAX_REMEMBERED:
            _LIKELY.clear()
        _LIKELY[key] = next(_candidates(name, event), None)
    return _LIKELY[key]


def _candidates(name: str, event: str) -> Iterator[str]:
    from difflib import SequenceMatcher

    instead = MISNAMED.get(name, "")
    prefix = instead.partition("_")[0]
    if instead and event in ALIASES:
        if prefix == "tool":
            wanted = event in WITH_TOOL
        else:
            wanted = prefix != "user" or event == "user_prompt_submit"
        if wanted:
            yield instead
    given = _letters(name)
    matcher = SequenceMatcher(b=given)
    best = (SIMILAR, "")
    for field in (*ARGUMENTS_OF_FIRE, *sorted(KNOWN.get(event, KNOWN_ANYWHERE))):
        matcher.set_seq1(_letters(field))
        if (len(given) >= UNAMBIGUOUS or field in FIELDS) and matcher.quick_ratio() > best[0]:
            best = max(best, (matcher.ratio(), field))
    if best[1]:
        yield best[1]


def _letters(name: str) -> str:
    """Return the letters of a name, without differences of naming style."""
    return name[:60].replace("_", "").replace("-", "").lower()


def _fits(value: object, field: str, event: str) -> bool:
    expected = FIELDS.get(field) or _fields(CLASSES.get(event, Context)).get(field) or ARGUMENTS_OF_FIRE.get(field)
    return value is None or expected is None or isinstance(value, (expected, int) if expected is float else expected)
