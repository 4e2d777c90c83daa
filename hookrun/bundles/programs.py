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
    from collections.abc import Sequence

TAIL = 2000
"""Bytes of stderr that are kept, the last ones."""
PIECE = 1 << 16
"""Bytes read at once: all that a pipe holds."""


@dataclass(frozen=True)
class Ended:
    """How a program ended: `exit_code` is None where it was killed at its time limit; `stderr` is the end of it."""

    exit_code: int | None
    stderr: str


async def run(argv: Sequence[str], *, seconds: float, cwd: str | None = None, stdin: bytes = b"") -> Ended:
    """Run a program without a shell and return how it ended. Its stdout is dropped.

    After `seconds`, or when this is cancelled, it is killed with its process group. What it started and left running
    is not waited for. Raises OSError when it cannot be started.
    """
    loop = asyncio.get_running_loop()
    tail = bytearray()
    reading, writing = os.pipe()
    try:
        os.set_blocking(reading, False)
        try:
            with _file(stdin) as source:
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=source,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=writing,
                    cwd=cwd,
                    start_new_session=True,
                )
        finally:
            os.close(writing)
        loop.add_reader(reading, lambda: _read(reading, tail) or loop.remove_reader(reading))
        try:
            exit_code = await _end(process, seconds)
        finally:
            loop.remove_reader(reading)
        _read(reading, tail)
    finally:
        os.close(reading)
    return Ended(exit_code, lines(tail.decode("utf-8", "replace")).strip())


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


def _read(reading: int, tail: bytearray) -> bool:
    """Take what is in the pipe, keep the end of it; False when there will be no more."""
    try:
        piece = os.read(reading, PIECE)
    except BlockingIOError:
        return True
    tail += piece
    del tail[:-TAIL]
    return bool(piece)
