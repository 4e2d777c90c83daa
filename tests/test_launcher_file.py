"""The file beside the launchers: what is written is read back, and what another account could have put there is not."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from hookrun.launch import launcher_file
from hookrun.launch.launcher_file import LauncherFile, parse, read, update_socket, write
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\n\0"), min_size=1, max_size=20)
COMMAND = ["/usr/bin/python3", "-I", "/opt/hookrun/hookrun/__main__.py", "fire"]
CONF = LauncherFile(COMMAND, "/run/user/1/hookrun/abc")


@pytest.mark.slow
@given(st.lists(WORDS, min_size=1, max_size=9), st.none() | WORDS)
def test_what_is_written_is_read_back(command: list[str], socket: str | None) -> None:
    """Spaces, quotes and letters of any kind are kept as they are."""
    found = parse(LauncherFile(command, socket).text())
    assert found is not None
    assert (found.command, found.socket) == (command, socket)


@rows("word", ["a\nexec b", "a\0b"])
def test_a_word_that_no_line_can_hold_is_refused(word: str) -> None:
    """A line break in a path would be another line."""
    with pytest.raises(ValueError, match="line break"):
        LauncherFile([word]).text()


@rows(
    "text",
    [
        "",
        "hookrun-launcher 2\nexec a\n",
        "hookrun-launcher 1\n",
        "hookrun-launcher 1\nexec a",
        "hookrun-launcher 1\nexec \n",
        "hookrun-launcher 1\nexec a\n\n",
        "hookrun-launcher 1\nrun a\nexec a\n",
        "hookrun-launcher 1\nsocket a\nsocket b\nexec a\n",
        " hookrun-launcher 1\nexec a\n",
    ],
)
def test_what_is_not_understood_is_not_read(text: str) -> None:
    """A file that is cut off, damaged, or of another version."""
    assert parse(text) is None


def test_only_a_private_file_of_the_account_is_read(tmp_path: Path) -> None:
    """No link, no directory, no other mode; a file that is written has the right one, whatever the umask."""
    path = tmp_path / launcher_file.NAME
    before = os.umask(0o377)
    try:
        write(str(path), CONF.text().encode())
    finally:
        os.umask(before)
    assert read(str(path)) is not None
    for mode in (0o644, 0o660, 0o700, 0o4600):
        path.chmod(mode)
        assert read(str(path)) is None
    path.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(path)
    os.mkfifo(tmp_path / "fifo", 0o600)
    assert [read(str(each)) for each in (link, tmp_path, tmp_path / "none", tmp_path / "fifo")] == [None] * 4
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
        assert read(str(path)) is None


def test_the_socket_is_mended_in_the_file_of_this_hookrun_only(tmp_path: Path) -> None:
    """After an upgrade its name is another; the launcher of another installation keeps its own."""
    path = str(tmp_path / launcher_file.NAME)
    assert not update_socket(path, COMMAND, "/new")
    write(path, CONF.text().encode())
    assert not update_socket(path, COMMAND, CONF.socket)
    assert not update_socket(path, ["/usr/bin/python3", "/other/hookrun/__main__.py", "fire"], "/new")
    assert update_socket(path, COMMAND, "/new")
    found = read(path)
    assert found is not None
    assert (found.command, found.socket) == (COMMAND, "/new")
    assert update_socket(path, COMMAND, "/new", ["/usr/bin/python3", "/opt/hookrun/other.py", "fire"])
    assert not update_socket(path, COMMAND, "/new")
    assert os.listdir(tmp_path) == [launcher_file.NAME]


@pytest.mark.slow
def test_who_reads_while_it_is_written_sees_a_whole_file(tmp_path: Path) -> None:
    """The old one or the new one."""
    path = str(tmp_path / launcher_file.NAME)
    write(path, CONF.text().encode())

    def write_often() -> None:
        for number in range(300):
            write(path, LauncherFile(COMMAND, f"/{number}").text().encode())

    writer = threading.Thread(target=write_often)
    writer.start()
    seen = [read(path) for _ in range(300)]
    writer.join()
    assert None not in seen
