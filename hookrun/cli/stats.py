"""`hookrun stats`: each hook's count, failures and times from the audit, and Python programs' metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from functools import lru_cache
from itertools import islice

import click

from hookrun.cli.commands import command, json_option
from hookrun.cli.log_filter import RunFilter, filter_options
from hookrun.cli.printing import percentile, print_json, print_table, shortened
from hookrun.core import audit_reader
from hookrun.core.audit_reader import matches
from hookrun.core.files import relative_path
from hookrun.observe.context_fields import iso
from hookrun.observe.costs import Cost, money
from hookrun.observe.database import ObserverDatabase
from hookrun.observe.durations import ToolTime
from hookrun.observe.error_chains import ErrorChain
from hookrun.observe.metrics_report import MetricsReport, collect
from hookrun.observe.spool import default_path
from hookrun.observe.workflow import Session

Row = tuple[str, ...]
# A table's title, columns and rows.
Section = tuple[str, Row, list[Row]]

# Limit on the sessions and errors shown; --json has all.
LATEST = 10
SESSION = ("SESSION", "STARTED", "TIME", "CALLS", "FAILED", "FILES", "CHECKPOINTS", "PER HOUR", "QUALITY", "PROJECT")
SPENDING = ("INFERENCES", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST")
# Limit on an error message's characters in the table.
MAX_MESSAGE = 60


# Filters that metrics have, too; with others they are left out.
OF_METRICS = frozenset({"since", "session", "project", "all_projects"})


@command("stats", "stats", "stats --since 7d --json", "stats --all-projects --agent claude")
@filter_options
@json_option
def stats_command(*, runs: RunFilter, as_json: bool) -> None:
    """Show how often each hook ran and failed, and how long it took; then what Python programs and recipes recorded.

    Hook runs come from the log, those of this project. Metrics are sessions, quality, tools, costs, errors and their
    fixes, of all projects, and what was learned in this one; other filters than --since, --session and --project leave
    them out.
    """
    metrics: dict[str, object] = {}
    sections: list[Section] = []
    if (report := metrics_of(runs)) is not None:
        metrics = report.to_dict()
        sections = [section for section in _metrics(report) if section[2]]
    hooks, own = _hook_stats(runs)
    if as_json:
        print_json({**metrics, "hooks": [each.to_dict() for each in hooks], "hookrun": own.to_dict()})
    elif hooks or sections:
        for number, (title, columns, rows) in enumerate([*([_hooks_section(hooks)] if hooks else []), *sections]):
            if number:
                click.echo()
            print_table(columns, rows, title=title)
        if own.times:
            half, most = (_ms(percentile(own.times, share)) for share in (0.5, 0.95))
            failed = f", {sum(own.failures.values())} failed" if own.failures else ""
            click.echo(f"\n{own.runs} runs{failed}; hookrun itself took {half} (P50), {most} (P95)")
    else:
        runs.require_known_hook()
        click.echo(f"no matching entries\n{runs.why_nothing('stats')}")


def metrics_of(runs: RunFilter) -> MetricsReport | None:
    """Return what Python programs and recipes recorded, None with a filter that it does not have."""
    if not runs.given.keys() <= OF_METRICS:
        return None
    store = ObserverDatabase(default_path(runs.home))
    with store.as_store_errors():
        return collect(store, session_id=runs.given.get("session"), days=runs.days(), project=runs.project)


# --- hooks, from the audit


# A hook's name (None: hookrun itself), its config file, a run's milliseconds and its kind of failure, None if unknown.
Counted = tuple[str | None, str, float | None, str | None]


def counted(record: audit_reader.Record) -> Counted | None:
    """Return the run that a record counts for; those of hooks that did not end count for nothing."""
    kind, ms = record.get("kind"), record.get("ms")
    failure: object
    if kind == audit_reader.FIRE and "own_ms" in record:
        name, source, ms = None, "", record["own_ms"]
        failure = "error" if record.get("error") else "problems" if record.get("problems") else None
    elif (
        (kind == audit_reader.HOOK and "background" not in record) or kind == audit_reader.BACKGROUND
    ) and "interrupted" not in record:  # the other record of a hook in the background is of its start
        name, source, failure = str(record.get("hook")), _file(record.get("source")), record.get("failure")
    else:
        return None
    return name, source, ms if isinstance(ms, (int, float)) else None, str(failure) if failure else None


@lru_cache(maxsize=256)
def _file(source: object) -> str:
    return str(source).rpartition(":")[0]  # without the line


class HookStats:
    """One hook's runs: how often each time in milliseconds, and the number of failures of each kind."""

    def __init__(self, name: str | None, source: str) -> None:
        self.name = name or "hookrun"
        self.source = source
        self.times: Counter[float] = Counter()
        self.failures: Counter[str] = Counter()

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self.times.total()

    def to_dict(self) -> dict[str, object]:
        """Return the figures as a JSON object."""
        return {
            "name": self.name,
            "source": self.source,
            "runs": self.runs,
            "failures": dict(self.failures),
            "p50_ms": percentile(self.times, 0.5),
            "p95_ms": percentile(self.times, 0.95),
            "max_ms": max(self.times, default=None),
        }


class AllHookStats:
    """The figures of each hook, a name in one file, as two projects may use one name; `own` are hookrun's."""

    def __init__(self) -> None:
        self.own = HookStats(None, "")
        self._hooks: dict[tuple[str | None, str], HookStats] = {(None, ""): self.own}

    def add(self, record: audit_reader.Record) -> None:
        """Add a record."""
        if (run := counted(record)) is None:
            return
        name, source, ms, failure = run
        stats = self._hooks.get((name, source))
        if stats is None:
            stats = self._hooks[name, source] = HookStats(name, source)
        if ms is not None:
            stats.times[ms] += 1
        if failure is not None:
            stats.failures[failure] += 1

    def sorted(self) -> list[HookStats]:
        """Return the hooks, the one with the most time first."""
        _, *hooks = self._hooks.values()
        return sorted(hooks, key=lambda it: -sum(ms * count for ms, count in it.times.items()))


def _hook_stats(runs: RunFilter) -> tuple[list[HookStats], HookStats]:
    """Return each hook's figures, the one with the most time first, and hookrun's own."""
    table = AllHookStats()
    wanted = runs.given.get("hook")
    for run in runs.complete():
        if run.fire is not None:
            table.add(run.fire)
        for record in run.hooks:
            if wanted is None or matches(wanted, record.get("hook")):
                table.add(record)
    return table.sorted(), table.own


def _hooks_section(hooks: Iterable[HookStats]) -> Section:
    rows: list[Row] = []
    for each in hooks:
        failed = ", ".join(f"{count} {kind}" for kind, count in each.failures.items()) or "0"
        where = relative_path(each.source) if each.source else "-"
        times = (percentile(each.times, 0.5), percentile(each.times, 0.95), max(each.times, default=None))
        rows.append((each.name, str(each.runs), failed, *map(_ms, times), where))
    return "HOOKS", ("HOOK", "RUNS", "FAILED", "P50", "P95", "MAX", "FILE"), rows


# --- metrics, from the database


def _metrics(report: MetricsReport) -> Iterator[Section]:
    it = report.summary
    if it.sessions or report.patterns:
        busiest = sorted(sorted(it.hours, key=lambda hour: (-it.hours[hour], hour))[:3])
        checkpoints, calls = _number(it.checkpoints_per_hour), _number(it.tool_calls_per_hour)
        rows: list[Row] = [
            ("sessions", str(it.sessions)),
            ("time", _time(it.seconds)),
            ("tool calls", f"{it.tool_calls}, {it.failures} failed"),
            ("files changed", str(it.files)),
            ("checkpoints", str(it.checkpoints)),
            ("velocity", f"{checkpoints} checkpoints and {calls} calls an hour"),
            ("quality", f"{_number(it.quality_mean)} on average, {_trend(it.quality_trend, it.quality_slope)}"),
            ("busiest hours", ", ".join(f"{hour:02d}:00" for hour in busiest) or "-"),
            ("patterns learned", str(report.patterns)),
        ]
        yield "SUMMARY", ("WHAT", "VALUE"), rows
    yield _latest("SESSIONS", SESSION, map(_session, report.sessions), len(report.sessions))
    yield "TOOLS", ("TOOL", "CALLS", "FAILED", "TOTAL", "MEAN", "P50", "P95", "MAX"), list(map(_tool, report.tools))
    yield "COSTS BY MODEL", ("MODEL", *SPENDING), list(map(_spending, report.models))
    yield _latest("COSTS BY SESSION", ("SESSION", *SPENDING), map(_spending, report.costs), len(report.costs))
    columns = ("WHEN", "ERROR", "TOOL", "TIMES", "FIXED BY")
    title, _, errors = _latest("ERRORS", columns, map(_error, report.chains), report.errors)
    yield f"{title}, {report.fixed} fixed", columns, errors
    lessons: list[Row] = [
        (shortened(it.fingerprint, MAX_MESSAGE), it.fix, f"{it.held} of {it.tried}") for it in report.lessons
    ]
    yield "WHAT FIXES ERRORS", ("ERROR", "FIX", "HELD"), lessons[:LATEST]
    patterns: list[Row] = [
        (" before ".join(it.steps), str(it.times), f"{it.worked} of {it.latest}") for it in report.sequences
    ]
    yield "WHAT WORKS", ("STEPS", "TIMES", "WORKED"), patterns[:LATEST]


def _session(it: Session) -> Row:
    counts = (it.tool_calls, it.failures, len(it.files), len(it.checkpoints))
    return (
        it.id or "(no name)",
        iso(it.started),
        _time(it.seconds),
        *map(str, counts),
        _number(it.checkpoints_per_hour),
        _trend(it.quality_trend, it.quality_slope),
        it.project or "-",
    )


def _tool(it: ToolTime) -> Row:
    times = (it.total_ms, it.mean_ms, it.p50_ms, it.p95_ms, it.max_ms)
    return it.tool or "(no name)", str(it.count), str(it.failures), *map(_ms, times)


def _spending(cost: Cost) -> Row:
    counts = (cost.inferences, *astuple(cost.tokens))
    known = "unknown" if cost.cost is None else money(cost.cost)
    left_out = f" and {cost.unpriced} unknown" if cost.cost is not None and cost.unpriced else ""
    return (cost.name or "(no name)", *map(str, counts), known + left_out)


def _error(it: ErrorChain) -> Row:
    message = shortened(it.message, MAX_MESSAGE)
    return iso(it.at), message, it.tool or "-", str(it.times), it.fix.description if it.fix else "-"


def _latest(name: str, columns: Row, rows: Iterable[Row], there: int) -> Section:
    shown = [*islice(rows, LATEST)]
    return name if len(shown) == there else f"{name} (the latest {len(shown)} of {there})", columns, shown


def _trend(name: str | None, slope: float | None) -> str:
    return "-" if name is None or slope is None else f"{name} ({slope:+.1f} a checkpoint)"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _ms(ms: float | None) -> str:
    if ms is None:
        return "-"
    return f"{ms:.0f} ms" if ms < 10_000 else _time(ms / 1000)  # noqa: PLR2004  # ten seconds


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
