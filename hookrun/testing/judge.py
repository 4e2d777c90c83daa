"""From what was expected and what came to the differences: one for each expectation that does not hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.globs import glob
from hookrun.verdicts import json_equal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun.testing.came import Came

NOTHING = "expect"
"""The key of the difference where a case expects nothing."""

TEXTS = ("message", "additional_context", "system_message")


@dataclass(frozen=True, slots=True)
class Difference:
    """An expectation that does not hold: its key, what was expected, what came, and why if that needs a word."""

    key: str
    expected: object
    came: object
    why: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return every part by its name."""
        return {
            "key": self.key,
            "expected": self.expected,
            "came": self.came,
            **({"why": self.why} if self.why else {}),
        }


def judge(expect: Mapping[str, object], came: Came) -> list[Difference]:
    """Return what does not hold. A failure of a hook of which nothing is expected does not hold either.

    Where nothing at all is expected, that is the difference.
    """
    if not expect:
        return [Difference(NOTHING, {}, plain(came), "the case expects nothing: `hookrun test --update` writes this")]
    found = [each for key, value in expect.items() if (each := CHECKS[key](key, value, came)) is not None]
    if "failure" not in expect and came.failures:
        found.append(_failure_differs("failure", None, came) or Difference("failure", None, _kinds(came)))
    return found


def accepted(key: str, came: Came) -> object:
    """Return the expectation that would have held for what came."""
    if key == "fired":
        return came.fired
    if key == "failure":
        return _kinds(came)[0] if came.failures else None
    if key == "files":
        return {path: text if text is None else literal(text) for path, text in came.files.items()}
    value: object = getattr(came, key)
    return literal(value) if isinstance(value, str) and key in TEXTS else value


def plain(came: Came) -> dict[str, object]:
    """Return what is expected of a case where nobody has written it yet: the action, and what goes with it."""
    keys = ["action", *(key for key in TEXTS if getattr(came, key) is not None)]
    if came.action == "modify":
        keys.append("args")
    if came.failures:
        keys.append("failure")
    return {key: accepted(key, came) for key in keys}


def literal(text: str) -> str:
    """Return the glob that stands for exactly this text."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def _action_differs(key: str, expected: object, came: Came) -> Difference | None:
    allowed = expected if isinstance(expected, list) else [expected]
    if came.action in allowed:
        return None
    why = f"said to the agent as: {', '.join(came.degraded)}" if came.degraded else ""
    return Difference(key, allowed[0] if len(allowed) == 1 else allowed, came.action, why)


def _text_differs(key: str, expected: object, came: Came) -> Difference | None:
    text: str | None = getattr(came, key)
    return None if _fits(expected, text) else Difference(key, expected, text)


def _fits(expected: object, text: str | None) -> bool:
    """Tell whether a glob matches a text, or there is none where None is expected."""
    return text is None if expected is None else text is not None and glob(str(expected), text)


def _args_differ(key: str, expected: object, came: Came) -> Difference | None:
    return None if json_equal(expected, came.args) else Difference(key, expected, came.args)


def _failure_differs(key: str, expected: object, came: Came) -> Difference | None:
    kinds = _kinds(came)
    if kinds == ([] if expected is None else [expected]):
        return None
    why = "; ".join(f"{each.hook}: {each.detail}" for each in came.failures)
    return Difference(key, expected, kinds[0] if len(kinds) == 1 else kinds or None, why)


def _kinds(came: Came) -> list[str]:
    return list(dict.fromkeys(each.kind for each in came.failures))


def _fired_differs(key: str, expected: object, came: Came) -> Difference | None:
    holds = bool(came.fired) is expected if isinstance(expected, bool) else came.fired == expected
    return None if holds else Difference(key, expected, came.fired)


def _files_differ(key: str, expected: object, came: Came) -> Difference | None:
    wanted = expected if isinstance(expected, dict) else {}
    wrong = [path for path, text in came.files.items() if not _fits(wanted.get(path), text)]
    if not wrong:
        return None
    return Difference(key, {path: wanted[path] for path in wrong}, {path: came.files[path] for path in wrong})


CHECKS: dict[str, Callable[[str, object, Came], Difference | None]] = {
    "action": _action_differs,
    **dict.fromkeys(TEXTS, _text_differs),
    "args": _args_differ,
    "failure": _failure_differs,
    "fired": _fired_differs,
    "files": _files_differ,
}
"""What can be expected -> how it is judged."""


def as_lines(value: object) -> list[str]:
    """Return a value as the lines of a diff."""
    if isinstance(value, str):
        return value.splitlines() or [""]
    if isinstance(value, dict | list):
        return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True, default=str).splitlines()
    return [json.dumps(value)]
