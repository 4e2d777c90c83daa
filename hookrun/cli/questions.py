"""Ask the user at the terminal to choose from a list."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import click

from hookrun.cli.printing import print_message, print_table
from hookrun.terminal import terminal_width, wrap
from hookrun.text import escape, quote

SEPARATORS = re.compile(r"[\s,]+")
RANGE = re.compile(r"(\d+)-(\d+)")
CHOICES = len(" [Y/n]: ")
"""Characters that click adds to a question."""


def confirm(question: str, *, default: bool = False) -> bool:
    """Ask a question that is answered with yes or no, wrapped at words."""
    lines = wrap(escape(question), (terminal_width(1) or 80) - CHOICES)
    return click.confirm("\n".join(lines), default=default)


def choose(
    question: str, columns: tuple[str, str], options: Sequence[tuple[str, str]], selected: Collection[str]
) -> list[str]:
    """Return the names that the user chooses from `options`, names and their descriptions; Enter takes `selected`.

    The user answers with numbers, ranges or names; `all` and `none` are answers too.
    """
    names = [name for name, _ in options]
    chosen = [name for name in names if name in selected]

    def parsed(answer: str) -> list[str]:
        words = [word for word in SEPARATORS.split(answer.strip()) if word]
        if words in (["all"], ["none"]):
            return names if words == ["all"] else []
        found = []
        for word in words:
            if word in names:
                found.append(word)
                continue
            ends = RANGE.fullmatch(word if "-" in word else f"{word}-{word}")
            first, last = (int(ends[1]), int(ends[2])) if ends is not None else (0, 0)
            if not 0 < first <= last <= len(names):
                hint = "give numbers such as `1,3` or `1-3`, names, `all` or `none`"
                raise click.UsageError(f"{quote(word)} is not in the list\nhint: {hint}")
            found += names[first - 1 : last]
        return [name for name in names if name in found]

    rows = [
        [f"{number:>2}", "[x]" if name in selected else "[ ]", name, text]
        for number, (name, text) in enumerate(options, 1)
    ]
    click.echo()
    print_table(("", "", *columns), rows, title=question, wrap=True)
    default = ",".join(str(names.index(name) + 1) for name in chosen) or "none"
    while True:
        try:
            return parsed(click.prompt("Numbers, all or none", default=default))
        except click.UsageError as error:
            print_message(error.message)
