"""What a checkpoint tells: its time, quality and files, and the patterns that a program names or that it shows."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hookrun.observe import context_fields as fields
from hookrun.observe.spool import Clock, Row, digest, stored_name
from hookrun.observe.stored_texts import clean_json, clean_line, mark

if TYPE_CHECKING:
    from hookrun import Context
    from hookrun.observe.database import ObserverDatabase

MAX_TITLE, MAX_DETAILS, MAX_FILES = 120, 4000, 50
# Files of a checkpoint that count as changed.
MAX_CHANGED = 1000
# Members of a checkpoint stored along with its files and tools.
DETAILS = ("summary", "description", "tags")


def keep_checkpoint(store: ObserverDatabase, ctx: Context, clock: Clock) -> dict[str, Any]:
    """Keep a checkpoint, once for all bundles, and return its data.

    Raises ValueError for an invalid time or quality, DatabaseError.
    """
    checkpoint = ctx.own("checkpoint_data")
    at = fields.fired_at(ctx, clock)
    if checkpoint.get("timestamp"):
        at = fields.seconds(checkpoint["timestamp"], "checkpoint_data.timestamp")
    began = at
    if checkpoint.get("session_start_time"):
        began = fields.seconds(checkpoint["session_start_time"], "checkpoint_data.session_start_time")
    project = stored_name(fields.project(checkpoint, ctx))
    data: dict[str, Any] = {"at": at, "began": began, "score": fields.quality_score(checkpoint)}
    data["files"] = [stored_name(each) for each in fields.files(checkpoint)[:MAX_CHANGED]]
    data["patterns"] = [
        {"id": digest(kind, project, mark(title)), "kind": kind, "title": title, "details": details}
        for kind, title, details in _patterns(checkpoint)
    ]
    row: Row = store.keep(ctx, clock=clock, project=project, data=data)
    return dict(row["data"])  # of this bundle or of another


def _patterns(checkpoint: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, title and details (a JSON object) of each pattern."""
    paths, tools = fields.files(checkpoint), fields.strings(checkpoint.get("tools"))
    types = sorted({os.path.splitext(path)[1] or os.path.basename(path) for path in paths})
    common = {name: checkpoint[name] for name in DETAILS if checkpoint.get(name)}
    common |= {
        name: value for name, value in (("files", paths[:MAX_FILES]), ("file_types", types), ("tools", tools)) if value
    }
    found: list[tuple[str, str, Mapping[str, Any]]] = []
    listed = checkpoint.get("patterns")
    for each in listed if isinstance(listed, list | tuple) else ():
        given = each if isinstance(each, dict) else {"title": each}
        if isinstance(given.get("title"), str) and given["title"].strip():
            found.append(("given", given["title"], common | (each if isinstance(each, dict) else {})))
    summary = checkpoint.get("summary") or checkpoint.get("description")
    if isinstance(summary, str) and summary.strip():
        found.append(("summary", summary.strip().splitlines()[0], common))
    if tools:
        on = f" on {', '.join(types)}" if types else ""
        found.append(("tools", f"{', '.join(sorted(tools))}{on}", common))
    for kind, title, details in found:
        yield kind, clean_line(title, MAX_TITLE), clean_json(dict(details), MAX_DETAILS)
