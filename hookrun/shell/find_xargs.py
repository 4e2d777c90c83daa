"""Expand the commands that find, xargs and parallel run, with the words that they insert."""

from __future__ import annotations

from itertools import pairwise

from hookrun.shell.words import MAX_WORDS, UNKNOWN, LimitExceededError, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.shell.wrappers import Wrapped

    Argv = list[Word]

MAX_ARGUMENTS = 64
"""Words that are read and given to a command; with more they are one unknown word."""


def xargs_command(wrapped: Wrapped, stdin: Word | None) -> Argv:
    """Return the command that xargs or parallel runs, with what it reads, where that is known, or one unknown word."""
    words = wrapped.words
    texts = [word.text for word in words]
    cut = next((texts.index(each) for each in (":::", ":::+") if each in texts), None)
    if cut is not None:
        read, words = words[cut + 1 :], words[:cut]
    elif stdin is not None and stdin.known and len(stdin.text.split()) <= MAX_ARGUMENTS:
        read = [Word(each) for each in stdin.text.replace("\0", " ").split()]
    else:
        read = [Word(UNKNOWN)]
    marks = [word.text for word in wrapped.options]
    mark = marks[marks.index("-I") + 1] if "-I" in marks[:-1] else next((m[2:] for m in marks if m[:2] == "-I"), "{}")
    return _put_in(words, mark, read) if any(mark in word.text for word in words) else [*words, *read]


def _put_in(words: Argv, mark: str, read: Argv) -> Argv:
    """Return the words, those with the mark once for each that is read."""
    made: Argv = []
    for word in words:
        if mark in word.text:
            made += (Word(word.text.replace(mark, each.text), globs=word.globs or each.globs) for each in read)
        else:
            made.append(word)
        if len(made) > MAX_WORDS:
            raise LimitExceededError("too long")
    return made


EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})

FILTERS = (
    "-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-ctime", "-empty", "-group", "-iname", "-inum", "-ipath",
    "-iregex", "-lname", "-mmin", "-mtime", "-name", "-newer", "-nogroup", "-nouser", "-path", "-perm", "-regex",
    "-samefile", "-size", "-user", "-wholename",
)  # fmt: skip
"""Tests of find with which it is no longer everything."""

NAMES = frozenset({"-iname", "-name"})

PATH_TESTS = NAMES | {"-ipath", "-path", "-wholename"}


def has_filter(texts: list[str]) -> bool:
    """Return whether these words limit what find finds, which `-name '*'` and `! -name x` hardly do."""
    for index, text in enumerate(texts):
        named = text in PATH_TESTS
        everything = named and not "".join(texts[index + 1 : index + 2]).strip("*/.")
        negated = named and texts[max(index - 1, 0)] in {"!", "-not"}
        if text in FILTERS and not everything and not negated:
            return True
    return False


def find_commands(argv: Argv) -> list[Argv]:
    """Return the commands that find runs, with the paths it may find instead of `{}`."""
    found = found_paths(argv)
    commands: list[Argv] = []
    position = 0
    while position < len(argv):
        if argv[position].text in EXECUTING:
            end = next((i for i in range(position + 1, len(argv)) if argv[i].text in {";", "+"}), len(argv))
            commands.append(_put_in(argv[position + 1 : end], "{}", found))
            position = end
        position += 1
    return [command for command in commands if command]


def found_paths(argv: Argv) -> Argv:
    """Return what find may find: by the names it looks for, else something unknown, under each of its directories."""
    texts = [word.text for word in argv]
    names = [after for each, after in pairwise(texts) if each in NAMES]
    if not names or any(text in FILTERS and text not in NAMES for text in texts):
        names = [UNKNOWN]
    starts = start_directories(argv)
    if len(starts) * len(names) > MAX_WORDS:
        raise LimitExceededError("too long")
    return [Word(f"{start.text.rstrip('/')}/{name}", globs=True) for start in starts for name in names]


def start_directories(argv: Argv) -> Argv:
    """Return the directories that find begins with."""
    found: Argv = []
    for word in argv[1:]:
        if word.text[:1] in {"-", "(", "!", ")"}:
            if found or word.text[:2] not in {"-H", "-L", "-P", "-O"}:
                break
        else:
            found.append(word)
    return found or [Word(".")]
