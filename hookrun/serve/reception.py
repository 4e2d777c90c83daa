"""Receive callers at the socket of a server: accept, look at, greet.

On Linux the workers that have nothing to do wait at the socket themselves, so that a call wakes one process and not
two: the system wakes the first of them, and the server where none waits. Elsewhere only the server waits there.
"""

from __future__ import annotations

import errno
import mmap
import select
import socket
from typing import TYPE_CHECKING

from hookrun.serve import caller

if TYPE_CHECKING:
    from hookrun.serve.watched_package import WatchedPackage


def can_wake_one() -> bool:
    """Return whether the system can wake one of several processes that wait at a socket."""
    try:
        with select.epoll() as waiting, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as somewhere:
            waiting.register(somewhere, select.EPOLLIN | select.EPOLLEXCLUSIVE)
    except (AttributeError, OSError):
        return False
    return True


WORKERS_WAIT = can_wake_one()


MAX_WORKERS = 64
"""Runs at once: a caller beyond them runs cold."""


class Reception:
    """What a server and its workers, which are forked from it, share."""

    def __init__(self, package: WatchedPackage, *, blocks: bool) -> None:
        self.listener: socket.socket | None = None
        self.package = package
        self._surroundings = caller.Surroundings()
        shared = memoryview(mmap.mmap(-1, 8 * (MAX_WORKERS + 1))).cast("Q")
        self.turns = shared[:MAX_WORKERS]
        """Twice the number of each worker's runs, and one more while it has a caller: no run wakes the server."""
        self.blocks = shared[MAX_WORKERS:]
        """Whether failures block, as the last run of any worker came to know."""
        self.blocks[0] = blocks

    def queue(self, waiting: select.epoll) -> None:
        """Wait at the socket behind everyone who waits there; who has come already is seen at once."""
        if self.listener is not None:
            try:
                waiting.unregister(self.listener)
            except FileNotFoundError:  # so far not in the queue
                pass
            waiting.register(self.listener, select.EPOLLIN | select.EPOLLEXCLUSIVE)

    def accept(self) -> socket.socket | None:
        """Return a connection that waits at the socket, None if there is none. Raises OSError."""
        while self.listener is not None:
            try:
                number, _ = self.listener._accept()  # type: ignore[attr-defined]  # noqa: SLF001  # `accept` takes longer
            except BlockingIOError:
                break
            except ConnectionAbortedError:
                continue
            return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, number)
        return None

    def refusal(self, connection: socket.socket) -> str | None:
        """Return why this caller cannot be served at all, as the one word that it is greeted with."""
        try:
            reason = self._surroundings.refusal(*caller.credentials(connection))
        except OSError as error:
            return "busy" if error.errno in (errno.EMFILE, errno.ENFILE) else "peer"
        return reason or ("outdated" if self.package.has_changed() else None)

    def greet(self, connection: socket.socket, refusal: str | None) -> None:
        """Greet a caller; one that is refused is sent away."""
        words = caller.GO_BLOCK if self.blocks[0] else caller.GO
        try:
            connection.send(words if refusal is None else caller.cold(refusal), socket.MSG_DONTWAIT)
        except OSError:  # gone already: the worker sees that, too
            pass
        if refusal is not None:
            connection.close()
