"""A shell hook started from Python by hand: fed, both streams captured, in a session of its own, its answer read.

What a program would do that has nothing to give but speed: no time limit, no cap on the output, no descriptor kept
back, no word on who failed. Knows nothing of hookrun; the fastest of these is what hookrun's engine is compared with.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
from typing import Any

SHELL = "/bin/sh"
CHUNK = 1 << 16
IN_A_PIPE = 1 << 16  # bytes that fit into a pipe nobody reads yet


class _Child:
    """One process that runs; its context lies in its pipe before it starts."""

    __slots__ = ("data", "fds", "pid")

    def __init__(self, command: str, context: bytes) -> None:
        if len(context) > IN_A_PIPE:
            raise ValueError(f"a context of {len(context)} bytes, expected at most {IN_A_PIPE}: it is written at once")
        stdin, feed = os.pipe()
        out, stdout = os.pipe()
        err, stderr = os.pipe()
        os.write(feed, context)
        os.close(feed)
        self.pid = os.posix_spawn(
            SHELL,
            (SHELL, "-c", command),
            os.environ,
            file_actions=(
                (os.POSIX_SPAWN_DUP2, stdin, 0),
                (os.POSIX_SPAWN_DUP2, stdout, 1),
                (os.POSIX_SPAWN_DUP2, stderr, 2),
            ),
            setsid=True,
            setsigdef=(signal.SIGPIPE,),
        )
        for fd in (stdin, stdout, stderr):
            os.close(fd)
        self.fds = [out, err]
        self.data = {out: b"", err: b""}

    def read(self, fd: int) -> bool:
        """Read what is there; tell whether that was the end of this stream."""
        data = os.read(fd, CHUNK)
        self.data[fd] += data
        if data:
            return False
        os.close(fd)
        self.fds.remove(fd)
        return True

    def answer(self) -> dict[str, Any]:
        """Reap the process and return what it printed. Raises ValueError for what is no answer."""
        _, status = os.waitpid(self.pid, 0)
        out, err = self.data.values()
        return _answer(os.waitstatus_to_exitcode(status), out, err)


def by_posix_spawn(command: str, context: bytes) -> dict[str, Any]:
    """Run the hook with `os.posix_spawn`, three pipes and a poll; return its answer."""
    child = _Child(command, context)
    poll = select.poll()
    for fd in child.fds:
        poll.register(fd, select.POLLIN)
    while child.fds:
        for fd, _ in poll.poll():
            if child.read(fd):
                poll.unregister(fd)
    return child.answer()


def by_popen(command: str, context: bytes) -> dict[str, Any]:
    """Run the hook with `subprocess`; return its answer."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        (SHELL, "-c", command), stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    ) as process:
        out, err = process.communicate(context)
    return _answer(process.returncode, out, err)


async def by_asyncio(command: str, context: bytes) -> dict[str, Any]:
    """Run the hook with `asyncio.create_subprocess_exec`; return its answer."""
    pipe = subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        SHELL, "-c", command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    )
    out, err = await process.communicate(context)
    return _answer(process.returncode, out, err)


def many(command: str, context: bytes, *, count: int, width: int) -> int:
    """Run the hook `count` times, `width` at a time, in one poll loop; return how many did not object."""
    poll = select.poll()
    children: dict[int, _Child] = {}
    left = count
    good = 0

    def start() -> None:
        child = _Child(command, context)
        for fd in child.fds:
            children[fd] = child
            poll.register(fd, select.POLLIN)

    for _ in range(min(width, count)):
        start()
        left -= 1
    while children:
        for fd, _ in poll.poll():
            child = children[fd]
            if not child.read(fd):
                continue
            poll.unregister(fd)
            del children[fd]
            if child.fds:
                continue
            if left:  # before the one that ends is reaped: it still has to exit
                start()
                left -= 1
            good += child.answer().get("action") == "continue"
    return good


class Workers:
    """Processes that run hooks with `many`, side by side. To be made while the program has one thread: it forks."""

    def __init__(self, number: int, command: str, context: bytes) -> None:
        self._pipes = [_forked(command, context) for _ in range(number)]

    def many(self, *, count: int, width: int) -> int:
        """Run the hook `count` times, each process `width` at a time; return how many did not object."""
        share = count // len(self._pipes)
        for orders, _ in self._pipes:
            os.write(orders, b"%d %d\n" % (share, width))
        return sum(int(os.read(results, CHUNK)) for _, results in self._pipes)

    def close(self) -> None:
        """Let them end."""
        for orders, results in self._pipes:
            os.close(orders)
            os.close(results)


def _forked(command: str, context: bytes) -> tuple[int, int]:
    """Start one worker; return where it takes its orders and where it gives its results."""
    taken, orders = os.pipe()
    results, given = os.pipe()
    if os.fork() == 0:
        status = 1
        try:
            os.close(orders)
            while order := os.read(taken, CHUNK):
                count, width = map(int, order.split())
                os.write(given, b"%d\n" % many(command, context, count=count, width=width))
            status = 0
        finally:
            os._exit(status)
    os.close(taken)
    os.close(given)
    return orders, results


def _answer(status: int | None, out: bytes, err: bytes) -> dict[str, Any]:
    if status or err:
        raise ValueError(f"exit status {status}, on stderr: {err.decode(errors='replace')}")
    answer = json.loads(out)
    if not isinstance(answer, dict):
        raise TypeError(f"it printed {answer!r}, expected an object")
    return answer
