"""The server: accepts callers, gives each to a worker, and ends when it has nothing more to do or is out of date.

It never blocks, runs no hook and reads no configuration; what it keeps of a run is whether failures block.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import select
import signal
import socket
import stat
import sys
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.process.spawn import ENDING
from hookrun.serve import peer, protocol
from hookrun.serve.worker import IDLE_BLOCK, LEAVING, NO_ANSWER, Worker
from hookrun.server_socket import package_identity

if TYPE_CHECKING:
    from collections.abc import Iterator

PRELOADED = (
    "json",
    "hookrun.agents.reply",
    "hookrun.claude.answer",
    "hookrun.claude.matcher",
    "hookrun.claude.payload",
    "hookrun.conditions",
    "hookrun.config.cache",
    "hookrun.credentials",
    "hookrun.dialects",
    "hookrun.engine",
    "hookrun.fire.agent",
    "hookrun.globs",
    "hookrun.process.loop",
    "hookrun.process.prepare",
    "hookrun.process.python_hook",
    "hookrun.process.runner",
    "hookrun.process.supervisor",
    "hookrun.session",
    "hookrun.trust.approvals",
    "hookrun.trust.digest",
    "hookrun.trust.hook_files",
    "hookrun.trust.ownership",
    "hookrun.trust.store",
    "hookrun.verdicts",
)
"""Modules that every worker has from the start; all agents' are added."""

MAX_WORKERS = 64
"""Runs at once: a caller beyond them runs cold."""
KEPT_IDLE = 2
"""Idle workers that are kept for longer than BURST."""
BURST = 10.0
"""Seconds after which idle workers beyond KEPT_IDLE are ended."""
IDLE_LIMIT = 900.0
"""Seconds without a caller after which the server ends."""
MAX_RUNS = 50_000
"""Runs after which the server ends: the next one starts a new one."""
CHECK_EVERY = 30.0
"""Seconds between looks at the socket and the package while nobody calls."""
BACKLOG = 128


class Seat:
    """A worker as the server sees it: its process, the line to it, and the connection that it serves."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid = pid
        self.control = control
        self.connection: socket.socket | None = None
        self.answered = False
        self.idle_since = monotonic()


class Server:
    """Listens at `path` until a signal or a reason of its own ends it."""

    def __init__(self, path: str, idle_limit: float = IDLE_LIMIT) -> None:
        self.path = path
        self.idle_limit = idle_limit
        self.listener: socket.socket | None = None
        self._identity = (0, 0)
        self.surroundings = peer.Surroundings()
        self.files = package_identity()
        self.seats: dict[int, Seat] = {}
        self.idle: list[Seat] = []
        self.greeting = protocol.GO
        self.runs = 0
        self.last_call = monotonic()
        self.poll = select.poll()

    # --- the socket

    def listen(self) -> None:
        """Make the socket and put it in its place at once, complete. Raises OSError."""
        self.listener = listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        temporary = f"{self.path}.{os.getpid()}"
        try:
            listener.bind(temporary)
            os.chmod(temporary, 0o600)
            listener.listen(BACKLOG)
            status = os.lstat(temporary)
            self._identity = status.st_dev, status.st_ino
            os.rename(temporary, self.path)
        except OSError:
            try:
                os.unlink(temporary)
            except FileNotFoundError:
                pass
            raise
        listener.setblocking(False)  # noqa: FBT003
        self.poll.register(listener, select.POLLIN)

    def _owns_socket(self) -> bool:
        try:
            status = os.lstat(self.path)
        except OSError:
            return False
        return stat.S_ISSOCK(status.st_mode) and (status.st_dev, status.st_ino) == self._identity

    def _close(self) -> None:
        """Take no more callers; those that wait at the socket are sent away."""
        listener, self.listener = self.listener, None
        if listener is None:
            return
        if self._owns_socket():
            os.unlink(self.path)
        for connection in _accepted(listener):
            _send_away(connection, "stopping")
        self.poll.unregister(listener)
        listener.close()
        for seat in self.idle:
            seat.control.shutdown(socket.SHUT_WR)
        self.idle.clear()

    # --- the loop

    def run(self) -> None:
        """Serve until there is a reason to end, and until the last run has ended then."""
        wake = _catch_signals()
        self.poll.register(wake, select.POLLIN)
        self._fork()
        while self.listener is not None or self.seats:
            for fd, _ in self.poll.poll(self._timeout()):
                if self.listener is not None and fd == self.listener.fileno():
                    self._accept(self.listener)
                elif fd in self.seats:
                    self._hear(self.seats[fd])
                elif fd == wake:
                    os.read(wake, 64)
                    self._close()
            self._tend()

    def _timeout(self) -> int:
        if self.listener is None:
            return 1000
        return int(min(BURST if len(self.idle) > KEPT_IDLE else CHECK_EVERY, self.idle_limit) * 1000) + 1

    def _tend(self) -> None:
        """End idle workers beyond a few, and the server itself when its time has come."""
        now = monotonic()
        while len(self.idle) > KEPT_IDLE and now - self.idle[0].idle_since > BURST:
            self.idle.pop(0).control.shutdown(socket.SHUT_WR)
        busy = len(self.seats) - len(self.idle)
        if self.listener is not None and (
            (not busy and now - self.last_call > self.idle_limit) or self.runs >= MAX_RUNS or not self._owns_socket()
        ):
            self._close()

    def _accept(self, listener: socket.socket) -> None:
        for connection in _accepted(listener):
            with connection:
                reason = self._refusal(connection)
                if reason is None:
                    reason = self._give(connection)
                if reason is not None:
                    _send_away(connection, reason)
                if reason == "outdated":
                    self._close()
                    return

    def _refusal(self, connection: socket.socket) -> str | None:
        """Return why this caller cannot be served at all."""
        try:
            reason = self.surroundings.refusal(*peer.credentials(connection))
        except OSError:
            return "peer"
        return reason or ("outdated" if package_identity() != self.files else None)

    def _give(self, connection: socket.socket) -> str | None:
        """Give a caller to a worker and greet it; return why there is none."""
        while True:
            seat = self.idle.pop() if self.idle else self._fork()
            if seat is None:
                return "busy"
            if seat in self.idle:
                self.idle.remove(seat)
            try:
                socket.send_fds(seat.control, [b"c"], [connection.fileno()])
            except OSError:  # it has been killed; its end is heard of later
                continue
            break
        self.runs += 1
        self.last_call = monotonic()
        seat.connection = connection.dup()
        try:
            connection.send(self.greeting)
        except OSError:  # gone already: the worker sees that, too
            pass
        return None

    def _fork(self) -> Seat | None:
        """Start a worker and return it, idle; None if there are too many, or too many processes."""
        if len(self.seats) >= MAX_WORKERS:
            return None
        ours, its = socket.socketpair()
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            its.close()
            return None
        if not pid:
            _become_worker(its, [ours, *self._sockets()])
        its.close()
        seat = Seat(pid, ours)
        self.seats[ours.fileno()] = seat
        self.idle.append(seat)
        self.poll.register(ours, select.POLLIN)
        return seat

    def _sockets(self) -> Iterator[socket.socket]:
        """Yield every socket of the server."""
        for each in (self.listener, *(seat.control for seat in self.seats.values())):
            if each is not None:
                yield each
        for seat in self.seats.values():
            if seat.connection is not None:
                yield seat.connection

    # --- workers

    def _hear(self, seat: Seat) -> None:
        """Take note of what a worker has to tell, or of its end."""
        try:
            word = seat.control.recv(1)
        except OSError:
            word = b""
        if not word:
            self._bury(seat)
            return
        if seat.connection is not None:
            seat.connection.close()
            seat.connection = None
        if word == LEAVING:
            return
        self.greeting = protocol.GO_BLOCK if word == IDLE_BLOCK else protocol.GO
        if self.listener is None:
            seat.control.shutdown(socket.SHUT_WR)
            return
        seat.idle_since = monotonic()
        self.idle.append(seat)

    def _bury(self, seat: Seat) -> None:
        """Reap a worker; answer for one that a signal of its caller, or the agent's own way of ending, has ended."""
        self.poll.unregister(seat.control)
        del self.seats[seat.control.fileno()]
        seat.control.close()
        if seat in self.idle:
            self.idle.remove(seat)
        status = os.waitstatus_to_exitcode(os.waitpid(seat.pid, 0)[1])
        if seat.connection is None:
            return
        with seat.connection as connection:
            if status == NO_ANSWER or (status < 0 and -status not in ENDING):
                return
            try:
                connection.send(protocol.answer(status if status >= 0 else protocol.INTERRUPTED - status))
            except OSError:  # it was its caller that was killed
                return


def _accepted(listener: socket.socket) -> Iterator[socket.socket]:
    """Yield the connections that wait at a socket."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError as error:
            if error.errno == errno.ECONNABORTED:
                continue
            return  # none is left; or no descriptor: the client goes cold after two seconds
        yield connection


def _send_away(connection: socket.socket, reason: str) -> None:
    try:
        connection.send(protocol.cold(reason), socket.MSG_DONTWAIT)
    except OSError:
        pass
    connection.close()


def _catch_signals() -> int:
    """Return a descriptor that is readable after a signal to end."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)
    return read_end


def _become_worker(control: socket.socket, others: list[socket.socket]) -> None:
    """Be a worker, in a process that was forked for it, and end with it."""
    status = NO_ANSWER
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        for each in others:
            each.detach()
        line = os.dup2(control.detach(), 3, inheritable=False)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        Worker(socket.socket(fileno=line)).work()
        status = 0
    except BaseException:  # a bug of ours; with --foreground it is seen
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(status)


def preload() -> None:
    """Import what runs need, so that workers share it."""
    from hookrun.agents import AGENTS, load

    for name in PRELOADED:
        importlib.import_module(name)
    for agent in AGENTS:
        load(agent)
    gc.collect()
    gc.freeze()
    gc.disable()


def serve(path: str, idle_limit: float = IDLE_LIMIT) -> int:
    """Serve at a socket until the end; return the exit status."""
    preload()
    server = Server(path, idle_limit)
    try:
        server.listen()
    except OSError as error:
        sys.stderr.write(f"error: cannot listen at {path}: {error.strerror}\n")
        return 1
    server.run()
    return 0
