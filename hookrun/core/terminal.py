"""Show messages on a terminal: labels in colour, text wrapped at words."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable

# What `--color` takes.
CHOICES = ("auto", "always", "never")

LABEL_COLORS = {"error": 31, "warning": 33, "hint": 36, "note": 36}

BACKQUOTED = re.compile(r"`[^`]*`")


class ColorChoice:
    """What `--color` says in this process."""

    value = "auto"


def wants_color(fd: int) -> bool:
    """Return whether output to a descriptor is coloured: by `--color`, NO_COLOR, FORCE_COLOR, or for a terminal."""
    if ColorChoice.value != "auto":
        return ColorChoice.value == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if forced := os.environ.get("FORCE_COLOR"):
        return forced not in ("0", "false")
    return is_terminal(fd) and os.environ.get("TERM") != "dumb"


def is_terminal(fd: int) -> bool:
    """Return whether a descriptor is an open terminal."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def render_for(fd: int, message: Iterable[tuple[str, str]]) -> str:
    """Return a message's lines with their labels, as suits a descriptor."""
    return render_message(message, color=wants_color(fd), width=terminal_width(fd))


def render_message(message: Iterable[tuple[str, str]], *, color: bool, width: int | None) -> str:
    """Return a message's lines with their labels, wrapped at words to any given width."""
    lines = []
    for part, text in message:
        head = f"{part}: " if part else ""
        first, *rest = wrap(head + text, width, indent="  ") if width is not None and part else [head + text]
        if color and part:
            first = f"\x1b[1;{LABEL_COLORS[part]}m{part}:\x1b[0m{first[len(part) + 1 :]}"
        lines += [first, *rest]
    return "\n".join(lines)


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Return the text in lines of at most `width` characters; words and backquoted commands stay whole."""
    kept = BACKQUOTED.sub(lambda found: found[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(
        kept, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
    return [line.replace("\0", " ") for line in lines] or [""]


def terminal_width(fd: int) -> int | None:
    """Return the columns of a descriptor's terminal (COLUMNS overrides), None if unknown."""
    if not is_terminal(fd):
        return None
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    return os.get_terminal_size(fd).columns or None
