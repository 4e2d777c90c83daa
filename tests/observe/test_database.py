"""The store: who may read it, and how it survives concurrency, a kill, a full disk and a foreign file."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from hookrun.events import SessionEnd, SessionStart
from hookrun.observe import DatabaseError, MetricsExport, ObserverDatabase, WorkflowMetrics, database
from hookrun.observe.spool import default_path
from tests.conftest import ROOT

VERSION = len(database.MIGRATIONS)
INSERT = "INSERT INTO events (id, at, session, project, event) VALUES (hex(randomblob(9)), 0, ?, '', 'stop')"

WRITER = f"""
import sys
from hookrun.observe import ObserverDatabase
store = ObserverDatabase(sys.argv[1], timeout=120)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[3])):
    with store.write() as db:
        db.execute({INSERT!r}, (sys.argv[2],))
"""
"""SQLite wakes those that wait by chance: on a busy machine one of a crowd may wait for longer than the default."""
KILLED = f"""
import sys
from hookrun.observe import ObserverDatabase
with ObserverDatabase(sys.argv[1]).write() as db:
    db.execute("PRAGMA cache_size = 2")
    for _ in range(5000):
        db.execute({INSERT!r}, ("killed",))
    print("ready", flush=True)
    sys.stdin.readline()
"""
"""Ends between BEGIN and COMMIT, with a cache so small that its changes are in the file already."""


def start(program: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a Python program that prints a line when it is ready, and wait for it."""
    command = [sys.executable, "-c", program, *arguments]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def add(store: ObserverDatabase, session: str = "s") -> None:
    """Write one row."""
    with store.write() as db:
        db.execute(INSERT, (session,))


def count(store: ObserverDatabase) -> dict[str, int]:
    """Return how many rows there are of each session."""
    with store.read() as db:
        rows = db.execute("SELECT session, count(*) FROM events GROUP BY session").fetchall()
    return dict(rows)


def raw(store: ObserverDatabase, *statements: str) -> None:
    """Change the file without the store."""
    with closing(sqlite3.connect(store.path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def descriptors() -> int:
    """Return how many files this process has open."""
    return len(os.listdir("/proc/self/fd" if os.path.exists("/proc/self/fd") else "/dev/fd"))


def test_default_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The file is with the account's other state; its directory is looked up at the first use."""
    store = ObserverDatabase()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store.path == f"{tmp_path}/.local/state/hookrun/observe.db" == default_path(str(tmp_path))


def test_nobody_knows_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to do, at the first use."""
    monkeypatch.setenv("HOME", "nowhere")
    monkeypatch.setattr("os.getuid", lambda: 4_294_967_290)
    with pytest.raises(DatabaseError, match="set HOME"):
        add(ObserverDatabase())


def test_only_the_account_may_read_it(tmp_path: Path) -> None:
    """File and new directories are closed to others whatever the umask; nothing else is left beside the file."""
    before = os.umask(0)
    try:
        store = ObserverDatabase(tmp_path / "a" / "b" / "observe.db")
        add(store)
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700, 0o700]
    assert os.stat(store.path).st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path / "a" / "b") == ["observe.db"]


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store means the same file after the program has gone to another directory; odd names are names."""
    monkeypatch.chdir(tmp_path)
    store = ObserverDatabase("what?#100%.db")
    monkeypatch.chdir("/")
    add(store)
    assert os.listdir(tmp_path) == ["what?#100%.db"]
    assert count(store) == {"s": 1}


def test_reading_makes_nothing(store: ObserverDatabase, tmp_path: Path) -> None:
    """A missing database reads as an empty one, and is still missing."""
    assert count(store) == {}
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_a_new_database(store: ObserverDatabase) -> None:
    """A file of no bytes, as one that was killed at its start leaves, is read and written."""
    os.makedirs(os.path.dirname(store.path))
    Path(store.path).touch()
    assert count(store) == {}
    assert os.path.getsize(store.path) == 0
    add(store)
    assert count(store) == {"s": 1}


@pytest.mark.slow
def test_a_crowd_loses_nothing(store: ObserverDatabase) -> None:
    """Four processes that begin at once, the file not there yet, write 200 times each: every row is there."""
    processes = [start(WRITER, store.path, name, "200") for name in "abcd"]
    for process in processes:
        process.stdin.write(b"\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    for process in processes:
        process.communicate()
    assert count(store) == dict.fromkeys("abcd", 200)
    assert os.listdir(os.path.dirname(store.path)) == ["observe.db"]


@pytest.mark.slow
def test_threads_share_a_store(store: ObserverDatabase) -> None:
    """Eight threads that write and read through one store lose nothing, and leave no descriptor open."""
    add(store)
    before = descriptors()

    def work(name: str) -> int:
        for _ in range(25):
            add(store, name)
            assert count(store)[name] > 0
        return count(store)[name]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, "abcdefgh")) == [25] * 8
    assert descriptors() == before


def test_trouble_leaves_no_descriptor(store: ObserverDatabase) -> None:
    """Neither an error in a transaction nor a strange file leaves anything open."""
    add(store)
    strange = ObserverDatabase(Path(store.path).with_name("strange"))
    Path(strange.path).write_bytes(b"x" * 5000)
    before = descriptors()
    for _ in range(20):
        with pytest.raises(ZeroDivisionError), store.write():
            _ = 1 / 0
        with pytest.raises(DatabaseError):
            add(strange)
        with pytest.raises(DatabaseError):
            count(strange)
    assert descriptors() == before


def test_what_is_raised_takes_the_transaction_back(store: ObserverDatabase) -> None:
    """A transaction is kept whole or not at all, and the error is the program's own."""
    add(store)

    def half(error: Exception) -> None:
        with store.write() as db:
            db.execute(INSERT, ("half",))
            raise error

    for error in (KeyError("its own"), FileNotFoundError("its own")):
        with pytest.raises(type(error), match="its own"):
            half(error)
    assert count(store) == {"s": 1}


def test_a_killed_writer_is_rolled_back(store: ObserverDatabase) -> None:
    """An unfinished write of a killed process is rolled back, earlier writes of others are there."""
    add(store)
    process = start(KILLED, store.path)
    assert os.path.getsize(f"{store.path}-wal") > 0, (
        "nothing of the transaction is in the file: this test would test nothing"
    )
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert os.path.exists(f"{store.path}-wal")
    assert count(store) == {"s": 1}
    with store.write() as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_a_reader_does_not_wait_for_a_writer(store: ObserverDatabase) -> None:
    """While a process is in a transaction, the earlier data can be read."""
    add(store)
    with ObserverDatabase(store.path).write() as db:
        db.execute(INSERT, ("other",))
        assert count(ObserverDatabase(store.path, timeout=0)) == {"s": 1}


def test_a_writer_that_waits_too_long_says_so(store: ObserverDatabase) -> None:
    """A lock that is not given back in time is an error that names the file."""
    with store.write(), pytest.raises(DatabaseError, match=r"observe\.db: another process has held it for too long"):
        add(ObserverDatabase(store.path, timeout=0.05))


def test_a_database_of_a_newer_hookrun(store: ObserverDatabase) -> None:
    """It is neither read nor written: the error names the versions and the fix."""
    add(store)
    raw(store, f"PRAGMA user_version = {VERSION + 1}")
    before = Path(store.path).read_bytes()
    wanted = rf"written by a newer hookrun \(version {VERSION + 1} .* knows {VERSION}\); upgrade hookrun"
    for use in (add, count):
        with pytest.raises(DatabaseError, match=wanted):
            use(store)
    assert Path(store.path).read_bytes() == before


@pytest.mark.parametrize(
    "made_by", [("CREATE TABLE theirs (x)",), ("PRAGMA user_version = 1",), ("PRAGMA application_id = 7",)]
)
def test_a_database_of_another_program(store: ObserverDatabase, made_by: tuple[str, ...]) -> None:
    """A database that is not ours is left alone, whatever gives it away."""
    os.makedirs(os.path.dirname(store.path))
    raw(store, *made_by)
    before = Path(store.path).read_bytes()
    for use in (add, count):
        with pytest.raises(DatabaseError, match="of another program; name another file"):
            use(store)
    assert Path(store.path).read_bytes() == before


def spoil(path: Path, how: str) -> None:
    """Destroy a database in one of several ways."""
    data = path.read_bytes()
    if how == "text":
        path.write_text("this was a database once\n" * 50)
    elif how == "half":
        path.write_bytes(data[: len(data) // 2])
    else:
        page = 4096
        path.write_bytes(data[:page] + b"\xa5" * (len(data) - page))


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("how", ["text", "half", "pages"])
def test_a_corrupt_database(store: ObserverDatabase, how: str) -> None:
    """It is named, with what to do about it, and keeps every byte that it has."""
    for _ in range(200):
        add(store)
    spoil(Path(store.path), how)
    before = Path(store.path).read_bytes()
    for use in (add, count):
        with pytest.raises(DatabaseError, match=r"observe\.db: not a readable database; move it away"):
            use(store)
    assert Path(store.path).read_bytes() == before


DAMAGE: dict[str, tuple[tuple[bytes, bytes], ...]] = {
    "a table": ((b"CREATE TABLE events", b"CREATE TABXE events"),),
    "a text": ((b"/srv/app", b"/srv/\x98pp"),),
}
"""Replacements in the bytes of a database."""


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_that_sqlite_does_not_call_so(store: ObserverDatabase, what: str) -> None:
    """It is reported as any other: by every bundle, with the file and what to do."""
    workflow = WorkflowMetrics(store)
    workflow.on_start(SessionStart(session_id="s1", working_dir="/srv/app"))
    store.flush()
    data = Path(store.path).read_bytes()
    for old, new in DAMAGE[what]:
        assert old in data
        data = data.replace(old, new)
    Path(store.path).write_bytes(data)
    for use in (workflow.summary, lambda: MetricsExport(store.path + ".prom", store).on_end(SessionEnd())):
        with pytest.raises(DatabaseError, match=r"observe\.db: not a readable database; move it away"):
            use()


def test_what_is_in_the_way(tmp_path: Path) -> None:
    """A directory, a file as directory and a link to nowhere are errors that name the path."""
    (tmp_path / "directory").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for path in ("directory", "file/observe.db", "link"):
        with pytest.raises(DatabaseError, match=f"^{tmp_path}/{path.partition('/')[0]}"):
            add(ObserverDatabase(tmp_path / path))
    assert not (tmp_path / "nowhere").exists()


def fill(db: sqlite3.Connection) -> None:
    """Write more than there is room for: SQLite itself reports that the disk is full."""
    db.execute("PRAGMA max_page_count = 40")
    db.executemany(INSERT, [("too much",)] * 100_000)


def test_a_full_disk(store: ObserverDatabase) -> None:
    """The error says so, and earlier data is still there."""
    add(store)
    with pytest.raises(DatabaseError, match="the disk is full; make room"), store.write() as db:
        fill(db)
    assert count(store) == {"s": 1}


def test_a_file_that_may_not_grow(store: ObserverDatabase) -> None:
    """A write that the system refuses is an error that names the file."""
    add(store)
    program = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    program += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({os.path.getsize(store.path)},) * 2)\n{KILLED}"
    command = [sys.executable, "-c", program, store.path]
    done = subprocess.run(
        command, input=b"\n", capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert b"DatabaseError" in done.stderr
    assert store.path.encode() in done.stderr.splitlines()[-1]
    assert count(store) == {"s": 1}


def test_a_wrong_statement_is_a_defect(store: ObserverDatabase) -> None:
    """An error in a statement is not reported as a problem with the file."""
    with pytest.raises(sqlite3.OperationalError, match="no such table"), store.write() as db:
        db.execute("SELECT * FROM nowhere")


STEP = ("ALTER TABLE events ADD COLUMN shade TEXT", "UPDATE events SET shade = 'dark'")


def test_an_older_database_is_brought_up_to_date(store: ObserverDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading or writing applies each missing migration, once, and keeps the data."""
    add(store)
    monkeypatch.setattr(database, "MIGRATIONS", (*database.MIGRATIONS, STEP))
    for _ in range(2):
        with store.read() as db:
            assert [row[0] for row in db.execute("PRAGMA user_version")] == [VERSION + 1]
            assert "shade" in [row[1] for row in db.execute("PRAGMA table_info (events)")]
    add(store)
    assert count(store) == {"s": 2}
    monkeypatch.undo()
    with pytest.raises(DatabaseError, match="newer hookrun"):
        add(store)


def test_a_step_that_fails_changes_nothing(store: ObserverDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """A migration is made whole or not at all."""
    add(store)
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", (*database.MIGRATIONS, (*STEP, "nonsense")))
        with pytest.raises(sqlite3.OperationalError):
            add(store)
    add(store)
    assert count(store) == {"s": 2}
    with store.read() as db:
        assert "shade" not in [row[1] for row in db.execute("PRAGMA table_info (events)")]
