"""Directories that are the account's alone, each parent that has to be made included."""

from __future__ import annotations

import os


def make(path: str) -> None:
    """Make the directory and what is missing above it, all 0700 whatever the umask allows. Raises OSError."""
    before = os.umask(0o077)
    try:
        os.makedirs(path, 0o700, exist_ok=True)
    finally:
        os.umask(before)
