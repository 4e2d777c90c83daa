"""How long tools took and how often they failed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.observe.database import ObserverDatabase
from hookrun.observe.spool import Clock

if TYPE_CHECKING:
    from hookrun import Context, Engine

PER_TOOL = """
    WITH calls AS (SELECT tool, ok, ms FROM events
        WHERE event IN ('post_tool_use', 'post_tool_failure') AND at >= ? AND (? IS NULL OR session = ?)),
    ranked AS (SELECT *, count(ms) OVER (PARTITION BY tool) AS timed,
        row_number() OVER (PARTITION BY tool, ms IS NULL ORDER BY ms) AS place FROM calls)
    SELECT coalesce(tool, ''), count(*), sum(NOT ok), count(ms), total(ms), avg(ms),
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
    A call whose beginning was not seen is counted without a time. Calls are identified by their `tool_use_id`, without
    one by tool and arguments.

    >>> from hookrun.events import PostToolUse
    >>> from hookrun.observe import ObserverDatabase, ToolTimes
    >>> import os, tempfile
    >>> times = ToolTimes(ObserverDatabase(os.path.join(tempfile.mkdtemp(), "observe.db")))
    >>> times.on_result(PostToolUse(session_id="s1", tool_name="bash", duration_ms=120))
    >>> [(each.tool, each.count, each.p95_ms) for each in times.per_tool()]
    [('bash', 1, 120.0)]

    Everything raises DatabaseError where the database cannot be used.
    """

    def __init__(self, store: ObserverDatabase | None = None, *, clock: Clock = time.time) -> None:
        self._store = store or ObserverDatabase()
        self._clock = clock

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle: the last before the tool runs, the first after it."""
        # Not `always`: a call blocked earlier never ends. Not in a thread: that would delay the start time.
        call = {"tool-times-call": ("pre_tool_use", self.on_call)}
        self._store.register(engine, call, priority=1000, always=False, thread=False)
        results = {
            "tool-times-result": ("post_tool_use", self.on_result),
            "tool-times-failure": ("post_tool_failure", self.on_result),
        }
        self._store.register(engine, results, priority=0, thread=False)

    def on_call(self, ctx: Context) -> None:
        """Keep when a call began, or that one ended; with a `tool_result_error` it has failed."""
        self._store.keep(ctx, clock=self._clock)

    on_result = on_failure = on_call

    def per_tool(self, *, session_id: str | None = None, since: float = 0.0) -> list[ToolTime]:
        """Return how each tool was used from `since` (seconds since 1970) on, the largest total time first."""
        with self._store.read() as db:
            return [ToolTime(*row) for row in db.execute(PER_TOOL, (since, session_id, session_id))]
