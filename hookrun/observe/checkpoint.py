"""What a checkpoint says, read from its `checkpoint_data`."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING, Any

from hookrun.config.problem import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.library.context import Context

DIRECTORIES = ("working_directory", "project_path", "working_dir")
"""Where a checkpoint names its project; the first that it has counts."""
HIGHEST = 1e100
"""A score beyond this, up or down, is none: sums of it would be no numbers."""
FILES = ("files", "changed_files", "files_changed", "modified_files")


def quality(checkpoint: Mapping[str, Any]) -> float | None:
    """Return its `quality_score`, None if it has none. Raises ValueError for one that is no number."""
    score = checkpoint.get("quality_score")
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) <= HIGHEST:
        raise ValueError(f"checkpoint_data.quality_score is {shown(score)}, expected a number")
    return float(score)


def project(checkpoint: Mapping[str, Any], ctx: Context) -> str:
    """Return the directory it is about, else the one the agent works in; empty if nobody knows."""
    for name in DIRECTORIES:
        if isinstance(directory := checkpoint.get(name), str) and directory:
            return os.path.normpath(directory)
    return os.path.normpath(ctx.working_dir) if ctx.working_dir else ""


def files(checkpoint: Mapping[str, Any]) -> list[str]:
    """Return the files it names."""
    return sorted({each for name in FILES for each in strings(checkpoint.get(name))})


def strings(value: object) -> list[str]:
    """Return the texts of a list, or the keys of an object, in order and each once; empty for anything else."""
    if not isinstance(value, list | tuple | set | frozenset | dict):
        return []
    return list(dict.fromkeys(each for each in value if isinstance(each, str) and each))
