"""Lines for people: in colour on a terminal that wants it, otherwise plain and whatever the width as they are."""

from __future__ import annotations

import difflib
import json
import sys
from typing import TYPE_CHECKING

import click

from hookrun.config.diagnostics import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Line = tuple[str, str]
    """A text, and the style that it has on a terminal, empty for none."""

GOOD, BAD, DOUBTFUL, QUIET, STRONG = "green", "red", "yellow", "dim", "bold"
DIFF = {"+": GOOD, "-": BAD, "@": QUIET}


def tell(lines: Iterable[Line]) -> None:
    """Print the lines, each safe to print. rich leaves colours out where NO_COLOR is set or the terminal has none."""
    if not sys.stdout.isatty():
        for text, _ in lines:
            click.echo(printable(text))
        return
    from rich.console import Console  # only for a terminal
    from rich.text import Text  # only for a terminal

    console = Console(highlight=False)
    for text, style in lines:
        console.print(Text(printable(text), style=style), soft_wrap=True)


def difference(before: object, after: object, indent: str) -> Iterator[Line]:
    """Yield the lines of the difference of two JSON values; none where they are the same."""
    old, new = (json.dumps(each, indent=2, ensure_ascii=False).splitlines() for each in (before, after))
    for line in list(difflib.unified_diff(old, new, lineterm=""))[2:]:
        yield indent + line, DIFF.get(line[:1], "")
