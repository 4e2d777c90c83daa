"""Ask the user at the terminal to choose from a list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from hookrun.cli.printing import print_table
from hookrun.text import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

SEPARATORS = re.compile(r"[\s,]+")


def choose(
    question: str, columns: tuple[str, str], options: Sequence[tuple[str, str]], selected: Collection[str]
) -> list[str]:
    """Return the names that the user chooses from `options`, names and their descriptions; Enter takes `selected`.

    The user answers with numbers or names; `all` and `none` are answers too.
    """
    names = [name for name, _ in options]
    chosen = [name for name in names if name in selected]

    def parsed(answer: str) -> list[str]:
        words = [word for word in SEPARATORS.split(answer.strip()) if word]
        if words in (["all"], ["none"]):
            return names if words == ["all"] else []
        found = []
        for word in words:
            if word not in names and not (word.isdecimal() and 0 < int(word) <= len(names)):
                raise click.UsageError(f"{quote(word)} is not in the list: give numbers such as 1,3, or all, or none")
            found.append(word if word in names else names[int(word) - 1])
        return [name for name in names if name in found]

    rows = [
        [f"{number:>2}", "[x]" if name in selected else "[ ]", name, text]
        for number, (name, text) in enumerate(options, 1)
    ]
    click.echo()
    print_table(("", "", *columns), rows, title=question, wrap=True)
    default = ",".join(str(names.index(name) + 1) for name in chosen) or "none"
    answer: list[str] = click.prompt("Numbers, all or none", default=default, value_proc=parsed)
    return answer
