"""Texts that are too long for an agent, each kept whole in a file under an account's state directory."""

from __future__ import annotations

import os

from hookrun import audit, private

MOST_FILES = 64
"""Files kept; beyond that the oldest go."""


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
