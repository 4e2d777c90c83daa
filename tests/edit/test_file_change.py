"""Files that belong to others are read and written with care: whole or not at all, through links, with their mode."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hookrun.edit import file_change
from hookrun.edit.file_change import FileError

OLD, NEW = b'{"old": 1}\n' * 400, b'{"new": 1}\n' * 500
KILLED = 77
WRITER = Path(__file__).parent / "programs" / "writer.py"
"""Writes a file, and exits without cleanup at its N-th system call."""


def write_old(path: Path) -> None:
    """Write the file that is there before."""
    path.parent.mkdir(parents=True)
    path.write_bytes(OLD)


@pytest.mark.slow
@pytest.mark.parametrize(("prepare", "before"), [(write_old, OLD), (lambda _: None, None)], ids=["old", "none"])
def test_killed_between_any_two_calls_the_old_or_the_new_file_is_there(
    tmp_path: Path, prepare: Callable[[Path], None], before: bytes | None
) -> None:
    """At whatever call the process ends, the old file, or none, is there, or the new one; the next write tidies up."""
    seen: list[bytes | None] = []
    status = KILLED
    while status == KILLED:
        path = tmp_path / str(len(seen)) / "a" / "settings.json"
        prepare(path)
        command = [sys.executable, str(WRITER), str(path), str(len(seen))]
        done = subprocess.run(command, capture_output=True, check=False)
        status = done.returncode
        assert status in (0, KILLED), done.stderr
        seen.append(path.read_bytes() if path.exists() else None)
        path.parent.mkdir(parents=True, exist_ok=True)
        file_change.write_file(str(path), NEW)
        assert os.listdir(path.parent) == ["settings.json"]
    assert {*seen} == {before, NEW}
    assert len(seen) > 5


def test_the_mode_is_kept(tmp_path: Path) -> None:
    """A file that is replaced has the mode that it had."""
    path = tmp_path / "settings.json"
    path.write_bytes(OLD)
    for mode in (0o600, 0o644, 0o755, 0o640):
        path.chmod(mode)
        file_change.write_file(str(path), NEW, 0o777)
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.getuid() != 0, reason="only the administrator can make files of another account")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    """A file of another account stays that account's, where we may write it at all."""
    path = tmp_path / "settings.json"
    path.write_bytes(OLD)
    os.chown(path, 4242, 4343)
    file_change.write_file(str(path), NEW)
    assert (path.stat().st_uid, path.stat().st_gid) == (4242, 4343)


def test_a_new_file_gets_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    """A new file gets the given mode, less the umask."""
    file_change.write_file(str(tmp_path / "new"), NEW, 0o700)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_link_leads_to_the_file_that_is_written(tmp_path: Path) -> None:
    """What a symbolic link leads to is what exists, also if that does not exist yet."""
    (tmp_path / "dotfiles").mkdir()
    link = tmp_path / "settings.json"
    link.symlink_to("dotfiles/claude.json")
    there = file_change.existing(str(link))
    assert (there.path, there.data) == (str(tmp_path / "dotfiles" / "claude.json"), None)
    file_change.write_file(there.path, NEW)
    assert link.is_symlink()
    assert file_change.existing(str(link)).data == NEW


def test_a_link_out_of_the_project_is_refused(tmp_path: Path) -> None:
    """A project's file that is a link out of it, or below one, is not changed, and the error names the target."""
    project = tmp_path / "project"
    (tmp_path / "elsewhere").mkdir()
    project.mkdir()
    (project / ".claude").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match=r"outside the project: .*elsewhere/settings\.json"):
        file_change.existing(str(project / ".claude" / "settings.json"), within=str(project))
    (project / "inside").mkdir()
    (project / "link").symlink_to("inside")
    assert file_change.existing(str(project / "link" / "x"), within=str(project)).path == str(project / "inside" / "x")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A directory, a pipe, and a file instead of a directory are each an error that says so."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "file" / "settings.json"):
        with pytest.raises(FileError, match=r"not a regular file|parent of this path"):
            file_change.existing(str(path))


def test_not_utf_8_is_refused_at_its_place(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are an error with line and column."""
    (tmp_path / "s.json").write_bytes(b'{\n "a": "\xff"}')
    with pytest.raises(FileError, match=r"s\.json:2:8: invalid UTF-8 byte 0xff"):
        file_change.existing(str(tmp_path / "s.json")).text()


def test_removed_with_the_directories_that_were_made(tmp_path: Path) -> None:
    """A file is removed with the directories given, as far as they are empty."""
    path = tmp_path / "a" / "b" / "c" / "s.json"
    missing = file_change.missing_directories(str(path))
    assert missing == [str(tmp_path / "a"), str(tmp_path / "a" / "b"), str(tmp_path / "a" / "b" / "c")]
    file_change.apply(file_change.FileChange(str(path), file_change.existing(str(path)), NEW))
    (tmp_path / "a" / "other").write_text("")
    file_change.remove_file(str(path), missing)
    assert sorted(os.listdir(tmp_path / "a")) == ["other"]


def test_a_directory_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """If no file can be created, the error names it, and the old file is unchanged."""
    (tmp_path / "s.json").write_bytes(OLD)
    taken = tmp_path / "s.json" / "x"
    with pytest.raises(FileError, match="cannot be written"):
        file_change.write_file(str(taken), NEW)
    assert (tmp_path / "s.json").read_bytes() == OLD
