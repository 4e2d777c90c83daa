"""Workflow metrics: what each session did, how fast, and whether its quality rose."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrun.bundles.naming import named
from hookrun.model import file_path
from hookrun.observe import kept
from hookrun.observe.checkpoint import files, project, quality
from hookrun.observe.moments import fired, seconds, since
from hookrun.observe.store import Store
from hookrun.observe.summary import QUARTER, Checkpoint, Session, Summary, summarise

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from datetime import tzinfo

    from hookrun.library.context import Context
    from hookrun.library.engine import Engine
    from hookrun.observe.moments import Clock

CHANGING = frozenset({"write", "edit", "delete"})
"""The tools that change a file."""

KEEP_SESSION = """
    INSERT INTO sessions (session, project, started, ended, last, calls, failures) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (session) DO UPDATE SET project = coalesce(project, excluded.project),
        started = min(started, excluded.started), last = max(last, excluded.last), ended = excluded.ended,
        calls = calls + excluded.calls, failures = failures + excluded.failures
"""
KEEP_ACTIVITY = """
    INSERT INTO activity (session, quarter, events) VALUES (?, ?, 1)
    ON CONFLICT (session, quarter) DO UPDATE SET events = events + 1
"""
SESSIONS = """
    SELECT session, project, started, ended, last, calls, failures FROM sessions
    WHERE last >= ? AND (? IS NULL OR session = ?) ORDER BY started DESC, session
"""


class WorkflowMetrics:
    """A bundle that keeps, for each session, when it was at work, its tool calls, files and checkpoints.

    `session(id)`, `sessions()` and `summary()` give them back, with velocity, quality trend and working hours.

    >>> from hookrun.library.event_contexts import PostCheckpoint
    >>> from hookrun.observe import Store, WorkflowMetrics
    >>> import os, tempfile
    >>> workflow = WorkflowMetrics(Store(os.path.join(tempfile.mkdtemp(), "observe.db")))
    >>> for minute, score in (("00", 70), ("20", 80), ("40", 90)):
    ...     checkpoint = {"quality_score": score, "session_start_time": "2026-03-01T09:00:00Z"}
    ...     at = f"2026-03-01T10:{minute}:00Z"
    ...     workflow.on_checkpoint(PostCheckpoint(session_id="s1", timestamp=at, checkpoint_data=checkpoint))
    >>> session = workflow.session("s1")
    >>> session.checkpoints_per_hour, session.quality_slope, session.quality_trend
    (1.8, 10.0, 'improving')

    Everything raises StoreError where the database cannot be used.
    """

    def __init__(self, store: Store | None = None, *, clock: Clock = time.time) -> None:
        self._store = store or Store()
        self._clock = clock

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle."""
        for event, handler, name in (
            ("session_start", self.on_start, "workflow-metrics-start"),
            ("session_end", self.on_end, "workflow-metrics-end"),
            ("post_tool_use", self.on_result, "workflow-metrics-result"),
            ("post_tool_failure", self.on_failure, "workflow-metrics-failure"),
            ("file_changed", self.on_file, "workflow-metrics-file"),
            ("post_checkpoint", self.on_checkpoint, "workflow-metrics-checkpoint"),
        ):
            own = named(engine, name, self._store.place)
            engine.register(event, handler, priority=300, always=True, thread=True, on_failure="continue", **own)

    def on_start(self, ctx: Context) -> None:
        """Keep that a session begins, or goes on."""
        self._keep(ctx)

    def on_end(self, ctx: Context) -> None:
        """Keep that a session has ended."""
        self._keep(ctx, ended=fired(ctx, self._clock))

    def on_result(self, ctx: Context) -> None:
        """Count a tool call, and the file that it has changed."""
        changed = file_path(ctx) if ctx.tool_name in CHANGING and not ctx.tool_result_error else None
        self._keep(ctx, calls=1, failures=int(bool(ctx.tool_result_error)), changed=[changed] if changed else ())

    def on_failure(self, ctx: Context) -> None:
        """Count a tool call that has failed."""
        self._keep(ctx, calls=1, failures=1)

    def on_file(self, ctx: Context) -> None:
        """Keep which file was changed; one that is changed again is still one."""
        changed = file_path(ctx)
        self._keep(ctx, changed=[changed] if changed else ())

    def on_checkpoint(self, ctx: Context) -> None:
        """Keep a checkpoint, its quality, and when its session began.

        That is its `session_start_time`, else its `timestamp`, else when it was fired. Raises ValueError for a time
        or a quality that is none.
        """
        data = ctx.own("checkpoint_data")
        score = quality(data)
        at = fired(ctx, self._clock)
        if data.get("timestamp"):
            at = seconds(data["timestamp"], "checkpoint_data.timestamp")
        began = at
        if data.get("session_start_time"):
            began = seconds(data["session_start_time"], "checkpoint_data.session_start_time")
        self._keep(
            ctx, at=at, began=began, where=project(data, ctx), changed=files(data), checkpoint=Checkpoint(at, score)
        )

    def session(self, session_id: str) -> Session:
        """Return one session. Raises ValueError if it is not known."""
        found = self._select(0.0, session_id)
        if not found:
            raise ValueError(f"there is no session {session_id!r}: expected the id of one that was seen")
        return found[0]

    def sessions(self, *, days: float | None = None) -> list[Session]:
        """Return the sessions of the last so many days, or all, the one that began last first."""
        return self._select(since(days, self._clock), None)

    def summary(self, *, days: float | None = None, zone: tzinfo | None = None) -> Summary:
        """Return what the sessions of the last so many days, or all, come to together.

        `zone` is the time zone of the hours of the day, by default the local one.
        """
        sessions = self.sessions(days=days)
        with self._store.told():
            return summarise(sessions, zone)

    def _keep(
        self,
        ctx: Context,
        *,
        at: float | None = None,
        began: float | None = None,
        ended: float | None = None,
        where: str | None = None,
        calls: int = 0,
        failures: int = 0,
        changed: Iterable[str] = (),
        checkpoint: Checkpoint | None = None,
    ) -> None:
        session = kept.session(ctx)
        at = fired(ctx, self._clock) if at is None else at
        place = kept.name(where if where is not None else ctx.working_dir) or None
        values = (session, place, at if began is None else began, ended, at, calls, failures)
        with self._store.write() as db:
            db.execute(KEEP_SESSION, values)
            db.execute(KEEP_ACTIVITY, (session, int(at // QUARTER)))
            files = [(session, kept.name(path)) for path in changed]
            db.executemany("INSERT OR IGNORE INTO session_files (session, path) VALUES (?, ?)", files)
            if checkpoint is not None:
                row = (session, checkpoint.at, checkpoint.score)
                db.execute("INSERT INTO checkpoints (session, at, score) VALUES (?, ?, ?)", row)

    def _select(self, earliest: float, session_id: str | None) -> list[Session]:
        with self._store.read() as db:
            rows = db.execute(SESSIONS, (earliest, session_id, session_id)).fetchall()
            return [_load(db, row) for row in rows]


def _load(db: sqlite3.Connection, row: sqlite3.Row) -> Session:
    session: str = row["session"]
    checkpoints = db.execute("SELECT at, score FROM checkpoints WHERE session = ? ORDER BY at, id", (session,))
    paths = db.execute("SELECT path FROM session_files WHERE session = ? ORDER BY path", (session,))
    quarters = db.execute("SELECT quarter, events FROM activity WHERE session = ? ORDER BY quarter", (session,))
    return Session(
        id=session,
        project=row["project"],
        started=row["started"],
        ended=row["ended"],
        last=row["last"],
        tool_calls=row["calls"],
        failures=row["failures"],
        files=tuple(path for (path,) in paths),
        checkpoints=tuple(Checkpoint(at, score) for at, score in checkpoints),
        quarters=tuple((quarter, events) for quarter, events in quarters),
    )
