"""What recipes remember from one run to the next: small private files of the account, one holder at a time."""

from __future__ import annotations

import fcntl
import os

from hookrun import state
from hookrun.config.discovery import NoHomeError, home_directory
from hookrun.fastjson import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_FILES = 256
"""Files that one recipe keeps; beyond that the oldest go."""
LARGEST = 1 << 20
"""Bytes of a file that are read: what is larger is not ours."""
TRIES = 100
"""How often a file is opened anew because another process has just put it aside."""


def directory(recipe: str) -> str:
    """Return where a recipe keeps its files. Ends the hook as failed where the account has no home."""
    try:
        return f"{state.state_dir(home_directory())}/recipes/{recipe}"
    except NoHomeError as error:
        raise SystemExit(f"{recipe}: {error}") from None


class held:  # noqa: N801  # used as the function that it stands for: with held(...) as remembered
    """Gives what is remembered under these words, to be changed in place, while no other process has it.

    It is an empty object at first, and where the file holds something else. It is written back at the end, unless
    something was raised. Ends the hook as failed, with why, where the file cannot be used.
    """

    __slots__ = ("_before", "_data", "_directory", "_fd", "_path", "_recipe")

    def __init__(self, recipe: str, *key: str) -> None:
        self._recipe = recipe
        self._directory = directory(recipe)
        self._path = f"{self._directory}/{state.file_name_for(*key)}"

    def __enter__(self) -> dict[str, object]:
        """Wait until no other process has it."""
        try:
            self._fd = _locked(self._path)
        except OSError as error:
            raise self._unusable(error) from None
        try:
            self._before = _read(self._fd)
            self._data = _object(self._before)
        except BaseException:
            os.close(self._fd)
            raise
        return self._data

    def __exit__(self, kind: object, *_: object) -> None:
        """Write it back if it has changed, and let others have it."""
        try:
            after = dumps(self._data).encode()
            if kind is None and after != self._before:
                os.pwrite(self._fd, after, 0)
                os.ftruncate(self._fd, len(after))
        except OSError as error:
            raise self._unusable(error) from None
        finally:
            os.close(self._fd)
        if not self._before:
            state.remove_oldest(self._directory, MOST_FILES)

    def _unusable(self, error: OSError) -> SystemExit:
        why = f"{error.filename or self._path}: {error.strerror or error}"
        return SystemExit(f"{self._recipe}: what it has to remember cannot be kept: {why}")


def first_time(context: Mapping[str, object], cause: str) -> bool:
    """Tell whether this is told to the session's person for the first time, and remember that it was."""
    told = context.get("session_id")
    return state.mark_notice_shown(home_directory(), told if isinstance(told, str) else None, f"recipe {cause}")


def once(context: Mapping[str, object], cause: str, text: str) -> dict[str, object] | None:
    """Return the answer that tells the person something once in a session, None when it was told before."""
    return {"action": "continue", "system_message": text} if first_time(context, cause) else None


def _locked(path: str) -> int:
    """Return the file, opened and locked, as it lies there now: it may be put aside while the lock is waited for."""
    for _ in range(TRIES):
        fd = state.open_private(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            mine, there = os.fstat(fd), os.lstat(path)
            if (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino):
                return fd
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
    raise OSError(f"{path}: it is put aside again and again")


def _read(fd: int) -> bytes:
    data = bytearray()
    while piece := os.pread(fd, LARGEST + 1 - len(data), len(data)):
        data += piece
    return bytes(data)


def _object(data: bytes) -> dict[str, object]:
    try:
        value = loads(data.decode()) if len(data) <= LARGEST else None
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}
