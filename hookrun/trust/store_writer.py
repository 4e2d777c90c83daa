"""Changes what is decided: under a lock, read, changed, and replaced whole or not at all."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hookrun import state
from hookrun.state import data_dir
from hookrun.trust.store import NAME, VERSION, Store, open_directory, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LOCK = "trust.lock"
MOST_APPROVED = 5000
"""Digests that are kept; beyond that the oldest go. Those of other branches are not asked for again."""


@contextmanager
def locked_store(home: str, owners: Iterable[int] = ()) -> Iterator[Store]:
    """Give the store to be changed, and write it when the block ends well; others who want to change it wait.

    Raises StoreError where the store cannot be believed, OSError where it cannot be written: then it is as it was.
    """
    where = data_dir(home)
    state.make_private_dir(where)
    fd = open_directory(where, owners)
    try:
        os.fchmod(fd, 0o700)
        lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=fd)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the system gives it back when we are killed
            store = read(fd, where)
            yield store
            write(fd, NAME, _text(store))
        finally:
            os.close(lock)
    finally:
        os.close(fd)


def write(directory_fd: int, name: str, text: str) -> None:
    """Put a file of the store into the place of the one before: whole, on the disk, or not at all. Raises OSError."""
    temporary = f"{name}.{os.getpid()}.tmp"
    _remove(directory_fd, temporary)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600, dir_fd=directory_fd)
    try:
        try:
            data = memoryview(text.encode("ascii"))
            while data:
                data = data[os.write(fd, data) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, name, src_dir_fd=directory_fd, dst_dir_fd=directory_fd)
    except OSError as error:
        _remove(directory_fd, temporary)
        error.filename = error.filename or name
        raise
    os.fsync(directory_fd)
    _sweep(directory_fd)


def _sweep(directory_fd: int) -> None:
    """Remove what writers that were killed have left. Nobody else writes: the lock is ours."""
    for name in os.listdir(directory_fd):
        if name.startswith(NAME) and name.endswith(".tmp"):
            _remove(directory_fd, name)


def _remove(directory_fd: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=directory_fd)
    except FileNotFoundError:
        return


def _text(store: Store) -> str:
    newest = sorted(store.approved.items(), key=lambda item: item[1]["time"])[-MOST_APPROVED:]
    data = {
        "version": VERSION,
        "approved": dict(newest),
        "denied": store.denied,
        "disabled": store.disabled,
        "paused": store.paused,
    }
    return json.dumps(data, indent=1) + "\n"
