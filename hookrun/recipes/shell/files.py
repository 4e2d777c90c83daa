"""Which files a command names to read and to write, as far as its program is known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrun.recipes.shell.git import call
from hookrun.recipes.shell.words import UNKNOWN, Word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.recipes.shell.command import Command

CHANGING = frozenset(
    {
        "ed",
        "ex",
        "nano",
        "patch",
        "rm",
        "rmdir",
        "shred",
        "sponge",
        "srm",
        "tee",
        "touch",
        "trash",
        "truncate",
        "unlink",
    }
    | {"vi", "vim", "emacs", "sudoedit"}
)
"""Programs that write, or remove, every file they are given."""

REMOVING = frozenset({"rm", "rmdir", "srm", "trash", "unlink"})

ONTO_LAST = frozenset({"cp", "install", "ln", "mv", "rsync", "scp"})
"""Programs that write the last file they are given, and read the others; `mv` removes them."""

IN_PLACE = {"sed": ("-i", "--in-place"), "perl": ("-i",), "ruby": ("-i",), "yq": ("-i", "--inplace")}
"""Programs that write the files they are given with an option that begins so."""

INTO = {
    **dict.fromkeys(("curl", "sort"), ("-o", "--output")),
    "wget": ("-O", "--output-document"),
}
"""Programs with an option that names a file which they write: its letter, and its long name."""

BY_URL = re.compile(r"-[A-Za-z]*O|--remote-name")
"""Options of curl with which it writes into a file that the URL names."""

NEITHER = frozenset(
    {
        ":",
        "[",
        "alias",
        "basename",
        "cd",
        "chgrp",
        "chmod",
        "chown",
        "command",
        "dirname",
        "du",
        "echo",
        "exit",
        "export",
    }
    | {"false", "fd", "file", "find", "hash", "kill", "locate", "ls", "mkdir", "printf", "pwd", "read", "readlink"}
    | {"realpath", "sleep", "ssh", "ssh-add", "ssh-keygen", "stat", "test", "tree", "true", "type", "whereis", "which"}
)
"""Programs that tell nothing of what is in the files they are given."""

PATTERN_FIRST = {
    **dict.fromkeys(("ack", "ag", "egrep", "fgrep", "grep", "rg", "zgrep"), ("-e", "-f", "--regexp", "--file")),
    **dict.fromkeys(("awk", "gawk", "mawk"), ("-f", "--file")),
    **dict.fromkeys(("gsed", "sed"), ("-e", "-f", "--expression", "--file")),
    **dict.fromkeys(("jq", "yq"), ("-f", "--from-file")),
    **dict.fromkeys(("perl", "ruby"), ("-e", "-E")),
}
"""Programs whose first operand is no file, unless one of these options gives it."""

OF_GIT = {
    **dict.fromkeys(("add", "archive", "blame", "cat-file", "diff", "show", "stage"), "reads"),
    **dict.fromkeys(("mv", "rm"), "writes"),
}
"""Commands of git that read or write the files they name; what others do with them is kept by git."""

NOT_NEXT = frozenset({"--env-file", "--exclude", "--exclude-from", "--glob", "--include", "-g"})
"""Options whose next word is no file that is shown."""


class Named:
    """A file that a command names: its `path`, the word that has it, and whether it is `written` or read.

    `removed` tells that it is gone afterwards, with all that is in it.
    """

    __slots__ = ("path", "removed", "word", "written")

    def __init__(self, path: str, word: Word, *, written: bool, removed: bool = False) -> None:
        self.path = path
        self.word = word
        self.written = written
        self.removed = removed


def named(command: Command) -> Iterator[Named]:
    """Yield the files that a command names, each time that it does. Of `NAME=FILE` and `@FILE` the file counts too."""
    for redirection in command.redirections:
        if redirection.writes or redirection.reads:
            yield Named(redirection.target.text, redirection.target, written=redirection.writes)
    program = command.program
    if not command.words or program == UNKNOWN or program in NEITHER:
        return
    if program == "git":
        yield from _of_git(command)
        return
    operands = list(_operands(command))
    in_place = any(word.startswith(IN_PLACE.get(program, ())) for word in command.arguments)
    for index, word in enumerate(operands):
        if program in ONTO_LAST:
            yield from _onto_last(program, operands, index)
            continue
        written = program in CHANGING or in_place
        for path in _paths(word.text):
            into = written or (program == "dd" and word.text.startswith("of="))
            yield Named(path, word, written=into, removed=program in REMOVING)


def _operands(command: Command) -> Iterator[Word]:
    """Yield the words that may name files: no options, no pattern, nothing that an option takes which is no file."""
    givers = PATTERN_FIRST.get(command.program)
    skip = givers is not None and not any(word.startswith(givers) for word in command.arguments)
    options = True
    before = ""
    for word in command.words[1:]:
        text, last = word.text, before
        before = text
        if options and text == "--":
            options = False
        elif options and text[:1] == "-" and len(text) > 1:
            if "=" in text and text.partition("=")[0] not in NOT_NEXT:
                yield Word(text.partition("=")[2], globs=word.globs)
        elif last in NOT_NEXT:
            continue
        elif skip:
            skip = False
        else:
            yield word


def into(program: str, arguments: list[str]) -> Iterator[str]:
    """Yield the files that a program writes because an option says so, and those that `curl -O` names by their URL."""
    short, long = INTO.get(program, ("", ""))
    for index, text in enumerate(arguments if short else ()):
        name, equals, value = text.partition("=")
        following = arguments[index + 1 : index + 2]
        if text[:2] == "--":
            if len(name) > len("--o") and long.startswith(name):
                yield from [value] if equals else following
        elif text[:1] == "-" and short[1] in text:
            value = text.partition(short[1])[2]
            yield from [value] if value else following
    if program == "curl" and any(BY_URL.match(text) for text in arguments):
        yield from (text.partition("?")[0].rpartition("/")[2] for text in arguments if "/" in text)


def _onto_last(program: str, operands: list[Word], index: int) -> Iterator[Named]:
    word, last = operands[index], operands[-1]
    if index < len(operands) - 1 or len(operands) == 1:
        yield Named(word.text, word, written=program == "mv", removed=program == "mv")
        if index < len(operands) - 1:
            into = f"{last.text.rstrip('/')}/{word.text.rstrip('/').rpartition('/')[2]}"
            yield Named(into, Word(into, globs=word.globs), written=True)
    else:
        yield Named(word.text, word, written=True)


def _of_git(command: Command) -> Iterator[Named]:
    git = call(command)
    does = OF_GIT.get(git.command) if git is not None else None
    if git is not None and does is not None and "--cached" not in git.texts:
        for word in git.words:
            if word.text[:1] != "-":
                written = does == "writes"
                yield Named(word.text.rpartition(":")[2], word, written=written, removed=written)


def _paths(text: str) -> Iterator[str]:
    """Yield what of a word may be a path: all of it, and what is behind `=` or `@`, as in `of=FILE` and `-d @FILE`."""
    for sign in "=@":
        if sign in text:
            yield text.rpartition(sign)[2]
    yield text
