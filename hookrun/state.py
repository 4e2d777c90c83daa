"""Keep an account's state: where its directories are, private files in them, and what a session remembers between runs.

Directories are 0700, files 0600. Session markers (notices shown, blocks of a stop, long texts) are small private
files; a failure to read or write one never changes a verdict.
"""

from __future__ import annotations

import os

MAX_SESSION_FILES = 1024
"""Files kept; the oldest beyond that are removed."""

MAX_STOP_BLOCKS = 8
"""Consecutive blocks of a stop that count; after them the agent may end its turn."""

MAX_OVERFLOW_TEXTS = 64
"""Files with long texts that are kept; the oldest beyond that are removed."""


class NoHomeError(LookupError):
    """The account's home directory is unknown; the message says what to do."""


def home_directory() -> str:
    """Return the home directory: HOME, or that of the account where HOME is no absolute path. Raises NoHomeError."""
    home = os.environ.get("HOME", "")
    if os.path.isabs(home):
        return home.rstrip("/") or "/"
    try:
        return account_home()
    except NoHomeError as error:
        raise NoHomeError(f"HOME is not set, and {error}: or set HOME") from None


def account_home() -> str:
    """Return the home directory that the password database has for the account. Raises NoHomeError."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir.rstrip("/") or "/"
    except KeyError:
        raise NoHomeError(f"the account {os.getuid()} has no home directory: give --home DIR") from None


def config_directory(home: str) -> str:
    """Return the directory of the user layer."""
    return home + "/.config/hookrun"


def state_dir(home: str) -> str:
    """Return the directory of the audit, session markers, locks and backups."""
    return home + "/.local/state/hookrun"


def cache_dir(home: str) -> str:
    """Return the directory of compiled declarations and digests, all of which can be made again."""
    return home + "/.cache/hookrun"


def data_dir(home: str) -> str:
    """Return the directory of the user's decisions (the trust store)."""
    return home + "/.local/share/hookrun"


def make_private_dir(path: str) -> None:
    """Create a directory and its missing parents with mode 0700 less the umask. Raises OSError.

    The umask itself is left alone: it belongs to all threads of a program.
    """
    try:
        _make_one(path)
    except FileNotFoundError:
        above = os.path.dirname(path)
        if above == path:
            raise
        make_private_dir(above)
        _make_one(path)  # once: in /proc nothing can be created, whatever is above it


def _make_one(path: str) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def file_name_for(*parts: str) -> str:
    """Return a file name of 32 hexadecimal digits that stands for arbitrary texts.

    Not a digest, because `hashlib` costs 3 ms on the hot path: texts chosen to collide only cost their author a file.
    """
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"{int.from_bytes(data, 'big') % ((1 << 127) - 1):032x}"


def open_private(path: str, flags: int) -> int:
    """Open a file with mode 0600 and return its descriptor; its directory is created if need be. Raises OSError.

    A symbolic link in its place is not followed.
    """
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        make_private_dir(os.path.dirname(path))
        return os.open(path, flags, 0o600)


def remove_oldest(directory: str, keep: int) -> None:
    """Remove the oldest files of a directory beyond `keep`. Another process may do the same at the same time."""
    try:
        with os.scandir(directory) as entries:
            files = sorted((each.stat(follow_symlinks=False).st_mtime_ns, each.path) for each in entries)
        for _, path in files[:-keep]:
            os.unlink(path)
    except OSError:
        return


def sessions_dir(home: str) -> str:
    """Return the directory of an account's session markers."""
    return state_dir(home) + "/sessions"


def mark_notice_shown(home: str, session_id: str | None, cause: str) -> bool:
    """Record that a notice was shown in a session, and return whether this was the first time.

    Without a session, and where nothing can be recorded, it is always the first time.
    """
    if not session_id:
        return True
    path = f"{sessions_dir(home)}/{file_name_for('told', session_id, cause)}"
    try:
        os.close(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    except OSError:
        return True
    remove_oldest(sessions_dir(home), MAX_SESSION_FILES)
    return True


def count_stop_block(home: str, session_id: str | None, what: str) -> bool:
    """Count one more consecutive block of a stop, and return whether it still counts (the first MAX_STOP_BLOCKS do).

    `what` is which stop: the turn's, or that of one subagent. After the last one the count begins anew.
    """
    if not session_id:
        return True
    path = _counter(home, session_id, what)
    try:
        fd = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(fd, b".")
            count = os.fstat(fd).st_size
        finally:
            os.close(fd)
    except OSError:
        return True
    if count == 1:
        remove_oldest(sessions_dir(home), MAX_SESSION_FILES)
    if count <= MAX_STOP_BLOCKS:
        return True
    reset_stop_blocks(home, session_id, what)
    return False


def stop_was_blocked(home: str, session_id: str | None, what: str) -> bool:
    """Return whether the previous stop was blocked, so that this one ends a turn that was kept running."""
    return bool(session_id) and os.path.exists(_counter(home, session_id or "", what))


def reset_stop_blocks(home: str, session_id: str | None, what: str) -> None:
    """Forget the blocks of a stop that is no longer blocked: the next block is the first of its row."""
    if session_id:
        try:
            os.unlink(_counter(home, session_id, what))
        except OSError:
            return


def _counter(home: str, session_id: str, what: str) -> str:
    return f"{sessions_dir(home)}/{file_name_for('blocks', session_id, what)}"


def save_overflow_text(home: str, text: str) -> str | None:
    """Write a text to a new private file and return its path, or None where that fails."""
    directory = state_dir(home) + "/texts"
    path = f"{directory}/{os.urandom(8).hex()}.txt"
    try:
        fd = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with open(fd, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError:
        return None
    remove_oldest(directory, MAX_OVERFLOW_TEXTS)
    return path
