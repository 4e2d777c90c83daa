"""Cuts a shell line into its simple commands, as far as it is plain: what each runs, with what, into which files."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 3
"""Lines within lines that are looked into: `sh -c "..."` has one."""

REDIRECTIONS = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
PUNCTUATION = frozenset("();<>|&")


class Simple:
    """One simple command: its `words`, the program first, and the files that it writes `into`."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.into: list[str] = []


def commands(line: str, *, but_not_of: frozenset[str] = frozenset(), depth: int = DEEPEST) -> Iterator[Simple]:
    """Yield the simple commands of a line, and those of the lines that stand in its words.

    The words of the programs `but_not_of` are no lines: what a commit is called is not run.
    """
    command = Simple()
    into = False
    for token in _tokens(line):
        if token in REDIRECTIONS:
            into = True
        elif PUNCTUATION.issuperset(token):
            yield command
            command, into = Simple(), False
        elif into:
            command.into.append(token)
            into = False
        else:
            command.words.append(token)
            if depth and " " in token and command.words[0] not in but_not_of:
                yield from commands(token, but_not_of=but_not_of, depth=depth - 1)
    yield command


def _tokens(line: str) -> list[str]:
    """Return words and operators; what a quote that is never closed leaves in doubt is cut at every space."""
    line = line.replace("\\\n", " ").replace("\n", " ; ").replace("$(", " ( ").replace("`", " ; ")
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return line.replace("'", " ").replace('"', " ").split()
