"""Texts that are too long for an agent: they are kept in a file, and the agent is told where, and how they begin."""

from __future__ import annotations

import os

from hookrun import audit, private
from hookrun.claude.events import LONGEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PREVIEW = 2_000
"""Characters of a longer one that it sees."""

MOST_FILES = 64
"""Files kept; beyond that the oldest go."""


def limited(text: str, keep: Callable[[str], str | None]) -> str:
    """Return what an agent gets of a text that is too long: its beginning, and the file that `keep` has made of it."""
    path = keep(text)
    where = f"all of it is in {path}" if path is not None else "the rest could not be kept"
    return f"[{len(text)} characters, more than the {LONGEST} that are given: {where}. It begins:]\n{text[:PREVIEW]}"


def keep(home: str, text: str) -> str | None:
    """Put a text into a file under an account's state directory and return its path, None where that cannot be done.

    The file is the account's alone.
    """
    where = audit.directory(home) + "/texts"
    path = f"{where}/{os.urandom(8).hex()}.txt"
    try:
        private.make(where)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(fd, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError:
        return None
    _prune(where)
    return path


def _prune(where: str) -> None:
    """Take the oldest files away when there are too many. Another process may be at it too."""
    try:
        with os.scandir(where) as entries:
            files = sorted((each.stat(follow_symlinks=False).st_mtime_ns, each.path) for each in entries)
        for _, path in files[:-MOST_FILES]:
            os.unlink(path)
    except OSError:
        return
