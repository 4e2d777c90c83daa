"""Find a hook's files by git: what it tracks, and settings of the repository that name programs.

Sources: gitformat-index(5), git-config(1).
"""

from __future__ import annotations

import os

from hookrun.core.files import MAX_READ, is_within, read_or_none

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Ends of the names of git's settings that name programs or files with such (git-config(1)).
GIT_PROGRAMS = (
    "command", "program", "hookspath", "fsmonitor", "editor", "pager", "helper", "clean", "smudge", "process",
    "textconv", "driver", "external", "path", "askpass", "cmd", "uploadpack", "receivepack", "exec", "gitproxy",
)  # fmt: skip
# Values of such settings that name none.
PLAIN = ("", "true", "false")

COMPRESSED = (4).to_bytes(4, "big")
LARGEST_INDEX = 64 << 20
LARGEST_LINK = 4096  # bytes of a file with the path of a directory (PATH_MAX, limits.h)


def settings_with_programs(directory: str) -> Iterator[str]:
    """Yield the settings files of the repositories around a directory that name programs, and paths that those name."""
    for top, own in _repositories(directory):
        common = _led(own, _text(f"{own}/commondir", LARGEST_LINK))
        for path in dict.fromkeys((f"{common}/config", f"{own}/config.worktree")):
            text = _text(path, MAX_READ)
            if len(text) == MAX_READ:  # the rest is not read
                yield path
            for line in text.splitlines():
                name, _, program = (each.strip() for each in line.partition("="))
                is_path = name.lower().endswith("path")
                if program[:1] == "!" or (name.lower().endswith(GIT_PROGRAMS) and program.lower() not in PLAIN):
                    yield path
                    named = [word for word in program.strip('"!').split() if is_path or "/" in word]
                    paths = (os.path.normpath(os.path.join(base, word)) for word in named for base in (top, common))
                    yield from (each for each in paths if each != top and is_within(each, top))


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
    for top, own in _repositories(root):
        return top, read_or_none(f"{own}/index", LARGEST_INDEX) or b""
    return "", b""


def _repositories(directory: str) -> Iterator[tuple[str, str]]:
    """Yield the tops of the repositories around a directory, the nearest first, and the directories that git has there.

    Git passes over one that lacks a part.
    """
    below = ""
    while directory != below:
        own = f"{directory.rstrip('/')}/.git"
        if os.path.lexists(own):
            link = _text(own, LARGEST_LINK).partition("gitdir:")[2]  # of a worktree or a submodule
            yield directory, _led(directory, link) if link else own
        directory, below = os.path.dirname(directory), directory


def _led(directory: str, link: str) -> str:
    return os.path.realpath(os.path.join(directory, link.strip())) if link else directory


def _text(path: str, limit: int) -> str:
    return (read_or_none(path, limit) or b"").decode("utf-8", "surrogateescape")
