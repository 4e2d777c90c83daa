"""Reads the fields of contexts and checkpoints that several bundles need."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING, Any

from hookrun.observe import sanitize
from hookrun.text import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun import Context

DIRECTORIES = ("working_directory", "project_path", "working_dir")
"""The fields in which a checkpoint names its project; the first one present counts."""
FILES = ("files", "changed_files", "files_changed", "modified_files")
MAX_SCORE = 1e100
"""A score beyond this, positive or negative, is rejected: sums of such scores overflow."""


def session_of(ctx: Context) -> str:
    """Return the session id as it is stored; contexts without one share the session with the empty name."""
    return sanitize.name(ctx.session_id)


def file_path(ctx: Context) -> str | None:
    """Return the file that a context is about, absolute if its working directory is known; None if there is none."""
    path = ctx.tool_args.get("file_path")
    if not isinstance(path, str):
        path = ctx.file_path
    return os.path.normpath(os.path.join(ctx.working_dir or "", path)) if path else None


def quality_score(checkpoint: Mapping[str, Any]) -> float | None:
    """Return the `quality_score` of a checkpoint, None if it has none. Raises ValueError if it is not a number."""
    score = checkpoint.get("quality_score")
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) <= MAX_SCORE:
        raise ValueError(f"checkpoint_data.quality_score is {quote(score)}, expected a number")
    return float(score)


def project(checkpoint: Mapping[str, Any], ctx: Context) -> str:
    """Return the directory of a checkpoint's project, else the working directory, else an empty string."""
    for name in DIRECTORIES:
        if isinstance(directory := checkpoint.get(name), str) and directory:
            return os.path.normpath(directory)
    return os.path.normpath(ctx.working_dir) if ctx.working_dir else ""


def files(checkpoint: Mapping[str, Any]) -> list[str]:
    """Return the files that a checkpoint names."""
    return sorted({each for name in FILES for each in strings(checkpoint.get(name))})


def strings(value: object) -> list[str]:
    """Return the distinct strings of a list, or the keys of an object, in order; empty for anything else."""
    if not isinstance(value, list | tuple | set | frozenset | dict):
        return []
    return list(dict.fromkeys(each for each in value if isinstance(each, str) and each))
