"""Replace files atomically, hold locks, and test whether a path is in a directory. Not on the hot path."""

from __future__ import annotations

import os
import stat
from errno import EINVAL
from io import BufferedReader

# Beginning and end of a temporary file's name; no agent reads such a file.
PREFIX, SUFFIX = ".hookrun-", ".tmp"
# What is read of a file at most: a project may hold one of any size.
MAX_READ = 1 << 24


def is_within(path: str, directory: str) -> bool:
    """Return whether a path is the directory or below it; both are absolute, links resolved."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


def upwards(directory: str, last: str) -> list[str]:
    """Return the directory and those above it up to `last`, nothing if it is not within `last`."""
    found = [directory] if is_within(directory, last) else []
    while found and found[-1] not in (last, os.sep):
        found.append(os.path.dirname(found[-1]))
    return found


def relative_path(path: str) -> str:
    """Return a path's shortest form: relative to the working directory, from HOME as `~`, or as given."""
    home = os.environ.get("HOME", "").rstrip("/")
    ways = [path]
    if home and path.startswith(f"{home}/"):
        ways.append(f"~{path[len(home) :]}")
    try:
        ways.insert(0, os.path.relpath(path))
    except OSError:  # the working directory is gone
        pass
    return min(ways, key=len)


class NotRegularError(OSError):
    """The file is neither a regular file nor a directory."""


def open_regular(path: str) -> BufferedReader:
    """Open a file to read its bytes, without waiting for a FIFO.

    Raises OSError; IsADirectoryError or NotRegularError if it is no regular file.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(fd, "rb")
    os.close(fd)
    raise (IsADirectoryError if stat.S_ISDIR(mode) else NotRegularError)(EINVAL, "not a regular file", path)


def read_regular(path: str, limit: int) -> bytes:
    """Return a file's bytes, at most one more than `limit`, without waiting for a FIFO. Raises as `open_regular`."""
    with open_regular(path) as file:
        return file.read(limit + 1)


def read_or_none(path: str, limit: int = MAX_READ) -> bytes | None:
    """Return a regular file's bytes, at most `limit`; None if unreadable, or none."""
    try:
        return read_regular(path, limit)[:limit]
    except (OSError, ValueError):
        return None


class Locked:
    """The exclusive lock of a directory, or of a file (created with mode 0600), held in a `with`.

    Waits for the process that holds it. The system releases a killed process's lock. Raises OSError.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> int:
        """Return the file's descriptor."""
        import fcntl  # a library that most users of this module never need

        flags = os.O_CLOEXEC | os.O_NOFOLLOW
        if os.path.isdir(self._path):
            self._fd = os.open(self._path, flags | os.O_RDONLY | os.O_DIRECTORY)
        else:
            self._fd = os.open(self._path, flags | os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        except BaseException:
            os.close(self._fd)
            raise
        return self._fd

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def atomic_write(path: str, data: bytes, *, mode: int = 0o600, exact: bool = False, durable: bool = False) -> None:
    """Replace the file at `path` atomically. Raises OSError, with the old file unchanged.

    An existing file's mode and owner are kept; a new one gets `mode` less the umask. With `exact` the file is this
    account's, with just this mode, whatever was there. `path` must not be a symbolic link. With `durable`, file and
    directory are then on disk. A killed process can leave a temporary file, which `sweep` removes.
    """
    temporary = _temporary_beside(path)
    try:
        like = None if exact else os.stat(path)
    except FileNotFoundError:
        like = None
    first = mode if like is None and not exact else 0o600
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, first)
        with open(fd, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            if like is not None:
                own = os.fstat(fd)
                if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
                    os.fchown(fd, like.st_uid, like.st_gid)
                os.fchmod(fd, stat.S_IMODE(like.st_mode))
            if exact:
                os.fchmod(fd, mode)
            if durable:
                os.fsync(fd)
        os.replace(temporary, path)
    except BaseException as error:
        remove_if_there(temporary)
        if isinstance(error, OSError):
            error.filename, error.filename2 = path, None  # nobody knows the temporary one
        raise
    if durable:
        sync_directory(os.path.dirname(path))


def atomic_link(path: str, target: str) -> None:
    """Replace `path` atomically by a symbolic link. Raises OSError."""
    temporary = _temporary_beside(path)
    try:
        os.symlink(target, temporary)
        os.replace(temporary, path)
    except BaseException:
        remove_if_there(temporary)
        raise


def _temporary_beside(path: str) -> str:
    return os.path.join(os.path.dirname(path), f"{PREFIX}{os.urandom(6).hex()}{SUFFIX}")


def sweep(directory: str) -> None:
    """Remove killed writers' temporary files. Raises OSError."""
    for name in os.listdir(directory):
        if name.startswith(PREFIX) and name.endswith(SUFFIX):
            remove_if_there(os.path.join(directory, name))


def remove_if_there(path: str) -> None:
    """Remove a file if it exists. Raises OSError."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def sync_directory(directory: str) -> None:
    """Wait until a directory's entries are on disk. Raises OSError."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def rotate(path: str, max_bytes: int, keep: int, max_size: int | None = None, max_age: int | None = None) -> None:
    """Rename a log `.jsonl` to .1, .1 to .2, and so on, if it is larger than `max_bytes`; remove those `beyond`.

    Does nothing if another process is doing, or just did, so. Raises OSError.
    """
    import fcntl

    fd = os.open(path.removesuffix(".jsonl") + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path).st_size <= max_bytes:
            return
        aside = 0
        while aside < keep - 1 and os.path.exists(f"{path}.{aside + 1}"):
            aside += 1
        for number in range(aside, 0, -1):
            os.replace(f"{path}.{number}", f"{path}.{number + 1}")
        os.replace(path, f"{path}.1")
        for old in beyond(path, max_size, max_age):
            remove_if_there(old)
    except (BlockingIOError, FileNotFoundError):  # another process is rotating it, or just did
        return
    finally:
        os.close(fd)


def beyond(path: str, max_size: int | None, max_age: int | None) -> list[str]:
    """Return the rotated logs that make all more than `max_size` bytes, or were last written `max_age` days ago."""
    from time import time

    total, number, found = 0, 0, list[str]()
    while True:
        name = f"{path}.{number}" if number else path
        number += 1
        try:
            status = os.stat(name)
        except FileNotFoundError:
            if number > 1:
                return found
            continue  # just rotated
        total += status.st_size
        too_old = max_age is not None and time() - status.st_mtime > max_age * 86_400
        if name != path and (found or too_old or (max_size is not None and total > max_size)):
            found.append(name)
