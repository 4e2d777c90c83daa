"""Tool times: how long each tool call took, and whether it went well."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from hookrun.bundles.naming import named
from hookrun.bundles.stable import stable
from hookrun.observe import kept
from hookrun.observe.moments import fired
from hookrun.observe.store import Store

if TYPE_CHECKING:
    from hookrun.library.context import Context
    from hookrun.library.engine import Engine
    from hookrun.observe.moments import Clock

    Key = tuple[str, ...]

LONGEST = 1e12
"""Milliseconds, some thirty years: beyond that nobody has measured a call, and an earlier hookrun kept it."""
MOST_PENDING = 1000
"""Calls whose end is waited for; of more the oldest are forgotten."""

COUNTED = """
    WITH calls AS (SELECT tool, ok, CASE WHEN ms <= 1e12 THEN ms END AS ms
        FROM tool_calls WHERE at >= ? AND (? IS NULL OR session = ?))
    SELECT tool, count(*), sum(NOT ok), count(ms), total(ms), avg(ms), max(ms)
    FROM calls GROUP BY tool ORDER BY total(ms) DESC, count(*) DESC, tool
"""
RANKED = """
    SELECT tool, ms FROM (
        SELECT tool, ms, row_number() OVER (PARTITION BY tool ORDER BY ms) AS place,
            count(*) OVER (PARTITION BY tool) AS timed
        FROM tool_calls WHERE at >= ? AND (? IS NULL OR session = ?) AND ms <= 1e12
    ) WHERE place IN ((timed * 50 + 99) / 100, (timed * 95 + 99) / 100) ORDER BY tool, ms
"""
"""The calls of a tool at its 50th and 95th percentile, which may be one and the same."""


@dataclass(frozen=True, slots=True)
class ToolTime:
    """How one tool was used. Times are milliseconds, None where no call was timed; `timed` is how many were.

    `p50_ms` and `p95_ms` are the nearest-rank percentiles: a time that a call really took.
    """

    tool: str
    count: int
    failures: int
    timed: int
    total_ms: float
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    max_ms: float | None


class ToolTimes:
    """A bundle that times every tool call, from pre_tool_use to post_tool_use or post_tool_failure.

    Where the context has a `duration_ms`, as some agents send, that is taken: it has no waiting for a person in it.
    A call that was never seen to begin is counted without a time; of calls that never end the latest `pending` are
    remembered. Calls are told apart by their `tool_use_id`, without one by tool and arguments.

    >>> from hookrun.library.event_contexts import PostToolUse
    >>> from hookrun.observe import Store, ToolTimes
    >>> import os, tempfile
    >>> times = ToolTimes(Store(os.path.join(tempfile.mkdtemp(), "observe.db")))
    >>> times.on_result(PostToolUse(session_id="s1", tool_name="bash", duration_ms=120))
    >>> [(each.tool, each.count, each.p95_ms) for each in times.per_tool()]
    [('bash', 1, 120.0)]

    Everything but `on_call` raises StoreError where the database cannot be used.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        pending: int = MOST_PENDING,
        stopwatch: Clock = time.perf_counter,
        clock: Clock = time.time,
    ) -> None:
        self._store = store or Store()
        self._stopwatch = stopwatch
        self._clock = clock
        self._limit = pending
        self._lock = threading.Lock()
        self._began: dict[int, tuple[Key, float]] = {}
        self._calls: dict[Key, list[int]] = {}
        self._numbers = count()

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle: the last before the tool runs, the first after it."""
        # Not `always`: a call that was refused before it came here has no end to wait for.
        own = named(engine, "tool-times-call", self._store.place)
        engine.register("pre_tool_use", self.on_call, priority=1000, on_failure="continue", **own)
        for event, handler, name in (
            ("post_tool_use", self.on_result, "tool-times-result"),
            ("post_tool_failure", self.on_failure, "tool-times-failure"),
        ):
            own = named(engine, name, self._store.place)
            engine.register(event, handler, priority=0, always=True, thread=True, on_failure="continue", **own)

    @property
    def pending(self) -> int:
        """How many calls have begun and not ended."""
        return len(self._began)

    def on_call(self, ctx: Context) -> None:
        """Remember when a call began."""
        key, now = _key(ctx), self._stopwatch()
        with self._lock:
            number = next(self._numbers)
            self._began[number] = (key, now)
            self._calls.setdefault(key, []).append(number)
            if len(self._began) > self._limit:
                oldest = next(iter(self._began))
                self._take(self._began[oldest][0], 0)

    def on_result(self, ctx: Context) -> None:
        """Keep how long a call took that has ended; with a `tool_result_error` it has failed."""
        self._keep(ctx, ok=not ctx.tool_result_error)

    def on_failure(self, ctx: Context) -> None:
        """Keep how long a call took that has failed."""
        self._keep(ctx, ok=False)

    def per_tool(self, *, session_id: str | None = None, since: float = 0.0) -> list[ToolTime]:
        """Return how each tool was used from `since` (seconds since 1970) on, the one that took longest first."""
        values = (since, session_id, session_id)
        with self._store.read() as db:
            percentiles: dict[str, list[float]] = {}
            for tool, ms in db.execute(RANKED, values):
                percentiles.setdefault(tool, []).append(ms)
            rows = db.execute(COUNTED, values).fetchall()
        return [
            ToolTime(tool, count, failures, timed, total, mean, p50, p95, longest)
            for tool, count, failures, timed, total, mean, longest in rows
            for p50, p95 in [(percentiles[tool][0], percentiles[tool][-1]) if timed else (None, None)]
        ]

    def _keep(self, ctx: Context, *, ok: bool) -> None:
        now, key = self._stopwatch(), _key(ctx)
        with self._lock:
            # The latest of those that cannot be told apart: an earlier one may have been refused and never end.
            began = self._take(key, -1) if key in self._calls else None
        ms = _told(ctx)
        if ms is None and began is not None:
            ms = max(now - began, 0.0) * 1000
        values = (kept.session(ctx), kept.name(ctx.tool_name), fired(ctx, self._clock), ms, ok)
        with self._store.write() as db:
            db.execute("INSERT INTO tool_calls (session, tool, at, ms, ok) VALUES (?, ?, ?, ?, ?)", values)

    def _take(self, key: Key, which: int) -> float:
        """Forget a call, the first (0) or the last (-1) of its key, and return when it began."""
        numbers = self._calls[key]
        _, began = self._began.pop(numbers.pop(which))
        if not numbers:
            del self._calls[key]
        return began


def _key(ctx: Context) -> Key:
    session = ctx.session_id or ""
    if ctx.tool_use_id:
        return (session, ctx.tool_use_id)
    return (session, ctx.tool_name or "", stable(ctx.tool_args))


def _told(ctx: Context) -> float | None:
    """Return how long the agent says that the call took, in milliseconds."""
    ms = ctx.get("duration_ms")
    if isinstance(ms, bool) or not isinstance(ms, int | float) or not 0 <= ms <= LONGEST:
        return None
    return float(ms)
