"""Append what happened to a spool: a line of JSON an event, in a few dozen microseconds, which SQLite gets later.

An append needs no lock that anyone holds for long, no thread and no connection: any process may make it, also one that
is killed next. Whoever reads takes the spool by renaming it; a writer holds a shared lock while it appends, so that
what was taken is whole.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from _collections_abc import Callable, Mapping  # not those of typing: this is on the way of each call
from hashlib import blake2b

from hookrun.core.fastjson import dumps, loads
from hookrun.core.state import STATE_DIR, home_directory, open_private
from hookrun.core.text import UserError
from hookrun.observe import steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Clock = Callable[[], float]
Row = dict[str, "Any"]

AFTER = ("post_tool_use", "post_tool_failure")
BEFORE = "pre_tool_use"
# The tools that change a file.
CHANGING = frozenset({"write", "edit", "delete"})
# Bytes of a spool that nobody can empty; beyond that nothing is added.
MAX_BYTES = 8 << 20
# How often a spool may just have been taken when an event is to be added: beyond that somebody else has locked it.
MAX_TAKEN = 1000
# Thirty years, in milliseconds: a longer time is an agent's error.
MAX_MS = 1e12
# Characters of an identifier, of an error, and of its last line.
MAX_NAME, MAX_ERROR = 500, 2000


class DatabaseError(UserError):
    """The database cannot be used; the message names the file, the fault and what to do."""


def stored_name(value: object) -> str:
    """Return an identifier as stored: empty for None. Lone surrogates, which UTF-8 has not, become question marks."""
    if not isinstance(value, str):
        return ""
    return (value if value.isascii() else value.encode("utf-8", "replace").decode())[:MAX_NAME]


def row_of(context: Mapping[str, object], at: float, now: float, project: str = "") -> Row:
    """Return what is kept of an event that began `at` and is seen `now` (seconds since 1970).

    No arguments, no results: of a call that changes something one line about it, of one that failed its error, all
    without credentials.
    """
    event, tool = str(context.get("event")), stored_name(context.get("tool_name"))
    row: Row = {"at": at, "now": now, "event": event}
    row["session"] = stored_name(context.get("session_id"))
    row["project"] = project or stored_name(context.get("working_dir"))
    error = context.get("tool_result_error")
    if tool:
        args = context.get("tool_args")
        given: Mapping[str, object] = args if isinstance(args, Mapping) else {}
        row["tool"] = tool
        row["call"] = digest(tool, steps.essential(tool, given))
        row["use"] = stored_name(context.get("tool_use_id")) or row["call"]
    if event in AFTER:
        row["ok"] = int(event == AFTER[0] and not error)
        ms = context.get("duration_ms")  # which the agent measured, without waiting for the user
        row["ms"] = float(ms) if type(ms) in (int, float) and 0 <= ms <= MAX_MS else None  # type: ignore[arg-type,operator]
        row["step"] = steps.label(tool, given)
        row["what"] = steps.change(tool, given, context.get("working_dir"))
        if not row["ok"]:
            error_row(row, error or context.get("tool_result_output"))
    if event == "file_changed" or (tool in CHANGING and row.get("ok")):
        row["path"] = stored_name(file_path(context)) or None
    return row


def error_row(row: Row, message: object) -> Row:
    """Add an error to a row, and return it."""
    from hookrun.observe import stored_texts  # most calls succeed

    text = message if isinstance(message, str) and message else "Unknown error"
    row["error"] = stored_texts.clean_text(text, MAX_ERROR)
    row["mark"] = stored_texts.mark(str(row["error"]), str(row["project"]))
    return row


def file_path(context: Mapping[str, object]) -> str | None:
    """Return a context's file, absolute if its directory is known, or None."""
    args, directory = context.get("tool_args"), context.get("working_dir")
    path = args.get("file_path") if isinstance(args, Mapping) else None
    path = path if isinstance(path, str) else context.get("file_path")
    base = directory if isinstance(directory, str) else ""
    return os.path.normpath(os.path.join(base, path)) if isinstance(path, str) and path else None


def digest(*parts: object) -> str:
    """Return a short digest, the same for equal values. Never raises."""
    try:
        text = dumps(parts)
    except (TypeError, ValueError, RecursionError):
        text = repr(parts)
    return blake2b(text.encode("utf-8", "replace"), digest_size=10).hexdigest()


def default_path(home: str | None = None) -> str:
    """Return the database path for `home`, by default this account's. Raises NoHomeError without one."""
    return f"{home or home_directory()}{STATE_DIR}/observe.db"


def keep(path: str, context: Mapping[str, object], clock: Clock, project: str) -> Row:
    """Append what is kept of an event, and return it; it is stored once. Raises DatabaseError."""
    row = identified(row_of(context, clock(), clock(), project), context)
    append(path, row)
    return row


def identified(row: Row, context: Mapping[str, object]) -> Row:
    """Return a row with an id, the same for all that see this event of a context with a `request_id`."""
    fire = getattr(context, "fire_id", None) or context.get("request_id")
    seen = digest(fire, row["event"], row.get("use"), row.get("call")) if fire else None
    return {**row, "id": seen or new_id()}


def new_id() -> str:
    """Return an id that nothing else has."""
    return os.urandom(10).hex()


def append(path: str, row: Row) -> int:
    """Append a row to the spool at `path`; return its bytes before. Raises DatabaseError, also if there is no room."""
    data = f"\n{dumps(row)}\n".encode("utf-8", "replace")  # a line that another could not finish spoils no other
    try:
        for _ in range(MAX_TAKEN):
            if (before := _appended(path, data)) is not None:
                return before
    except OSError as error:
        raise DatabaseError(f"{error.filename or path}: {error.strerror}") from error
    raise DatabaseError(f"{path}: another program has locked it; end that")


def _appended(path: str, data: bytes) -> int | None:
    """Append to a spool; return its bytes before, or None if it is being taken."""
    fd = open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # against being read in the middle of a line
        if (status := os.fstat(fd)).st_nlink == 0:
            return None
        size = status.st_size
        if size > MAX_BYTES:
            raise OSError(errno.EFBIG, "it was not emptied for too long; move it away")
        if os.write(fd, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return size
    except BlockingIOError:
        return None
    finally:
        os.close(fd)


def take(path: str) -> list[str]:
    """Take the spool out of the way of writers; return the files with rows, the oldest first. Raises OSError."""
    directory, name = os.path.split(path)
    try:
        os.rename(path, f"{path}.{time.time_ns():020d}-{os.getpid()}")
    except FileNotFoundError:
        pass
    try:
        return [os.path.join(directory, each) for each in sorted(os.listdir(directory)) if each.startswith(f"{name}.")]
    except FileNotFoundError:
        return []


def row_in(line: bytes) -> Row | None:
    """Return a line's row; None for an empty or a torn one."""
    try:
        row = loads(line.decode()) if line else None
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and isinstance(row.get("at"), int | float) and "id" in row else None
