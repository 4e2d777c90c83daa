"""Where the server of an account listens: a socket for each installation of hookrun and each control group.

Another version, interpreter or home has another name, so that two installations never meet.
"""

from __future__ import annotations

import os
import sys
from stat import S_ISDIR

from hookrun.state import file_name_for, state_dir

PROTOCOL = 1
"""The version of what clients and the server say to each other."""

MAX_PATH = 100
"""Bytes of a socket's path; the system allows 108, macOS 104."""
DIGITS = 16
SUFFIX = len("-.sock") + DIGITS


def socket_base(home: str, python: str = sys.executable) -> str | None:
    """Return the beginning of the socket's path, as it stands in launcher.conf; None if the path would be too long.

    `python` is the server's interpreter.
    """
    name = file_name_for(str(os.geteuid()), python, str(PROTOCOL), home, *package_identity())[-DIGITS:]
    # Not XDG_RUNTIME_DIR: a project can set the environment of an agent.
    runtime = f"/run/user/{os.geteuid()}"
    base = f"{runtime}/hookrun/{name}" if is_private(runtime) else f"{state_dir(home)}/run/{name}"
    return base if len(os.fsencode(base)) + SUFFIX <= MAX_PATH and "\n" not in base else None


def socket_here(base: str) -> str:
    """Return the socket of this process's control group; without those (macOS), of its limits and its priority."""
    try:
        with open("/proc/self/cgroup", "rb") as file:
            shared = file.read()
    except OSError:
        shared = _limits()
    return f"{base}-{fnv1a(shared):016x}.sock"


def _limits() -> bytes:
    """Return soft and hard limit of every resource, and nice, as the client writes them."""
    from resource import getrlimit

    values: list[int] = []
    try:
        while True:
            values += getrlimit(len(values) // 2)
    except ValueError:  # the last resource was the one before
        values.append(os.getpriority(os.PRIO_PROCESS, 0))
    return b"".join((value & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little") for value in values)


def fnv1a(data: bytes) -> int:
    """Return the 64-bit FNV-1a hash, as the client computes it."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


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
    directories = [os.path.dirname(__file__)]
    for directory in directories:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    found.append(entry.path)
                elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                    directories.append(entry.path)
    return sorted(found)


def package_identity() -> list[str]:
    """Return a text for each module of this package that changes when the module does; empty if one vanishes."""
    try:
        return [_identity(path) for path in package_files()]
    except OSError:
        return []


def _identity(path: str) -> str:
    status = os.stat(path)
    return f"{path} {status.st_mtime_ns} {status.st_size} {status.st_ino}"
