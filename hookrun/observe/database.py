"""Store what hooks learn in one SQLite file per account, written by many processes at once."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import quote

from hookrun.core.state import NoHomeError, home_directory, make_private_dir
from hookrun.core.text import UserError

if TYPE_CHECKING:
    from hookrun import Context, Engine, Verdict

# `PRAGMA application_id` of our databases ("hkrv"): another program's is never touched.
APPLICATION_ID = 0x686B7276


_FIRST = resources.files("hookrun.observe").joinpath("schema_1.sql").read_text("utf-8").split(";\n")
# Step i migrates version i to i + 1 (`PRAGMA user_version`). Released steps never change.
MIGRATIONS: tuple[tuple[str, ...], ...] = (tuple(each.strip() for each in _FIRST if each.strip()),)

# The journal is SQLite's default, a rollback journal, not a write-ahead log. A log is faster for a connection that
# stays open; but its shared memory does not work for a home directory on a network file system, an open connection must
# not survive a fork, and SQLite before 3.51.3 can corrupt a database in which several processes write and checkpoint at
# once (sqlite.org/wal.html#walresetbug), as they do here. A transaction with its own connection costs about a
# millisecond, in a thread that no caller waits for.

# Seconds to wait for other processes' transactions.
TIMEOUT = 10.0

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
NUMERIC_COLUMNS = """
    SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
    WHERE tables.type = 'table' AND columns.type IN ('INTEGER', 'REAL')
"""
# Whether a numeric column holds anything else, which SQLite accepts.
HAS_TEXT = "SELECT EXISTS (SELECT * FROM {0} WHERE typeof({1}) IN ('text', 'blob'))"
# However their statements were indented.
TABLES = "SELECT name, replace(replace(sql, ' ', ''), char(10), '') FROM sqlite_master WHERE sql IS NOT NULL"


class DatabaseError(UserError):
    """The database cannot be used; the message names the file, the fault and what to do."""


class ObserverDatabase:
    """A database file that is opened for each operation and closed after it: any thread or process may use it.

    `path` is by default `.local/state/hookrun/observe.db` in the home directory; nothing is opened or created before
    the first use. `timeout` is how many seconds an operation waits for other processes.

    A file that is corrupt, of a newer hookrun or of another program is not changed, and raises DatabaseError.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, timeout: float = TIMEOUT) -> None:
        self._path = None if path is None else os.path.abspath(path)
        self._timeout = timeout

    @property
    def path(self) -> str:
        """The absolute path of the file. Raises DatabaseError if the home directory is unknown."""
        if self._path is None:
            try:
                self._path = default_path()
            except NoHomeError as error:
                raise DatabaseError(str(error)) from error
        return self._path

    @property
    def place(self) -> str:
        """The same as `path`, empty if the home directory is unknown."""
        try:
            return self.path
        except DatabaseError:
            return ""

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give a connection in a transaction that is committed at the end, and rolled back if anything is raised.

        Creates the file (0600) and missing directories (0700). Raises DatabaseError.
        """
        with self.as_store_errors():
            self._create()
            with closing(self._connect()) as connection:
                connection.execute("BEGIN IMMEDIATE")
                self._migrate(connection)
                yield connection
                connection.execute("COMMIT")

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one state of the database, an empty one if there is no file yet.

        Creates no file. Raises DatabaseError.
        """
        with self.as_store_errors():
            version = 0
            if os.path.lexists(self.path):
                with closing(self._connect()) as connection:
                    connection.execute("BEGIN")
                    version = self._version(connection)
                    if version == len(MIGRATIONS):
                        yield connection
                        return
            if version:  # an older hookrun's: write() migrates it
                with self.write() as connection:
                    yield connection
                return
            with closing(_with_named_rows(sqlite3.connect(":memory:", isolation_level=None))) as empty:
                self._migrate(empty)
                yield empty

    def _connect(self) -> sqlite3.Connection:
        # mode=rw: reading creates no file, and rolls back a killed process's unfinished write.
        uri = f"file:{quote(os.fsencode(self.path))}?mode=rw"
        return _with_named_rows(sqlite3.connect(uri, uri=True, timeout=self._timeout, isolation_level=None))

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
        """Raise errors of the file, and of damaged content in it, as DatabaseError.

        An error in a statement or a value while the file is sound is our bug, and is raised unchanged.
        """
        try:
            yield
        except (sqlite3.Error, ArithmeticError, LookupError, TypeError, ValueError) as error:
            reason = _reason(error) or (UNREADABLE if self._damaged() else None)
            if reason is None:
                raise
            raise DatabaseError(f"{self.path}: {reason} ({error})") from error

    def _damaged(self) -> bool:
        """Return whether the file, read from end to end, is corrupt."""
        if not os.path.lexists(self.path):
            return False
        try:
            with closing(self._connect()) as connection, closing(sqlite3.connect(":memory:")) as sound:
                for step in MIGRATIONS[: self._version(connection)]:
                    for statement in step:
                        sound.execute(statement)
                missing = set(sound.execute(TABLES)) - {tuple(row) for row in connection.execute(TABLES)}
                if missing or connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                    return True
                numbers = sound.execute(NUMERIC_COLUMNS).fetchall()
                return any(connection.execute(HAS_TEXT.format(*each)).fetchone()[0] for each in numbers)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            return _reason(error) in (None, UNREADABLE)


def _reason(error: Exception) -> str | None:
    if isinstance(error, UnicodeDecodeError) or str(error).startswith("Could not decode to UTF-8"):
        return UNREADABLE  # in a schema name or a value
    return REASONS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)


def _with_named_rows(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = sqlite3.Row
    return connection


def default_path(home: str | None = None) -> str:
    """Return the database path for `home`, by default this account's. Raises NoHomeError without one."""
    return os.path.join(home or home_directory(), ".local/state/hookrun/observe.db")


def register_observers(
    engine: Engine,
    place: str,
    handlers: Mapping[str, tuple[str, Callable[[Context], Verdict | None]]],
    *,
    priority: int = 500,
    always: bool = True,
    thread: bool = True,
    description: str | None = None,
) -> None:
    """Register handlers that write to `place`, by name -> event and function. Their failures block nothing."""
    for name, (event, handler) in handlers.items():
        engine.register(  # type: ignore[call-overload]  # any event
            event,
            handler,
            name=unique_name(engine, name, place),
            metadata={PLACE: place},
            priority=priority,
            always=always,
            thread=thread,
            on_failure="continue",
            description=description,
        )


# The key in a hook's metadata for the path that it writes to.
PLACE = "writes_to"


def unique_name(engine: Engine, name: str, place: str) -> str:
    """Return the name, with the place if a hook that writes elsewhere has it: both are to run."""
    others = [hook for hook in engine.hooks() if hook.name == name]
    return f"{name}@{place}" if any((hook.metadata or {}).get(PLACE, place) != place for hook in others) else name
