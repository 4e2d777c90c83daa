"""Patterns of files in `if` rules: those of gitignore, with the beginnings that Claude Code adds."""

from __future__ import annotations

import os

from hookrun.globs import glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ANY = "**"


def names_file(pattern: str, path: str, *, base: str, cwd: str, home: str) -> bool:
    """Tell whether a pattern names the file at an absolute path, or a directory that it is in.

    `//` begins an absolute pattern, `~/` one in the home directory, `/` one in `base`, where the settings are; any
    other is one in the working directory. Upper and lower case are the same, but in these directories.
    """
    start, rest = _anchored(pattern, base, cwd, home)
    prefix = start.rstrip("/") + "/"
    if not path.startswith(prefix):
        return False
    only_directories = rest.endswith("/")
    parts = [part for part in rest.lower().split("/") if part not in ("", ".")]
    free = "/" not in pattern.rstrip("/")
    steps = path[len(prefix) :].lower().split("/")
    ends = _ends([ANY, *parts] if free else parts, steps)
    return not ends.isdisjoint(range(1, len(steps) + (not only_directories)))


def _anchored(pattern: str, base: str, cwd: str, home: str) -> tuple[str, str]:
    if pattern.startswith("//"):
        return "/", pattern[2:]
    if pattern.startswith("~/"):
        return home, pattern[2:]
    if pattern.startswith("/"):
        return base, pattern[1:]
    return cwd, pattern.removeprefix("./")


def _ends(parts: Sequence[str], steps: Sequence[str]) -> set[int]:
    """Return how many of a path's first steps the parts of a pattern can describe; `**` is any number of them."""
    reached = {0}
    for index, part in enumerate(parts):
        if part == ANY and reached:
            least = 1 if index == len(parts) - 1 else 0  # at the end it is what is inside of a directory
            reached = set(range(min(reached) + least, len(steps) + 1))
        else:
            reached = {step + 1 for step in reached if step < len(steps) and glob(part, steps[step])}
    return reached


def file_of(context_path: object, args: object, cwd: str) -> str | None:
    """Return the absolute path that a tool call is about; None where it names none."""
    if isinstance(context_path, str) and context_path:
        return os.path.normpath(os.path.join(cwd, context_path))
    given = args.get("file_path", args.get("path")) if isinstance(args, dict) else None
    return os.path.normpath(os.path.join(cwd, given)) if isinstance(given, str) and given else None
