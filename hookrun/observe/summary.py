"""What a session comes to, alone and with others: velocity, quality trend, working hours."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.observe.moments import HOUR, hour

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

QUARTER = 900
"""Seconds by which activity is counted: every time zone begins its hours at one of these."""
SHORTEST = 60.0
"""Seconds below which a session has no velocity: it would be that of a single moment."""
STEADY = 1.0
"""Points per checkpoint, up or down, within which the quality is steady."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint: `at` in seconds since 1970, and its quality score if it has one."""

    at: float
    score: float | None


@dataclass(frozen=True, slots=True)
class Session:
    """What one session did. Times are seconds since 1970; `ended` is None while nobody has said that it has.

    `quarters` are pairs: a quarter of an hour, as its number since 1970, and how many events it had.
    """

    id: str
    project: str | None
    started: float
    ended: float | None
    last: float
    tool_calls: int
    failures: int
    files: tuple[str, ...]
    checkpoints: tuple[Checkpoint, ...]
    quarters: tuple[tuple[int, int], ...]

    @property
    def seconds(self) -> float:
        """How long it took, or has taken until its latest event."""
        return max((self.last if self.ended is None else self.ended) - self.started, 0.0)

    @property
    def checkpoints_per_hour(self) -> float | None:
        """Checkpoints per hour of the session; None for one that is too short to tell."""
        return per_hour(len(self.checkpoints), self.seconds)

    @property
    def tool_calls_per_hour(self) -> float | None:
        """Tool calls per hour of the session; None for one that is too short to tell."""
        return per_hour(self.tool_calls, self.seconds)

    @property
    def quality_slope(self) -> float | None:
        """Points of quality per checkpoint, by least squares; None below two checkpoints with a score."""
        return slope(_scores(self.checkpoints))

    @property
    def quality_trend(self) -> str | None:
        """What the slope is called: improving, steady or declining; None where there is none."""
        return trend(self.quality_slope)


@dataclass(frozen=True, slots=True)
class Summary:
    """What several sessions come to. `hours` is hour of the day -> events, of those hours that have any.

    Velocities are over the sum of the sessions' times; None where that is too short to tell.
    """

    sessions: int
    seconds: float
    tool_calls: int
    failures: int
    files: int
    checkpoints: int
    checkpoints_per_hour: float | None
    tool_calls_per_hour: float | None
    quality_mean: float | None
    quality_slope: float | None
    quality_trend: str | None
    hours: dict[int, int]


def summarise(sessions: Sequence[Session], zone: tzinfo | None = None) -> Summary:
    """Return what the sessions come to together; hours of the day are those of the zone, by default the local one."""
    time = sum(session.seconds for session in sessions)
    calls = sum(session.tool_calls for session in sessions)
    checkpoints = sorted((each for session in sessions for each in session.checkpoints), key=lambda one: one.at)
    scores = _scores(checkpoints)
    rise = slope(scores)
    hours: Counter[int] = Counter()
    for session in sessions:
        for quarter, events in session.quarters:
            hours[hour(quarter * QUARTER, zone)] += events
    return Summary(
        sessions=len(sessions),
        seconds=time,
        tool_calls=calls,
        failures=sum(session.failures for session in sessions),
        files=len({path for session in sessions for path in session.files}),
        checkpoints=len(checkpoints),
        checkpoints_per_hour=per_hour(len(checkpoints), time),
        tool_calls_per_hour=per_hour(calls, time),
        quality_mean=round(sum(scores) / len(scores), 2) if scores else None,
        quality_slope=rise,
        quality_trend=trend(rise),
        hours=dict(sorted(hours.items())),
    )


def per_hour(number: int, time: float) -> float | None:
    """Return how many that is in an hour, for a time in seconds; None where it is too short to tell."""
    return round(number * HOUR / time, 2) if time >= SHORTEST else None


def slope(values: Sequence[float]) -> float | None:
    """Return by how much the values rise from one to the next, by least squares; None below two."""
    count = len(values)
    if count < 2:  # noqa: PLR2004  # a line has two points
        return None
    middle, mean = (count - 1) / 2, sum(values) / count
    rise = sum((at - middle) * (value - mean) for at, value in enumerate(values))
    return round(rise / sum((at - middle) ** 2 for at in range(count)), 3)


def trend(rise: float | None) -> str | None:
    """Return what a slope is called: steady within STEADY points, improving above, declining below."""
    if rise is None:
        return None
    return "steady" if abs(rise) <= STEADY else "improving" if rise > 0 else "declining"


def _scores(checkpoints: Sequence[Checkpoint]) -> list[float]:
    return [each.score for each in checkpoints if each.score is not None]
