"""What a session remembers between fires, in small private files: what was told once, how often a stop was blocked.

The files lie under the account's state directory. Nothing that goes wrong with them changes a verdict.
"""

from __future__ import annotations

import os

from hookrun import audit, private

MOST_FILES = 1024
"""Files kept; beyond that the oldest go."""

MOST_BLOCKS = 8
"""Blocks of a stop in a row that count; after them the agent may end its turn."""


def directory(home: str) -> str:
    """Return where an account's sessions are remembered."""
    return audit.directory(home) + "/sessions"


def first_time(home: str, session_id: str | None, cause: str) -> bool:
    """Tell whether this is said to the person of a session for the first time, and remember that it was.

    Without a session, and where nothing can be remembered, it is always the first time.
    """
    if not session_id:
        return True
    path = f"{directory(home)}/{private.label('told', session_id, cause)}"
    try:
        os.close(private.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    except OSError:
        return True
    private.prune(directory(home), MOST_FILES)
    return True


def may_block(home: str, session_id: str | None, what: str) -> bool:
    """Count one more block of a stop in a row, and tell whether it still counts: the first MOST_BLOCKS do.

    `what` is which stop: a turn's, or that of one subagent. After the last one the count begins anew.
    """
    if not session_id:
        return True
    path = _counter(home, session_id, what)
    try:
        fd = private.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(fd, b".")
            count = os.fstat(fd).st_size
        finally:
            os.close(fd)
    except OSError:
        return True
    if count == 1:
        private.prune(directory(home), MOST_FILES)
    if count <= MOST_BLOCKS:
        return True
    may_end(home, session_id, what)
    return False


def kept_from_ending(home: str, session_id: str | None, what: str) -> bool:
    """Tell whether the last stop was blocked, so that this one is of a turn that was kept going."""
    return bool(session_id) and os.path.exists(_counter(home, session_id or "", what))


def may_end(home: str, session_id: str | None, what: str) -> None:
    """Note that nobody blocks this stop any more: the next block is the first of its row."""
    if session_id:
        try:
            os.unlink(_counter(home, session_id, what))
        except OSError:
            return


def _counter(home: str, session_id: str, what: str) -> str:
    return f"{directory(home)}/{private.label('blocks', session_id, what)}"
