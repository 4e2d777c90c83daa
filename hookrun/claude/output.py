"""What a hook has printed, by Claude Code's rules (2.1.248 and later): nothing, plain text, or an answer that fits."""

from __future__ import annotations

from hookrun.claude.events import ANYTHING, FLAG, OBJECT, TEXT, TEXTS, TOP, rules
from hookrun.fastjson import dumps, loads, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun.claude.events import Fields, Holds

    Answer = dict[str, object]

LONGEST_SHOWN = 80
BLANK = (
    "\ufeff \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What JavaScript takes for white space (ECMA-262, String.prototype.trim)."""

ALLOWS: Fields = {"behavior": ("allow", "deny"), "updatedInput": OBJECT, "updatedPermissions": ANYTHING}
DENIES: Fields = {"behavior": ("allow", "deny"), "message": TEXT, "interrupt": FLAG}
"""What the `decision` of PermissionRequest holds."""


class UnreadableError(ValueError):
    """A hook's output looks like an answer and is none; the message says what was found and what was expected."""


def read(stdout: bytes, event: str) -> Answer | str:
    """Return the answer that a hook has printed at an event of Claude's, else its plain text, empty for nothing.

    Raises UnreadableError for what begins and ends like an object and is no answer.
    """
    text = stdout.decode("utf-8", "replace").strip(BLANK)
    if not (text.startswith("{") and text.endswith("}")):
        return text
    try:
        answer = loads(text)
    except (ValueError, RecursionError) as error:
        if _is_lines_of_others(text):
            return text
        raise UnreadableError(f"stdout is no JSON: {_excerpt(text)} ({error})") from None
    if not isinstance(answer, dict):  # cannot be: it begins with {
        return text
    if answer.get("async") is not True:
        _check(answer, event)
    return answer


def _is_lines_of_others(text: str) -> bool:
    """Tell whether a text is lines of JSON, none of which says anything to Claude Code."""
    lines = [line for line in text.splitlines() if line.strip(BLANK)]
    try:
        values = [loads(line) for line in lines]
    except (ValueError, RecursionError):
        return False
    return len(lines) > 1 and not any(isinstance(each, dict) and not TOP.keys().isdisjoint(each) for each in values)


def _check(answer: Answer, event: str) -> None:
    """Raise UnreadableError where a field does not hold what it should. Unknown fields are fine."""
    _check_fields(answer, TOP, "")
    own = answer.get("hookSpecificOutput")
    if not isinstance(own, dict):
        return
    name, fields = own.get("hookEventName"), rules(event).fields
    if name is None:
        raise UnreadableError(f'hookSpecificOutput has no hookEventName, expected "{event}"')
    if name != event:
        raise UnreadableError(f'hookSpecificOutput.hookEventName is {_shown(name)}, expected "{event}"')
    if fields is None:
        raise UnreadableError(f"hookSpecificOutput at {event}, expected none: it has none there")
    _check_fields(own, fields, "hookSpecificOutput.")
    decision = own.get("decision")
    if event == "PermissionRequest" and isinstance(decision, dict):
        where = "hookSpecificOutput.decision."
        if "behavior" not in decision:
            raise UnreadableError(f'{where}behavior is missing, expected "allow" or "deny"')
        _check_fields(decision, DENIES if decision["behavior"] == "deny" else ALLOWS, where)


def _check_fields(given: Mapping[str, object], fields: Fields, where: str) -> None:
    for name, holds in fields.items():
        if name in given and not _fits(given[name], holds):
            expected = " or ".join(map(dumps, holds)) if isinstance(holds, tuple) else holds
            raise UnreadableError(f"{where}{name} is {_shown(given[name])}, expected {expected}")


def _fits(value: object, holds: Holds) -> bool:
    if isinstance(holds, tuple):
        return isinstance(value, str) and value in holds
    return FITS[holds](value)


FITS: Mapping[str, Callable[[object], bool]] = {
    TEXT: lambda value: isinstance(value, str),
    FLAG: lambda value: isinstance(value, bool),
    OBJECT: lambda value: isinstance(value, dict),
    TEXTS: lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    ANYTHING: lambda _value: True,
}


def _shown(value: object) -> str:
    return type_name(value) if isinstance(value, (dict, list)) else _cut(dumps(value))


def _excerpt(text: str) -> str:
    return _cut(dumps(text))


def _cut(shown: str) -> str:
    return shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + "..."
