"""Runs one program for a bundle: a session of its own, bounded in time and memory, ended with all of its group."""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import dataclass
from signal import SIGKILL
from typing import TYPE_CHECKING, BinaryIO

from hookrun.bundles.plain_text import lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TAIL = 2000
"""Bytes of stderr that are kept, the last ones."""
PIECE = 1 << 16
"""Bytes read at once: all that a pipe holds."""


@dataclass(frozen=True)
class Ended:
    """How a program ended: `exit_code` is None where it was killed at its time limit; `output` is what was kept."""

    exit_code: int | None
    output: str


class Kept:
    """What is kept of a stream: its `first` bytes and its `last` ones, however much there is."""

    def __init__(self, first: int, last: int) -> None:
        self._first, self._last = first, last
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def add(self, piece: bytes) -> None:
        """Take in more of the stream."""
        room = self._first - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        self._left_out += max(len(self._tail) - self._last, 0)
        del self._tail[: -self._last]

    def text(self) -> str:
        """Return it as text that a terminal can be shown; where a part between is missing, how much that is."""
        gap = f"\n... ({self._left_out} bytes left out)\n" if self._first and self._left_out else ""
        head, tail = (part.decode("utf-8", "replace") for part in (self._head, self._tail))
        return lines(head + gap + tail).strip()


async def run(argv: Sequence[str], *, seconds: float, cwd: str | None = None, stdin: bytes = b"") -> Ended:
    """Run a program without a shell and return how it ended, with the end of its stderr. Its stdout is dropped.

    After `seconds`, or when this is cancelled, it is killed with its process group. What it started and left running
    is not waited for. Raises OSError when it cannot be started.
    """
    return await _run(argv, Kept(0, TAIL), seconds=seconds, cwd=cwd, stdin=stdin, stdout=asyncio.subprocess.DEVNULL)


async def run_and_read(
    argv: Sequence[str], *, seconds: float, cwd: str, longest: int, env: Mapping[str, str] | None = None
) -> Ended:
    """Run a program as `run` does, and keep `longest` bytes of stdout and stderr together, the first and the last.

    `env` is added to our environment. Raises OSError when it cannot be started.
    """
    kept = Kept(longest // 2, longest // 2)
    return await _run(argv, kept, seconds=seconds, cwd=cwd, stdout=asyncio.subprocess.STDOUT, env=env)


async def _run(
    argv: Sequence[str],
    kept: Kept,
    *,
    seconds: float,
    stdout: int,
    cwd: str | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> Ended:
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    try:
        os.set_blocking(reading, False)
        try:
            with _file(stdin) as source:
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=source,
                    stdout=writing if stdout == asyncio.subprocess.STDOUT else stdout,
                    stderr=writing,
                    cwd=cwd,
                    env=None if env is None else {**os.environ, **env},
                    start_new_session=True,
                )
        finally:
            os.close(writing)
        loop.add_reader(reading, lambda: _read(reading, kept) or loop.remove_reader(reading))
        try:
            exit_code = await _end(process, seconds)
        finally:
            loop.remove_reader(reading)
        _read(reading, kept)
    finally:
        os.close(reading)
    return Ended(exit_code, kept.text())


async def _end(process: asyncio.subprocess.Process, seconds: float) -> int | None:
    """Wait for the end; after `seconds`, and when cancelled, make one. None: it was killed."""
    try:
        async with asyncio.timeout(seconds):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            try:
                os.killpg(process.pid, SIGKILL)
            except ProcessLookupError:  # it ended by itself just now
                pass
            await process.wait()


def _file(content: bytes) -> BinaryIO:
    """Return a file to read the content from: unlike a pipe it need not be fed while the program runs."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by the caller
    file.write(content)
    file.seek(0)
    return file


def _read(reading: int, kept: Kept) -> bool:
    """Take what is in the pipe; False when there will be no more."""
    try:
        piece = os.read(reading, PIECE)
    except BlockingIOError:
        return True
    kept.add(piece)
    return bool(piece)
