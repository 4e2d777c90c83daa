"""Where the server of an account listens: a socket for each installation of hookrun and each control group.

Another version, interpreter or home has another name, so that two installations never meet.
"""

from __future__ import annotations

import os
import sys
from stat import S_ISDIR

from hookrun.state import file_name_for, make_private_dir, state_dir

PROTOCOL = 1
"""The version of what clients and the server say to each other."""

MAX_PATH = 100
"""Bytes of a socket's path; the system allows 108, macOS 104."""
DIGITS = 16
SUFFIX = len("-.sock") + DIGITS


def socket_base(home: str, keep: str | None = None, python: str = sys.executable) -> str | None:
    """Return the beginning of the socket's path, as it stands in launcher.conf; None if the path would be too long.

    `keep` is the one that stands there now: its directory is kept if it is still private, whatever XDG_RUNTIME_DIR is.
    `python` is the interpreter of the server.
    """
    name = file_name_for(str(os.geteuid()), python, str(PROTOCOL), home, *package_identity())[-DIGITS:]
    directory = os.path.dirname(keep) if keep is not None else None
    if directory is None or not is_private(directory):
        directory = _runtime_directory() or state_dir(home) + "/run"
    base = f"{directory}/{name}"
    return base if len(os.fsencode(base)) + SUFFIX <= MAX_PATH and "\n" not in base else None


def socket_here(base: str) -> str:
    """Return the socket of this process's control group."""
    try:
        with open("/proc/self/cgroup", "rb") as file:
            return f"{base}-{fnv1a(file.read()):016x}.sock"
    except OSError:
        return f"{base}.sock"


def fnv1a(data: bytes) -> int:
    """Return the 64-bit FNV-1a hash, as the client computes it."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def _runtime_directory() -> str | None:
    """Return the directory for sockets in XDG_RUNTIME_DIR, if that is private; it is created if missing."""
    parent = os.environ.get("XDG_RUNTIME_DIR", "").rstrip("/")
    if not os.path.isabs(parent) or not is_private(parent):
        return None
    directory = f"{parent}/hookrun"
    try:
        make_private_dir(directory)
    except OSError:
        return None
    return directory if is_private(directory) else None


def is_private(directory: str) -> bool:
    """Return whether this is a directory of the account that nobody else can enter."""
    try:
        status = os.lstat(directory)
    except OSError:
        return False
    return S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o77


def package_files() -> list[str]:
    """Return the modules of this package, sorted."""
    found: list[str] = []
    for directory, names, files in os.walk(os.path.dirname(__file__)):
        names[:] = [name for name in names if name != "__pycache__"]
        found += [f"{directory}/{name}" for name in files if name.endswith(".py")]
    return sorted(found)


def package_identity() -> list[str]:
    """Return a text for each module of this package that changes when the module does; empty if one vanishes."""
    found = []
    for path in package_files():
        try:
            status = os.stat(path)
        except OSError:
            return []
        found.append(f"{path} {status.st_mtime_ns} {status.st_size} {status.st_ino}")
    return found
