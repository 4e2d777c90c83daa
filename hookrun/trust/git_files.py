"""Find a hook's files by git: what it tracks, and settings of the repository that name programs.

Sources: gitformat-index(5), git-config(1).
"""

from __future__ import annotations

import os

from hookrun.config.discovery import git_directories
from hookrun.core.files import MAX_READ, is_within, read_or_none, upwards

# Ends of the names of git's settings that name programs or files with such (git-config(1)).
GIT_PROGRAMS = (
    "command", "program", "hookspath", "fsmonitor", "editor", "pager", "helper", "clean", "smudge", "process",
    "textconv", "driver", "external", "path", "askpass", "cmd", "uploadpack", "receivepack", "exec", "gitproxy",
)  # fmt: skip
COMPRESSED = (4).to_bytes(4, "big")
LARGEST_INDEX = 64 << 20


def settings_with_programs(directory: str) -> list[str]:
    """Return the settings files of the repositories around a directory that name programs, and paths in those."""
    found: list[str] = []
    for top, own in _repositories(directory):
        common = os.path.join(own, _text(f"{own}/commondir").strip())
        for path in dict.fromkeys((f"{common}/config", f"{own}/config.worktree")):
            text = _text(path)
            found += [path] * (len(text) == MAX_READ)  # the rest is not read
            for line in text.splitlines():
                name, program = (each.strip() for each in line.partition("=")[::2])
                is_known = name.lower().endswith(GIT_PROGRAMS) and program.lower() not in ("", "true", "false")
                if program[:1] == "!" or is_known:
                    is_path = name.lower().endswith("path")
                    words = [word for word in program.strip('"!').split() if is_path or "/" in word]
                    paths = [os.path.normpath(os.path.join(base, word)) for word in words for base in (top, common)]
                    found += [path, *(each for each in paths if each != top and is_within(each, top))]
    return found


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


def of_worktree(root: str) -> tuple[str, str] | None:
    """Return the directory that the worktrees of the repository around a root share, and the root's path in its own.

    None where it is not the repository that says so: a link, and files in a worktree's place, may be anybody's.
    """
    for top, _ in _repositories(os.path.realpath(root))[:1]:
        own, shared = git_directories(top)
        is_worktree = own != shared and os.path.realpath(_text(f"{own}/gitdir").strip()) == f"{top}/.git"
        if is_worktree or own == f"{top}/.git":
            return shared, os.path.relpath(os.path.realpath(root), top)
    return None


def _repositories(directory: str) -> list[tuple[str, str]]:
    """Return the tops of all repositories around a directory (git passes over broken ones) with git's directories."""
    tops = [top for top in upwards(directory, "/") if os.path.lexists(f"{top}/.git")]
    links = [_text(f"{top}/.git").partition("gitdir:")[2].strip() for top in tops]  # of a worktree or a submodule
    return [(top, os.path.join(top, link or ".git")) for top, link in zip(tops, links, strict=True)]


def _text(path: str) -> str:
    return (read_or_none(path) or b"").decode("utf-8", "surrogateescape")
