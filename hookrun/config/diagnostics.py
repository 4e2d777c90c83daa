"""Describe an error or warning in a configuration file: where, what was found and expected, what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.text import escape, quote

if TYPE_CHECKING:
    from hookrun.config.parse import KeyPath

PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or warning (`severity`) at a place in a file; `line` and `column` are 1-based."""

    path: str
    line: int
    column: int
    key: str
    found: str
    expected: str
    advice: str
    nearest: str | None = None
    severity: str = "error"

    def __str__(self) -> str:
        """Return the diagnostic as one line that is safe to print."""
        return f"{self.where}: {self.what}"

    @property
    def where(self) -> str:
        """`path:line:column`, safe to print."""
        return escape(f"{self.path}:{self.line}:{self.column}")

    @property
    def what(self) -> str:
        """The message without its place, on one line that is safe to print."""
        key = f"{self.key}: " if self.key else ""
        meant = f"; did you mean {quote(self.nearest)}?" if self.nearest is not None else ""
        return escape(f"{key}found {self.found}, expected {self.expected}{meant}; {self.advice}")

    def to_dict(self) -> dict[str, object]:
        """Return all parts by name, and the whole as `text`."""
        return {
            "severity": self.severity,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "key": self.key,
            "found": self.found,
            "expected": self.expected,
            "nearest": self.nearest,
            "advice": self.advice,
            "text": str(self),
        }


def type_name(value: object) -> str:
    """Return the name of the value's JSON type, with its article."""
    names: dict[type, str] = {
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "nothing")


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
