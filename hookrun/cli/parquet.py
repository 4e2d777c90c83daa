"""`hookrun log --to parquet DIR`: the log's records in Parquet files, one a day (UTC), with views for DuckDB."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from tempfile import TemporaryDirectory

import click
import orjson

from hookrun.cli.stats import counted
from hookrun.core.audit_reader import FireRecords
from hookrun.core.files import Locked, atomic_write
from hookrun.core.state import make_private_dir

VIEWS = os.path.join(os.path.dirname(__file__), "parquet_views.sql")
NEEDS = "`--to parquet` needs DuckDB\nhint: `pip install 'hookrun[analysis]'`"
DAY = re.compile(r"\d{4}-\d\d-\d\d")

# DuckDB's type -> the fields that have it. `number` is a record's place among those of its kind in the run.
TYPES = {
    "VARCHAR": (
        "time request_id kind agent through event session_id tool proof traceparent project hook layer "
        "source action cold error answered failure detail consequence mode call message "
        "additional_context system_message file command"
    ),
    "BIGINT": "number v pid exit hooks declared bytes_in bytes_out bytes_err context_bytes",
    "DOUBLE": "ms own_ms",
    "BOOLEAN": "background recheck truncated allowed warm",
    "VARCHAR[]": "changed notes problems",
    "JSON": "changes context not_run interrupted left_running left_to degraded off skipped switched_off",
    "STRUCT(name VARCHAR, source VARCHAR, ms DOUBLE, failure VARCHAR)": "counted",
}
COLUMNS = {name: kind for kind, names in TYPES.items() for name in names.split()}
COUNTED = ("name", "source", "ms", "failure")

BEFORE = " UNION ALL BY NAME SELECT *, true AS old FROM read_parquet($file)"
# One day's new records and those that its file has, each once.
MERGE = """
COPY (
    SELECT * EXCLUDE old FROM (
        SELECT DISTINCT ON (request_id, kind, number) * FROM (
            SELECT * REPLACE (try_cast(time AS TIMESTAMP) AS time), false AS old
            FROM read_json($new, format = 'newline_delimited', columns = $columns){before}
        ) ORDER BY old
    ) ORDER BY time, request_id, number
) TO $to (FORMAT parquet, COMPRESSION zstd)
"""


def write_days(runs: Iterable[FireRecords], directory: str, *, dry_run: bool) -> dict[str, int]:
    """Write runs into `directory`/DAY.parquet; return the number of their records by day.

    A day that has a file keeps the records in it, so nothing is lost that was rotated away since. With `dry_run` only
    count. Raises OSError, and click.ClickException without DuckDB and for what DuckDB cannot read or write.
    """
    days: Counter[str] = Counter()
    if dry_run:
        days.update(_day(run) for run in runs for _ in run.records)
        return dict(sorted(days.items()))
    try:
        import duckdb  # an extra
    except ImportError:
        raise click.ClickException(NEEDS) from None
    make_private_dir(directory)
    with Locked(directory), TemporaryDirectory(prefix=".new-", dir=directory) as scratch:
        try:
            for day, its in groupby(runs, _day):
                with open(f"{scratch}/{day}.jsonl", "ab") as file:
                    file.writelines(line for run in its for line in _lines(run, days))
            with duckdb.connect(config={"temp_directory": scratch, "autoinstall_known_extensions": False}) as database:
                for day in days:
                    path, new = f"{directory}/{day}.parquet", f"{scratch}/{day}"
                    names: dict[str, object] = {"new": f"{new}.jsonl", "columns": COLUMNS, "to": f"{new}.parquet"}
                    if known := os.path.exists(path):
                        names["file"] = path
                    database.execute(MERGE.format(before=BEFORE if known else ""), names)
                    os.chmod(f"{new}.parquet", 0o600)
                    os.replace(f"{new}.parquet", path)
        except (duckdb.Error, OSError) as error:
            raise click.ClickException(f"cannot write into {directory}: {error}") from None
        with open(VIEWS, "rb") as views:
            atomic_write(f"{directory}/views.sql", views.read())
    return dict(sorted(days.items()))


def _lines(run: FireRecords, days: Counter[str]) -> Iterator[bytes]:
    """Yield a run's records as lines, and count them."""
    numbers: Counter[object] = Counter()
    for record in run.records:
        run_of, kind = counted(record), record.get("kind")
        more = {"number": numbers[kind], "counted": run_of and dict(zip(COUNTED, run_of, strict=True))}
        numbers[kind] += 1
        days[_day(run)] += 1
        yield orjson.dumps(record | more, option=orjson.OPT_APPEND_NEWLINE)


def _day(run: FireRecords) -> str:
    day = str(run.header.get("time"))[: len("2026-11-22")]
    return day if DAY.fullmatch(day) else "undated"
