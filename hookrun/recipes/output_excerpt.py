"""Shorten outside text for a model or the user, without credentials and control characters."""

from __future__ import annotations

from hookrun.core.credentials import redact
from hookrun.core.text import printable_lines

# Characters.
MAX_LINE = 300
# Characters redacted past the cut: half a credential would not be recognized.
LOOKAHEAD = 4096


def first_lines(text: str, most: int) -> str:
    """Return output's first lines and the number of lines left out."""
    found = _lines(text)
    more = f"\n... ({len(found) - most} more lines)" if len(found) > most else ""
    return "\n".join(found[:most]) + more


def last_lines(text: str, most: int) -> str:
    """Return output's last lines and the number of lines left out."""
    found = _lines(text)
    before = f"({len(found) - most} lines before) ...\n" if len(found) > most else ""
    return before + "\n".join(found[max(len(found) - most, 0) :])


def _lines(text: str) -> list[str]:
    return [cut(line.rstrip(), MAX_LINE) for line in redact(printable_lines(text)).strip().split("\n")]


def one_line(text: str, longest: int) -> str:
    """Return the text on one line, without credentials, cut to `longest` characters."""
    whole = " ".join(printable_lines(text[: longest + LOOKAHEAD]).split())
    return cut(redact(whole), longest)


def cut(text: str, longest: int) -> str:
    """Return the first `longest` characters, with `...` if there are more."""
    return text if len(text) <= longest else text[:longest] + "..."
