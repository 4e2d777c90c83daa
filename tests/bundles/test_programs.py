"""Programs that bundles run: what is kept of what they print, however much it is, and how they end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hookrun.bundles.programs import Ended, Kept, run, run_and_read

if TYPE_CHECKING:
    from pathlib import Path

ENOUGH = 60.0
"""Seconds: a bound for what must happen, never waited for."""


def read(line: str, directory: Path, *, longest: int = 1000, **env: str) -> Ended:
    """Run a shell line and return how it ended."""
    argv = ("/bin/sh", "-c", line)
    return asyncio.run(run_and_read(argv, seconds=ENOUGH, cwd=str(directory), longest=longest, env=env))


def test_both_streams_are_read_in_their_order(tmp_path: Path) -> None:
    """As they come, with the exit status; the directory and what is added to the environment are the program's."""
    (tmp_path / "here").touch()
    ended = read("ls; echo error >&2; echo $MORE; exit 3", tmp_path, MORE="more")
    assert ended == Ended(3, "here\nerror\nmore")


def test_of_much_output_beginning_and_end_are_kept(tmp_path: Path) -> None:
    """A megabyte is read to its end, and what is left out is counted."""
    ended = read("echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last", tmp_path, longest=100)
    assert ended.exit_code == 0
    assert ended.output.startswith("first\nxxx")
    assert ended.output.endswith("xxx\nlast")
    assert "\n... (999912 bytes left out)\n" in ended.output


def test_a_program_without_output_has_none(tmp_path: Path) -> None:
    """Not even a line's end."""
    assert read("true", tmp_path) == Ended(0, "")


def test_only_the_end_of_stderr_is_kept_where_nothing_else_is_read(tmp_path: Path) -> None:
    """The other way to run a program drops its stdout."""
    argv = ("/bin/sh", "-c", "echo out; head -c 3000 /dev/zero | tr '\\0' x >&2; echo last >&2")
    ended = asyncio.run(run(argv, seconds=ENOUGH, cwd=str(tmp_path)))
    assert (ended.exit_code, len(ended.output), ended.output[-6:]) == (0, 1999, "xxlast")


@pytest.mark.parametrize("pieces", [[b"abcdef"], [b"abc", b"def"], [b"a", b"b", b"c", b"d", b"e", b"f"]])
@pytest.mark.parametrize(
    ("first", "last", "text"),
    [(3, 3, "abcdef"), (2, 2, "ab\n... (2 bytes left out)\nef"), (0, 2, "ef"), (9, 1, "abcdef")],
)
def test_what_is_kept_does_not_depend_on_the_pieces(pieces: list[bytes], first: int, last: int, text: str) -> None:
    """First and last bytes, and how many there were between them."""
    kept = Kept(first, last)
    for piece in pieces:
        kept.add(piece)
    assert kept.text() == text
