"""Collects all metrics of a session, of some days or of all time into one report."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from hookrun.observe.costs import Cost, CostTracker
from hookrun.observe.error_chains import CauseChains, ErrorChain
from hookrun.observe.patterns import PatternLearning
from hookrun.observe.timestamps import iso, start_of_last_days
from hookrun.observe.tool_times import ToolTime, ToolTimes
from hookrun.observe.workflow import Session, Summary, WorkflowMetrics, summarize

if TYPE_CHECKING:
    from hookrun.observe.database import ObserverDatabase
    from hookrun.observe.timestamps import Clock

MAX_CHAINS = 100
"""The newest causal chains, which a report has in full."""
IN_SESSION = (
    "id", "project", "started", "ended", "last", "seconds", "tool_calls", "failures", "files", "checkpoints",
    "checkpoints_per_hour", "tool_calls_per_hour", "quality_slope", "quality_trend",
)  # fmt: skip
"""What a report has of a session, in order."""


@dataclass(frozen=True, slots=True)
class MetricsReport:
    """All metrics. `errors` and `fixed` count all cause chains, `chains` are the newest of them.

    `patterns` counts patterns learned from checkpoints, which do not belong to sessions.
    """

    summary: Summary
    sessions: list[Session]
    tools: list[ToolTime]
    models: list[Cost]
    costs: list[Cost]
    errors: int
    fixed: int
    chains: list[ErrorChain]
    patterns: int

    @property
    def empty(self) -> bool:
        """Whether there are no metrics at all."""
        return not (self.sessions or self.tools or self.models or self.errors or self.patterns)

    def to_dict(self) -> dict[str, object]:
        """Return the report as a JSON object; times are RFC 3339."""
        return {
            "summary": asdict(self.summary),
            "sessions": [_session(each) for each in self.sessions],
            "tools": [asdict(each) for each in self.tools],
            "models": [asdict(each) for each in self.models],
            "costs": [asdict(each) for each in self.costs],
            "errors": {"count": self.errors, "fixed": self.fixed, "chains": [_chain(each) for each in self.chains]},
            "patterns": self.patterns,
        }


def collect(
    store: ObserverDatabase, *, session_id: str | None = None, days: float | None = None, clock: Clock = time.time
) -> MetricsReport:
    """Return the metrics of one session or all, of the last `days` days or of all time.

    Raises DatabaseError, and ValueError if `days` is not above 0.
    """
    earliest = start_of_last_days(days, clock)
    workflow = WorkflowMetrics(store, clock=clock)
    sessions = [each for each in workflow.sessions(days=days) if session_id in (None, each.id)]
    costs, causes = CostTracker({}, store), CauseChains(store)
    errors, fixed = causes.totals(session_id=session_id, since=earliest)
    return MetricsReport(
        summary=summarize(sessions),
        sessions=sessions,
        tools=ToolTimes(store).per_tool(session_id=session_id, since=earliest),
        models=costs.per_model(session_id=session_id, since=earliest),
        costs=costs.per_session(session_id=session_id, since=earliest),
        errors=errors,
        fixed=fixed,
        chains=causes.chains(session_id=session_id, since=earliest, limit=MAX_CHAINS),
        patterns=PatternLearning(store).count(since=earliest) if session_id is None else 0,
    )


def _session(session: Session) -> dict[str, object]:
    return {name: getattr(session, name) for name in IN_SESSION} | {
        "started": iso(session.started),
        "ended": None if session.ended is None else iso(session.ended),
        "last": iso(session.last),
        "seconds": round(session.seconds, 3),
        "checkpoints": [{"at": iso(each.at), "quality_score": each.score} for each in session.checkpoints],
    }


def _chain(chain: ErrorChain) -> dict[str, object]:
    fixed_at = None if chain.fixed_at is None else iso(chain.fixed_at)
    attempts = [{**asdict(each), "at": iso(each.at)} for each in chain.attempts]
    fixes = [{**asdict(each), "at": iso(each.at)} for each in chain.fixes]
    return {**asdict(chain), "at": iso(chain.at), "fixed_at": fixed_at, "attempts": attempts, "fixes": fixes}
