"""A second account on this machine, made for a test and removed with all that is in it. It needs root."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree, which


@contextmanager
def second_account(directory: Path) -> Iterator[Path]:
    """Make an account with its home in `directory`, which others may enter, and yield that home."""
    name = f"hookrun-{uuid.uuid4().hex[:8]}"
    home = directory / name
    subprocess.run(["useradd", "--create-home", "--home-dir", home, "--shell", "/bin/sh", name], check=True)
    try:
        yield home
    finally:
        subprocess.run(["userdel", name], check=True)
        rmtree(home, ignore_errors=True)


def can_make_accounts() -> bool:
    """Return whether there is a program for that."""
    return which("useradd") is not None and which("userdel") is not None
