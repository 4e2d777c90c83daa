"""Read and write launcher.conf, the private file with a launcher's server and its command without one.

Cold runs load this, so it imports only `os` and `state`.
"""

from __future__ import annotations

import os

from hookrun.core.state import DATA_DIR, PENDING, open_private, read_own

# The file's name, in the launchers' directory.
NAME = "launcher.conf"

# The first line; any other is not understood.
VERSION = "hookrun-launcher 1"

# The required `st_mode`: a regular file that only its owner reads.
PRIVATE_FILE = 0o100600

MAX_BYTES = 1 << 18

# The lines with what a launcher answers without hookrun: see client/gate.h, and trust/launcher_gate.py for the script.
GATE = frozenset({"guard", "place", "lost", "gone", "because"})


class LauncherFile:
    """A launcher's settings: the words of the cold command up to `fire`, and the server's socket, None for never.

    `gate` are the lines with what it answers alone.
    """

    __slots__ = ("command", "gate", "socket")

    def __init__(self, command: list[str], socket: str | None = None, gate: list[str] | None = None) -> None:
        self.command = command
        self.socket = socket
        self.gate = gate or []

    def text(self) -> str:
        """Return the file's text. Raises ValueError for a value that does not fit on a line."""
        lines = [VERSION] if self.socket is None else [VERSION, f"socket {self.socket}"]
        lines += [f"exec {word}" for word in self.command] + self.gate
        if any("\n" in line or "\0" in line for line in lines):
            raise ValueError("a path has a line break")
        return "\n".join(lines) + "\n"


def path_in(home: str, name: str = NAME) -> str:
    """Return the path of a home's file, or of another one beside it: an agent's launcher has the agent's name."""
    return f"{home}{DATA_DIR}/{name}"


def parse(text: str) -> LauncherFile | None:
    """Return a text's settings, None if not understood."""
    first, *lines = text.split("\n")
    if first != VERSION or not text.endswith("\n"):
        return None
    values: dict[str, list[str]] = {"socket": [], "exec": []}
    gate = []
    for line in lines[:-1]:
        key, space, value = line.partition(" ")
        if key in GATE:
            gate.append(line)
            continue
        if key not in values or not space or not value:
            return None
        values[key].append(value)
    if not values["exec"] or len(values["socket"]) > 1:
        return None
    return LauncherFile(values["exec"], next(iter(values["socket"]), None), gate)


def read(path: str) -> LauncherFile | None:
    """Return the file's settings, None if missing, damaged, or writable by another account."""
    try:
        status = os.lstat(path)
        is_fit = status.st_mode == PRIVATE_FILE and status.st_size <= MAX_BYTES
        return parse(os.fsdecode(read_own(path))) if is_fit else None
    except (OSError, ValueError):
        return None


def note_change(home: str) -> None:
    """Have the next run write again what a home's launchers answer alone, if it has any."""
    if os.path.exists(path_in(home)):
        try:
            fd = open_private(home + PENDING, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK)
            with open(fd, "wb", buffering=0) as file:
                file.write(b"changed\n")
        except OSError:  # a full disk, a home that cannot be written: no verdict may hang on it
            return


def write(path: str, data: bytes, mode: int = 0o600) -> None:
    """Write a file in the launchers' directory, with just this mode. Raises OSError.

    The old file may be running: it is replaced, never written to. The new one is on disk afterwards: a launcher left
    empty by a power cut would silently pass every call.
    """
    from hookrun.core.files import atomic_write

    atomic_write(path, data, mode=mode, exact=True, durable=True)


def update_socket(path: str, command: list[str], socket: str | None, renewed: list[str] | None = None) -> bool:
    """Make a launcher of `command` look for the server at `socket`; return whether the file had to change.

    `renewed` is its new command.

    A launcher that starts another hookrun is left alone. Raises OSError.
    """
    found = read(path)
    if found is None or found.command != command:
        return False
    return _replace(path, found, LauncherFile(renewed or command, socket, found.gate))


def update_gate(path: str, lines: list[str]) -> bool:
    """Make launchers answer so without hookrun; return whether the file had to change. Raises OSError."""
    found = read(path)
    return found is not None and _replace(path, found, LauncherFile(found.command, found.socket, lines))


def _replace(path: str, found: LauncherFile, wanted: LauncherFile) -> bool:
    if found.text() == wanted.text():
        return False
    write(path, os.fsencode(wanted.text()))
    return True
