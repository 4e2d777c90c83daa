"""Remember within a session: notices shown, blocks of a stop, texts for later, texts too long to show.

Small private files; failing to read or write one never changes a verdict. Apart from `state`, as most runs need none.
"""

from __future__ import annotations

import os

from hookrun.core import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Files kept; older ones are removed.
MAX_SESSION_FILES = 1024

# Consecutive blocks of a stop that count; after them the agent may end its turn.
MAX_STOP_BLOCKS = 8

# Bytes of texts kept for a session's later event.
MAX_KEPT = 1 << 16

# Files of long texts kept; older ones are removed.
MAX_OVERFLOW_TEXTS = 64


def sessions_dir(home: str) -> str:
    """Return an account's directory of session markers."""
    return home + state.STATE_DIR + "/sessions"


def mark_notice_shown(home: str, session_id: str | None, cause: str) -> bool:
    """Record that a session showed a notice; return whether for the first time.

    Without a session, or if nothing can be recorded, it is always the first time.
    """
    if not session_id:
        return True
    path = f"{sessions_dir(home)}/{state.file_name_for('told', session_id, cause)}"
    return not isinstance(_write(path, b"", os.O_EXCL, MAX_SESSION_FILES), FileExistsError)


def _write(path: str, data: bytes, flags: int, keep: int) -> OSError | None:
    """Write a file, one of at most `keep` in its directory; return the error, if any."""
    try:
        fd = state.open_private(path, os.O_WRONLY | os.O_CREAT | flags)
        with open(fd, "wb") as file:
            file.write(data)
    except OSError as error:
        return error
    state.remove_oldest(os.path.dirname(path), keep)
    return None


def keep_place(path: str, place: str) -> None:
    """Store where a session began, ignoring failure."""
    _write(path, os.fsencode(place) + b"\n", os.O_TRUNC, MAX_SESSION_FILES)  # without its end it is half written


def count_stop_block(home: str, session_id: str | None, what: str) -> bool:
    """Count another consecutive block of a stop; return whether it has effect (the first MAX_STOP_BLOCKS do).

    `what` identifies the stop: the turn's, or a subagent's. After the last one the count starts over.
    """
    if not session_id:
        return True
    path = _counter(home, session_id, what)
    try:
        fd = state.open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            # The file's size is the count: appending is atomic, and independent of the agent's field.
            os.write(fd, b".")
            count = os.fstat(fd).st_size
        finally:
            os.close(fd)
    except OSError:
        return True
    if count == 1:
        state.remove_oldest(sessions_dir(home), MAX_SESSION_FILES)
    if count <= MAX_STOP_BLOCKS:
        return True
    reset_stop_blocks(home, session_id, what)
    return False


def stop_was_blocked(home: str, session_id: str | None, what: str) -> bool:
    """Return whether the previous stop was blocked: this one ends a prolonged turn."""
    return bool(session_id) and os.path.exists(_counter(home, session_id or "", what))


def reset_stop_blocks(home: str, session_id: str | None, what: str) -> None:
    """Reset the count of a stop that is no longer blocked."""
    if session_id:
        try:
            os.unlink(_counter(home, session_id, what))
        except OSError:
            return


def keep_texts(home: str, session_id: str, texts: Iterable[tuple[str, str | None]]) -> None:
    """Keep texts with their kinds until an event of the session can show them; existing ones stay."""
    for kind, text in texts:
        if not text:
            continue
        try:
            fd = state.open_private(_kept(home, session_id, kind), os.O_RDWR | os.O_CREAT | os.O_APPEND)
            with open(fd, "r+b") as file:
                before = file.read(MAX_KEPT)
                new = text.encode("utf-8", "replace") + b"\n\n"
                if new not in before and len(before) + len(new) <= MAX_KEPT:
                    file.write(new)
        except OSError:
            continue
        state.remove_oldest(home + state.KEPT_TEXTS_DIR, MAX_SESSION_FILES)


def take_text(home: str, session_id: str, kind: str) -> str | None:
    """Remove and return the session's kept text of this kind."""
    path = _kept(home, session_id, kind)
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8", "replace").strip()
        os.unlink(path)
    except OSError:
        return None
    try:
        os.rmdir(home + state.KEPT_TEXTS_DIR)  # without it, no run looks for texts
    except OSError:
        pass
    return text


def _kept(home: str, session_id: str, kind: str) -> str:
    return f"{home}{state.KEPT_TEXTS_DIR}/{state.file_name_for(kind, session_id)}"


def _counter(home: str, session_id: str, what: str) -> str:
    return f"{sessions_dir(home)}/{state.file_name_for('blocks', session_id, what)}"


def save_overflow_text(home: str, text: str) -> str | None:
    """Write a text to a new private file; return its path, None on failure."""
    directory = home + state.STATE_DIR + "/texts"
    path = f"{directory}/{os.urandom(8).hex()}.txt"
    return path if _write(path, text.encode("utf-8", "replace"), os.O_EXCL, MAX_OVERFLOW_TEXTS) is None else None
