"""The database that what hooks learn is kept in: one SQLite file per account, written by many processes at once."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

from hookrun import private
from hookrun.config.find import NoHomeError, home_directory
from hookrun.observe import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

# The journal is SQLite's own default, a rollback journal, and not a write-ahead log. A log is faster for a connection
# that stays open; but its shared memory does not work for a home directory on a network file system, an open connection
# must not live through a fork of the program, and SQLite before 3.51.3 can corrupt a database in which several
# processes write and checkpoint at the same instant (sqlite.org/wal.html#walresetbug), which is exactly what happens
# here. A transaction with its own connection costs about a millisecond, in a thread that nobody waits for.

TIMEOUT = 10.0
"""Seconds that an operation waits for other processes to finish theirs."""

UNREADABLE = "it is not a database that can be read; move it away to begin anew, or put a copy of it back"
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
"""What SQLite's primary error codes (sqlite.org/rescode.html) mean here, and what to do."""
NUMBERS = """
    SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
    WHERE tables.type = 'table' AND columns.type IN ('INTEGER', 'REAL')
"""
WORDS = "SELECT EXISTS (SELECT * FROM {0} WHERE typeof({1}) IN ('text', 'blob'))"
"""The columns that hold numbers, and whether one of them holds anything else: SQLite does not mind."""
TABLES = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"


class StoreError(Exception):
    """The database cannot be used: the message names the file, what is wrong with it and what to do."""


class Store:
    """One database file, opened for each operation and closed after it: any thread may use it, and any process.

    `path` is where it lies, by default `.local/state/hookrun/observe.db` in the home directory; nothing is opened or
    made before the first use. `timeout` is how many seconds an operation waits for other processes.

    A file that is corrupt, of a newer hookrun or of another program is left as it is, and StoreError says so.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, timeout: float = TIMEOUT) -> None:
        self._path = None if path is None else os.path.abspath(path)
        self._timeout = timeout

    @property
    def path(self) -> str:
        """The absolute path of the file. Raises StoreError where nobody knows the home directory."""
        if self._path is None:
            try:
                self._path = default_path()
            except NoHomeError as error:
                raise StoreError(str(error)) from error
        return self._path

    @property
    def place(self) -> str:
        """The same as `path`, empty where nobody knows the home directory."""
        try:
            return self.path
        except StoreError:
            return ""

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give a connection within a transaction that is kept at the end, and dropped whole if anything is raised.

        Makes the file, 0600, and directories that are missing, 0700. Raises StoreError.
        """
        with self.told():
            self._create()
            with closing(self._connect()) as connection:
                connection.execute("BEGIN IMMEDIATE")
                self._migrate(connection)
                yield connection
                connection.execute("COMMIT")

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one state of the database: an empty one where there is no file yet.

        Makes no file. Raises StoreError.
        """
        with self.told():
            version = 0
            if os.path.lexists(self.path):
                with closing(self._connect()) as connection:
                    connection.execute("BEGIN")
                    version = self._version(connection)
                    if version == len(schema.MIGRATIONS):
                        yield connection
                        return
            if version:  # an older hookrun's: brought up to date
                with self.write() as connection:
                    yield connection
                return
            with closing(_rows(sqlite3.connect(":memory:", isolation_level=None))) as nothing:
                self._migrate(nothing)
                yield nothing

    def _connect(self) -> sqlite3.Connection:
        # mode=rw: never made by being looked at; a process that was killed while it wrote is rolled back.
        uri = f"file:{quote(os.fsencode(self.path))}?mode=rw"
        return _rows(sqlite3.connect(uri, uri=True, timeout=self._timeout, isolation_level=None))

    def _create(self) -> None:
        """Make an empty file that is the account's alone, unless there is one."""
        if os.path.lexists(self.path):
            return
        directory = os.path.dirname(self.path)
        try:
            private.make(directory)
            # Not made in its place: closing a file gives up every POSIX lock of this process on it, those of another
            # thread's SQLite included.
            fd, fresh = tempfile.mkstemp(prefix=".observe-", dir=directory)
            os.close(fd)
            try:
                os.link(fresh, self.path)
            except FileExistsError:  # another process was first
                pass
            finally:
                os.unlink(fresh)
        except OSError as error:
            raise StoreError(f"{error.filename or self.path}: {error.strerror or error}") from error

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version = self._version(connection)
        if version == len(schema.MIGRATIONS):
            return
        for step in schema.MIGRATIONS[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS)}")

    def _version(self, connection: sqlite3.Connection) -> int:
        """Return the version of the database, 0 for an empty file. Raises StoreError for what is not ours to read."""
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if owner != schema.APPLICATION_ID:
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if owner or version or tables:
                raise StoreError(f"{self.path}: it is a database of another program; name another file")
            return 0
        if version > len(schema.MIGRATIONS):
            raise StoreError(
                f"{self.path}: it was written by a newer hookrun (version {version} of the database, this hookrun knows"
                f" {len(schema.MIGRATIONS)}); upgrade hookrun, or name another file"
            )
        return version

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell trouble with the file, and with what stands in it, as StoreError.

        What is wrong with a statement or a value while the file is sound is a defect, and stays as it is.
        """
        try:
            yield
        except (sqlite3.Error, ArithmeticError, LookupError, TypeError, ValueError) as error:
            reason = _reason(error) or (UNREADABLE if self._damaged() else None)
            if reason is None:
                raise
            raise StoreError(f"{self.path}: {reason} ({error})") from error

    def _damaged(self) -> bool:
        """Tell whether the file is not as it was written; it is read from end to end."""
        if not os.path.lexists(self.path):
            return False
        try:
            with closing(self._connect()) as connection, closing(sqlite3.connect(":memory:")) as sound:
                for step in schema.MIGRATIONS[: self._version(connection)]:
                    for statement in step:
                        sound.execute(statement)
                missing = set(sound.execute(TABLES)) - {tuple(row) for row in connection.execute(TABLES)}
                if missing or connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                    return True
                numbers = sound.execute(NUMBERS).fetchall()
                return any(connection.execute(WORDS.format(*each)).fetchone()[0] for each in numbers)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            return _reason(error) in (None, UNREADABLE)


def _reason(error: Exception) -> str | None:
    """Return what the trouble is; None where the error alone does not say."""
    if isinstance(error, UnicodeDecodeError) or str(error).startswith("Could not decode to UTF-8"):
        return UNREADABLE  # of a name in the schema, or of a text
    return REASONS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)


def _rows(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = sqlite3.Row
    return connection


def default_path(home: str | None = None) -> str:
    """Return where the database lies; `home` is whose, by default this account's. Raises NoHomeError without one."""
    return os.path.join(home or home_directory(), ".local/state/hookrun/observe.db")
