"""Read and write launcher.conf, the private file that tells a launcher where the server is, and how to run without it.

Cold runs load this too, so it imports `os` and `state` only.
"""

from __future__ import annotations

import os

from hookrun.state import DATA_DIR

NAME = "launcher.conf"
"""The file's name, in the directory of the launchers."""

VERSION = "hookrun-launcher 1"
"""The first line: another one is not understood."""

PRIVATE_FILE = 0o100600
"""What `st_mode` must be: a regular file that only its owner reads."""

MAX_BYTES = 1 << 14


class LauncherFile:
    """What a launcher reads: the words of the cold command up to `fire`, and the server's socket, None for never."""

    __slots__ = ("command", "socket")

    def __init__(self, command: list[str], socket: str | None = None) -> None:
        self.command = command
        self.socket = socket

    def text(self) -> str:
        """Return the file's text. Raises ValueError for a value that no line can hold."""
        lines = [VERSION] if self.socket is None else [VERSION, f"socket {self.socket}"]
        lines += [f"exec {word}" for word in self.command]
        if any("\n" in line or "\0" in line for line in lines):
            raise ValueError("a path has a line break")
        return "\n".join(lines) + "\n"


def path_in(home: str, name: str = NAME) -> str:
    """Return where the file of a home is, or one of another name beside it: an agent's launcher has the agent's."""
    return f"{home}{DATA_DIR}/{name}"


def parse(text: str) -> LauncherFile | None:
    """Return what a text says; None where it is not understood."""
    first, *lines = text.split("\n")
    if first != VERSION or not text.endswith("\n"):
        return None
    values: dict[str, list[str]] = {"socket": [], "exec": []}
    for line in lines[:-1]:
        key, space, value = line.partition(" ")
        if key not in values or not space or not value:
            return None
        values[key].append(value)
    if not values["exec"] or len(values["socket"]) > 1:
        return None
    return LauncherFile(values["exec"], next(iter(values["socket"]), None))


def read(path: str) -> LauncherFile | None:
    """Return what the file says; None where there is none, another account could have written it, or it is damaged."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid() or status.st_mode != PRIVATE_FILE or status.st_size > MAX_BYTES:
            return None
        return parse(os.fsdecode(os.read(fd, MAX_BYTES)))
    except OSError:
        return None
    finally:
        os.close(fd)


def write(path: str, data: bytes, mode: int = 0o600) -> None:
    """Put a file into the directory of the launchers, with just this mode. Raises OSError.

    The file that is there may be running: it is replaced, never written to. It is on disk afterwards: a launcher that a
    power cut leaves empty would pass every call in silence.
    """
    from hookrun.files import atomic_write

    atomic_write(path, data, mode=mode, exact=True, durable=True)


def update_socket(path: str, command: list[str], socket: str | None, renewed: list[str] | None = None) -> bool:
    """Make a launcher that starts `command` look for the server at `socket`; return whether the file had to change.

    `renewed` is what it starts from then on.

    A launcher that starts another hookrun is left alone. Raises OSError.
    """
    found, wanted = read(path), LauncherFile(renewed or command, socket)
    if found is None or found.command != command or found.text() == wanted.text():
        return False
    write(path, os.fsencode(wanted.text()))
    return True
