"""Programs that handlers run: how their output is read, however long it is, and how they end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

import pytest

from hookrun.process.program import ProgramError, ProgramResult, run_program
from tests.waiting import limit

if TYPE_CHECKING:
    from pathlib import Path


def run(
    line: str, directory: Path, keep: Literal["first", "last", "stderr"] = "first", *, most: int = 1000, **env: str
) -> ProgramResult:
    """Run a shell line and return how it ended."""
    argv = ("/bin/sh", "-c", line)
    return asyncio.run(run_program(argv, timeout=limit(), cwd=str(directory), max_output=most, keep=keep, env=env))


def test_both_streams_are_read_in_their_order(tmp_path: Path) -> None:
    """As they come, with the exit status; the directory and what is added to the environment are the program's."""
    (tmp_path / "here").touch()
    line = "ls; echo error >&2; echo $MORE; exit 3"
    for keep in ("first", "last"):
        assert run(line, tmp_path, keep, MORE="more") == ProgramResult(3, "here\nerror\nmore\n")
        assert run("true", tmp_path, keep) == ProgramResult(0, "")


def test_of_much_output_the_beginning_or_the_end_is_kept(tmp_path: Path) -> None:
    """A megabyte is read to its end."""
    line = "echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last"
    assert run(line, tmp_path, "first", most=100) == ProgramResult(0, "first\n" + "x" * 94)
    assert run(line, tmp_path, "last", most=100) == ProgramResult(0, "x" * 94 + "\nlast\n")


def test_only_the_end_of_stderr_is_kept_by_default(tmp_path: Path) -> None:
    """Stdout is dropped."""
    line = "echo out; head -c 3000 /dev/zero | tr '\\0' x >&2; echo last >&2"
    assert run(line, tmp_path, "stderr", most=100) == ProgramResult(0, "x" * 95 + "last\n")


def test_stdin_is_what_is_given(tmp_path: Path) -> None:
    """However long it is; without any it is empty."""
    argv = ("/bin/sh", "-c", "wc -c")
    for size in (0, 10, 1_000_000):
        running = run_program(argv, timeout=limit(), cwd=str(tmp_path), stdin=b"x" * size, max_output=100, keep="first")
        assert int(asyncio.run(running).output) == size


@pytest.mark.slow
def test_a_program_is_killed_at_its_timeout(tmp_path: Path) -> None:
    """Its output so far is kept."""
    argv = ("/bin/sh", "-c", "echo begun; exec sleep 1000")
    result = asyncio.run(run_program(argv, timeout=0.5, cwd=str(tmp_path), max_output=100, keep="first"))
    assert result == ProgramResult(None, "begun\n")


def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    """With the reason."""
    (tmp_path / "script").write_text("#!/nowhere/sh\n")
    (tmp_path / "script").chmod(0o755)
    for argv, why in (([str(tmp_path / "script")], "/nowhere/sh"), ([str(tmp_path / "none")], "No such file")):
        with pytest.raises(ProgramError, match=why):
            asyncio.run(run_program(argv, timeout=limit(), max_output=100))
