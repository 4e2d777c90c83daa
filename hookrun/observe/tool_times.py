"""Times tool calls and counts their failures."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.observe.context_fields import Clock, canonical_json, fired_at, session_of, stored_name
from hookrun.observe.database import ObserverDatabase, register_observers

if TYPE_CHECKING:
    from hookrun import Context, Engine

    Key = tuple[str, ...]

# Thirty years: a longer time is an agent's error, which earlier versions of hookrun stored.
MAX_MS = 1e12
# Limit on remembered unfinished calls; beyond it, the oldest are forgotten.
MAX_PENDING = 1000

PER_TOOL = """
    WITH calls AS (SELECT tool, ok, CASE WHEN ms <= 1e12 THEN ms END AS ms
        FROM tool_calls WHERE at >= ? AND (? IS NULL OR session = ?)),
    ranked AS (SELECT *, count(ms) OVER (PARTITION BY tool) AS timed,
        row_number() OVER (PARTITION BY tool, ms IS NULL ORDER BY ms) AS place FROM calls)
    SELECT tool, count(*), sum(NOT ok), count(ms), total(ms), avg(ms),
        max(CASE WHEN place = (timed * 50 + 99) / 100 THEN ms END),
        max(CASE WHEN place = (timed * 95 + 99) / 100 THEN ms END), max(ms)
    FROM ranked GROUP BY tool ORDER BY total(ms) DESC, count(*) DESC, tool
"""


@dataclass(frozen=True, slots=True)
class ToolTime:
    """How one tool was used. Times are milliseconds, None where no call was timed; `timed` is how many were.

    `p50_ms` and `p95_ms` are nearest-rank percentiles: times of actual calls.
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

    A `duration_ms` in the context, as some agents send it, takes precedence: it does not include waiting for the user.
    A call whose beginning was not seen is counted without a time; of calls that never end the latest `pending` are
    remembered. Calls are identified by their `tool_use_id`, without one by tool and arguments.

    >>> from hookrun.events import PostToolUse
    >>> from hookrun.observe import ObserverDatabase, ToolTimes
    >>> import os, tempfile
    >>> times = ToolTimes(ObserverDatabase(os.path.join(tempfile.mkdtemp(), "observe.db")))
    >>> times.on_result(PostToolUse(session_id="s1", tool_name="bash", duration_ms=120))
    >>> [(each.tool, each.count, each.p95_ms) for each in times.per_tool()]
    [('bash', 1, 120.0)]

    Everything but `on_call` raises DatabaseError where the database cannot be used.
    """

    def __init__(
        self,
        store: ObserverDatabase | None = None,
        *,
        pending: int = MAX_PENDING,
        stopwatch: Clock = time.perf_counter,
        clock: Clock = time.time,
    ) -> None:
        self._store = store or ObserverDatabase()
        self._stopwatch = stopwatch
        self._clock = clock
        self._limit = pending
        self._lock = threading.Lock()
        self._began: list[tuple[Key, float]] = []

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle: the last before the tool runs, the first after it."""
        # Not `always`: a call blocked earlier never ends. Not in a thread: that would delay the start time.
        call = {"tool-times-call": ("pre_tool_use", self.on_call)}
        register_observers(engine, self._store.place, call, priority=1000, always=False, thread=False)
        results = {
            "tool-times-result": ("post_tool_use", self.on_result),
            "tool-times-failure": ("post_tool_failure", self.on_failure),
        }
        register_observers(engine, self._store.place, results, priority=0)

    @property
    def pending(self) -> int:
        """The number of calls that have begun and not ended."""
        return len(self._began)

    def on_call(self, ctx: Context) -> None:
        """Remember when a call began."""
        call = _key(ctx), self._stopwatch()
        with self._lock:
            self._began.append(call)
            if len(self._began) > self._limit:
                del self._began[0]

    def on_result(self, ctx: Context) -> None:
        """Store the duration of a call; with a `tool_result_error` it has failed."""
        self._store_call(ctx, ok=not ctx.tool_result_error)

    def on_failure(self, ctx: Context) -> None:
        """Store the duration of a call that has failed."""
        self._store_call(ctx, ok=False)

    def per_tool(self, *, session_id: str | None = None, since: float = 0.0) -> list[ToolTime]:
        """Return how each tool was used from `since` (seconds since 1970) on, the largest total time first."""
        with self._store.read() as db:
            return [ToolTime(*row) for row in db.execute(PER_TOOL, (since, session_id, session_id))]

    def _store_call(self, ctx: Context, *, ok: bool) -> None:
        now, key = self._stopwatch(), _key(ctx)
        with self._lock:
            # The latest of identical calls: an earlier one may have been blocked and never end.
            place = next((n for n in reversed(range(len(self._began))) if self._began[n][0] == key), None)
            began = self._began.pop(place)[1] if place is not None else now
        ms = _reported_ms(ctx)
        if ms is None and place is not None:
            ms = max(now - began, 0.0) * 1000
        values = (session_of(ctx), stored_name(ctx.tool_name), fired_at(ctx, self._clock), ms, ok)
        with self._store.write() as db:
            db.execute("INSERT INTO tool_calls (session, tool, at, ms, ok) VALUES (?, ?, ?, ?, ?)", values)


def _key(ctx: Context) -> Key:
    session = ctx.session_id or ""
    if ctx.tool_use_id:
        return (session, ctx.tool_use_id)
    return (session, ctx.tool_name or "", canonical_json(ctx.tool_args))


def _reported_ms(ctx: Context) -> float | None:
    ms = ctx.get("duration_ms")
    if isinstance(ms, bool) or not isinstance(ms, int | float) or not 0 <= ms <= MAX_MS:
        return None
    return float(ms)
