"""`hookrun metrics`: what hooks of Python programs have learned about the work: sessions, tools, costs, errors."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from hookrun.config.diagnostics import printable
from hookrun.observe.costs import money
from hookrun.observe.database import Store, StoreError, default_path
from hookrun.observe.export import FORMATS
from hookrun.observe.metrics_report import collect
from hookrun.observe.timestamps import iso, start_of_last_days

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.observe.costs import Cost
    from hookrun.observe.metrics_report import MetricsReport

EXAMPLES = """\b
Examples:
  hookrun metrics
  hookrun metrics --days 7 --json
  hookrun metrics --format prometheus
"""
NOTHING = """\
nothing is there yet: {path}

Data come from a Python program whose engine has the bundles of hookrun.observe:

  from hookrun import Engine
  from hookrun.observe import CauseChains, ToolTimes, WorkflowMetrics

  engine = Engine()
  for bundle in (WorkflowMetrics(), ToolTimes(), CauseChains()):
      engine.use(bundle)"""
LATEST = 10
"""Sessions, and errors, that are shown; --json has them all."""
LONGEST = 60


@click.command(name="metrics", epilog=EXAMPLES)
@click.option("--session", "session_id", metavar="ID", help="Only this session.")
@click.option("--days", type=float, metavar="N", help="Only the last N days; default all.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs: the same as --format json.")
@click.option("--format", "form", type=click.Choice(sorted(FORMATS)), help="For programs; default tables.")
@click.option("--home", metavar="DIR", help="Whose metrics: default HOME.")
@click.option("--db", metavar="FILE", help="A database in the place of that in the home directory.")
def metrics_command(
    session_id: str | None, days: float | None, form: str | None, home: str | None, db: str | None, *, as_json: bool
) -> None:
    """Show what hooks have learned about the work: sessions, quality, times, costs, errors and what fixed them."""
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} are two formats; leave one out.")
    if form == "prometheus" and (session_id is not None or days is not None):
        raise click.UsageError("--format prometheus gives totals of all time; leave --session and --days out.")
    try:
        start_of_last_days(days)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--days") from error
    store, sections = Store(_path(home, db)), []
    try:
        with store.as_store_errors():
            report = collect(store, session_id=session_id, days=days)
            text = FORMATS[form or "json"](report) if as_json or form is not None else None
            if text is None:
                sections = [section for make in SECTIONS if (section := make(report))[2]]
    except StoreError as error:
        raise click.ClickException(str(error)) from error
    if session_id is not None and report.empty:
        raise click.ClickException(
            f"{store.path} has nothing of session {session_id}; see hookrun metrics for those it has"
        )
    if text is not None:
        click.echo(text, nl=False)
    elif report.empty:
        click.echo(_nothing(store.path, days))
    else:
        show = _show_tables if sys.stdout.isatty() else _show_plain
        show(sections)


def _path(home: str | None, db: str | None) -> str | None:
    if db is not None:
        if not os.path.lexists(db):
            raise click.ClickException(f"--db {db} does not exist; name the file that Store(...) was given")
        return db
    if home is None:
        return None
    if not os.path.isdir(home):
        raise click.ClickException(f"--home {home} is no directory; name the one that holds .local/state/hookrun")
    return default_path(os.path.abspath(home))


def _nothing(path: str, days: float | None) -> str:
    if days is not None and os.path.exists(path):
        return f"nothing of the last {days:g} days is in {path}; leave --days out for all that is"
    return NOTHING.format(path=path)


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
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _printable(rows: Iterable[tuple[str, ...]]) -> list[list[str]]:
    return [[printable(cell) for cell in row] for row in rows]


def _show_plain(sections: list[Section]) -> None:
    for number, (title, columns, rows) in enumerate(sections):
        lines = [list(columns), *_printable(rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
        click.echo(f"{'' if number == 0 else chr(10)}{title}")
        for line in lines:
            click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _show_tables(sections: list[Section]) -> None:
    from rich.console import Console  # only for a terminal
    from rich.table import Table  # only for a terminal
    from rich.text import Text  # only for a terminal

    console = Console()
    for title, columns, rows in sections:
        table = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in _printable(rows):
            table.add_row(*map(Text, row))
        console.print(table)
        console.print()
