"""The files that a line runs: read within bounds, with what the line itself has written into them."""

from __future__ import annotations

import os

from hookrun.core.files import read_or_none
from hookrun.shell.prefilter import READERS
from hookrun.shell.words import Word, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Bytes of a script that is read, files read for a line, and scripts within scripts.
MAX_SCRIPT = 64 * 1024
MAX_FILES = 100
MAX_NESTING = 8


class OpenedScript:
    """Code in a file that a command runs: of a `family` of languages, else shell.

    `place` names the file, `row` is the line of it that comes first, 0 if unknown. `words` are its `$1`... and
    `directory` is where it runs.
    """

    words: list[Word] | None = None

    def __init__(self, text: str, place: str, directory: str | None, row: int = 1, *, family: str = "") -> None:
        self.text = text
        self.place = place
        self.directory = directory
        self.row = row
        self.family = family


class ScriptFiles:
    """The files that a line may run, as it finds them."""

    def __init__(self) -> None:
        self._written: dict[str, str | None] = {}
        self._left = MAX_FILES

    def write(self, path: str, text: str | None, *, adds: bool) -> None:
        """Take note that the line writes this text into a file, None if unknown."""
        before = (self.read(path) or "") if adds else ""
        self._written[path] = None if text is None or len(before + text) > MAX_SCRIPT else before + text

    def read(self, path: str) -> str | None:
        """Return the text of a small regular file; None for any other, and if it is unknown."""
        if path in self._written:
            return self._written[path]
        if not os.path.isfile(path):
            return None
        self._left -= 1
        data = read_or_none(path, MAX_SCRIPT + 1) if self._left >= 0 else None
        if data is None or len(data) > MAX_SCRIPT or b"\0" in data:
            return None
        return data.decode("utf-8", "replace")


def script_in(
    words: list[Word], directory: str | None, files: ScriptFiles, family: str | None = ""
) -> Iterator[OpenedScript]:
    """Yield the script that is in the file of the first word; None as `family`: its first line says which."""
    path = absolute(words[0].text, directory) if words and not words[0].globs else None
    text = files.read(path) if path is not None else None
    if text is None:
        return
    language = language_of(text) if family is None else family
    if language is not None:
        script = OpenedScript(text, words[0].text, directory, family=language)
        script.words = words[1:]
        yield script


def language_of(text: str) -> str | None:
    """Return the family of a script's language by its first line, "" for shell, None for others."""
    first = text.partition("\n")[0]
    if first[:2] != "#!":
        return ""
    from hookrun.shell.code import family_of  # most scripts are for a shell

    for each in first[2:].replace("/", " ").split():
        if each in READERS or family_of(each) is not None:
            return family_of(each) or ""
    return None
