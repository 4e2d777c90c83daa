"""The server: has a worker for each caller, and ends when it has nothing more to do or is out of date.

Idle workers take callers themselves where the system allows that; the server starts a worker for a caller that none of
them takes. It never blocks, runs no hook and reads no configuration; what it keeps of a run is whether failures block.
"""

from __future__ import annotations

import array
import os
import select
import signal
import socket
import stat
import sys
from collections import deque
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.process.loop import ENDING
from hookrun.serve import caller
from hookrun.serve.reception import MAX_WORKERS, WORKERS_WAIT, Reception
from hookrun.serve.worker import DECLINED, NO_ANSWER, READY, SIGNALLED, UNWANTED, Worker
from hookrun.server_socket import release_lock, sign_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.serve.watched_package import WatchedPackage

KEPT = 2
"""Workers that are kept for longer than BURST."""
BURST = 10.0
"""Seconds without a run after which workers beyond KEPT are ended."""
IDLE_LIMIT = 900.0
"""Seconds without a caller after which the server ends."""
MAX_RUNS = 50_000
"""Runs after which the server ends: the next one starts a new one."""
LONELY = 60.0
"""Seconds without a run after which a server ends that has to decline a caller because it runs under other limits."""
CHECK_EVERY = 10.0
"""Seconds between looks at the socket, and at what the workers have done."""
BACKLOG = 128
SHORT_PAUSE, PAUSES = 0.002, 25
"""Seconds, and how often, that a caller is left to a worker which has no other one and is about to wait for it."""
PAUSE = 0.1
"""Seconds before what the system has refused, a process or a descriptor, is asked for again."""
PATIENCE = 10.0
"""Seconds that callers who have been greeted wait for a worker while the system allows no more."""


class Seat:
    """A worker as the server sees it: its process, the line to it, and what it has done."""

    def __init__(self, pid: int, control: socket.socket, slot: int) -> None:
        self.pid = pid
        self.control = control
        self.slot = slot
        self.runs = 0
        self.used = monotonic()
        self.has_waited = self.is_dismissed = False
        self.connection: socket.socket | None = None
        """That of a caller who has sent it a signal."""

    def dismiss(self) -> None:
        """Have it end when it has nothing more to do."""
        if not self.is_dismissed:
            self.is_dismissed = True
            self.control.shutdown(socket.SHUT_WR)


class Server:
    """Listens at `path` until a signal or a reason of its own ends it."""

    def __init__(self, path: str, lock: int, package: WatchedPackage, idle_limit: float, *, blocks: bool) -> None:
        self.path = path
        self.lock = lock
        self.package = package
        self.idle_limit = idle_limit
        self.reception = Reception(package, blocks=blocks)
        self._identity = (0, 0)
        self.seats: dict[int, Seat] = {}
        self.idle: list[Seat] = []
        """Those that wait for a caller from here, the one used last at the end; none where they wait at the socket."""
        self.waiting: deque[socket.socket] = deque()
        """Callers who have been greeted, for whom there will be a worker."""
        self.stuck_since: float | None = None
        self.runs = 0
        self.fork_after = self.accept_after = 0.0
        self.pauses = 0
        self.last_call = monotonic()
        self.poll = select.poll()
        self.queue = select.epoll() if WORKERS_WAIT else None
        """Where the server waits at the socket, behind its workers; None where it waits there alone."""

    # --- the socket

    def listen(self, home: str) -> None:
        """Make the socket and put it in its place at once, complete. Raises OSError."""
        self.reception.listener = listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        temporary = f"{self.path}.{os.getpid()}"
        try:
            listener.bind(temporary)
            os.chmod(temporary, 0o600)
            listener.listen(BACKLOG)
            status = os.lstat(temporary)
            self._identity = status.st_dev, status.st_ino
            os.rename(temporary, self.path)
            sign_lock(self.lock, home)
        except OSError:
            try:
                os.unlink(temporary)
            except FileNotFoundError:
                pass
            raise
        listener.setblocking(False)  # noqa: FBT003
        self._wait_behind_workers()
        self.poll.register(self.queue or listener, select.POLLIN)

    def _wait_behind_workers(self) -> None:
        """See callers that no worker takes, also those whose worker has gone without taking them."""
        if self.queue is not None:
            self.reception.queue(self.queue)

    def _owns_socket(self) -> bool:
        try:
            status = os.lstat(self.path)
        except OSError:
            return False
        return stat.S_ISSOCK(status.st_mode) and (status.st_dev, status.st_ino) == self._identity

    def _close(self) -> None:
        """Take no more callers; those that wait at the socket are sent away."""
        listener = self.reception.listener
        if listener is None:
            return
        if self._owns_socket():
            os.unlink(self.path)
        for connection in self._accepted():
            self.reception.greet(connection, "stopping")
        self.poll.unregister(self.queue or listener)
        self.reception.listener = None
        listener.close()
        release_lock(self.path, self.lock)  # another server may start while the last runs end

    # --- the loop

    def run(self) -> None:
        """Serve until there is a reason to end, and until the last run has ended then."""
        wake = _catch_signals()
        self.poll.register(wake, select.POLLIN)
        self.package.register(self.poll)
        self._fork()
        while self.reception.listener is not None or self.seats or self.waiting:
            door, is_open = self.queue or self.reception.listener, monotonic() >= self.accept_after
            if self.reception.listener is not None and door is not None:
                self.poll.modify(door, select.POLLIN if is_open else 0)
            ready = [fd for fd, _ in self.poll.poll(self._timeout())]
            for fd in ready:
                if fd in self.seats:
                    self._hear(self.seats[fd])
                elif fd == wake:
                    os.read(wake, 64)
                    self._close()
            if door is not None and door.fileno() in ready:  # greeted with what was just heard
                self._receive()
            elif is_open:
                self.pauses = 0
            self._give_next()
            self._tend()

    def _timeout(self) -> int:
        """Return for how many milliseconds to wait for something to happen."""
        if self.waiting:
            return 0 if self.stuck_since is None else int(PAUSE * 1000)
        if (pause := self.accept_after - monotonic()) > 0:
            return int(pause * 1000) + 1
        if self.reception.listener is None:
            return 1000
        return int(min(CHECK_EVERY, BURST, self.idle_limit) * 1000) + 1

    def _tend(self) -> None:
        """End workers beyond a few, and the server itself when its time has come."""
        self._count_runs()
        if self.reception.listener is None:
            for seat in self.seats.values():
                seat.dismiss()
        now = monotonic()
        kept = sorted((seat for seat in self.seats.values() if not seat.is_dismissed), key=lambda seat: seat.used)
        for seat in kept[:-KEPT]:
            if now - seat.used > BURST:
                self.idle = [each for each in self.idle if each is not seat]
                seat.dismiss()
        if self.reception.listener is not None and (
            (now - self.last_call > self.idle_limit and len(self._idle_slots()) == len(self.seats))
            or self.runs >= MAX_RUNS
            or not self._owns_socket()
            or self.package.has_changed()
        ):
            self._close()

    def _receive(self) -> None:
        """Find a worker for everyone who waits at the socket, and greet them."""
        if self.pauses < PAUSES and not self.idle and self._idle_slots():
            self.pauses += 1
            self.accept_after = monotonic() + SHORT_PAUSE
            return
        is_first = True
        for connection in self._accepted():
            reason = self.reception.refusal(connection)
            is_to_end = reason == "outdated" or (reason not in (None, "busy") and self._is_lonely())
            if reason is None:
                # The first one shows that the system allows a worker. The others are greeted before theirs is started.
                reason = None if (self._give(connection) if is_first else self._has_room()) else "busy"
                if reason is None and not is_first:
                    self.waiting.append(connection)
                is_first = is_first and reason is not None
            self.reception.greet(connection, reason)
            if is_to_end:
                self._close()
                return

    def _has_room(self) -> bool:
        """Return whether there can be a worker for one more caller."""
        return len(self.seats) - len(self.idle) + len(self.waiting) < MAX_WORKERS

    def _give_next(self) -> None:
        """Give a caller that waits to a worker; send all away for whom the system allows none for long."""
        if not self.waiting:
            return
        connection = self.waiting.popleft()
        if self._give(connection):
            self.stuck_since = None
            return
        self.waiting.appendleft(connection)
        now = monotonic()
        self.stuck_since = self.stuck_since or now
        if now - self.stuck_since > PATIENCE:  # they go on as after a crash
            for connection in self.waiting:
                connection.close()
            self.waiting.clear()
            self.stuck_since = None

    def _is_lonely(self) -> bool:
        """Return whether the server is of no use to those who call: one whom it can serve has not called for long."""
        self._count_runs()
        return monotonic() - self.last_call > LONELY

    def _give(self, connection: socket.socket) -> bool:
        """Give a caller to a worker, the one used last or else a new one; return whether there is one."""
        while not WORKERS_WAIT and self.idle:
            seat = self.idle.pop()
            self.reception.turns[seat.slot] += 1
            try:
                socket.send_fds(seat.control, [b"c"], [connection.fileno()])
            except OSError:  # it has been killed; its end is heard of later
                continue
            return True
        return self._fork(connection)

    def _fork(self, connection: socket.socket | None = None) -> bool:
        """Start a worker, which first serves this caller; return whether there can be one more."""
        if len(self.seats) >= MAX_WORKERS or monotonic() < self.fork_after:
            return False
        self.fork_after = monotonic() + PAUSE
        try:
            ours, its = socket.socketpair()
        except OSError:
            return False
        slot = min(set(range(MAX_WORKERS)) - {seat.slot for seat in self.seats.values()})
        self.reception.turns[slot] = connection is not None
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            its.close()
            return False
        if not pid:
            _become_worker(its, self.reception, slot, connection, [ours, *self._sockets()])
        self.fork_after = 0.0
        its.close()
        self.seats[ours.fileno()] = Seat(pid, ours, slot)
        self.poll.register(ours, select.POLLIN)
        return True

    def _sockets(self) -> Iterator[socket.socket]:
        """Yield every connection of the server, and its lines to the workers."""
        yield from self.waiting
        for seat in self.seats.values():
            yield seat.control
            if seat.connection is not None:
                yield seat.connection

    def _accepted(self) -> Iterator[socket.socket]:
        """Yield the connections that wait at the socket."""
        try:
            while (connection := self.reception.accept()) is not None:
                yield connection
        except OSError:  # no descriptor is free
            self.accept_after = monotonic() + PAUSE

    # --- workers

    def _hear(self, seat: Seat) -> None:
        """Take note of what a worker has to tell, or of its end."""
        try:
            word, extra, _, _ = seat.control.recvmsg(1, socket.CMSG_SPACE(array.array("i", [0]).itemsize))
        except OSError:
            word, extra = b"", []
        if not word:
            self._bury(seat)
            return
        if seat.connection is not None:
            seat.connection.close()
            seat.connection = None
        if word[0] & SIGNALLED:
            for _, _, data in extra:
                seat.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, array.array("i", data)[0])
        if word[0] & UNWANTED or (word[0] & DECLINED and self._is_lonely()):
            self._close()
        if word[0] & READY:
            self.idle += [] if WORKERS_WAIT else [seat]
            if not seat.has_waited:
                seat.has_waited = True
                self._wait_behind_workers()

    def _idle_slots(self) -> list[int]:
        """Return the workers that have no caller: they wait for one, or are about to."""
        return [seat.slot for seat in self.seats.values() if not self.reception.turns[seat.slot] % 2]

    def _count_runs(self) -> None:
        """Take note of the runs of the workers since the last look."""
        for seat in self.seats.values():
            runs = self.reception.turns[seat.slot] // 2
            if runs != seat.runs:
                self.runs += runs - seat.runs
                seat.runs = runs
                seat.used = self.last_call = monotonic()

    def _bury(self, seat: Seat) -> None:
        """Reap a worker; answer for one that a signal of its caller, or the agent's own way of ending, has ended."""
        self._count_runs()
        self.poll.unregister(seat.control)
        del self.seats[seat.control.fileno()]
        seat.control.close()
        self._wait_behind_workers()
        if seat in self.idle:
            self.idle.remove(seat)
        status = os.waitstatus_to_exitcode(os.waitpid(seat.pid, 0)[1])
        if seat.connection is None:
            if status == NO_ANSWER:  # it could not even begin
                self.fork_after = monotonic() + PAUSE
            return
        with seat.connection as connection:
            if status == NO_ANSWER or (status < 0 and -status not in ENDING):
                return
            try:
                connection.send(caller.answer(status if status >= 0 else caller.INTERRUPTED - status))
            except OSError:  # it was its caller that was killed
                return


def _catch_signals() -> int:
    """Return a descriptor that is readable after a signal to end."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end)
    for number in ENDING:
        signal.signal(number, lambda _number, _frame: None)
    return read_end


def _become_worker(
    control: socket.socket,
    reception: Reception,
    slot: int,
    connection: socket.socket | None,
    others: list[socket.socket],
) -> None:
    """Be a worker, in a process that was forked for it, and end with it."""
    status = NO_ANSWER
    try:
        signal.set_wakeup_fd(-1)
        for number in ENDING:
            signal.signal(number, signal.SIG_DFL)
        for each in others:
            each.detach()
        kept = sorted(each.fileno() for each in (control, reception.listener, connection) if each is not None)
        for before, after in pairwise((2, *kept, os.sysconf("SC_OPEN_MAX"))):
            os.closerange(before + 1, after)
        Worker(control, reception, slot).work(connection)
        status = 0
    except BaseException:  # a bug of ours; with --foreground it is seen
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(status)
