"""Collect all metrics of a session, some days or all time, and export them as Prometheus text or JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrun.core.files import atomic_write
from hookrun.core.text import did_you_mean, quote
from hookrun.observe.context_fields import iso, start_of_last_days
from hookrun.observe.costs import Cost, CostTracker
from hookrun.observe.database import ObserverDatabase, register_observers
from hookrun.observe.durations import ToolTime, ToolTimes
from hookrun.observe.error_chains import CauseChains, ErrorChain, Lesson
from hookrun.observe.patterns import PatternLearning
from hookrun.observe.sequences import Sequence, sequences
from hookrun.observe.workflow import Session, Summary, WorkflowMetrics, summarize

if TYPE_CHECKING:
    from hookrun import Context, Engine

# Limit on the chains that a report has in full: the newest.
MAX_CHAINS = 100
# A report's fields of a session, in order.
IN_SESSION = (
    "id", "project", "started", "ended", "last", "seconds", "tool_calls", "failures", "files", "checkpoints",
    "checkpoints_per_hour", "tool_calls_per_hour", "quality_slope", "quality_trend",
)  # fmt: skip
TIMES = frozenset({"at", "ended", "fixed_at", "last", "started"})
# An exported file's mode: usually another account collects metrics.
READABLE = 0o644

LABEL_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


@dataclass(frozen=True, slots=True)
class MetricsReport:
    """All metrics. `errors` and `fixed` count all cause chains, `chains` are the newest of them.

    `patterns` counts patterns learned from checkpoints; these, `lessons` and `sequences` do not belong to sessions.
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
    lessons: list[Lesson]
    sequences: list[Sequence]

    def to_dict(self) -> dict[str, object]:
        """Return the report as a JSON object; times are RFC 3339."""
        learned = self.learned()
        return {
            "summary": asdict(self.summary),
            "sessions": [_session(each) for each in self.sessions],
            "tools": learned.pop("tools"),
            "models": [asdict(each) for each in self.models],
            "costs": [asdict(each) for each in self.costs],
            "errors": {
                "count": self.errors,
                "fixed": self.fixed,
                "chains": [asdict(each, dict_factory=_with_dates) for each in self.chains],
            },
            "patterns": self.patterns,
            **learned,
        }

    def learned(self) -> dict[str, list[dict[str, object]]]:
        """Return the times of tools, lessons and sequences as JSON objects."""
        return {
            "tools": [asdict(each) for each in self.tools],
            "lessons": [asdict(each, dict_factory=_with_dates) for each in self.lessons],
            "sequences": [asdict(each, dict_factory=_with_dates) for each in self.sequences],
        }


def collect(
    store: ObserverDatabase,
    *,
    session_id: str | None = None,
    days: float | None = None,
    project: str | None = None,
) -> MetricsReport:
    """Return the metrics of one session or all, of the last `days` days or of all time.

    What was learned is that of a project, or of all; of one session it is nothing.

    Raises DatabaseError, and ValueError if `days` is not above 0.
    """
    earliest = start_of_last_days(days)
    workflow = WorkflowMetrics(store)
    sessions = [each for each in workflow.sessions(days=days) if session_id in (None, each.id)]
    costs, causes = CostTracker({}, store), CauseChains(store)
    chains = causes.chains(session_id=session_id, since=earliest)
    of_all = session_id is None
    return MetricsReport(
        summary=summarize(sessions),
        sessions=sessions,
        tools=ToolTimes(store).per_tool(session_id=session_id, since=earliest),
        models=costs.per_model(session_id=session_id, since=earliest),
        costs=costs.per_session(session_id=session_id, since=earliest),
        errors=len(chains),
        fixed=sum(each.fixed_at is not None for each in chains),
        chains=chains[:MAX_CHAINS],
        patterns=PatternLearning(store).count(since=earliest) if of_all else 0,
        lessons=causes.lessons(project=project) if of_all else [],
        sequences=sequences(store, project=project) if of_all else [],
    )


def _session(session: Session) -> dict[str, object]:
    return _with_dates([(name, getattr(session, name)) for name in IN_SESSION]) | {
        "seconds": round(session.seconds, 3),
        "checkpoints": [{"at": iso(each.at), "quality_score": each.score} for each in session.checkpoints],
    }


def _with_dates(members: list[tuple[str, Any]]) -> dict[str, object]:
    return {name: iso(value) if name in TIMES and value is not None else value for name, value in members}


class Sample(NamedTuple):
    """One value with its labels; `suffix` is appended to the metric's name."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""


# Returns a metric's samples, or its only value, None if unknown.
Read = Callable[[MetricsReport], Iterable[Sample] | float | None]


class MetricsExport:
    """A bundle that writes all metrics to `path` whenever the agent stops or a session ends.

    `format` is `prometheus` (text format 0.0.4; for node_exporter's textfile collector the name must end in .prom) or
    `json`. The file is replaced atomically and is readable by everyone; its directory must exist. The Prometheus form
    holds no session, message or path.

    >>> from hookrun.observe import MetricsExport, ObserverDatabase, ToolTimes
    >>> from hookrun.events import PostToolUse, SessionEnd
    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> store = ObserverDatabase(directory / "observe.db")
    >>> ToolTimes(store).on_result(PostToolUse(tool_name="bash", duration_ms=250))
    >>> MetricsExport(directory / "hookrun.prom", store).on_end(SessionEnd())
    >>> [line for line in (directory / "hookrun.prom").read_text().splitlines() if "_sum" in line]
    ['hookrun_tool_duration_seconds_sum{tool="bash"} 0.25']

    Raises ValueError for an unknown format. The handlers raise OSError where the file cannot be written, DatabaseError
    where the database cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        store: ObserverDatabase | None = None,
        format: str = "prometheus",  # noqa: A002  # public
    ) -> None:
        if format not in FORMATS:
            hint = did_you_mean(format, FORMATS)
            raise ValueError(
                f"format is {quote(format)}, expected {' or '.join(sorted(FORMATS))}{f'; {hint}' if hint else ''}"
            )
        self._path = os.path.abspath(path)
        self._store = store or ObserverDatabase()
        self._format = FORMATS[format]

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle, after those that store what is exported."""
        name = f"metrics-export-{os.path.basename(self._path)}"
        handlers = {f"{name}-session-end": ("session_end", self.on_end), f"{name}-stop": ("stop", self.on_end)}
        register_observers(engine, self._path, handlers, priority=900)

    def on_end(self, ctx: Context) -> None:  # noqa: ARG002  # every end does the same
        """Write the file."""
        with self._store.as_store_errors():
            text = self._format(collect(self._store))
        atomic_write(self._path, text.encode("utf-8", "backslashreplace"), mode=READABLE)
        os.chmod(self._path, READABLE)  # whatever the umask


def as_json(report: MetricsReport) -> str:
    """Return a report as one JSON object."""
    return json.dumps(report.to_dict(), indent=2) + "\n"


def prometheus(report: MetricsReport) -> str:
    """Return a report in Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats)."""
    return "".join(line for metric in METRICS for line in _lines(*metric, report))


def _lines(name: str, kind: str, text: str, read: Read, report: MetricsReport) -> Iterator[str]:
    found = read(report)
    samples = [Sample(found)] if isinstance(found, int | float) else list(found or ())
    if not samples:
        return
    yield f"# HELP {name} {text.translate(HELP_ESCAPES)}\n"
    yield f"# TYPE {name} {kind}\n"
    for sample in samples:
        labels = ",".join(f'{label}="{value.translate(LABEL_ESCAPES)}"' for label, value in sample.labels.items())
        yield f"{name}{sample.suffix}{'{' + labels + '}' if labels else ''} {sample.value!r}\n"


def _latest_quality(report: MetricsReport) -> float | None:
    scored = [each for session in report.sessions for each in session.checkpoints if each.score is not None]
    return max(scored, key=lambda each: each.at).score if scored else None


def _tool_calls(report: MetricsReport) -> Iterator[Sample]:
    for each in report.tools:
        yield Sample(each.count - each.failures, {"tool": each.tool, "result": "ok"})
        yield Sample(each.failures, {"tool": each.tool, "result": "failed"})


def _durations(report: MetricsReport) -> Iterator[Sample]:
    for each in report.tools:
        for quantile, ms in (("0.5", each.p50_ms), ("0.95", each.p95_ms)):
            if ms is not None:
                yield Sample(ms / 1000, {"tool": each.tool, "quantile": quantile})
        yield Sample(each.total_ms / 1000, {"tool": each.tool}, "_sum")
        yield Sample(each.timed, {"tool": each.tool}, "_count")


def _tokens(report: MetricsReport) -> Iterator[Sample]:
    for each in report.models:
        for kind in ("input", "output", "cache_read", "cache_creation"):
            yield Sample(getattr(each.tokens, kind), {"model": each.name, "kind": kind})


def _per_model(value: str) -> Read:
    def read(report: MetricsReport) -> Iterator[Sample]:
        for each in report.models:
            if (found := getattr(each, value)) is not None:
                yield Sample(found, {"model": each.name})

    return read


# Name, type, help, and how the samples are read from a report.
METRICS: tuple[tuple[str, str, str, Read], ...] = (
    ("hookrun_sessions_total", "counter", "Sessions.", lambda it: it.summary.sessions),
    ("hookrun_session_seconds_total", "counter", "How long sessions took.", lambda it: it.summary.seconds),
    ("hookrun_session_tool_calls_total", "counter", "Tool calls.", lambda it: it.summary.tool_calls),
    ("hookrun_session_failures_total", "counter", "Failed tool calls.", lambda it: it.summary.failures),
    ("hookrun_files_changed_total", "counter", "Files changed, each once.", lambda it: it.summary.files),
    ("hookrun_checkpoints_total", "counter", "Checkpoints.", lambda it: it.summary.checkpoints),
    ("hookrun_quality_score", "gauge", "Quality score of the latest checkpoint.", _latest_quality),
    ("hookrun_quality_slope", "gauge", "Points per checkpoint.", lambda it: it.summary.quality_slope),
    ("hookrun_tool_calls_total", "counter", "Timed tool calls by tool and result.", _tool_calls),
    ("hookrun_tool_duration_seconds", "summary", "How long tool calls took.", _durations),
    ("hookrun_inferences_total", "counter", "Inferences by model.", _per_model("inferences")),
    ("hookrun_inferences_unpriced_total", "counter", "Inferences of unknown cost.", _per_model("unpriced")),
    ("hookrun_tokens_total", "counter", "Tokens by model and kind.", _tokens),
    ("hookrun_cost_usd_total", "counter", "Cost in USD by model, as far as it is known.", _per_model("cost")),
    ("hookrun_errors_total", "counter", "Errors, each once until it is fixed.", lambda it: it.errors),
    ("hookrun_errors_fixed_total", "counter", "Errors that were fixed.", lambda it: it.fixed),
    ("hookrun_patterns", "gauge", "Patterns learned from checkpoints.", lambda it: it.patterns),
)

FORMATS: dict[str, Callable[[MetricsReport], str]] = {"json": as_json, "prometheus": prometheus}
