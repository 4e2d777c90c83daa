"""Read the audit back, newest first, for commands. Torn lines and records of a newer version are skipped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import orjson

from hookrun import audit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Record = dict[str, object]

HOOK, FIRE, START, BACKGROUND = "hook", "fire", "start", "background"
"""The kinds of records."""


class FireRecords:
    """The records of one request that were found; `hooks` is in running order."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.fire: Record | None = None
        self.hooks: list[Record] = []
        self.start: Record | None = None

    def add(self, record: Record) -> None:
        """Add a record that is older than the others."""
        kind = record.get("kind")
        if kind == FIRE:
            self.fire = record
        elif kind == START:
            self.start = record
        else:
            self.hooks.insert(0, record)

    @property
    def header(self) -> Record:
        """The record with the event's time, agent and session."""
        return self.fire or self.start or self.hooks[-1]

    @property
    def unfinished(self) -> bool:
        """Whether it has begun, but no end is recorded: it still runs, or was killed."""
        return self.fire is None and self.start is not None


def paths(home: str) -> list[str]:
    """Return the existing files of an account's audit, newest first."""
    newest = audit.path(home)
    found = [newest] if os.path.exists(newest) else []
    number = 1
    while os.path.exists(older := f"{newest}.{number}"):
        found.append(older)
        number += 1
    return found


def parse(line: bytes) -> Record | None:
    """Return the record on one line, None if this version cannot read it."""
    try:
        record = orjson.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or not isinstance(version := record.get("v"), int) or version > audit.VERSION:
        return None
    return record


def newest_first(home: str) -> Iterator[Record]:
    """Yield every record, newest first. Raises OSError where the audit cannot be read."""
    for path in paths(home):
        with open(path, "rb") as file:
            lines = file.read().splitlines()
        yield from (record for line in reversed(lines) if (record := parse(line)) is not None)


def latest_fires(home: str, wanted: Callable[[FireRecords], bool], limit: int) -> list[FireRecords]:
    """Return the newest wanted requests, at most `limit`, oldest first. Raises OSError."""
    found: dict[str, FireRecords] = {}
    kept = 0
    last: FireRecords | None = None
    for record in newest_first(home):
        name = str(record.get("request_id"))
        if last is not None and name != last.request_id:
            kept += wanted(last)
            if kept >= limit and name not in found:
                break
        last = found.setdefault(name, FireRecords(name))
        last.add(record)
    newest = [each for each in found.values() if wanted(each)][:limit]
    return newest[::-1]
