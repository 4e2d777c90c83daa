"""Describe an error or a warning in a config file: its place, a message and a hint."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from hookrun.files import relative_path
from hookrun.text import closest, escape, one_line, quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.config.document import Document
    from hookrun.config.parse import KeyPath
    from hookrun.model import Hook

PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or warning (`severity`) at a place in a file; `line` and `column` are 1-based.

    `message` is one line in lower case without a full stop. `hint` says what to do about it.
    """

    path: str
    line: int
    column: int
    key: str
    message: str
    hint: str | None = None
    severity: str = "error"

    @classmethod
    def of_hook(cls, hook: Hook, message: str, hint: str | None = None) -> Diagnostic:
        """Return a warning about a hook, at the line of its entry."""
        return cls(hook.source, hook.line, 1, hook.name, message, hint, "warning")

    def __str__(self) -> str:
        """Return the diagnostic as a message to print: one line, and a second one for the hint."""
        return f"{self.where}: {self._message}"

    @property
    def where(self) -> str:
        """`path:line:column`, the path as short as it can be, safe to print."""
        return escape(f"{relative_path(self.path)}:{self.line}:{self.column}")

    @property
    def text(self) -> str:
        """The diagnostic on one line with the whole path, for records."""
        return one_line(f"{self.path}:{self.line}:{self.column}: {self._message}")

    @property
    def _message(self) -> str:
        return f"{escape(self.message)}\nhint: {escape(self.hint)}" if self.hint else escape(self.message)

    def to_dict(self) -> dict[str, object]:
        """Return all parts by name, and the whole as `text`."""
        return {"severity": self.severity, **asdict(self), "text": self.text}


def problem_message(problem: str) -> str:
    r"""Return an error that is kept as one line (`Diagnostic.text`) as a message: short path, the hint on its own line.

    >>> problem_message("coder.json:1:1: `hooks` must be a list of hooks, not 1; write [] for no hooks")
    'coder.json:1:1: `hooks` must be a list of hooks, not 1\nhint: write [] for no hooks'
    """
    path, colon, rest = problem.partition(":")
    text, semicolon, hint = rest.partition("; ")
    shown = relative_path(path) if path.startswith("/") else path
    return f"{shown}{colon}{text}" + (f"\nhint: {hint}" if semicolon else "")


def did_you_mean(name: object, names: Iterable[str], otherwise: str | None = None) -> str | None:
    """Return the hint that names the closest of the valid names; `otherwise` if none is close."""
    near = closest(name, names) if isinstance(name, str) else None
    return f"did you mean {quote(near)}?" if near else otherwise


def key_text(path: KeyPath) -> str:
    """Return a key path as text: `hooks[2].when["tool_args.command"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{quote(step)}]"
    return text


def field_name(path: KeyPath) -> str:
    """Return a key path in backquotes, without the item of a list that it begins in: `when.agent`, `args[0]`."""
    indexes = [at for at, step in enumerate(path[:-1]) if isinstance(step, int)]
    return f"`{key_text(path[indexes[-1] + 1 :] if indexes else path)}`" if path else "the file"


MILLISECONDS = 1000
"""A timeout from here on was probably meant in milliseconds."""

EMPTY = {'""': "an empty string", "[]": "an empty list", "{}": "an empty object"}


class Invalid(Exception):  # noqa: N818  # control flow: always caught, never shown
    """The value does not have its shape; the error has been reported."""


@dataclass(slots=True)
class Location:
    """A place in a document, and the diagnostics reported there and inside it."""

    document: Document
    path: KeyPath
    problems: list[Diagnostic] = field(default_factory=list)

    def at(self, *steps: str | int) -> Location:
        """Return a place further inside; its diagnostics go to the same list."""
        return Location(self.document, (*self.path, *steps), self.problems)

    def report(self, message: str, hint: str | None = None) -> None:
        """Report an error about the value."""
        self.problems.append(self.document.problem(self.path, message, hint))

    def warn(self, message: str, hint: str | None = None) -> None:
        """Report a warning about the value."""
        self.problems.append(self.document.problem(self.path, message, hint, severity="warning"))

    def unknown_key(self, key: str, what: str, valid: Iterable[str], hint: str | None = None) -> None:
        """Report a key of the object that is not a `what`; the hint is by default the closest valid one."""
        hint = hint or did_you_mean(key, valid, "remove it")
        message = f"unknown {what} {quote(key)}"
        self.problems.append(self.document.problem((*self.path, key), message, hint, at_key=True))

    def type_error(self, value: object, expected: str, hint: str | None = None, *, note: str = "") -> Invalid:
        """Report a value that is not as expected, and return the exception for the caller to raise."""
        shown = EMPTY.get(quote(value), quote(value))
        message = f"{field_name(self.path)} must be {expected}, not {shown}{note}"
        self.report(message, hint or _hint(value, expected))
        return Invalid()

    def warn_milliseconds(self, timeout: object) -> None:
        """Warn about a timeout in seconds that was probably meant in milliseconds."""
        if isinstance(timeout, float) and timeout >= MILLISECONDS:
            hint = f"write {timeout / 1000:g} if you mean milliseconds"
            self.warn(f"a timeout of {timeout:g} seconds is probably too long", hint)


def _hint(value: object, expected: str) -> str | None:
    if value is None:
        return "write a value, or remove the field"
    if value is False and '"off"' in expected:
        return 'write "off" in quotes'
    if isinstance(value, str) and value.strip().lower() in {"true", "false"} and "true" in expected:
        return "remove the quotes"
    if isinstance(value, str) and expected.startswith(("a number", "an integer")):
        return "write a number without quotes or unit"
    if isinstance(value, bool | int | float) and expected.startswith(
        ("a string", "a name", "the name", "an event", "globs")
    ):
        return "quote it"
    return f"write [{quote(value)}]" if isinstance(value, str) and expected.startswith("a list") else None
