"""`hookrun stats`: count, failures and times of each hook, from the audit, and metrics that Python programs record."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from hookrun import audit, audit_reader
from hookrun.cli.common import aligned, home_option, print_json, print_rich_table, resolve_home
from hookrun.fire.repeat import percentile
from hookrun.observe.costs import money
from hookrun.observe.database import ObserverDatabase, default_path
from hookrun.observe.export import FORMATS
from hookrun.observe.metrics_report import collect
from hookrun.observe.timestamps import iso, start_of_last_days

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.audit_reader import Record
    from hookrun.observe.costs import Cost
    from hookrun.observe.metrics_report import MetricsReport

EXAMPLES = """\b
Examples:
  hookrun stats
  hookrun stats --days 7 --json
  hookrun stats --format prometheus
"""
NOTHING = """\
nothing is there yet: no hook runs in {audit}, no metrics in {path}

Metrics come from a Python program whose engine has the bundles of hookrun.observe:

  from hookrun import Engine
  from hookrun.observe import CauseChains, ToolTimes, WorkflowMetrics

  engine = Engine()
  for bundle in (WorkflowMetrics(), ToolTimes(), CauseChains()):
      engine.use(bundle)"""
LATEST = 10
"""Sessions, and errors, that are shown; --json has them all."""
MAX_MESSAGE = 60
"""Characters of an error message that the table shows."""


@click.command(name="stats", epilog=EXAMPLES)
@click.option("--session", "session_id", metavar="ID", help="Only this session.")
@click.option("--days", type=float, metavar="N", help="Only the last N days; default all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the same as --format json.")
@click.option("--format", "form", type=click.Choice(sorted(FORMATS)), help="Print this format; default tables.")
@home_option
@click.option("--db", metavar="FILE", help="Read metrics from this database instead of the home directory's.")
def stats_command(
    session_id: str | None, days: float | None, form: str | None, home: str | None, db: str | None, *, as_json: bool
) -> None:
    """Show how often each hook ran and failed, and how long it took; then the metrics that Python programs recorded.

    Hook runs come from the audit. Metrics are sessions, quality, tools, costs, errors and their fixes.
    """
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} are two formats; leave one out.")
    if form == "prometheus" and (session_id is not None or days is not None):
        raise click.UsageError("--format prometheus gives totals of all time; leave --session and --days out.")
    if db is not None and not os.path.lexists(db):
        raise click.ClickException(f"--db {db} does not exist; name the file that ObserverDatabase(...) was given")
    try:
        earliest = iso(start_of_last_days(days))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--days") from error
    own_home = resolve_home(home)
    store, sections = ObserverDatabase(db if db is not None else default_path(own_home)), []
    with store.as_store_errors():
        report = collect(store, session_id=session_id, days=days)
        if form == "prometheus":
            click.echo(FORMATS[form](report), nl=False)
            return
        sections = [section for make in SECTIONS if (section := make(report))[2]]
    hooks, own = _hook_stats(own_home, session_id, earliest)
    if session_id is not None and report.empty and not hooks:
        raise click.ClickException(f"{store.path} has nothing of session {session_id}, nor has the audit")
    if as_json or form == "json":
        print_json({**report.to_dict(), "hooks": [each.to_dict() for each in hooks], "hookrun": own.to_dict()})
    elif report.empty and not hooks:
        if days is not None and os.path.exists(store.path):
            click.echo(f"nothing of the last {days:g} days is in {store.path}; leave --days out for all that is")
        else:
            click.echo(NOTHING.format(audit=audit.path(own_home), path=store.path))
    else:
        _print([*([_hooks_section(hooks, own)] if hooks else []), *sections])


# --- hooks, from the audit


class HookStats:
    """The runs of one hook: the `times` in milliseconds, and the number of failures of each kind."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self.times: list[float] = []
        self.failures: dict[str, int] = {}

    def add(self, record: Record, field: str = "ms") -> None:
        """Add a run."""
        ms, failure = record.get(field), record.get("failure")
        if isinstance(ms, int | float):
            self.times.append(ms)
        if failure:
            self.failures[str(failure)] = self.failures.get(str(failure), 0) + 1

    def to_dict(self) -> dict[str, object]:
        """Return the figures as a JSON object; percentiles are nearest-rank, times that were really taken."""
        return {
            "name": self.name,
            "source": self.source,
            "runs": len(self.times),
            "failures": self.failures,
            "p50_ms": percentile(self.times, 0.5),
            "p95_ms": percentile(self.times, 0.95),
            "max_ms": max(self.times, default=None),
        }


def _hook_stats(home: str, session_id: str | None, earliest: str) -> tuple[list[HookStats], HookStats]:
    """Return the figures of each hook, the one with the most time first, and of hookrun itself.

    A hook is a name in one file: two projects may have hooks of one name.
    """
    hooks: dict[tuple[str, str], HookStats] = {}
    own = HookStats("hookrun", "")
    for record in audit_reader.newest_first(home):
        kind = record.get("kind")
        if session_id not in (None, record.get("session_id")) or str(record.get("time"))[:19] < earliest[:19]:
            continue
        if kind == audit_reader.FIRE and "own_ms" in record:
            own.add(record, "own_ms")
        started_only = kind == audit_reader.HOOK and record.get("background")  # its end has a record of its own
        if kind not in (audit_reader.HOOK, audit_reader.BACKGROUND) or started_only or record.get("interrupted"):
            continue
        name, source = str(record.get("hook")), str(record.get("source")).rpartition(":")[0]
        hooks.setdefault((name, source), HookStats(name, source)).add(record)
    return sorted(hooks.values(), key=lambda each: -sum(each.times)), own


def _hooks_section(hooks: Iterable[HookStats], own: HookStats) -> Section:
    rows: list[tuple[str, ...]] = []
    for each in (*hooks, *([own] if own.times else [])):
        failed = ", ".join(f"{count} {kind}" for kind, count in each.failures.items()) or "0"
        times = (
            _ms(percentile(each.times, 0.5)),
            _ms(percentile(each.times, 0.95)),
            _ms(max(each.times, default=None)),
        )
        rows.append((each.name, str(len(each.times)), failed, *times, each.source or "-"))
    return "HOOKS", ("HOOK", "RUNS", "FAILED", "P50", "P95", "MAX", "FILE"), rows


# --- metrics, from the database


Section = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""A title, the columns and the rows of a table."""


def _summary(report: MetricsReport) -> Section:
    it = report.summary
    rows: list[tuple[str, ...]] = [
        ("sessions", str(it.sessions)),
        ("time", _time(it.seconds)),
        ("tool calls", f"{it.tool_calls}, {it.failures} failed"),
        ("files changed", str(it.files)),
        ("checkpoints", str(it.checkpoints)),
        (
            "velocity",
            f"{_number(it.checkpoints_per_hour)} checkpoints and {_number(it.tool_calls_per_hour)} calls an hour",
        ),
        ("quality", f"{_number(it.quality_mean)} on average, {_trend(it.quality_trend, it.quality_slope)}"),
        ("busiest hours", ", ".join(f"{hour:02d}:00" for hour in _busiest(it.hours)) or "-"),
        ("patterns learned", str(report.patterns)),
    ]
    return "SUMMARY", ("WHAT", "VALUE"), rows if it.sessions or report.patterns else []


def _sessions(report: MetricsReport) -> Section:
    columns = (
        "SESSION",
        "STARTED",
        "TIME",
        "CALLS",
        "FAILED",
        "FILES",
        "CHECKPOINTS",
        "PER HOUR",
        "QUALITY",
        "PROJECT",
    )
    rows: list[tuple[str, ...]] = [
        (
            each.id or "(no name)",
            iso(each.started),
            _time(each.seconds),
            str(each.tool_calls),
            str(each.failures),
            str(len(each.files)),
            str(len(each.checkpoints)),
            _number(each.checkpoints_per_hour),
            _trend(each.quality_trend, each.quality_slope),
            each.project or "-",
        )
        for each in report.sessions[:LATEST]
    ]
    return _title("SESSIONS", len(rows), len(report.sessions)), columns, rows


def _tools(report: MetricsReport) -> Section:
    columns = ("TOOL", "CALLS", "FAILED", "TOTAL", "MEAN", "P50", "P95", "MAX")
    rows: list[tuple[str, ...]] = [
        (
            each.tool or "(no name)",
            str(each.count),
            str(each.failures),
            *(_ms(ms) for ms in (each.total_ms, each.mean_ms, each.p50_ms, each.p95_ms, each.max_ms)),
        )
        for each in report.tools
    ]
    return "TOOLS", columns, rows


def _models(report: MetricsReport) -> Section:
    return "COSTS BY MODEL", ("MODEL", *SPENDING), [_spending(each) for each in report.models]


def _costs(report: MetricsReport) -> Section:
    rows: list[tuple[str, ...]] = [_spending(each) for each in report.costs[:LATEST]]
    return _title("COSTS BY SESSION", len(rows), len(report.costs)), ("SESSION", *SPENDING), rows


SPENDING = ("INFERENCES", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST")


def _spending(cost: Cost) -> tuple[str, ...]:
    it = cost.tokens
    counts = (cost.inferences, it.input, it.output, it.cache_read, it.cache_creation)
    known = "unknown" if cost.cost is None else money(cost.cost)
    left_out = f" and {cost.unpriced} unknown" if cost.cost is not None and cost.unpriced else ""
    return (cost.name or "(no name)", *map(str, counts), known + left_out)


def _errors(report: MetricsReport) -> Section:
    rows: list[tuple[str, ...]] = [
        (
            iso(each.at),
            _short(each.message),
            each.tool or "-",
            str(each.times),
            each.fix.description if each.fix else "-",
        )
        for each in report.chains[:LATEST]
    ]
    title = f"{_title('ERRORS', len(rows), report.errors)}, {report.fixed} fixed"
    return title, ("WHEN", "ERROR", "TOOL", "TIMES", "FIXED BY"), rows


SECTIONS: tuple[Callable[[MetricsReport], Section], ...] = (_summary, _sessions, _tools, _models, _costs, _errors)


def _title(name: str, shown: int, there: int) -> str:
    return name if shown == there else f"{name} (the latest {shown} of {there})"


def _busiest(hours: dict[int, int]) -> list[int]:
    return sorted(sorted(hours, key=lambda hour: (-hours[hour], hour))[:3])


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
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 3]}..."


def _print(sections: Iterable[Section]) -> None:
    for number, (title, columns, rows) in enumerate(sections):
        if number:
            click.echo()
        if sys.stdout.isatty():
            print_rich_table(columns, rows, title=title)
        else:
            click.echo("\n".join((title, *aligned([columns, *rows]))))
