"""A call of git: its command, with the words of that, past git's own options and through an alias of the line's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.recipes.shell.words import UNKNOWN, Word

if TYPE_CHECKING:
    from hookrun.recipes.shell.command import Command

VALUED = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"}
    | {"--attr-source", "--list-cmds"}
)
"""Git's own options that take the next word."""


class GitCall:
    """A command of git and the words after it. `settings` are those of `-c NAME=VALUE`, names in lower case.

    `line` is what an alias of the line (`-c alias.x='!...'`) gives to a shell. `directory` is where git runs.
    """

    __slots__ = ("command", "directory", "line", "settings", "words")

    def __init__(self, command: str, words: list[Word], settings: dict[str, str], directory: str | None) -> None:
        self.command = command
        self.words = words
        self.settings = settings
        self.directory = directory
        self.line: str | None = None

    @property
    def texts(self) -> list[str]:
        """The words as texts."""
        return [word.text for word in self.words]


def call(command: Command) -> GitCall | None:
    """Return the call that a command is, None if it is none of git's or names no command of it.

    A program that is not known counts as git: whoever asks looks for words that only git is given.
    """
    if command.program != UNKNOWN and command.one_of(("git",)) is None:
        return None
    settings: dict[str, str] = {}
    directory = command.directory
    words = command.words[1:]
    while words and words[0].text[:1] == "-":
        option, equals, value = words[0].text.partition("=")
        takes = option in VALUED and not equals and len(words) > 1
        given = words[1].text if takes else value
        if option == "-c":
            name, _, content = given.partition("=")
            settings[name.lower()] = content
        elif option == "-C" and takes:
            from hookrun.recipes.lines import absolute

            directory = absolute(given, directory)
        words = words[1 + takes :]
    if not words:
        return None
    made = GitCall(words[0].text, words[1:], settings, directory)
    alias = settings.get(f"alias.{made.command.lower()}")
    if alias is not None and alias[:1] == "!":
        made.line = " ".join([alias[1:], *made.texts])
    elif alias:
        first, *rest = alias.split()
        made.command, made.words = first, [*map(Word, rest), *made.words]
    return made
