"""The audit, read back: what was fired, the newest first. A line that is torn or foreign is passed over."""

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


class Fired:
    """All records of one request, as far as they are there: `hooks` in the order in which they ran."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.fire: Record | None = None
        self.hooks: list[Record] = []
        self.start: Record | None = None

    def take(self, record: Record) -> None:
        """Take a record that is older than all before it."""
        kind = record.get("kind")
        if kind == FIRE:
            self.fire = record
        elif kind == START:
            self.start = record
        else:
            self.hooks.insert(0, record)

    @property
    def about(self) -> Record:
        """A record that says when and where it was fired."""
        return self.fire or self.start or self.hooks[-1]

    @property
    def unanswered(self) -> bool:
        """Whether it has begun and nothing is known of its end: it still runs, or was killed."""
        return self.fire is None and self.start is not None


def paths(home: str) -> list[str]:
    """Return the files of an account's audit that are there, the newest first."""
    newest = audit.path(home)
    found = [newest] if os.path.exists(newest) else []
    number = 1
    while os.path.exists(older := f"{newest}.{number}"):
        found.append(older)
        number += 1
    return found


def read(line: bytes) -> Record | None:
    """Return the record of one line, None for what is none that this version understands."""
    try:
        record = orjson.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or not isinstance(version := record.get("v"), int) or version > audit.VERSION:
        return None
    return record


def backwards(home: str) -> Iterator[Record]:
    """Yield every record, the newest first. Raises OSError where the audit cannot be read."""
    for path in paths(home):
        with open(path, "rb") as file:
            lines = file.read().splitlines()
        yield from (record for line in reversed(lines) if (record := read(line)) is not None)


def fires(home: str, wanted: Callable[[Fired], bool], most: int) -> list[Fired]:
    """Return the newest fires that are wanted, the oldest of them first; at most so many. Raises OSError."""
    found: dict[str, Fired] = {}
    kept = 0
    last: Fired | None = None
    for record in backwards(home):
        name = str(record.get("request_id"))
        if last is not None and name != last.request_id:
            kept += wanted(last)
            if kept >= most and name not in found:
                break
        last = found.setdefault(name, Fired(name))
        last.take(record)
    newest = [each for each in found.values() if wanted(each)][:most]
    return newest[::-1]
