"""Rule out cheaply that a line names some files, to spare parsing: most lines end here. See `shell/prefilter.py`."""

from __future__ import annotations

import os
from functools import lru_cache

from hookrun.recipes.shell_recipe import BARE, line_directory, names_in
from hookrun.shell.prefilter import ENDS, QUOTES, may_run_input
from hookrun.shell.programs import having

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Characters of expansions, which may name files not in the line; and NUL, which a shell may omit.
EXPANSIONS = ("$", "`", "{", "*", "?", "[", "\0")

# Separates possible paths in words such as `of=FILE`, `@FILE` and `FILE:/mount`.
APART = {**ENDS, **str.maketrans(dict.fromkeys("@:", " "))}
# Characters of a line whose names may have spaces or separators.
UNUSUAL = "'\"\\=,@:"
# Programs with a path in the same word as an option or command: `-oFILE`.
ATTACHING = (*having("attached"), *having("output"), *having("mounts"), *having("directory"), *having("in_place"))
# Programs that enter a directory, or name files in one without it; git's options and variable.
ENTERING = (*having("enters"), *having("onto_last"), *having("directory"), "find", "-C", "work-tree", "work_tree")
# Kinds of files, in their mode.
LINK, DIRECTORY = 0o120000, 0o040000
# Paths looked up for a line, and files listed of a directory: each about a millisecond.
MAX_LOOKUPS, MAX_ENTRIES = 500, 5000


def may_name(context: Mapping[str, object], line: str, texts: tuple[str, ...]) -> bool:
    """Return whether a call's line may name a file with one of these texts in its path, in folded case.

    The path starts from the line's directory or the home directory. Symbolic links are followed.
    """
    home, directory = os.environ.get("HOME", ""), line_directory(context)
    if any(sign in line for sign in (*EXPANSIONS, "~")) or may_run_input(line):
        return True
    if "|" in line or "<<" in line:  # a patch names files; input may have been decoded
        bare = line.translate(BARE).lower()
        if "patch" in bare or "git" in bare:
            return True
    return _holds(f"{home}/{directory}/{line}", texts) or _Lookup(line, home, directory, texts).finds_link()


def _holds(path: str, texts: Iterable[str]) -> bool:
    bare = path.translate(BARE).casefold()
    return any(text in bare for text in texts)


class _Lookup:
    """The search for a symbolic link, named in a line, that leads to a path with one of the texts.

    A line names a file by its words, from the directory where it runs or one it names and enters. So each word is
    looked up in each of these. A name of several words, such as `my file`, is found in its directory's listing.
    """

    def __init__(self, line: str, home: str, directory: str, texts: tuple[str, ...]) -> None:
        self._texts = texts
        self._bare = line.translate(BARE).casefold()
        self._listed = any(sign in line for sign in UNUSUAL) or not line.isascii()
        words = line.replace("\\\n", "").translate(QUOTES).translate(APART).split()
        ends = [word.rstrip("/").rpartition("/")[2] for word in words]
        ends += map(str.lower, ends[:])
        attached = any(each.endswith(ATTACHING) for each in ends)
        self._words = dict.fromkeys((directory, *_paths(words, listed=self._listed, attached=attached)))
        self._enters = any(each.endswith(ENTERING) for each in ends)
        self._directories = dict.fromkeys((directory, home) if "cd" in self._bare else (directory,))
        self._left = MAX_LOOKUPS

    def finds_link(self) -> bool:
        """Return whether there is such a link, or too many paths."""
        words, reached = [*self._words], [*self._directories]
        for start in reached:
            for word in (*words, *(self._unusual(start) if self._listed else ())):
                if self._left < 0 or self._follow(start, word):
                    return True
            words = [word for word in words if word[:1] != "/"]
            reached.extend(each for each in self._directories if each not in reached)
        return self._left < 0

    def _follow(self, start: str, word: str) -> bool:
        """Return whether a word leads through a link to one of the texts; remember a directory it names."""
        path, kind = "" if word[:1] == "/" else start, 0
        parts = word.split("/")
        for index, part in enumerate(parts):
            if part in ("", "."):
                continue
            inside, path = path, f"{path}/{part}"
            self._left -= 1
            try:
                kind = os.lstat(path).st_mode & 0o170000
                target = os.readlink(path) if kind == LINK else ""
            except (OSError, ValueError):
                if self._listed and inside:
                    self._directories[inside] = None
                return False
            if target:
                further = "/".join((target, *parts[index + 1 :]))
                return self._left < 0 or _holds(target, self._texts) or self._follow(inside, further)
        if kind == DIRECTORY and (self._enters or word not in self._words):
            self._directories[path] = None
        return False

    def _unusual(self, directory: str) -> list[str]:
        """Return the names of several words in a directory that may be in the line."""
        names = names_in(directory, MAX_ENTRIES + 1)
        if len(names) > MAX_ENTRIES:
            self._left = -1
        bare = {name: name.translate(BARE) for name in names}
        found = [name for name in names if bare[name].casefold() in self._bare]
        return [name for name in found if bare[name].translate(APART).split() != [name]]


def _paths(words: Iterable[str], *, listed: bool, attached: bool) -> Iterator[str]:
    """Yield a line's words and their parts that may be paths."""
    for word in words:
        yield word
        if "/" in word:
            yield word.rpartition("/")[2]  # `cp a/b DIRECTORY` writes DIRECTORY/b, `curl -O` the last part of a URL
            if listed:
                yield from (word[index + 1 :] for index, sign in enumerate(word) if sign == "/")
            if ".." in word:
                yield os.path.normpath(word)
        if attached:
            yield from (word[index:] for index in range(1, len(word)))


@lru_cache(maxsize=8)  # a server asks for the same at every call, and making them takes half of its time with a line
def texts_of(globs: str) -> tuple[str, ...]:
    """Return for each glob a text in every path it matches, and one in its directory's path.

    All are in folded case. The empty text, in every path, represents a glob without literal characters.
    """
    parts = (part for each in globs.split() for part in (each, each.rpartition("/")[0]) if part)
    return tuple(dict.fromkeys(map(_longest_text, parts)))


def _longest_text(pattern: str) -> str:
    if "[" in pattern:
        return ""
    return max(pattern.translate(BARE).replace("*", "/").replace("?", "/").split("/"), key=len).casefold()
