"""The terminal that an agent runs in, seen from a hook, which has none: that of the nearest process above that has."""

from __future__ import annotations

import os
import subprocess

FARTHEST = 32
"""Processes above that are looked at."""
SECONDS = 5.0


def device() -> str | None:
    """Return the terminal's device, None where no process above has one or `ps` is not there."""
    process = os.getppid()
    for _ in range(FARTHEST):
        found = _parent_and_terminal(process)
        if found is None:
            return None
        process, name = found
        if name.strip("?-"):
            return f"/dev/{name}"
        if process <= 1:
            return None
    return None


def _parent_and_terminal(process: int) -> tuple[int, str] | None:
    """Return the parent of a process and the name of its terminal, as ps(1) has it on Linux and macOS alike."""
    try:
        done = subprocess.run(
            ["ps", "-o", "ppid=,tty=", "-p", str(process)],  # noqa: S607  # /bin/ps or /usr/bin/ps
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        parent, name = done.stdout.decode().split()
        return int(parent), name
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
