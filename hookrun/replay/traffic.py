"""Find the calls there were, in the audit and in agents' transcripts, as ranges of bytes, and read them.

No range cuts what belongs together: in the audit an event's records, in a transcript a turn.
"""

from __future__ import annotations

import glob
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import orjson

from hookrun.agents import transcripts
from hookrun.agents.base import UnreadableMessageError
from hookrun.agents.transcripts import CHANGED, RAN, REFUSED
from hookrun.agents.types import Agent
from hookrun.core import audit_reader
from hookrun.core.model import as_object

# Where a range comes from if not from an agent's transcripts.
AUDIT = "audit"
# Bytes of a range, at least: less is not worth a task of its own.
RANGE = 1 << 20
# Bytes of the beginning of a transcript that says whose it is.
BEGINNING = 1 << 16

# Agents whose hooks get other ids of calls than their transcripts have.
OWN_IDS = frozenset(name for name, format_ in transcripts.FORMATS.items() if format_.own_ids)
# The calls of a session that are known: each an event and a tool use; without the latter, all of them.
Known = frozenset[tuple[str, str]]


class Range(NamedTuple):
    """Lines of a file, from a byte to another: of the audit, or of an agent (`source`) in a session.

    `state` identifies the file, so that another one of the same name on another machine is not read in its place;
    `data` are the lines where they had to be sent. `known` calls, by their sessions, are left out.
    """

    source: str
    path: str
    begin: int
    end: int
    state: tuple[int, ...]
    about: Mapping[str, object]
    data: bytes | None = None
    known: Mapping[str, Known] = {}

    def read(self) -> bytes | None:
        """Return the lines, None if the file is not here."""
        if self.data is not None:
            return self.data
        try:
            with open(self.path, "rb") as file:
                if state_of(file.fileno()) != self.state:
                    return None
                file.seek(self.begin)
                return file.read(self.end - self.begin)
        except OSError:
            return None


class Past(NamedTuple):
    """A call as its hooks saw it: the event, its context, and its result.

    `then` is one of `transcripts`' words; `action` is the verdict's, known from the audit only, as are the `hooks` with
    their actions and the `project`.
    """

    event: str
    context: dict[str, object]
    time: str
    then: str
    action: str | None = None
    hooks: Mapping[str, str] = {}
    project: object = None


def state_of(file: int | str) -> tuple[int, ...]:
    """Return what identifies a file."""
    found = os.stat(file)
    return found.st_ino, found.st_ctime_ns, found.st_size


# --- where they are


def audit_ranges(home: str) -> Iterator[Range]:
    """Yield the ranges of an account's audit, oldest first."""
    for path in reversed(audit_reader.paths(home)):
        yield from file_ranges(AUDIT, path, "")


def transcript_ranges(agents: Iterable[Agent], home: str, scratch: str, since: float) -> Iterator[Range]:
    """Yield the ranges of agents' transcripts that changed since then; databases are written as lines into `scratch`.

    Raises OSError.
    """
    for agent in agents:
        format_ = transcripts.FORMATS.get(agent.NAME)
        if format_ is None:
            continue
        directory = f"{home}/{agent.INSTALL['directory']}"
        for pattern in format_.files:
            place = pattern.format(directory=glob.escape(directory)) if pattern[0] == "{" else f"{home}/{pattern}"
            for path in sorted(glob.glob(place)):
                if os.path.getmtime(path) >= since:
                    yield from file_ranges(agent.NAME, path, scratch)


def file_ranges(agent: str, path: str, scratch: str) -> Iterator[Range]:
    """Yield the ranges of one transcript of an agent, or file of the audit. Raises OSError."""
    if agent == AUDIT:
        yield from _ranges(AUDIT, path, b'"kind":"fire"', {}, after=True)
        return
    if transcripts.FORMATS[agent].sign == transcripts.DATABASE:
        try:
            path = transcripts.exported(path, scratch)
        except sqlite3.Error as error:
            raise OSError(f"{path}: {error}") from None
    with open(path, "rb") as file:
        about = transcripts.about(agent, path, file.readline(1 << 24))
    yield from _ranges(agent, path, transcripts.FORMATS[agent].turn, about)


def source_of(path: str) -> str | None:
    """Return the agent whose transcript a file is, or AUDIT, by its beginning; None for another file."""
    with open(path, "rb") as file:
        beginning = file.read(BEGINNING)
    if beginning.startswith(b'{"v":') and b'"request_id":' in beginning:
        return AUDIT
    for name, format_ in transcripts.FORMATS.items():
        named = format_.sign != transcripts.DATABASE or format_.files[0].endswith(f"/{os.path.basename(path)}")
        if named and format_.sign in beginning:
            return name
    return None


def _ranges(
    source: str, path: str, mark: bytes, about: Mapping[str, object], *, after: bool = False
) -> Iterator[Range]:
    """Yield a file's ranges: each begins at, or `after`, a line with the mark."""
    state = state_of(path)
    begin, size = 0, state[-1]
    with open(path, "rb") as file:
        while begin < size:
            end = min(begin + RANGE, size)
            file.seek(end)
            file.readline()
            end = file.tell()
            while end < size and (line := file.readline()):
                if mark in line:
                    end = end + len(line) if after else end
                    break
                end += len(line)
            yield Range(source, path, begin, min(end, size), state, about)
            begin = end


def known_calls(home: str) -> dict[str, Known]:
    """Return the calls that the audit has whole, by session: they are not taken from a transcript once more."""
    known: dict[str, set[tuple[str, str]]] = {}
    for path in audit_reader.paths(home):
        with open(path, "rb") as file:
            for line in file:
                if b'"context":{' in line and (record := audit_reader.parse(line)) is not None:
                    context = as_object(record.get("context"))
                    own_ids = context.get("agent") in OWN_IDS
                    use = context.get("tool_use_id") if not own_ids else None
                    calls = known.setdefault(str(record.get("session_id")), set())
                    calls.add((str(record.get("event")), use if isinstance(use, str) else ""))
    return {session: frozenset(calls) for session, calls in known.items()}


def without_known(parts: Iterable[Range], known: Mapping[str, Known]) -> Iterator[Range]:
    """Yield the parts, each with what is known of its sessions: those that its path or its beginning names."""
    for part in parts:
        format_ = transcripts.FORMATS.get(part.source)
        several = format_ is not None and format_.sign == transcripts.DATABASE
        its = (each for each in known if several or each in part.path or each == part.about.get("session_id"))
        yield part._replace(known={each: known[each] for each in its}) if format_ is not None else part


# --- what they are


def read(part: Range, lines: bytes) -> Iterator[Past | None]:
    """Yield the calls in a range's lines; None for what cannot be read, or has no context."""
    if part.source == AUDIT:
        yield from _from_audit(lines)
        return
    for entry in transcripts.entries(part.source, lines.splitlines(), part.about, orjson.loads):
        if entry is None:
            yield None
            continue
        try:
            messages = list(transcripts.messages(part.source, entry))
        except (UnreadableMessageError, RecursionError):
            yield None
            continue
        known = part.known.get(entry.session_id, frozenset())
        for event, message in messages:
            if not known.isdisjoint({(event, entry.call_id), (event, "")}):
                continue
            for call in message.calls:
                call.fields["timestamp"] = entry.time
                then = entry.then if event == "pre_tool_use" else RAN
                yield Past(call.event or event, call.fields, entry.time, then)


def _from_audit(lines: bytes) -> Iterator[Past | None]:
    for run in audit_reader.whole_runs(audit_reader.parse_all(lines)):
        if run.fire is None:
            continue
        context, action = run.fire.get("context"), str(run.fire.get("action") or "continue")
        if not isinstance(context, dict) or run.fire.get("error"):
            yield None
            continue
        own = (each for each in run.hooks if each.get("kind") == audit_reader.HOOK)
        hooks = {str(each.get("hook")): str(each.get("action") or "continue") for each in own}
        then = {"continue": RAN, "allow": RAN, "modify": CHANGED}.get(action, REFUSED)
        yield Past(
            str(run.fire.get("event")), context, str(run.fire.get("time")), then, action, hooks, run.fire.get("project")
        )
