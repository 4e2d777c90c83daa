"""The server: accepts callers, gives each to a worker, and ends when idle or out of date.

It never blocks, runs no hook and reads no config; of a run it keeps only whether failures block.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from time import monotonic

from hookrun.core.files import remove_if_there
from hookrun.core.state import CurrentRun, report_bug
from hookrun.core.text import write_stderr
from hookrun.launch import caller
from hookrun.launch.server_socket import directory_of, release_lock, sign_lock
from hookrun.launch.watched_package import WatchedPackage
from hookrun.launch.worker import BLOCKS, HAS_RUN, NO_ANSWER, PASSES, READY, UNWANTED, CallWatch, Worker
from hookrun.process.runner import catch_signals, release_signals

# Runs at once: a caller beyond them runs cold.
MAX_WORKERS = 64
# Idle workers kept longer than BURST.
KEPT_IDLE = 2
# Seconds after which idle workers beyond KEPT_IDLE are ended.
BURST = 10.0
# Seconds without a caller after which the server ends.
IDLE_LIMIT = 900.0
# Runs after which the server ends; the next run starts a new one.
MAX_RUNS = 50_000
# Seconds without a run after which a server that must decline a caller under other limits ends.
LONELY = 60.0
# Seconds between looks at the calls of busy workers.
WATCH_EVERY = 0.5
# Seconds for which a worker may end a call itself that runs too long.
CALL_GRACE = 0.5
# Seconds between looks at the socket and the package while nobody calls.
CHECK_EVERY = 30.0
BACKLOG = 128
# Seconds before a refused process or descriptor is requested again.
PAUSE = 0.1
# Seconds that greeted callers wait for a worker while the system allows no more.
WORKER_TIMEOUT = 10.0


class Seat:
    """A worker as the server sees it: its process, its line, its present call, and the connection it serves."""

    def __init__(self, pid: int, control: socket.socket, watch: CallWatch) -> None:
        self.pid = pid
        self.control = control
        self.watch = watch
        self.connection: socket.socket | None = None
        self.idle_since = monotonic()


class Server:
    """Listens at `path` until a signal or a reason of its own ends it."""

    def __init__(self, path: str, lock: int, package: WatchedPackage, idle_limit: float, *, blocks: bool) -> None:
        self.path = path
        self.lock = lock
        self.package = package
        self.idle_limit = idle_limit
        self.listener: socket.socket | None = None
        self.wake = -1
        self._identity = (0, 0)
        self.surroundings = caller.Surroundings()
        self.seats: dict[int, Seat] = {}
        self.idle: list[Seat] = []
        self.waiting: deque[socket.socket] = deque()
        self.greeting = caller.GO_BLOCK if blocks else caller.GO
        self.runs = 0
        self.is_misplaced = False
        self.stuck_since: float | None = None
        self.fork_after = self.accept_after = 0.0
        self.last_call = monotonic()
        self.poll = select.poll()

    # --- the socket

    def listen(self, home: str) -> None:
        """Put the complete socket in place at once. Raises OSError.

        A client that finds it also finds this process, and may end it as a server that runs.
        """
        self.wake = catch_signals()
        if self.wake < 0:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        os.close(os.open(os.devnull, os.O_RDWR))  # no worker can begin without it
        CurrentRun.home = home
        self.listener = listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        temporary = f"{self.path}.{os.getpid()}"
        try:
            with directory_of(temporary) as name:
                listener.bind(name)
            os.chmod(temporary, 0o600)
            listener.listen(BACKLOG)
            status = os.lstat(temporary)
            self._identity = status.st_dev, status.st_ino
            sign_lock(self.lock, home)
            os.rename(temporary, self.path)
        except OSError:
            remove_if_there(temporary)
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
        """Take no more callers; send those at the socket away."""
        listener, self.listener = self.listener, None
        if listener is None:
            return
        if self._owns_socket():
            os.unlink(self.path)
        for connection in self._accepted(listener):
            _say(connection, caller.cold("stopping"))
            connection.close()
        self.poll.unregister(listener)
        self.package.unregister(self.poll)
        listener.close()
        release_lock(self.path, self.lock)  # another may start while the last runs end
        if not self.waiting:
            self._dismiss()

    def _dismiss(self) -> None:
        """End the idle workers."""
        for seat in self.idle:
            seat.control.shutdown(socket.SHUT_WR)
        self.idle.clear()

    # --- the loop

    def run(self) -> None:
        """Serve until there is a reason to end and the last run has ended."""
        self.poll.register(self.wake, select.POLLIN)
        self.package.register(self.poll)
        self._fork()
        while self.listener is not None or self.seats or self.waiting:
            if self.listener is not None:
                self.poll.modify(self.listener, select.POLLIN if monotonic() >= self.accept_after else 0)
            ready = [fd for fd, _ in self.poll.poll(self._timeout())]
            for fd in ready:
                if fd in self.seats:
                    self._hear(self.seats[fd])
                elif fd == self.wake:
                    os.read(self.wake, 64)
                    self._close()
            if self.listener is not None and self.listener.fileno() in ready:  # the greeting has what was just heard
                self._accept(self.listener)
            self._give()
            self._tend()

    def _timeout(self) -> int:
        """Return the milliseconds to wait for an event."""
        if self.waiting and self.stuck_since is None:
            return 0
        if self.waiting or monotonic() < self.accept_after:
            return int(PAUSE * 1000)
        if len(self.seats) > len(self.idle):
            return int(WATCH_EVERY * 1000)
        if self.listener is None:
            return 1000
        return int(min(BURST if len(self.idle) > KEPT_IDLE else CHECK_EVERY, self.idle_limit) * 1000) + 1

    def _tend(self) -> None:
        """End surplus idle workers, and the server when it is due."""
        now = monotonic()
        for seat in self.seats.values():
            if 0 < seat.watch.deadline() < now - CALL_GRACE:
                os.kill(seat.pid, signal.SIGKILL)
        if self.listener is None and not self.waiting:
            self._dismiss()
        while len(self.idle) > KEPT_IDLE and now - self.idle[0].idle_since > BURST:
            self.idle.pop(0).control.shutdown(socket.SHUT_WR)
        busy = len(self.seats) - len(self.idle) + len(self.waiting)
        if self.listener is not None and (
            (not busy and now - self.last_call > self.idle_limit)
            or self.runs >= MAX_RUNS
            or not self._owns_socket()
            or self.package.has_changed()
        ):
            self._close()

    def _accept(self, listener: socket.socket) -> None:
        """Greet all who wait at the socket and can get a worker; it is found afterwards."""
        can_fork = False
        for connection in self._accepted(listener):
            reason = self._refusal(connection)
            if reason is None and len(self.waiting) >= len(self.idle):
                too_many = len(self.seats) - len(self.idle) + len(self.waiting) >= MAX_WORKERS
                can_fork = not too_many and (can_fork or self._fork())
                reason = None if can_fork else "busy"
            if reason is None:
                _say(connection, self.greeting)
                self.waiting.append(connection)
                continue
            _say(connection, caller.cold(reason))
            connection.close()
            if reason == "outdated" or self.is_misplaced:
                self._close()
                return

    def _refusal(self, connection: socket.socket) -> str | None:
        """Return why this caller cannot be served at all."""
        try:
            reason = self.surroundings.refusal(*caller.credentials(connection))
        except OSError as error:
            return "busy" if error.errno in (errno.EMFILE, errno.ENFILE) else "peer"
        if reason is not None:
            self.is_misplaced = monotonic() - self.last_call > LONELY
        return reason or ("outdated" if self.package.has_changed() else None)

    def _give(self) -> None:
        """Give waiting callers to idle workers, the last used first; start one more if these do not suffice."""
        while self.waiting and self.idle:
            seat, connection = self.idle.pop(), self.waiting[0]
            try:
                socket.send_fds(seat.control, [b"c"], [connection.fileno()])
            except OSError:  # it was killed; its end is heard later
                continue
            seat.connection = self.waiting.popleft()
        if not self.waiting or self._fork():
            self.stuck_since = None
            return
        now = monotonic()
        self.stuck_since = self.stuck_since or now
        if now - self.stuck_since > WORKER_TIMEOUT:  # they continue as after a crash
            for connection in self.waiting:
                connection.close()
            self.waiting.clear()

    def _fork(self) -> bool:
        """Start a worker unless there are too many or the system refuses; return whether it started."""
        if len(self.seats) >= MAX_WORKERS or monotonic() < self.fork_after:
            return False
        self.fork_after = monotonic() + PAUSE
        try:
            ours, its = socket.socketpair()
        except OSError:
            return False
        try:
            watch = CallWatch()
            pid = os.fork()
        except OSError:
            ours.close()
            its.close()
            return False
        if not pid:
            _become_worker(its, watch, [ours, *self._sockets()])
        self.fork_after = 0.0
        its.close()
        self.seats[ours.fileno()] = seat = Seat(pid, ours, watch)
        self.idle.append(seat)
        self.poll.register(ours, select.POLLIN)
        return True

    def _sockets(self) -> Iterator[socket.socket]:
        of_seats = (each for seat in self.seats.values() for each in (seat.control, seat.connection))
        return (each for each in (self.listener, *self.waiting, *of_seats) if each is not None)

    def _accepted(self, listener: socket.socket) -> Iterator[socket.socket]:
        """Yield the connections that wait at the socket."""
        while True:
            try:
                number, _ = listener._accept()  # type: ignore[attr-defined]  # noqa: SLF001  # `accept` takes longer
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno == errno.ECONNABORTED:
                    continue
                self.accept_after = monotonic() + PAUSE  # no descriptor is free
                return
            yield socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, number)

    # --- workers

    def _hear(self, seat: Seat) -> None:
        """Note a worker's report, or its end."""
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
        if word[0] & HAS_RUN:
            self._count_run()
        if word[0] & (BLOCKS | PASSES):
            self.greeting = caller.GO_BLOCK if word[0] & BLOCKS else caller.GO
        if word[0] & UNWANTED:
            self._close()
        if word[0] & READY:
            seat.idle_since = monotonic()
            self.idle.append(seat)

    def _count_run(self) -> None:
        self.runs += 1
        self.last_call = monotonic()

    def _bury(self, seat: Seat) -> None:
        """Reap a worker. Of one that ended within a run there is no answer; its caller knows what it passed on."""
        self.poll.unregister(seat.control)
        del self.seats[seat.control.fileno()]
        seat.control.close()
        if seat in self.idle:
            self.idle.remove(seat)
        status = os.waitstatus_to_exitcode(os.waitpid(seat.pid, 0)[1])
        if seat.connection is None:
            if status == NO_ANSWER:  # it could not even begin
                self.fork_after = monotonic() + PAUSE
            return
        self._count_run()
        seat.connection.close()


def _say(connection: socket.socket, words: bytes) -> None:
    with suppress(OSError):  # gone: the worker sees that, too
        connection.send(words, socket.MSG_DONTWAIT)


def _become_worker(control: socket.socket, watch: CallWatch, others: list[socket.socket]) -> None:
    """Be a worker in a process forked for it, and exit."""
    status = NO_ANSWER
    try:
        release_signals()
        for each in others:
            each.detach()
        line = os.dup2(control.detach(), 3, inheritable=False)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        Worker(socket.socket(fileno=line), watch).work()
        status = 0
    except Exception as error:  # a bug of ours; with --foreground it is seen
        write_stderr(report_bug(error))
    finally:
        os._exit(status)
