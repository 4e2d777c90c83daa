"""Store data between a recipe's runs, in small private files, locked while in use."""

from __future__ import annotations

import fcntl
import os

from hookrun.core.fastjson import dumps, loads
from hookrun.core.state import STATE_DIR, NoHomeError, file_name_for, home_directory, open_private, remove_oldest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Files of one recipe; beyond that the oldest are removed.
MAX_FILES = 256
# Larger files are not ours and are overwritten.
MAX_BYTES = 1 << 20
# How often a file is reopened after another process removed it.
MAX_ATTEMPTS = 100


def directory(recipe: str) -> str:
    """Return the directory of a recipe's files. The hook fails without a home directory."""
    try:
        return f"{home_directory()}{STATE_DIR}/recipes/{recipe}"
    except NoHomeError as error:
        raise SystemExit(f"{recipe}: {error}") from None


class LockedState:
    """The object stored under a key, to change in place in a `with`, locked against other processes.

    It is empty at first, or if the file holds something else, and written back at the end, unless an exception is
    raised. `is_lost`: the file held something else. The hook fails, with the reason, if the file cannot be used.
    """

    def __init__(self, recipe: str, *key: str) -> None:
        self._recipe = recipe
        self._directory = directory(recipe)
        self._path = f"{self._directory}/{file_name_for(*key)}"

    def __enter__(self) -> dict[str, object]:
        try:
            self._fd = _open_locked(self._path)
        except OSError as error:
            raise _unusable(self._recipe, self._path, error) from None
        try:
            self._before = _read(self._fd)
            self._data = _object(self._before)
            self.is_lost = bool(self._before) and not self._data and self._before.strip() != b"{}"
        except BaseException:
            os.close(self._fd)
            raise
        return self._data

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._write()
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)  # a child forked by another thread keeps the descriptor
            os.close(self._fd)
        if kind is None and not self._before:
            remove_oldest(self._directory, MAX_FILES)

    def _write(self) -> None:
        after = dumps(self._data).encode()
        if after != self._before:
            try:
                os.pwrite(self._fd, after.ljust(len(self._before)), 0)  # whole even if this is our last act
                os.ftruncate(self._fd, len(after))
            except OSError as error:
                raise _unusable(self._recipe, self._path, error) from None


def session_id(context: Mapping[str, object]) -> str:
    """Return a context's session, "" without one."""
    session = context.get("session_id")
    return session if isinstance(session, str) else ""


def first_time(context: Mapping[str, object], cause: str) -> bool:
    """Return whether this is the first time in the session, and remember it."""
    from hookrun.core.session import mark_notice_shown

    return mark_notice_shown(home_directory(), session_id(context) or None, f"recipe {cause}")


def once(context: Mapping[str, object], cause: str, text: str) -> dict[str, object] | None:
    """Return the verdict that shows the user a text once per session, None afterwards."""
    return {"action": "continue", "system_message": text} if first_time(context, cause) else None


def _unusable(recipe: str, path: str, error: OSError) -> SystemExit:
    why = f"{error.filename or path}: {error.strerror or error}"
    return SystemExit(f"{recipe}: cannot store its state: {why}")


def _open_locked(path: str) -> int:
    for _ in range(MAX_ATTEMPTS):
        fd = open_private(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            # Another process may have removed the file, as one of the oldest, before we got the lock.
            mine, there = os.fstat(fd), os.lstat(path)
            if (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino):
                return fd
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
    raise OSError(f"{path}: another process keeps removing it")


def _read(fd: int) -> bytes:
    data = bytearray()
    while piece := os.pread(fd, MAX_BYTES + 1 - len(data), len(data)):
        data += piece
    return bytes(data)


def _object(data: bytes) -> dict[str, object]:
    try:
        value = loads(data.decode()) if len(data) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}
