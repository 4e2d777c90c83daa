"""Find cheaply what a line runs from files, to spare parsing: most lines run nothing. See `prefilter.py`."""

from __future__ import annotations

import os

from hookrun.shell.prefilter import MADE_UP, QUOTES, READERS
from hookrun.shell.programs import having
from hookrun.shell.scripts import MAX_NESTING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.shell.scripts import ScriptFiles

# What separates commands; a redirection and a pattern make a command odd, as quotes do.
SEPARATORS = str.maketrans(dict.fromkeys(";|&()", "\n"))
ODD = "<>*?[~"

# Programs that run what they find in files: scripts, or lines of their own files.
RUNNING = frozenset(
    {*having("script"), *having("finds"), *having("text"), *having("code")}
    | {".", "source", "django-admin", "manage.py", "rails"}
    | READERS
)
# Those whose other words may be a command.
WRAPPING = frozenset({*having("wraps"), *having("launches"), *having("line"), *having("builtin"), "find"})
PLAIN = frozenset(having("data")) - WRAPPING
# What git runs commands by.
OF_GIT = frozenset({"-c", "bisect", "filter-branch", "rebase", "submodule"})
# Options with code.
INLINE = frozenset({"-c", "-e", "-p", "-pe", "-r"})


def run_from_files(line: str, directory: str, files: ScriptFiles, depth: int = 0) -> list[str] | None:
    """Return the shell texts that a line runs from files; None if only reading the line tells."""
    if any(sign in line for sign in MADE_UP) or depth > MAX_NESTING:
        return None
    bare = line.replace("\\\n", "").translate(QUOTES)
    unclear = bare != line or any(sign in line for sign in ODD)
    texts: list[str] = []
    for segment in bare.translate(SEPARATORS).split("\n"):
        words = segment.split()
        while words and (words[0] in having("keyword") or _is_assignment(words[0])):
            del words[0]
        first = _name(words[0]) if words else ""
        if first in having("enters"):
            unclear = True
        if first in PLAIN or not words or (first == "git" and OF_GIT.isdisjoint(words)):
            continue
        for index, word in enumerate(words if first in WRAPPING else words[:1]):
            if not _runs(word, directory, first=not index, unclear=unclear):
                continue
            if not INLINE.isdisjoint(words[index:]) and not _may_matter(bare):  # it gets its code in the line
                continue
            more = None if index or unclear else _read(words, directory, files, depth)
            if more is None:
                return None
            texts += more
            unclear = unclear or first in {".", "source"}  # it may have gone elsewhere
    return texts


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return sign != "" and name.removesuffix("+").isidentifier()


def _name(word: str) -> str:
    name = word.rstrip("/").rpartition("/")[2].lower()
    return name if name in RUNNING else name.rstrip(".0123456789") or name


def _runs(word: str, directory: str, *, first: bool, unclear: bool) -> bool:
    """Return whether a word may be a program that runs what is in files, or a script."""
    if word == ".":
        return first
    if _name(word) in RUNNING or word.endswith(".py"):
        return True
    if "/" not in word:
        return False
    path = os.path.join(directory, word)
    return (first and unclear) or (os.path.isfile(path) and (first or os.access(path, os.X_OK)))


def _may_matter(code: str) -> bool:
    import re

    from hookrun.shell.code_calls import SIGNS

    return re.search(SIGNS, code) is not None


def _read(words: list[str], directory: str, files: ScriptFiles, depth: int) -> list[str] | None:
    from hookrun.shell.task_lines import opened
    from hookrun.shell.words import Word

    texts: list[str] = []
    for script in opened([Word(word) for word in words], directory, files):
        if not script.family:
            more = run_from_files(script.text, script.directory or "/", files, depth + 1)
        else:  # whoever judges code by other words finds them in its text
            more = None if _may_matter(script.text) else []
        if more is None:
            return None
        texts += [script.text, *more]
    return texts
