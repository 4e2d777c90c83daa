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
        fd = private.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with open(fd, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError:
        return None
    private.prune(where, MOST_FILES)
    return path
