"""The spool: nothing is lost or stored twice, whoever is killed, and what is old or too much goes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hookrun.observe import ObserverDatabase
from tests.conftest import ROOT
from tests.waiting import until

APPENDS = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from hookrun.observe import spool
print("ready", flush=True)
for number in range(int(sys.argv[3])):
    spool.append(sys.argv[1] + ".spool", {{
        "id": f"{{sys.argv[2]}} {{number}}", "at": 1.0, "event": "stop", "session": sys.argv[2], "project": ""
    }})
"""


@pytest.mark.slow
def test_writers_and_readers_lose_nothing(tmp_path: Path) -> None:
    """While two processes append, others move the spool to the database: each event is there once."""
    store = ObserverDatabase(tmp_path / "observe.db")
    command = [sys.executable, "-c", APPENDS, store.path]
    writers = [subprocess.Popen([*command, name, "2000"], stdout=subprocess.DEVNULL) for name in "ab"]
    while any(writer.poll() is None for writer in writers):
        ObserverDatabase(store.path).flush()
    assert [writer.wait() for writer in writers] == [0, 0]
    found = store.rows()
    assert len(found) == len({row["id"] for row in found}) == 4000
    assert [each for each in os.listdir(tmp_path) if "spool" in each] == []


@pytest.mark.slow
def test_killed_between(tmp_path: Path) -> None:
    """A writer that is killed leaves whole lines; a spool whose events were stored already stores none twice."""
    store = ObserverDatabase(tmp_path / "observe.db")
    spool = Path(f"{store.path}.spool")
    writer = subprocess.Popen([sys.executable, "-c", APPENDS, store.path, "a", "1000000"], stdout=subprocess.DEVNULL)
    until(lambda: spool.exists() and spool.stat().st_size > 10_000, "nothing is appended")
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    lines = spool.read_bytes()
    count = len(store.rows())
    assert count == lines.count(b'"id"')
    spool.with_name("observe.db.spool.0-killed").write_bytes(lines)
    assert len(store.rows()) == count
    with closing(sqlite3.connect(store.path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_what_is_old_or_too_much_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many events are kept, and none for longer than half a year."""
    monkeypatch.setattr("hookrun.observe.database.MAX_EVENTS", 20)
    monkeypatch.setattr("hookrun.observe.database.NOT_PRUNED", 3)
    store = ObserverDatabase(tmp_path / "observe.db")
    day = 86_400.0
    for number in range(30):
        store.add("stop", number * 10 * day)
    store.flush()
    kept = [row["at"] / day for row in store.rows()]
    assert kept == [number * 10 for number in range(11, 30)]
