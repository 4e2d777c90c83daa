"""What a session remembers between runs: once is once, eight blocks are eight, and its failures do no harm."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hookrun.core import session
from tests.conftest import ROOT


def test_a_cause_is_told_once_in_a_session(tmp_path: Path) -> None:
    """Another cause, another session and another account are other matters."""
    home = str(tmp_path)
    assert [session.mark_notice_shown(home, "s1", "disk full") for _ in range(3)] == [True, False, False]
    assert session.mark_notice_shown(home, "s1", "disk empty")
    assert session.mark_notice_shown(home, "s2", "disk full")
    assert session.mark_notice_shown(str(tmp_path / "other"), "s1", "disk full")


@pytest.mark.parametrize("nobody", [None, ""])
def test_without_a_session_it_is_always_the_first_time(tmp_path: Path, nobody: str | None) -> None:
    """Better notified twice than never."""
    assert [session.mark_notice_shown(str(tmp_path), nobody, "c") for _ in range(2)] == [True, True]
    assert all(session.count_stop_block(str(tmp_path), nobody, "stop") for _ in range(20))


def test_of_many_at_once_one_tells(tmp_path: Path) -> None:
    """Tools run side by side, each with a separate hookrun."""
    program = (
        "import sys; from hookrun.core import session; "
        "print(*[session.mark_notice_shown(sys.argv[1], 's1', str(number)) for number in range(20)])"
    )
    several = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(4)
    ]
    answers = [process.communicate(timeout=60)[0].split() for process in several]
    assert [each.count("True") for each in zip(*answers, strict=True)] == [1] * 20


def test_eight_blocks_in_a_row_count_and_then_it_begins_anew(tmp_path: Path) -> None:
    """The ninth does not."""
    counted = [session.count_stop_block(str(tmp_path), "s1", "stop") for _ in range(18)]
    assert counted == [*[True] * 8, False] * 2


def test_an_end_in_between_begins_the_count_anew(tmp_path: Path) -> None:
    """And each subagent has its own count."""
    home = str(tmp_path)
    for _ in range(5):
        assert all(session.count_stop_block(home, "s1", "stop") for _ in range(8))
        session.reset_stop_blocks(home, "s1", "stop")
    assert session.count_stop_block(home, "s1", "subagent_stop a1")


def test_a_turn_that_was_kept_from_ending_is_known_until_it_may_end(tmp_path: Path) -> None:
    """Each stop by itself; without a session nothing is known."""
    home = str(tmp_path)
    assert not session.stop_was_blocked(home, "s1", "stop")
    session.count_stop_block(home, "s1", "stop")
    known = [
        session.stop_was_blocked(home, who, what) for who, what in (("s1", "stop"), ("s1", "other"), (None, "stop"))
    ]
    assert known == [True, False, False]
    session.reset_stop_blocks(home, "s1", "stop")
    assert not session.stop_was_blocked(home, "s1", "stop")


def test_the_files_are_private_and_hold_nothing(tmp_path: Path) -> None:
    """Their names reveal nothing either, whatever the session is called."""
    session.mark_notice_shown(str(tmp_path), "../../etc/passwd\0", "secret prompt\ud800")
    session.count_stop_block(str(tmp_path), "s1", "stop")
    where = Path(session.sessions_dir(str(tmp_path)))
    assert stat.S_IMODE(where.stat().st_mode) == 0o700
    files = list(where.iterdir())
    assert len(files) == 2
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_bytes() in (b"", b".")
        assert len(path.name) == 32
        assert "secret" not in path.name


def test_where_nothing_can_be_remembered_all_is_told_and_every_block_counts(tmp_path: Path) -> None:
    """A file at the directory's path; a link that leads away."""
    where = Path(session.sessions_dir(str(tmp_path)))
    where.parent.mkdir(parents=True)
    where.write_text("")
    assert [session.mark_notice_shown(str(tmp_path), "s1", "c") for _ in range(2)] == [True, True]
    assert all(session.count_stop_block(str(tmp_path), "s1", "stop") for _ in range(20))
    session.reset_stop_blocks(str(tmp_path), "s1", "stop")


def test_old_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest first, so that the directory does not grow for ever."""
    monkeypatch.setattr(session, "MAX_SESSION_FILES", 5)
    for number in range(12):
        session.mark_notice_shown(str(tmp_path), f"s{number}", "c")
        newest = max(Path(session.sessions_dir(str(tmp_path))).iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, ns=(number, number))
    assert len(list(Path(session.sessions_dir(str(tmp_path))).iterdir())) == 5
    assert not session.mark_notice_shown(str(tmp_path), "s11", "c")
    assert session.mark_notice_shown(str(tmp_path), "s0", "c")


def test_old_counters_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no notice is shown that would remove them: one more session, one file less."""
    monkeypatch.setattr(session, "MAX_SESSION_FILES", 5)
    for number in range(7):
        session.count_stop_block(str(tmp_path), f"s{number}", "stop")
    assert len(list(Path(session.sessions_dir(str(tmp_path))).iterdir())) == 5
