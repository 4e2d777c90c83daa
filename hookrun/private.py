"""Directories that are the account's alone, each parent that has to be made included, and names for files in them."""

from __future__ import annotations

import os


def make(path: str) -> None:
    """Make the directory and what is missing above it, all 0700, less what the umask takes away. Raises OSError.

    Without a look at the umask: that belongs to all threads of a program.
    """
    try:
        _make_one(path)
    except FileNotFoundError:
        above = os.path.dirname(path)
        if above == path:
            raise
        make(above)
        _make_one(path)  # once: in /proc nothing can be made, whatever is above it


def _make_one(path: str) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def label(*parts: str) -> str:
    """Return the name of a file that stands for these texts, whatever is in them: 32 hexadecimal digits.

    No digest, for `hashlib` costs 3 ms on the hot path; two that fall together by design cost their maker a file.
    """
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"{int.from_bytes(data, 'big') % ((1 << 127) - 1):032x}"


def open_file(path: str, flags: int) -> int:
    """Open a file that is the account's alone, and make it where the flags say so; return its descriptor.

    Its directory is made if need be; a link in its place is not followed. Raises OSError.
    """
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        make(os.path.dirname(path))
        return os.open(path, flags, 0o600)


def prune(where: str, most: int) -> None:
    """Take the oldest files of a directory away where there are more than so many. Another process may be at it too."""
    try:
        with os.scandir(where) as entries:
            files = sorted((each.stat(follow_symlinks=False).st_mtime_ns, each.path) for each in entries)
        for _, path in files[:-most]:
            os.unlink(path)
    except OSError:
        return
