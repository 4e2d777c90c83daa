"""Find a hook's files by git: what it tracks, and settings of the repository that name programs.

Sources: gitformat-index(5), git-config(1).
"""

from __future__ import annotations

import os

# Ends of the names of git's settings that name programs or files with such (git-config(1)).
GIT_PROGRAMS = (
    "command", "program", "hookspath", "fsmonitor", "editor", "pager", "helper", "clean", "smudge", "process",
    "textconv", "driver", "external", "path", "askpass", "cmd", "uploadpack", "receivepack", "exec", "gitproxy",
)  # fmt: skip

COMPRESSED = (4).to_bytes(4, "big")
LARGEST_INDEX = 64 << 20


def settings_with_programs(directory: str) -> str | None:
    """Return the settings file of the repository around a directory if it names programs, else None."""
    while not os.path.isfile(path := f"{directory.rstrip('/')}/.git/config"):
        if directory == "/":
            return None
        directory = os.path.dirname(directory)
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read(LARGEST_INDEX)
    for line in text.lower().splitlines():
        name, _, program = (each.strip() for each in line.partition("="))
        if program[:1] == "!" or (name.endswith(GIT_PROGRAMS) and program not in ("", "true", "false")):
            return path
    return None


def is_tracked(path: str, top: str, data: bytes) -> bool:
    """Return whether the index of the repository at `top` has a plain path."""
    if not path.startswith(top.rstrip("/") + "/"):
        return False
    name = os.fsencode(path[len(top.rstrip("/")) + 1 :])
    if data[4:8] == COMPRESSED:  # version 4 stores only the ends of names
        return name.rpartition(b"/")[2] + b"\0" in data
    length = min(len(name), 0xFFF)
    at = data.find(name + b"\0")
    while at > 0:
        # A name follows two bytes of length; entries with more flags have those in between.
        flags = (data[at - 2 : at], data[at - 4 : at - 2])
        if any(int.from_bytes(each, "big") & 0xFFF == length for each in flags):
            return True
        at = data.find(name + b"\0", at + 1)
    return False


def git_index(root: str) -> tuple[str, bytes]:
    """Return the top of the repository around a directory, and its index; both empty without one."""
    top = root
    while not os.path.lexists(f"{top}/.git"):
        if top == "/":
            return "", b""
        top = os.path.dirname(top)
    directory = f"{top}/.git"
    try:
        if os.path.isfile(directory):  # a worktree or a submodule
            with open(directory, encoding="utf-8", errors="surrogateescape") as file:
                directory = os.path.join(top, file.read(4096).partition("gitdir:")[2].strip())
        with open(f"{directory}/index", "rb") as index:
            return top, index.read(LARGEST_INDEX)
    except (OSError, ValueError):
        return top, b""
