"""Points in time as hooks are told them, read into seconds since 1970."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from hookrun.config.problem import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.library.context import Context

    Clock = Callable[[], float]

DAY, HOUR = 86_400.0, 3600.0
LAST = 253_402_300_800.0
"""The beginning of the year 10000, the first that is no date: milliseconds, given by mistake, lie behind it."""


def seconds(value: object, name: str) -> float:
    """Return a time as seconds since 1970 UTC, from a datetime, a text in ISO 8601 or such a number.

    A date without a zone is in the local one. Raises ValueError that calls the value `name`, also for what lies before
    1970 or, in UTC, after the year 9999.
    """
    at = value
    try:
        if isinstance(at, str):
            at = datetime.fromisoformat(at)
        if isinstance(at, datetime):
            at = at.timestamp()
    except (OverflowError, ValueError):
        raise _wrong(value, name) from None
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at < LAST:
        raise _wrong(value, name)
    return float(at)


def fired(context: Context, clock: Clock = time.time) -> float:
    """Return when a context was fired, in seconds since 1970; by the clock if it does not say."""
    try:
        return seconds(context.timestamp, "timestamp")
    except ValueError:
        return clock()


def iso(at: float) -> str:
    """Return a time as RFC 3339 in UTC, to the second; one that is no date as the nearest that is."""
    return datetime.fromtimestamp(math.floor(min(max(at, 0.0), LAST - 1)), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def hour(at: float, zone: tzinfo | None = None) -> int:
    """Return the hour of the day in a zone, by default the local one."""
    return datetime.fromtimestamp(min(max(at, 0.0), LAST - DAY), zone).hour


def since(days: float | None, clock: Clock = time.time) -> float:
    """Return when the last so many days began, in seconds since 1970: -inf for all time. Raises ValueError."""
    if days is None:
        return -math.inf
    if not 0 < days < math.inf:
        raise ValueError(f"days is {days:g}, expected a number above 0")
    return clock() - days * DAY


def _wrong(value: object, name: str) -> ValueError:
    return ValueError(f"{name} is {shown(value)}, expected a date and time in ISO 8601, or seconds since 1970")
