"""Directories that are the account's alone, each parent that has to be made included."""

from __future__ import annotations

import os


def make(path: str) -> None:
    """Make the directory and what is missing above it, all 0700, less what the umask takes away. Raises OSError.

    Without a look at the umask: that belongs to all threads of a program.
    """
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    except FileNotFoundError:
        above = os.path.dirname(path)
        if above == path:
            raise
        make(above)
        make(path)
