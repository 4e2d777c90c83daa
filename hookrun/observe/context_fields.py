"""Read fields and times of contexts and checkpoints, in forms for comparison and storage."""

from __future__ import annotations

import math
import os.path
import time
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from hookrun.core.text import quote
from hookrun.observe.spool import Clock

# The fields in which a checkpoint names its project; the first present one counts.
DIRECTORIES = ("working_directory", "project_path", "working_dir")
FILES = ("files", "changed_files", "files_changed", "modified_files")
# Limit on a score, positive or negative: sums of larger ones overflow.
MAX_SCORE = 1e100
DAY, HOUR = 86_400.0, 3600.0
# The beginning of the year 10000, beyond any datetime and below milliseconds given by mistake.
END = 253_402_300_800.0


def quality_score(checkpoint: Mapping[str, Any]) -> float | None:
    """Return a checkpoint's `quality_score`, or None. Raises ValueError if it is not a number."""
    score = checkpoint.get("quality_score")
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) <= MAX_SCORE:
        raise ValueError(f"checkpoint_data.quality_score is {quote(score)}, expected a number")
    return float(score)


def project(checkpoint: Mapping[str, Any], ctx: Mapping[str, object]) -> str:
    """Return the directory of a checkpoint's project, else the working directory, else ""."""
    named = (*map(checkpoint.get, DIRECTORIES), ctx.get("working_dir"))
    return next((os.path.normpath(each) for each in named if isinstance(each, str) and each), "")


def files(checkpoint: Mapping[str, Any]) -> list[str]:
    """Return the files that a checkpoint names."""
    return sorted({each for name in FILES for each in strings(checkpoint.get(name))})


def strings(value: object) -> list[str]:
    """Return a list's distinct strings, or an object's keys, in order; empty for anything else."""
    if not isinstance(value, list | tuple | set | frozenset | dict):
        return []
    return list(dict.fromkeys(each for each in value if isinstance(each, str) and each))


# --- times


def seconds(value: object, name: str) -> float:
    """Return seconds since 1970 UTC for a datetime, an ISO 8601 string or such a number.

    A date without a zone is local. Raises ValueError, naming the value `name`, for anything else, and for times outside
    the years 1970 to 9999 in UTC.
    """
    at = value
    try:
        if isinstance(at, str):
            at = datetime.fromisoformat(at)
        if isinstance(at, datetime):
            at = at.timestamp()
    except (OverflowError, ValueError):
        at = None
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at < END:
        raise ValueError(f"{name} is {quote(value)}, expected a date and time in ISO 8601, or seconds since 1970")
    return float(at)


def fired_at(context: Mapping[str, object], clock: Clock = time.time) -> float:
    """Return a context's timestamp in seconds since 1970, by default the clock's time."""
    try:
        return seconds(context.get("timestamp"), "timestamp")
    except ValueError:
        return clock()


def iso(at: float) -> str:
    """Return a time as RFC 3339 in UTC, to the second, or the nearest that a datetime holds."""
    return datetime.fromtimestamp(math.floor(min(max(at, 0.0), END - 1)), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def hour(at: float, zone: tzinfo | None = None) -> int:
    """Return the hour of the day in a zone, by default the local one."""
    return datetime.fromtimestamp(min(max(at, 0.0), END - DAY), zone).hour


def start_of_last_days(days: float | None, clock: Clock = time.time) -> float:
    """Return the start of the last `days` days in seconds since 1970; -inf for None. Raises ValueError."""
    if days is None:
        return -math.inf
    if not 0 < days < math.inf:
        raise ValueError(f"{days:g} is not a number greater than 0")
    return clock() - days * DAY
