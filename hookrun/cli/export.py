"""`hookrun export`: send the audit to an OpenTelemetry receiver, or count it in a file for node_exporter."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click
import orjson

from hookrun.cli.commands import command, json_option
from hookrun.cli.log_filter import RunFilter, export_options
from hookrun.cli.printing import count, print_json, print_line, print_message
from hookrun.core import audit_reader
from hookrun.core.audit_reader import FireRecords, Record
from hookrun.core.files import atomic_write, read_or_none, relative_path
from hookrun.core.model import as_object
from hookrun.core.state import STATE_DIR, open_private
from hookrun.core.text import quote

if TYPE_CHECKING:
    from hookrun.cli.otlp import Receiver

# Seconds between looks for new records.
FOLLOW_INTERVAL = 1.0
NEEDS = "`--otlp` needs the OpenTelemetry SDK\nhint: `pip install 'hookrun[otel]'`"
# An exported file's mode: usually another account collects metrics.
READABLE = 0o644
# Seconds: the upper bounds of the histogram's buckets.
BUCKETS = ("0.01", "0.05", "0.1", "0.5", "1.0", "5.0", "30.0")

HELP = {
    "hookrun_events_total": ("counter", "Events by agent and result."),
    "hookrun_hook_runs_total": ("counter", "Runs of a hook by event, result and kind of failure."),
    "hookrun_hook_duration_seconds": ("histogram", "How long a hook ran."),
}
LABEL_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@command(
    "export",
    "export --otlp http://127.0.0.1:4318",
    "export --otlp http://127.0.0.1:4318 --follow",
    "export --prometheus /var/lib/node_exporter/hookrun.prom",
    note="It continues where the last export to the same place ended, so run it as often as you like.",
)
@click.option("--otlp", metavar="URL", help="Send spans and metrics to this OpenTelemetry receiver (OTLP over HTTP).")
@click.option("--prometheus", metavar="FILE", help="Write totals to this file, which node_exporter reads (*.prom).")
@click.option("--follow", is_flag=True, help="Keep exporting new runs, until Ctrl-C.")
@click.option("--dry-run", is_flag=True, help="Show what would be exported; send and write nothing.")
@export_options
@json_option
def export_command(
    *,
    otlp: str | None,
    prometheus: str | None,
    follow: bool,
    dry_run: bool,
    runs: RunFilter,
    as_json: bool,
) -> None:
    """Export the log, by default of all projects, to OpenTelemetry or Prometheus, each run once.

    OpenTelemetry gets a span for each event, below it one for each hook, and the metrics hookrun.hook.runs and
    hookrun.hook.duration.
    """
    if (otlp is None) == (prometheus is None):
        raise click.UsageError("give either --otlp URL or --prometheus FILE")
    if follow and dry_run:
        raise click.UsageError("--follow and --dry-run exclude each other")
    export: Export = OtlpExport(runs, otlp) if otlp is not None else PrometheusExport(runs, str(prometheus))
    if dry_run:
        _report(export.name, export.once(dry_run=True), "would export", as_json=as_json)
        return
    with export.alone():
        _export(export, as_json=as_json)
        while follow:
            time.sleep(FOLLOW_INTERVAL)
            _export(export, as_json=as_json, follows=True)


def _export(export: Export, *, as_json: bool, follows: bool = False) -> None:
    """Export what is new and report it; with `follows` only what is worth a line, and no ExportError is raised."""
    try:
        done = export.once()
    except ExportError as error:
        if not follows:
            raise
        if not export.fails:
            print_message(f"{error.message.partition(chr(10))[0]}\nhint: trying again", "warning")
        export.fails = True
        return
    export.fails = False
    if any(done) or not follows:
        _report(export.name, done, "exported", as_json=as_json)
    if export.lost:
        hint = "export more often, or keep more of the log: the setting `audit.keep`"
        print_message(f"runs were removed from the log before they were exported\nhint: {hint}", "warning")
    if not follows and (gaps := audit_reader.gaps(export.home)):
        print_message("{}: {}\nhint: {}".format(*gaps), "note")


def _report(name: str, done: tuple[int, int], verb: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"to": name, "events": done[0], "hooks": done[1]})
    else:
        print_line(f"{verb} {count(done[0], 'event')} with {count(done[1], 'hook run')} to {name}")


class ExportError(click.ClickException):
    """Nothing more could be exported; what was is not exported again."""


class Export:
    """An export of selected runs to one place; where it ended is kept in the account's state, for each selection.

    `lost` is whether runs were removed from the log before they were exported, `fails` whether the last try failed.
    """

    def __init__(self, runs: RunFilter, place: str, name: str) -> None:
        self.name = name
        self.lost = self.fails = False
        self.state: Record = {}
        self.home, self._runs = runs.home, runs
        # Not by times: what an earlier export has sent, one since another time does not send again.
        selection = sorted(item for item in runs.given.items() if item[0] not in ("since", "until", "all_projects"))
        known = f"{place} {selection}" if selection else place
        digest = blake2b(known.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        self._path = f"{self.home}{STATE_DIR}/export/{digest}.json"

    def take(self, runs: Sequence[FireRecords], *, dry_run: bool) -> None:
        """Export these runs, or change `state` only. Raises ExportError."""
        raise NotImplementedError

    def finish(self, *, dry_run: bool) -> None:
        """Do what is left once all runs were taken. Raises ExportError."""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock of this export. Raises click.ClickException if another process does."""
        lock = open_private(self._path.removesuffix("json") + "lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise click.ClickException(f"another export to {self.name} is running") from None
        finally:
            os.close(lock)

    def once(self, *, dry_run: bool = False) -> tuple[int, int]:
        """Export the new runs; return the number of events and of hooks' runs. Raises ExportError and OSError."""
        try:
            self.state = as_object(orjson.loads(read_or_none(self._path) or b"{}"))
        except ValueError:  # damaged: rather twice than never
            self.state = {}
        cursor = audit_reader.Cursor(self.state.get("places", {}))  # type: ignore[arg-type]
        events = hooks = 0
        for batch in cursor.unread(self.home):
            if runs := [each for each in audit_reader.whole_runs(batch) if self._runs.selects(each)]:
                self.take(runs, dry_run=dry_run)
                events += sum(run.fire is not None for run in runs)
                hooks += sum(len(run.finished) for run in runs)
            if not dry_run:
                self._save(cursor)
        self.lost = cursor.lost
        if not dry_run:
            self._save(cursor)
        self.finish(dry_run=dry_run)
        return events, hooks

    def _save(self, cursor: audit_reader.Cursor) -> None:
        if self.state.get("places") != cursor.places:
            self.state |= {"to": self.name, "places": cursor.places}
            atomic_write(self._path, orjson.dumps(self.state))


class OtlpExport(Export):
    """An export to an OpenTelemetry receiver."""

    def __init__(self, runs: RunFilter, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            hint = "hint: give the base URL of an OTLP/HTTP receiver, such as http://127.0.0.1:4318"
            raise click.BadParameter(f"{quote(url)} is not an HTTP URL\n{hint}", param_hint="--otlp")
        super().__init__(runs, url, url.replace(f"{parts.netloc.rpartition('@')[0]}@", "", 1))
        self._url = url
        self._receiver: Receiver | None = None

    def take(self, runs: Sequence[FireRecords], *, dry_run: bool) -> None:
        """Send them."""
        if dry_run:
            return
        try:
            from hookrun.cli.otlp import Receiver, ReceiverError  # an extra, and half a second
        except ImportError:
            raise click.ClickException(NEEDS) from None
        self._receiver = self._receiver or Receiver(self._url)
        try:
            self._receiver.send(runs)
        except ReceiverError as error:
            hint = "hint: nothing is lost: the next export to it continues here"
            raise ExportError(f"{self.name}: {error}\n{hint}") from None


class PrometheusExport(Export):
    """An export to a file in Prometheus' text format 0.0.4: totals of all time, kept beside where it ended."""

    def __init__(self, runs: RunFilter, file: str) -> None:
        self._file = os.path.abspath(file)
        super().__init__(runs, self._file, relative_path(self._file))

    def take(self, runs: Sequence[FireRecords], *, dry_run: bool) -> None:  # noqa: ARG002  # both only count
        """Count them."""
        totals: dict[str, float] = self.state.setdefault("totals", {})  # type: ignore[assignment]

        def add(name: str, value: float, **labels: object) -> None:
            shown = ",".join(f'{each}="{str(text).translate(LABEL_ESCAPES)}"' for each, text in labels.items() if text)
            key = f"{name}{{{shown}}}"
            totals[key] = round(totals.get(key, 0) + value, 6)

        for run in runs:
            header = run.header
            if run.fire is not None:
                agent, action = header.get("agent"), header.get("action")
                add("hookrun_events_total", 1, event=header.get("event"), agent=agent, action=action)
            for each in run.finished:
                hook, event, ms = each.get("hook"), each.get("event"), each.get("ms")
                about = {"action": each.get("action"), "failure": each.get("failure")}
                add("hookrun_hook_runs_total", 1, hook=hook, event=event, **about)
                seconds = ms / 1000 if isinstance(ms, int | float) else 0.0
                for bound in (*BUCKETS, "+Inf"):
                    within = int(seconds <= float(bound))
                    add("hookrun_hook_duration_seconds_bucket", within, hook=hook, event=event, le=bound)
                add("hookrun_hook_duration_seconds_sum", seconds, hook=hook, event=event)
                add("hookrun_hook_duration_seconds_count", 1, hook=hook, event=event)

    def finish(self, *, dry_run: bool) -> None:
        """Write the file, or with `dry_run` print it."""
        from hookrun.observe.database import ObserverDatabase
        from hookrun.observe.metrics_report import collect, prometheus
        from hookrun.observe.spool import default_path

        lines: list[str] = []
        for name, (kind, text) in HELP.items():
            found = [
                f"{key} {value}" for key, value in as_object(self.state.get("totals")).items() if key.startswith(name)
            ]
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *found] if found else []
        store = ObserverDatabase(default_path(self.home))  # what Python programs recorded
        with store.as_store_errors():
            whole = "".join(f"{line}\n" for line in lines) + prometheus(collect(store))
        if dry_run:
            click.echo(whole, nl=False)
            return
        try:
            atomic_write(self._file, whole.encode("utf-8", "backslashreplace"), mode=READABLE)
            os.chmod(self._file, READABLE)  # whatever the umask
        except OSError as error:
            raise ExportError(f"{error.filename or self._file}: {error.strerror}") from None
