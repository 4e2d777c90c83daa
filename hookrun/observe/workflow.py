"""Measures each session: duration, tool calls, files and checkpoints, speed and quality trend."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from statistics import linear_regression
from typing import TYPE_CHECKING

from hookrun.observe import context_fields as fields
from hookrun.observe.checkpoints import keep_checkpoint
from hookrun.observe.database import ObserverDatabase
from hookrun.observe.spool import Clock

if TYPE_CHECKING:
    from hookrun import Context, Engine

# Seconds by which activity is counted: in every time zone an hour begins at a quarter.
QUARTER = 900
# A shorter session has no velocity: it would be that of a single moment.
MIN_SECONDS = 60.0
# Points per checkpoint, up or down, within which the quality is steady.
STEADY = 1.0

SEEN = """(
    'session_start', 'session_end', 'post_tool_use', 'post_tool_failure', 'file_changed', 'post_checkpoint', 'stop'
)"""
SESSIONS = f"""
    WITH seen AS (SELECT *, coalesce(json_extract(data, '$.at'), at) AS moment,
        event IN ('post_tool_use', 'post_tool_failure') AS is_call FROM events
        WHERE event IN {SEEN} AND (? IS NULL OR session = ?)),
    ranked AS (SELECT *, row_number() OVER (PARTITION BY session ORDER BY n DESC) AS back FROM seen)
    SELECT session, min(CASE WHEN project != '' THEN project END),
        min(coalesce(json_extract(data, '$.began'), moment)) AS started,
        max(CASE WHEN back = 1 AND event = 'session_end' THEN at END), max(moment) AS last, sum(is_call),
        total(is_call AND NOT ok)
    FROM ranked GROUP BY session HAVING last >= ? ORDER BY started DESC, session
"""  # noqa: S608  # names of ours
QUARTERS = f"""
    SELECT CAST(coalesce(json_extract(data, '$.at'), at) / 900 AS INTEGER), count(*) FROM events
    WHERE session = ? AND event IN {SEEN} GROUP BY 1 ORDER BY 1
"""  # noqa: S608
FILES = """
    SELECT path FROM events WHERE session = ? AND path IS NOT NULL
    UNION SELECT value FROM events, json_each(events.data, '$.files') WHERE session = ? AND event = 'post_checkpoint'
"""
CHECKPOINTS = """
    SELECT json_extract(data, '$.at'), json_extract(data, '$.score') FROM events
    WHERE session = ? AND event = 'post_checkpoint' ORDER BY 1, n
"""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint: `at` in seconds since 1970, and its quality score if it has one."""

    at: float
    score: float | None


@dataclass(frozen=True, slots=True)
class Session:
    """What one session did. Times are seconds since 1970; `ended` is None until its end is reported.

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
        """Its duration, until its end or else its latest event."""
        return max((self.last if self.ended is None else self.ended) - self.started, 0.0)

    @property
    def checkpoints_per_hour(self) -> float | None:
        """Checkpoints per hour; None for a session that is too short."""
        return _per_hour(len(self.checkpoints), self.seconds)

    @property
    def tool_calls_per_hour(self) -> float | None:
        """Tool calls per hour; None for a session that is too short."""
        return _per_hour(self.tool_calls, self.seconds)

    @property
    def quality_slope(self) -> float | None:
        """Points of quality per checkpoint, by least squares; None below two checkpoints with a score."""
        return slope(_scores(self.checkpoints))

    @property
    def quality_trend(self) -> str | None:
        """`improving`, `steady` or `declining`; None without a slope."""
        return trend(self.quality_slope)


@dataclass(frozen=True, slots=True)
class Summary:
    """The totals of several sessions. `hours` is hour of the day -> events, of those hours that have any.

    Velocities are over the sum of the sessions' durations; None where that is too short.
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


class WorkflowMetrics:
    """A bundle that stores for each session when it was active, its tool calls, files and checkpoints.

    `session(id)`, `sessions()` and `summary()` return them, with velocity, quality trend and working hours.

    >>> from hookrun.events import PostCheckpoint
    >>> from hookrun.observe import ObserverDatabase, WorkflowMetrics
    >>> import os, tempfile
    >>> workflow = WorkflowMetrics(ObserverDatabase(os.path.join(tempfile.mkdtemp(), "observe.db")))
    >>> for minute, score in (("00", 70), ("20", 80), ("40", 90)):
    ...     checkpoint = {"quality_score": score, "session_start_time": "2026-03-01T09:00:00Z"}
    ...     at = f"2026-03-01T10:{minute}:00Z"
    ...     workflow.on_checkpoint(PostCheckpoint(session_id="s1", timestamp=at, checkpoint_data=checkpoint))
    >>> session = workflow.session("s1")
    >>> session.checkpoints_per_hour, session.quality_slope, session.quality_trend
    (1.8, 10.0, 'improving')

    Everything raises DatabaseError where the database cannot be used.
    """

    def __init__(self, store: ObserverDatabase | None = None, *, clock: Clock = time.time) -> None:
        self._store = store or ObserverDatabase()
        self._clock = clock

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle."""
        events = {
            "start": "session_start",
            "end": "session_end",
            "result": "post_tool_use",
            "failure": "post_tool_failure",
            "file": "file_changed",
        }
        handlers = {f"workflow-metrics-{name}": (event, self.on_event) for name, event in events.items()}
        handlers["workflow-metrics-checkpoint"] = ("post_checkpoint", self.on_checkpoint)
        self._store.register(engine, handlers, priority=300)

    def on_event(self, ctx: Context) -> None:
        """Keep an event of a session."""
        self._store.keep(ctx, clock=self._clock)

    on_start = on_end = on_result = on_failure = on_file = on_event

    def on_checkpoint(self, ctx: Context) -> None:
        """Keep a checkpoint, its quality, and when its session began.

        That is its `session_start_time`, else its `timestamp`, else the time of the event. Raises ValueError for an
        invalid time or quality.
        """
        keep_checkpoint(self._store, ctx, self._clock)

    def session(self, session_id: str) -> Session:
        """Return one session. Raises ValueError for an unknown one."""
        found = self._select(0.0, session_id)
        if not found:
            raise ValueError(f"there is no session {session_id!r}: expected the id of one that was seen")
        return found[0]

    def sessions(self, *, days: float | None = None) -> list[Session]:
        """Return the sessions of the last `days` days, or all; the latest first."""
        return self._select(fields.start_of_last_days(days, self._clock), None)

    def summary(self, *, days: float | None = None, zone: tzinfo | None = None) -> Summary:
        """Return the totals of the sessions of the last `days` days, or all.

        `zone` is the time zone of the hours of the day, by default the local one.
        """
        return summarize(self.sessions(days=days), zone)

    def _select(self, earliest: float, session_id: str | None) -> list[Session]:
        with self._store.read() as db:
            rows = db.execute(SESSIONS, (session_id, session_id, earliest)).fetchall()
            return [_load(db, row) for row in rows]


def summarize(sessions: Sequence[Session], zone: tzinfo | None = None) -> Summary:
    """Return the sessions' totals; hours of the day are the zone's, by default local."""
    duration = sum(session.seconds for session in sessions)
    calls = sum(session.tool_calls for session in sessions)
    checkpoints = sorted((each for session in sessions for each in session.checkpoints), key=lambda one: one.at)
    scores = _scores(checkpoints)
    hours: Counter[int] = Counter()
    for session in sessions:
        for quarter, events in session.quarters:
            hours[fields.hour(quarter * QUARTER, zone)] += events
    return Summary(
        sessions=len(sessions),
        seconds=duration,
        tool_calls=calls,
        failures=sum(session.failures for session in sessions),
        files=len({path for session in sessions for path in session.files}),
        checkpoints=len(checkpoints),
        checkpoints_per_hour=_per_hour(len(checkpoints), duration),
        tool_calls_per_hour=_per_hour(calls, duration),
        quality_mean=round(sum(scores) / len(scores), 2) if scores else None,
        quality_slope=slope(scores),
        quality_trend=trend(slope(scores)),
        hours=dict(sorted(hours.items())),
    )


def _per_hour(number: int, duration: float) -> float | None:
    return round(number * fields.HOUR / duration, 2) if duration >= MIN_SECONDS else None


def slope(values: Sequence[float]) -> float | None:
    """Return the values' rise per step, by least squares; None below two values."""
    if len(values) < 2:  # noqa: PLR2004  # a line has two points
        return None
    return round(linear_regression(range(len(values)), values).slope, 3)


def trend(rise: float | None) -> str | None:
    """Return a slope's name: steady within STEADY points, improving above, declining below."""
    if rise is None:
        return None
    return "steady" if abs(rise) <= STEADY else "improving" if rise > 0 else "declining"


def _scores(checkpoints: Sequence[Checkpoint]) -> list[float]:
    return [each.score for each in checkpoints if each.score is not None]


def _load(db: sqlite3.Connection, row: sqlite3.Row) -> Session:
    session, project, started, ended, last, calls, failures = row
    paths = tuple(sorted(path for (path,) in db.execute(FILES, (session, session))))
    made = tuple(Checkpoint(at, score) for at, score in db.execute(CHECKPOINTS, (session,)))
    quarters = tuple((number, events) for number, events in db.execute(QUARTERS, (session,)))
    return Session(session, project, started, ended, last, calls, int(failures), paths, made, quarters)
