"""Text from outside as it may be shown: nothing in it can pass for a line, a colour or a command of a terminal."""

from __future__ import annotations

from hookrun.credentials import redact

REDACTED_WITH = 4096
"""Characters past the cut that are looked at too, so that half a credential is not taken for none."""


def visible(text: str) -> str:
    r"""Return the text on one line: each character that is not printable as its escape (`\n`, `\x1b`, `\u202e`)."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def lines(text: str) -> str:
    """Return the text with each character that is neither printable nor a line's end as a space."""
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


def one_line(text: str, longest: int) -> str:
    """Return the text for a person: on one line, without credentials, at most `longest` characters and `...`."""
    whole = " ".join(lines(text[: longest + REDACTED_WITH]).split())
    return cut(redact(whole), longest)


def cut(text: str, longest: int) -> str:
    """Return the first `longest` characters, with `...` where there are more."""
    return text if len(text) <= longest else text[:longest] + "..."
