"""What a program printed, cut to what a model needs of it."""

from __future__ import annotations

from hookrun.bundles.plain_text import cut
from hookrun.credentials import redact

LONGEST_LINE = 300
"""Characters."""


def first_lines(text: str, most: int) -> str:
    """Return the first lines, and how many more there are; without credentials."""
    found = _lines(text)
    more = f"\n... ({len(found) - most} more lines)" if len(found) > most else ""
    return "\n".join(found[:most]) + more


def last_lines(text: str, most: int) -> str:
    """Return the last lines, and how many there were before them; without credentials."""
    found = _lines(text)
    before = f"({len(found) - most} lines before) ...\n" if len(found) > most else ""
    return before + "\n".join(found[len(found) - most :] if len(found) > most else found)


def _lines(text: str) -> list[str]:
    return [cut(line.rstrip(), LONGEST_LINE) for line in redact(text).strip("\n").split("\n")]
