"""Keep a refusal a refusal despite malformed JSON, wrong fields or an exception.

Off the hot path: well-formed answers need none of this.
"""

from __future__ import annotations

import json
import re

from hookrun.core.events import can_refuse
from hookrun.core.fastjson import dumps
from hookrun.core.model import BINDING_ACTIONS, PRECEDENCE, VERDICT_TEXTS, InvalidVerdictError, Verdict
from hookrun.core.text import describe_exception

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Replaces objects and lists in malformed JSON: no verdict's field accepts it.
UNREADABLE = "(unreadable)"

# A string (the last may be unterminated), a punctuation mark, or anything up to the next of these.
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\]:,]|[^"{}\[\]:,\s]+', re.DOTALL)


def pairs(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (depth, key, value) of each pair in a single JSON object, however malformed.

    Yield a depth of 0 if there is text before or after it.
    """
    depth = 0
    last: str | None = None
    key: str | None = None
    for token in TOKEN.finditer(text):
        word = token[0]
        if depth == 0 and (word != "{" or token.start()):
            yield 0, "", word
            return
        if word in ":,":
            key, last = (last, None) if word == ":" else (None, None)
            continue
        if word in "}]":
            depth -= 1
            continue
        last = UNREADABLE if word in "{[" else _unquoted(word)
        if key is not None:
            yield depth, key, last
            key = last = None
        depth += word in "{["


def _unquoted(word: str) -> str:
    if not word.startswith('"'):
        return word
    try:
        return str(json.loads(word, strict=False))
    except ValueError:
        return word.strip('"')


def refusing_object(text: str) -> dict[str, object] | None:
    """Return the fields of a verdict in malformed JSON if it refuses, else None.

    Of a repeated field the first counts, of actions the strongest.
    """
    fields: dict[str, object] = {}
    actions = []
    for depth, key, value in pairs(text):
        if depth == 0:
            return None
        if depth == 1 and key == "action":
            actions.append(value)
        elif depth == 1 and value != "null":
            fields.setdefault(key, value)
    strongest = max((each for each in actions if each in BINDING_ACTIONS), key=PRECEDENCE.__getitem__, default=None)
    return None if strongest is None else {"action": strongest, **fields}


def bare(answer: object) -> dict[str, object] | None:
    """Return the action and texts of an otherwise invalid object that denies the call, else None."""
    action = _field(answer, "action")
    if not isinstance(action, str) or action not in BINDING_ACTIONS:
        return None
    # Arguments, as text, are surely wrong: an `ask` must not lose them.
    given = {name: _field(answer, name) for name in (*VERDICT_TEXTS, "modified_args", "args_patch")}
    return {"action": action, **{name: as_text(value) for name, value in given.items() if value is not None}}


def _field(answer: object, name: str) -> object:
    try:
        return answer.get(name) if isinstance(answer, dict) else getattr(answer, name, None)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a program's own object
        return None


def as_text(value: object) -> str:
    """Return any value as text; raises nothing but KeyboardInterrupt."""
    try:
        return str(value) if isinstance(value, str) else dumps(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # not JSON
        try:
            return str(value) or type(value).__name__
        except KeyboardInterrupt:
            raise
        except BaseException:  # a program's own object
            return f"({type(value).__name__})"


def from_exception(error: BaseException, event: str) -> Verdict | None:
    """Return the verdict of an exception of a hook's function, None if it is a failure.

    Skip and Abort are answers. A function that failed to build its verdict may have meant to block: it does, if the
    event can be blocked.
    """
    if any(each.__module__ == "hookrun.library" for each in type(error).__mro__):
        try:
            answer: Verdict = error.verdict()  # type: ignore[attr-defined]  # Skip and Abort are in a room above
        except Exception:  # a class of the program's own
            return Verdict("block", describe_exception(error))
        return answer
    if not can_refuse(event) or not _made_a_verdict(error):
        return None
    return Verdict("block", f"the hook is broken: it raised {describe_exception(error)} instead of a verdict")


def _made_a_verdict(error: BaseException) -> bool:
    """Return whether an exception or its cause comes from building a Verdict, Skip or Abort."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        try:
            if (
                isinstance(found, InvalidVerdictError)
                or (isinstance(found, TypeError) and str(found).startswith(("Verdict.", "Abort.", "Skip.")))
                or (isinstance(found, AttributeError) and "type object 'Verdict'" in str(found))
            ):
                return True
        except KeyboardInterrupt:
            raise
        except BaseException:  # the exception's author wrote its __str__ too
            return False
        found = found.__cause__ or found.__context__
    return False
