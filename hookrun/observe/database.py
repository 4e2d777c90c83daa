"""Keep what happens in one SQLite file per account: a table of events, of which all that is learned is a query."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hookrun.core.fastjson import dumps
from hookrun.core.state import NoHomeError, make_private_dir
from hookrun.observe import spool
from hookrun.observe.context_fields import fired_at
from hookrun.observe.spool import AFTER, BEFORE, Clock, DatabaseError, Row, default_path

if TYPE_CHECKING:
    from hookrun import Context, Engine, Verdict
    from hookrun.core.literals import Policy

# `PRAGMA application_id` of our databases ("hkrv"): another program's is never touched.
APPLICATION_ID = 0x686B7276

# The columns of an event besides its number: `ms` of a call, the `call` and the agent's `use` of it by which calls are
# the same, its `step` in a sequence, `what` it changes, the `mark` of its error; `data` is a JSON object.
COLUMNS = {
    "id": "TEXT NOT NULL UNIQUE", "at": "REAL NOT NULL", "session": "TEXT NOT NULL", "project": "TEXT NOT NULL",
    "event": "TEXT NOT NULL", "tool": "TEXT", "use": "TEXT", "call": "TEXT", "ms": "REAL", "ok": "INTEGER",
    "step": "TEXT", "what": "TEXT", "path": "TEXT", "error": "TEXT", "mark": "TEXT", "cost": "REAL", "data": "TEXT",
}  # fmt: skip
# Step i migrates version i to i + 1 (`PRAGMA user_version`). Released steps never change.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (),  # before the first release
    (
        f"CREATE TABLE events (n INTEGER PRIMARY KEY AUTOINCREMENT, {', '.join(map(' '.join, COLUMNS.items()))})",
        "CREATE INDEX events_of_session ON events (session)",
        "CREATE INDEX events_of_project ON events (project, at)",
        "CREATE INDEX events_with_mark ON events (mark) WHERE mark IS NOT NULL",
        "CREATE INDEX calls_begun ON events (session, use) WHERE event = 'pre_tool_use'",
        "CREATE INDEX inferences ON events (session) WHERE event = 'after_inference'",
    ),
)
INSERT = f"INSERT OR IGNORE INTO events ({', '.join(COLUMNS)}) VALUES ({', '.join(f':{each}' for each in COLUMNS)})"  # noqa: S608  # names of ours
BEGUN = f"SELECT n, at FROM events WHERE event = '{BEFORE}' AND session = ? AND use = ? ORDER BY n DESC LIMIT 1"  # noqa: S608

# Events kept, the newest, and seconds for which they are; for which a call that began may still end.
MAX_EVENTS, MAX_AGE, MAX_PENDING = 200_000, 180 * 86_400, 86_400
# So few are kept whatever their age.
NOT_PRUNED = 1000
# Events that a query which folds them in Python reads, the newest.
MAX_READ = 20_000
# Seconds to wait for other processes' transactions.
TIMEOUT = 10.0
# Bytes of a spool that is emptied without being asked to be, in the middle of a turn: once in thousands of calls.
SPOOLED = 1 << 20
# Contexts of which it is known that they were kept.
MAX_KNOWN = 32

UNREADABLE = "not a readable database; move it away to start over, or restore a copy of it"
# SQLite's primary error codes (sqlite.org/rescode.html) -> the fault and remedy.
REASONS = {
    sqlite3.SQLITE_BUSY: "another process has held it for too long; try again",
    sqlite3.SQLITE_LOCKED: "another process has held it for too long; try again",
    sqlite3.SQLITE_READONLY: "it cannot be written to; make the file and its directory writable",
    sqlite3.SQLITE_IOERR: "it cannot be read or written; look after the disk",
    sqlite3.SQLITE_CORRUPT: UNREADABLE,
    sqlite3.SQLITE_FULL: "the disk is full; make room",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; make it a file in a directory that can be written to",
    sqlite3.SQLITE_PERM: "access is denied; make the file and its directory writable",
    sqlite3.SQLITE_AUTH: "access is denied; make the file and its directory writable",
    sqlite3.SQLITE_NOTADB: UNREADABLE,
}


class ObserverDatabase:
    """A database that any thread or process may use: what happens is appended to a spool, and is in SQLite when read.

    `path` is by default `.local/state/hookrun/observe.db` in the home directory; nothing is opened or created before
    the first use. `timeout` is how many seconds an operation waits for other processes. Events are kept for 180 days,
    at most 200,000.

    A file that is corrupt, of a newer hookrun or of another program is not changed, and raises DatabaseError.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, timeout: float = TIMEOUT) -> None:
        self._path = None if path is None else os.path.abspath(path)
        self._timeout = timeout
        self._known: deque[tuple[object, Row]] = deque(maxlen=MAX_KNOWN)

    @property
    def path(self) -> str:
        """The absolute path of the file. Raises DatabaseError if the home directory is unknown."""
        if self._path is None:
            try:
                self._path = default_path()
            except NoHomeError as error:
                raise DatabaseError(str(error)) from error
        return self._path

    def keep(self, context: Mapping[str, object], *, clock: Clock = time.time, **more: object) -> Row:
        """Keep an event once, however many bundles see it, and return what is kept of it; `more` are its columns.

        It is appended to the spool, which takes some 50 microseconds. Raises DatabaseError.
        """
        for known, row in list(self._known):  # another thread may add to it
            if known is context:
                return row
        row = spool.identified(spool.row_of(context, fired_at(context, clock), clock()) | more, context)
        kept = next((known for _, known in list(self._known) if known["id"] == row["id"]), None)
        if kept is None:
            self._append(row)
            self._known.append((context, row))
        return kept or row

    def add(self, event: str, at: float, **columns: object) -> Row:
        """Keep an event that no context tells of. Raises DatabaseError."""
        row: Row = {"id": spool.new_id(), "event": event, "at": at, "session": "", "project": ""} | columns
        self._append(row)
        return row

    def _append(self, row: Row) -> None:
        if spool.append(self._spool, row) > SPOOLED:
            self.flush()

    @property
    def _spool(self) -> str:
        return f"{self.path}.spool"

    def register(
        self, engine: Engine, handlers: Mapping[str, tuple[str, Callable[[Context], Verdict | None]]], **options: Any
    ) -> None:
        """Register a bundle's handlers as `register_observers` does, and one that stores what is spooled at an end."""
        try:
            place = self.path
        except DatabaseError:  # without a home, each use of it raises that
            place = ""
        register_observers(engine, place, handlers, **options)
        ends = (("observe-store-stop", "stop"), ("observe-store-session-end", "session_end"))
        stores = {name: (event, lambda _: self.flush()) for name, event in ends}
        register_observers(engine, place, stores, priority=1000)

    def flush(self) -> None:
        """Move what is in the spool to SQLite. Raises DatabaseError; then it stays where it is."""
        if self._is_spooled():
            with self.write():
                pass

    def _is_spooled(self) -> bool:
        directory, name = os.path.split(self._spool)
        try:
            return any(each.startswith(name) for each in os.listdir(directory))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise DatabaseError(f"{directory}: {error.strerror}") from error

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give a connection in a transaction that is committed at the end, and rolled back if anything is raised.

        Creates the file (0600) and missing directories (0700). Raises DatabaseError.
        """
        with self.as_store_errors():
            self._create()
            with self._connected() as connection:
                connection.execute("BEGIN IMMEDIATE")
                self._migrate(connection)
                with self._imported(connection):
                    yield connection
                    connection.execute("COMMIT")

    @contextmanager
    def _imported(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Have the spool's events in a transaction; their files go after it is committed."""
        try:
            files = spool.take(self._spool)
        except OSError as error:
            raise DatabaseError(f"{error.filename or self.path}: {error.strerror}") from error
        with ExitStack() as taken:
            rows = [row for each in files for row in taken.enter_context(_rows_in(each))]
            for row in rows:
                _insert(connection, row)
            if rows:
                _prune(connection, time.time())
            yield

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one state of the database, an empty one if there is no file yet.

        What is in the spool is in it. Creates no file if there is nothing. Raises DatabaseError.
        """
        self.flush()
        with self.as_store_errors():
            version = 0
            if os.path.lexists(self.path):
                with self._connected() as connection:
                    connection.execute("BEGIN")
                    version = self._version(connection)
                    if version == len(MIGRATIONS):
                        yield connection
                        return
            if version:  # an older hookrun's: write() migrates it
                with self.write() as connection:
                    yield connection
                return
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as empty:
                empty.row_factory = sqlite3.Row
                self._migrate(empty)
                yield empty

    def rows(self, where: str = "TRUE", *values: object, limit: int = -1) -> list[Row]:
        """Return the events of a condition in order, of too many the newest. Raises DatabaseError."""
        with self.read() as db:
            query = f"SELECT * FROM (SELECT * FROM events WHERE {where} ORDER BY n DESC LIMIT ?) ORDER BY at, n"  # noqa: S608
            return [dict(row) for row in db.execute(query, (*values, limit))]

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        # mode=rw: reading creates no file, and rolls back a killed process's unfinished write.
        uri = f"file:{quote(os.fsencode(self.path))}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=self._timeout, isolation_level=None)) as connection:
            # The log goes into the file when the last connection is closed, when no other can write: SQLite before
            # 3.51.3 can corrupt a file if one process does that while another writes (sqlite.org/wal.html#walresetbug).
            connection.executescript("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0")
            connection.row_factory = sqlite3.Row
            yield connection

    def _create(self) -> None:
        if os.path.lexists(self.path):
            return
        directory = os.path.dirname(self.path)
        try:
            make_private_dir(directory)
            # Linked into place when closed: closing a file drops all this process's POSIX locks on it, also those that
            # SQLite holds in another thread.
            fd, fresh = tempfile.mkstemp(prefix=".observe-", dir=directory)
            os.close(fd)
            try:
                with closing(sqlite3.connect(fresh)) as connection:
                    connection.execute("PRAGMA journal_mode = WAL")
                os.link(fresh, self.path)
            except FileExistsError:  # another process was first
                pass
            finally:
                os.unlink(fresh)
        except OSError as error:
            raise DatabaseError(f"{error.filename or self.path}: {error.strerror or error}") from error

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version = self._version(connection)
        if version == len(MIGRATIONS):
            return
        for step in MIGRATIONS[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _version(self, connection: sqlite3.Connection) -> int:
        """Return the database's version, 0 for an empty file. Raises DatabaseError for one that is not ours."""
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if owner != APPLICATION_ID:
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if owner or version or tables:
                raise DatabaseError(f"{self.path}: it is a database of another program; name another file")
            return 0
        if version > len(MIGRATIONS):
            raise DatabaseError(
                f"{self.path}: it was written by a newer hookrun (version {version} of the database, this hookrun knows"
                f" {len(MIGRATIONS)}); upgrade hookrun, or name another file"
            )
        return version

    @contextmanager
    def as_store_errors(self) -> Iterator[None]:
        """Raise errors of the file as DatabaseError. One in a statement is our bug, and is raised unchanged."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code not in REASONS:
                raise
            raise DatabaseError(f"{self.path}: {REASONS[code]} ({error})") from error


@contextmanager
def _rows_in(path: str) -> Iterator[list[Row]]:
    """Give the rows of a spool that was taken; the file is removed at the end unless an exception is raised."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:  # another process was first
        yield []
        return
    with open(fd, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        lines = file.read().split(b"\n") if os.fstat(file.fileno()).st_nlink else []
        yield [row for row in map(spool.row_in, lines) if row is not None]
        if os.fstat(file.fileno()).st_nlink:
            os.unlink(path)


def _insert(db: sqlite3.Connection, row: Row) -> None:
    """Store a row, and of a call that ended how long it took: since it began, if it was seen to."""
    values: dict[str, Any] = {name: row.get(name) for name in COLUMNS}
    values["data"] = None if values["data"] is None else dumps(values["data"])
    if row["event"] == BEFORE:
        values["at"] = row["now"]
    if not db.execute(INSERT, values).rowcount or row["event"] not in AFTER:
        return
    # The latest of identical calls: an earlier one may have been blocked and never end.
    begun = db.execute(BEGUN, (row["session"], row["use"])).fetchone()
    if begun is not None:
        db.execute("DELETE FROM events WHERE n = ?", (begun["n"],))
        if row.get("ms") is None and isinstance(row["now"], int | float):
            ms = max(row["now"] - begun["at"], 0.0) * 1000
            db.execute("UPDATE events SET ms = ? WHERE id = ?", (ms, row["id"]))


def _prune(db: sqlite3.Connection, now: float) -> None:
    db.execute("DELETE FROM events WHERE n <= (SELECT max(n) FROM events) - ?", (MAX_EVENTS,))
    if db.execute("SELECT count(*) FROM events").fetchone()[0] <= NOT_PRUNED:
        return
    latest = min(now, db.execute("SELECT coalesce(max(at), 0) FROM events").fetchone()[0])  # no wrong clock removes all
    db.execute("DELETE FROM events WHERE at < ?", (latest - MAX_AGE,))
    db.execute("DELETE FROM events WHERE event = ? AND at < ?", (BEFORE, latest - MAX_PENDING))


def register_observers(
    engine: Engine,
    place: str,
    handlers: Mapping[str, tuple[str, Callable[[Context], Verdict | None]]],
    *,
    priority: int = 500,
    always: bool = True,
    thread: bool = True,
    on_failure: Policy = "continue",
    description: str | None = None,
) -> None:
    """Register handlers that write to `place`, by name -> event and function."""
    for name, (event, handler) in handlers.items():
        others = [hook.metadata or {} for hook in engine.hooks() if hook.name == name]
        elsewhere = any(each.get(PLACE, place) != place for each in others)  # both are to run
        engine.register(
            event,  # type: ignore[arg-type]  # any event
            handler,
            name=f"{name}@{place}" if elsewhere else name,
            metadata={PLACE: place},
            priority=priority,
            always=always,
            thread=thread,
            on_failure=on_failure,
            description=description,
        )


# The key in a hook's metadata for the path that it writes to.
PLACE = "writes_to"
