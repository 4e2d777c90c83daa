"""All that the store knows of a session, of some days or of all time, in one object."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from hookrun.observe.causes import CauseChains
from hookrun.observe.costs import Cost, CostTracker
from hookrun.observe.moments import iso, since
from hookrun.observe.patterns import PatternLearning
from hookrun.observe.summary import Session, Summary, summarise
from hookrun.observe.tools import ToolTime, ToolTimes
from hookrun.observe.workflow import WorkflowMetrics

if TYPE_CHECKING:
    from hookrun.observe.chains import Chain
    from hookrun.observe.moments import Clock
    from hookrun.observe.store import Store

MOST_CHAINS = 100
"""Causal chains that are told one by one, the newest."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is known. `errors` and `fixed` count all cause chains, `chains` are the newest of them.

    `patterns` counts what was learned from checkpoints, which belongs to no session.
    """

    summary: Summary
    sessions: list[Session]
    tools: list[ToolTime]
    models: list[Cost]
    costs: list[Cost]
    errors: int
    fixed: int
    chains: list[Chain]
    patterns: int

    @property
    def empty(self) -> bool:
        """Whether nothing is known at all."""
        return not (self.sessions or self.tools or self.models or self.errors or self.patterns)

    def to_dict(self) -> dict[str, object]:
        """Return all of it as a JSON object; times are RFC 3339."""
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
    store: Store, *, session_id: str | None = None, days: float | None = None, clock: Clock = time.time
) -> Report:
    """Return what is known of one session, or of all, within the last so many days, or of all time.

    Raises StoreError, and ValueError for days that are no number above 0.
    """
    earliest = since(days, clock)
    workflow = WorkflowMetrics(store, clock=clock)
    sessions = [each for each in workflow.sessions(days=days) if session_id in (None, each.id)]
    costs, causes = CostTracker({}, store), CauseChains(store)
    errors, fixed = causes.totals(session_id=session_id, since=earliest)
    return Report(
        summary=summarise(sessions),
        sessions=sessions,
        tools=ToolTimes(store).per_tool(session_id=session_id, since=earliest),
        models=costs.per_model(session_id=session_id, since=earliest),
        costs=costs.per_session(session_id=session_id, since=earliest),
        errors=errors,
        fixed=fixed,
        chains=causes.chains(session_id=session_id, since=earliest, limit=MOST_CHAINS),
        patterns=PatternLearning(store).count(since=earliest) if session_id is None else 0,
    )


def _session(session: Session) -> dict[str, object]:
    return {
        "id": session.id,
        "project": session.project,
        "started": iso(session.started),
        "ended": None if session.ended is None else iso(session.ended),
        "last": iso(session.last),
        "seconds": round(session.seconds, 3),
        "tool_calls": session.tool_calls,
        "failures": session.failures,
        "files": session.files,
        "checkpoints": [{"at": iso(each.at), "quality_score": each.score} for each in session.checkpoints],
        "checkpoints_per_hour": session.checkpoints_per_hour,
        "tool_calls_per_hour": session.tool_calls_per_hour,
        "quality_slope": session.quality_slope,
        "quality_trend": session.quality_trend,
    }


def _chain(chain: Chain) -> dict[str, object]:
    fixed_at = None if chain.fixed_at is None else iso(chain.fixed_at)
    attempts = [{**asdict(each), "at": iso(each.at)} for each in chain.attempts]
    fixes = [{**asdict(each), "at": iso(each.at)} for each in chain.fixes]
    return {**asdict(chain), "at": iso(chain.at), "fixed_at": fixed_at, "attempts": attempts, "fixes": fixes}
