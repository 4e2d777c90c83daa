"""Patterns of files in `if` rules: those of gitignore, with the beginnings that Claude Code adds."""

from __future__ import annotations

import os

from hookrun.match import glob

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
    lengths = range(1, len(steps) + (not only_directories))
    return any(_fits([ANY, *parts] if free else parts, steps[:length]) for length in lengths)


def _anchored(pattern: str, base: str, cwd: str, home: str) -> tuple[str, str]:
    if pattern.startswith("//"):
        return "/", pattern[2:]
    if pattern.startswith("~/"):
        return home, pattern[2:]
    if pattern.startswith("/"):
        return base, pattern[1:]
    return cwd, pattern.removeprefix("./")


def _fits(parts: Sequence[str], steps: Sequence[str]) -> bool:
    """Tell whether the parts of a pattern describe the whole of a path; `**` is any number of its steps."""
    if not parts:
        return not steps
    if parts[0] == ANY:
        least = 1 if len(parts) == 1 else 0  # at the end it is what is inside of a directory
        return any(_fits(parts[1:], steps[count:]) for count in range(least, len(steps) + 1))
    return bool(steps) and glob(parts[0], steps[0]) and _fits(parts[1:], steps[1:])


def file_of(context_path: object, args: object, cwd: str) -> str | None:
    """Return the absolute path that a tool call is about; None where it names none."""
    if isinstance(context_path, str) and context_path:
        return os.path.normpath(os.path.join(cwd, context_path))
    given = args.get("file_path", args.get("path")) if isinstance(args, dict) else None
    return os.path.normpath(os.path.join(cwd, given)) if isinstance(given, str) and given else None
