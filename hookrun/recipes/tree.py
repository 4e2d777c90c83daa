"""The state of a project's files, told by their sizes and times, so that it can be seen whether any has changed."""

from __future__ import annotations

import os
from hashlib import blake2b

from hookrun.recipes import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 100_000
"""Files that are looked at; a project with more has always changed."""
SKIPPED = frozenset({"node_modules", "venv", "__pycache__", "target", "build", "dist"})
"""Directories that are left out where there is no git to say which files are the project's; hidden ones are too."""
MADE = ("__pycache__/", ".pytest_cache/", ".ruff_cache/", ".mypy_cache/")
"""What running tests makes, also where git is not told to ignore it."""

Files = dict[str, tuple[int, int]]


def files(root: str) -> Files | None:
    """Return size and time (ns) of each file of a project by its name; None where there are too many to look at."""
    result: Files = {}
    for name in _names(root):
        if name.startswith(MADE) or any("/" + each in name for each in MADE):
            continue
        if len(result) >= MOST:
            return None
        try:
            status = os.lstat(os.path.join(root, name))
        except OSError:
            continue
        result[name] = (status.st_size, status.st_mtime_ns)
    return result


def digest(state: Files) -> str:
    """Return a short text that stands for the state."""
    whole = blake2b(digest_size=16)
    for name in sorted(state):
        whole.update(f"{name}\0{state[name]}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _names(root: str) -> Iterator[str]:
    """Yield the files of a project: those that git does not ignore, or where there is no git, those not skipped."""
    listed = git.run(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is not None:
        yield from dict.fromkeys(name for name in listed.split("\0") if name)
        return
    for directory, directories, names in os.walk(root):
        directories[:] = [each for each in directories if each not in SKIPPED and not each.startswith(".")]
        for name in names:
            yield os.path.relpath(os.path.join(directory, name), root)
