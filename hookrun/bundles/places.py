"""Which file a tool is about, and where that really lies: links followed, `..` taken as the system takes it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.library.context import Context

WRITING = "write|edit|Write|Edit|MultiEdit"
"""The tools that change one file whose path is in their arguments, also by the names that agents give them."""


def named_file(ctx: Context) -> str | None:
    """Return the path of the file that a context is about, absolute but not normalised; None where there is none.

    Where `link` is a symbolic link, `link/../a` need not be `a`: whoever asks where a write goes needs the path as the
    tool gets it. A relative path counts from `working_dir`, else from the current directory.
    """
    path = ctx.tool_args.get("file_path")
    if not isinstance(path, str):
        path = ctx.file_path
    if not path or "\0" in path:
        return None
    return os.path.join(working_dir(ctx), path)


def working_dir(ctx: Context) -> str:
    """Return where the agent works, else the current directory."""
    return os.path.abspath(ctx.working_dir or os.curdir)


def repository(directory: str) -> str:
    """Return the nearest directory at or above `directory` that has a `.git`, links resolved; else `directory`."""
    start = os.path.realpath(directory)
    return next((each for each in upwards(start, os.sep) if os.path.lexists(os.path.join(each, ".git"))), start)


def upwards(directory: str, last: str) -> Iterator[str]:
    """Yield the directory and those above it up to `last`; none where it does not lie in `last`."""
    if not within(directory, last):
        return
    yield directory
    while directory not in (last, os.sep):
        directory = os.path.dirname(directory)
        yield directory


def within(path: str, directory: str) -> bool:
    """Tell whether a path is the directory or lies below it, both absolute and with links resolved."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)
