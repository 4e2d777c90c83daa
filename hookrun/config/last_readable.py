"""Keep what a configuration file held when it was last readable: that stays in force while it cannot be read."""

from __future__ import annotations

import hashlib
import os

from hookrun.core import files, state

# Where the texts are, each in a file named for its configuration file; added to the path of the home directory.
DIRECTORY = state.DATA_DIR + "/readable"

# Limit on the texts; those whose files changed longest ago are removed.
MAX_FILES = 256


def keep(home: str, path: str, text: str) -> None:
    """Store a configuration file's text unless it is the one stored. A full disk is no failure: the old one stays."""
    if (before := kept(home, path)) is not None and before[0] == text:
        return
    where = _place(home, path)
    try:
        state.make_private_dir(os.path.dirname(where))
        files.atomic_write(where, text.encode(), exact=True)
    except OSError:
        return
    state.remove_oldest(os.path.dirname(where), MAX_FILES)


def kept(home: str, path: str) -> tuple[str, float] | None:
    """Return the text stored for a configuration file, and since when (Unix time); None if there is none."""
    where = _place(home, path)
    try:
        return state.read_own(where).decode(), os.stat(where).st_mtime
    except (OSError, ValueError):  # none, damaged, or another account's
        return None


def _place(home: str, path: str) -> str:
    # A digest, as no project may find a path whose text would be taken for another file's.
    return f"{home}{DIRECTORY}/{hashlib.sha256(os.fsencode(path)).hexdigest()}"
