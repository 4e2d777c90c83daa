"""Read the audit backwards, newest first, in blocks. Torn lines and newer versions' records are skipped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import count, groupby, islice, takewhile
from typing import BinaryIO

import orjson

from hookrun.core import audit
from hookrun.core.files import is_within, open_regular
from hookrun.core.globs import glob
from hookrun.core.text import shell_quoted

Record = dict[str, object]
Identity = tuple[int, int]

# The kinds of records.
HOOK, FIRE, START, BACKGROUND = "hook", "fire", "start", "background"
# That the user lets a refused call through: written after the run, like the end of a background hook.
ALLOW = "allow"

# Bytes read at once.
BLOCK = 1 << 16

# Bytes of the longest line; longer ones are no records of ours.
MAX_LINE = 1 << 26

# Milliseconds: a longer run may have a start record, further up in the file.
START_AFTER = 900


class FireRecords:
    """The records found of one request; `hooks` is in running order."""

    __slots__ = ("fire", "hooks", "request_id", "start")

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
    def records(self) -> list[Record]:
        """The records, in the order of the run."""
        return [each for each in (self.start, *self.hooks, self.fire) if each is not None]

    @property
    def header(self) -> Record:
        """The record with the event's time, agent and session."""
        return self.fire or self.start or self.hooks[-1]

    @property
    def answer(self) -> str:
        """The action that the agent took: the verdict's, unless the agent does not support it."""
        return str(self.header.get("answered") or self.header.get("action") or "")

    @property
    def deciding(self) -> list[Record]:
        """The records of the hooks whose action is the run's, unless that is to continue."""
        verdict = self.header.get("action")
        return [each for each in self.hooks if each.get("action") == verdict != "continue"]

    @property
    def finished(self) -> list[Record]:
        """The records of hooks that ended: of one in the background not that it began."""
        return [each for each in self.hooks if each.get("kind") == BACKGROUND or not each.get("background")]

    @property
    def unfinished(self) -> bool:
        """Whether it has begun without a recorded end: it runs, or was killed."""
        return self.fire is None and self.start is not None

    @property
    def failed(self) -> bool:
        """Whether a hook or hookrun itself failed, or the run was cut short."""
        for each in self.hooks:  # a generator for each run would take as long as reading it
            if "failure" in each:
                return True
        header = self.header
        return bool(header is self.start or header.get("problems") or header.get("error") or header.get("interrupted"))

    @property
    def may_have_more(self) -> bool:
        """Whether older records may belong to it: its start, or a background hook's end."""
        ms = self.header.get("ms")
        if self.start is None and isinstance(ms, (int, float)) and ms > START_AFTER:  # quicker than with a union
            return True
        background = 0
        for each in self.hooks:
            if "background" in each or each.get("kind") == BACKGROUND:
                background += 1 if each.get("kind") == HOOK else -1
        return background > 0


def paths(home: str) -> list[str]:
    """Return the existing files of an account's audit, newest first."""
    newest = audit.path(home)
    older = takewhile(os.path.exists, (f"{newest}.{number}" for number in count(1)))
    return [*([newest] if os.path.exists(newest) else []), *older]


def parse(line: bytes) -> Record | None:
    """Return a line's record, None if this version cannot read it."""
    try:
        record = orjson.loads(line)
        if record["v"] <= audit.VERSION and isinstance(record, dict):
            return record
    except (ValueError, LookupError, TypeError):
        pass
    return None


def parse_all(lines: bytes) -> list[Record]:
    """Return the records of whole lines that this version can read."""
    lines = lines.strip(b"\n")
    try:  # as one array, which is quicker than each by itself
        found = orjson.loads(b"[%b]" % lines.replace(b"\n", b","))
        if len(found) == lines.count(b"\n") + 1:  # else two torn lines are one value
            return [record for record in found if record["v"] <= audit.VERSION]
    except (ValueError, LookupError, TypeError):
        pass
    return [record for line in lines.split(b"\n") if (record := parse(line)) is not None]


def local_time(time: object, *, with_date: bool = False) -> str:
    """Return a record's time as local time, with the date unless it is today; other text unchanged."""
    try:
        when = datetime.fromisoformat(str(time)).astimezone()
    except ValueError:
        return str(time)
    today = when.date() == datetime.now().astimezone().date() and not with_date
    return when.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S")


def gaps(home: str) -> tuple[str, str, str] | None:
    """Return what is known of records that could not be written, why and what to do; None without any."""
    if not os.path.exists(mark := audit.path(home) + audit.GAP):
        return None
    last = local_time(datetime.fromtimestamp(os.path.getmtime(mark), UTC).isoformat(), with_date=True)
    cause = "the disk was full, or the log could not be written, so some runs have no record"
    return f"the log has gaps, the last at {last}", cause, f"make room, then dismiss this: `rm {shell_quoted(mark)}`"


def newest_first(home: str) -> Iterator[Record]:
    """Yield every present record, newest first. Raises OSError."""
    # A file rotated meanwhile gets another name, but stays the same file.
    for number, identity in enumerate(_identities(home)):
        file = _open(audit.path(home), number, identity)
        if file is None:
            continue
        try:
            for lines in _backwards(file):
                yield from reversed(parse_all(lines))
        finally:
            os.close(file)


def _identities(home: str) -> list[Identity]:
    found: dict[Identity, None] = {}
    for path in paths(home):
        with suppress(FileNotFoundError):
            found[_identity(os.stat(path))] = None
    return list(found)


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _open(newest: str, number: int, identity: Identity) -> int | None:
    """Open the file that was the log with this number (0: the newest), now maybe with a higher one; None if gone."""
    while True:
        try:
            file = os.open(f"{newest}.{number}" if number else newest, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            if number:
                return None
        else:
            if _identity(os.fstat(file)) == identity:
                return file
            os.close(file)
        number += 1


def _backwards(file: int) -> Iterator[bytes]:
    """Yield an open file's lines in texts of many, the last first, without those written meanwhile."""
    end = os.fstat(file).st_size
    rest: list[bytes] = []  # parts of a line that begins further up, the last first
    length = 0
    while end > 0:
        begin = max(0, end - BLOCK)
        first, newline, lines = os.pread(file, end - begin, begin).partition(b"\n")
        end = begin
        if newline:
            yield lines + b"".join(reversed(rest)) if length <= MAX_LINE else lines.rpartition(b"\n")[0]
            rest, length = [], 0
        length += len(first)
        if length <= MAX_LINE:
            rest.append(first)
    yield b"".join(reversed(rest))


def fires(home: str) -> Iterator[FireRecords]:
    """Yield each request, newest first, once its run is read; its older records are added later.

    Raises OSError.
    """
    begun: dict[str, FireRecords] = {}  # by background hooks that ended after the run
    given: dict[str, FireRecords] = {}
    for request_id, records in groupby(newest_first(home), lambda record: record.get("request_id")):
        name = str(request_id)
        run = given.get(name) or begun.pop(name, None) or FireRecords(name)
        for record in records:
            if record.get("kind") == HOOK:  # most of them
                run.hooks.insert(0, record)
            else:
                run.add(record)
        if run.fire is None and run.start is None and run.hooks[-1].get("kind") in (BACKGROUND, ALLOW):
            begun[name] = run
            continue
        if name not in given:
            yield run
        if run.may_have_more:
            given[name] = run
        else:
            given.pop(name, None)
    yield from begun.values()


def whole_runs(records: Iterable[Record]) -> list[FireRecords]:
    """Return the runs of records in the order of the log, without those that began only."""
    runs: list[FireRecords] = []
    for record in records:
        name, kind = str(record.get("request_id")), record.get("kind")
        if kind == START:
            continue
        if not runs or runs[-1].request_id != name or runs[-1].fire is not None:
            runs.append(FireRecords(name))
        if kind == FIRE:
            runs[-1].fire = record
        else:
            runs[-1].hooks.append(record)
    return runs


# --- filters


@lru_cache(maxsize=256)
def matches(pattern: str, name: object) -> bool:
    """Return whether one of the globs, separated by `|`, matches a name."""
    return isinstance(name, str) and any(glob(each, name) for each in pattern.split("|"))


@lru_cache(maxsize=256)
def is_in(directory: object, project: str) -> bool:
    """Return whether a directory of a record is in a project, named by its real root or its name."""
    if not isinstance(directory, str):
        return False
    return directory.rpartition("/")[2] == project or is_within(real(directory), project)


def real(path: str) -> str:
    """Return a path without links, unchanged if this locale cannot express it."""
    try:
        return os.path.realpath(path)
    except UnicodeEncodeError:
        return path


# What runs, and replayed calls, are selected by -> whether a value selects one with this header.
CHECKS: dict[str, Callable[[str, Mapping[str, object]], bool]] = {
    "since": lambda since, header: str(header.get("time")) >= since,
    "until": lambda until, header: str(header.get("time"))[: len(until)] <= until,
    "agent": lambda agent, header: agent in (header.get("agent"), header.get("through")),
    "session": lambda session, header: str(header.get("session_id", "")).startswith(session),
    "event": lambda event, header: header.get("event") == event,
    "tool": lambda tool, header: matches(tool, header.get("tool")),
    "action": lambda action, header: header.get("action") == action,
}


def latest_fires(home: str, wanted: Callable[[FireRecords], bool], limit: int) -> list[FireRecords]:
    """Return the newest wanted requests, at most `limit`, oldest first. Raises OSError."""
    return list(islice(filter(wanted, fires(home)), limit))[::-1]


# Bytes of a batch that a cursor reads, at least, and of a file's text by which it is known again.
BATCH, MARK = 1 << 20, 64

# Places kept of files that were not seen: removed, or just rotated.
MOST_PLACES = 100

# A file's identity -> the bytes of it that were read, and a digest of the last of them.
Places = dict[str, tuple[int, str]]


class Cursor:
    """Reads forwards what was appended since the last time. `places` is where it stopped, in each file.

    A file is known by its identity, so also when it was rotated or is appended to afterwards. `lost` is whether records
    were rotated away before they were read.
    """

    def __init__(self, places: Places) -> None:
        self.places = dict(places)
        self.lost = False

    def unread(self, home: str) -> Iterator[list[Record]]:
        """Yield the unread records, oldest first, in batches of whole events; `places` is where a batch ends.

        A line that is still written stays unread. Raises OSError.
        """
        seen: Places = {}
        newest = next(reversed(self.places), None)
        for path in reversed(paths(home)):
            with suppress(FileNotFoundError), open_regular(path) as file:  # rotated meanwhile: it is read next time
                name = "{}:{}".format(*_identity(os.fstat(file.fileno())))
                offset, mark = self.places.get(name, (0, ""))
                if mark != _mark(file, offset):  # another file with this number
                    offset = 0
                for batch, end in _events(file, offset):
                    self.places[name] = end, _mark(file, end)
                    yield batch
                seen[name] = self.places.get(name, (0, ""))
        there = {"{}:{}".format(*each) for each in _identities(home)}
        self.lost = newest is not None and newest not in there
        known = [each for each in self.places.items() if each[0] not in seen]
        self.places = {**dict(known[-MOST_PLACES:]), **seen}  # the newest is the last


def _mark(file: BinaryIO, offset: int) -> str:
    begin = max(0, offset - MARK)
    return blake2b(os.pread(file.fileno(), offset - begin, begin), digest_size=8).hexdigest() if offset else ""


def _events(file: BinaryIO, offset: int) -> Iterator[tuple[list[Record], int]]:
    """Yield records in batches and the offset behind each: hooks' records together with their event's."""
    file.seek(offset)
    batch: list[Record] = []
    begin = whole = offset  # of the batch; behind its last whole event
    hooks: list[Record] = []
    for line in iter(partial(file.readline, MAX_LINE), b""):
        if not line.endswith(b"\n") and len(line) < MAX_LINE:
            break
        record = parse(line)
        if hooks and (record is None or record.get("request_id") != hooks[0].get("request_id")):
            batch += hooks  # their event has no record
            hooks, whole = [], offset
        offset += len(line)
        if record is not None:
            hooks.append(record)
        if record is None or record.get("kind") != HOOK:
            batch += hooks
            hooks, whole = [], offset
        if whole - begin >= BATCH:
            yield batch, whole
            batch, begin = [], whole
    if whole > begin:
        yield batch, whole
