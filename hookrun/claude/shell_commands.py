"""A shell line cut into the simple commands that an `if` rule is tried on. What cannot be cut is said to be so."""

from __future__ import annotations

from hookrun.claude.shell_reader import Reader, UnclearError, is_assignment

LONGEST = 16_384


class Cut:
    """What a line is made of.

    `commands` are its simple commands, each as its words with the quotes taken off; those inside of `$()`, backticks
    and `()` are among them. `expanded` tells whether the shell makes up an argument that does not stand there.
    """

    __slots__ = ("commands", "expanded")

    def __init__(self, commands: list[list[str]], *, expanded: bool) -> None:
        self.commands = commands
        self.expanded = expanded


def cut(line: str) -> Cut:
    """Return what a line is made of. Raises UnclearError."""
    if len(line) > LONGEST:
        raise UnclearError("the line is too long")
    reader = Reader(line, 0)
    reader.read("")
    if reader.expanded and reader.own > 1:
        raise UnclearError("one of several commands has an argument that the shell makes up")
    return Cut(reader.commands, expanded=reader.expanded)


def forms(words: list[str]) -> list[str]:
    """Return the texts that a pattern is tried on: without what is set before a command, and behind a bare `xargs`."""
    while words and is_assignment(words[0]):
        words = words[1:]
    if len(words) > 1 and words[0] == "xargs" and not words[1].startswith("-"):
        return [" ".join(words), " ".join(words[1:])]
    return [" ".join(words)] if words else []
