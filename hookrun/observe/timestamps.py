"""Parses timestamps from hook contexts into Unix time, and formats them."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from hookrun.text import quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun import Context

    Clock = Callable[[], float]

DAY, HOUR = 86_400.0, 3600.0
END = 253_402_300_800.0
"""The beginning of the year 10000, which no datetime can hold. Milliseconds given by mistake are beyond it."""


def seconds(value: object, name: str) -> float:
    """Return seconds since 1970 UTC for a datetime, a string in ISO 8601 or such a number.

    A date without a zone is in the local one. Raises ValueError, which calls the value `name`, for anything else, also
    for times before 1970 or after the year 9999 in UTC.
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


def fired_at(context: Context, clock: Clock = time.time) -> float:
    """Return the timestamp of a context in seconds since 1970; the clock's time if it has none."""
    try:
        return seconds(context.timestamp, "timestamp")
    except ValueError:
        return clock()


def iso(at: float) -> str:
    """Return a time as RFC 3339 in UTC, to the second; one that no datetime can hold as the nearest possible."""
    return datetime.fromtimestamp(math.floor(min(max(at, 0.0), END - 1)), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_now() -> str:
    """Return the present time as RFC 3339 in UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def hour(at: float, zone: tzinfo | None = None) -> int:
    """Return the hour of the day in a zone, by default the local one."""
    return datetime.fromtimestamp(min(max(at, 0.0), END - DAY), zone).hour


def start_of_last_days(days: float | None, clock: Clock = time.time) -> float:
    """Return when the last `days` days began, in seconds since 1970; -inf for None. Raises ValueError."""
    if days is None:
        return -math.inf
    if not 0 < days < math.inf:
        raise ValueError(f"{days:g} is not a number greater than 0")
    return clock() - days * DAY
