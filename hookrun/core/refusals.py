"""Keep a refusal a refusal despite malformed JSON, wrong fields or an exception.

Off the hot path: well-formed answers need none of this.
"""

from __future__ import annotations

import json
import re

from hookrun.core.events import can_refuse
from hookrun.core.fastjson import dumps
from hookrun.core.model import BINDING_ACTIONS, PRECEDENCE, VERDICT_TEXTS, Verdict
from hookrun.core.text import InvalidVerdictError, describe_exception

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


# Words of other dialects for a refusal -> the action. Sources: the agents' references of hooks, whose fields are below;
# the rest is what people write by mistake.
WORDS = {
    **dict.fromkeys(("block", "blocked", "deny", "denied", "forbid", "refuse", "reject"), "block"),
    **{action: action for action in BINDING_ACTIONS},
}
# Fields that hold one, and those with its reason.
DECIDING = ("action", "decision", "permissionDecision", "permission", "behavior")
REASONS = (
    "message",
    "reason",
    "permissionDecisionReason",
    "stopReason",
    "errorMessage",
    "user_message",
    "userMessage",
    "agent_message",
    "agentMessage",
)
# Fields of a context: a hook that prints what it was given has not answered.
OF_A_CONTEXT = frozenset({"event", "request_id", "hook_event_name", "hookName", "tool_name"})

# Colours of a terminal; what may come before an object on its line, and between two of them.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
BEFORE = re.compile(r"^[ \t]*+[,\[]?[ \t]*+(?=\{)", re.MULTILINE)
BETWEEN = re.compile(r"[ \t,]*")
# Objects looked at in an output: one that is none costs its whole length.
MAX_OBJECTS = 500


def translated(data: dict[str, object]) -> dict[str, object] | None:
    """Return the fields of hookrun's verdict for an object that refuses in some dialect, else None."""
    if not OF_A_CONTEXT.isdisjoint(data):
        return None
    own = data.get("hookSpecificOutput")
    inner = own if isinstance(own, dict) else {}
    nested = inner.get("decision")  # of a permission request
    places = [data, inner, nested if isinstance(nested, dict) else {}]
    said = (each.get(name) for each in places for name in DECIDING)
    actions = [WORDS[word] for text in said if isinstance(text, str) and (word := text.strip().lower()) in WORDS]
    if data.get("cancel") is True:
        actions.append("block")
    if data.get("continue") is False:
        actions.append("stop")
    if not actions:
        return None
    reasons = (each.get(name) for each in places for name in REASONS)
    fields = {name: data[name] for name in VERDICT_TEXTS if name in data}
    message = next((text for text in reasons if isinstance(text, str)), None)
    return {**fields, "action": max(actions, key=PRECEDENCE.__getitem__), **({"message": message} if message else {})}


def refusal_of(stdout: bytes) -> dict[str, object] | None:
    """Return the fields of the refusal in an output, in any dialect, with whatever noise; None if there is none."""
    text = stdout.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    action = WORDS.get(text.strip('"').lower())
    return {"action": action} if action == "block" else refusing_object(text) or refusal_in(text)


def refusal_in(text: str) -> dict[str, object] | None:
    """Return the fields of the strongest refusal among the objects in an output, None without one.

    They are where a line begins, alone or in a list, in colours or a code fence; never an object within another.
    """
    plain = COLOUR.sub("", text)
    decoder, found, at, left = json.JSONDecoder(strict=False), [], 0, MAX_OBJECTS
    while left > 0 and (before := BEFORE.search(plain, at)) is not None:
        at = before.end()
        while left > 0 and at < len(plain) and plain[at] == "{":
            left -= 1
            try:
                value, at = decoder.raw_decode(plain, at)
            except (ValueError, RecursionError):
                at += 1
                break
            found += [fields] if (fields := translated(value)) is not None else []
            if (between := BETWEEN.match(plain, at)) is not None:
                at = between.end()
    return max(found, key=lambda fields: PRECEDENCE[str(fields["action"])], default=None)


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

    Skip and Abort are answers, and so is the strongest of a group. A function that failed to build its verdict may have
    meant to block: it does, if the event can be blocked.
    """
    if isinstance(error, BaseExceptionGroup):  # of the tasks of an `asyncio.TaskGroup`
        answers = [found for each in error.exceptions if (found := from_exception(each, event)) is not None]
        return max(answers, key=lambda found: PRECEDENCE[found.action], default=None)
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
                or (isinstance(found, AttributeError) and "'Verdict'" in str(found))
            ):
                return True
        except KeyboardInterrupt:
            raise
        except BaseException:  # the exception's author wrote its __str__ too
            return False
        found = found.__cause__ or found.__context__
    return False
