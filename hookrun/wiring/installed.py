"""Which coding agents are on this machine, and in which version."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass

VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-+][0-9A-Za-z.-]+)?")
PATIENCE = 10.0
"""Seconds for an agent to say its version."""

DEPTH = 8
"""How many directories above its program an agent's package.json may lie."""


@dataclass(frozen=True, slots=True)
class Installed:
    """An agent's program on this machine, and its version; None where it would not say."""

    program: str
    version: str | None


def find(program: str) -> Installed | None:
    """Return the agent whose program has this name on PATH, None if there is none.

    Its version is that of its npm package; only without one the program is run, to print it.
    """
    path = shutil.which(program)
    if path is None:
        return None
    return Installed(path, _packaged(path) or _printed(path))


def _packaged(path: str) -> str | None:
    """Return the version in the package.json around a program's real file."""
    directory = os.path.dirname(os.path.realpath(path))
    for _ in range(DEPTH):
        try:
            with open(os.path.join(directory, "package.json"), "rb") as file:
                package = json.load(file)
        except (OSError, ValueError):
            directory = os.path.dirname(directory)
            continue
        if isinstance(package, dict) and isinstance(package.get("bin"), (dict, str)):
            version = package.get("version")
            return version if isinstance(version, str) and VERSION.fullmatch(version) else None
        directory = os.path.dirname(directory)
    return None


def _printed(path: str) -> str | None:
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            cwd=os.path.dirname(path),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = VERSION.search(done.stdout.decode("utf-8", "replace"))
    return match.group() if match is not None else None
