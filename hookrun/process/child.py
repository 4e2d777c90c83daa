"""A hook that is ready to run (Task) and a hook that runs (Process), for the poll loop."""

from __future__ import annotations

import os
import select
from time import monotonic

from hookrun.model import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.model import Outcome
    from hookrun.process.coprocess import Line
    from hookrun.process.orphans import ProcessFamily

NEVER = float("inf")
PIPE_ATOMIC = select.PIPE_BUF
"""Bytes that can be written to an empty pipe without blocking."""
CHUNK = 1 << 16
"""Bytes read at a time."""
MAX_WRITE = 1 << 20
"""Bytes of stdin written at a time."""
NO_PIDFD, CLOSED, NOT_YET = -1, -2, -3
"""Instead of a pidfd: the system has none; it reported the exit and is closed; not needed yet."""


class CannotStart(Exception):  # noqa: N818  # the failure is the hook's
    """A hook cannot be started, for a reason that persists when another hook ends. `failure` gives it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Lease:
    """The start of a hook in a process that may run others after it (see python_host.py); to be called once."""

    marker = b""

    def __call__(self, stdin: int, stdout: int, stderr: int) -> int:
        """Start the hook and return the id of its process."""
        raise NotImplementedError

    def is_done(self) -> bool:
        """Return whether the hook has ended well, and its process waits for the next one."""
        raise NotImplementedError

    def exit_fd(self) -> int:
        """Return a new descriptor that is readable when that may be so; -1 if the process no longer reports."""
        raise NotImplementedError

    def release(self, *, done: bool, reusable: bool) -> None:
        """Note that the hook has ended, and whether its process is alive and may run another one."""
        raise NotImplementedError


class Task:
    """A hook that is ready to run: what to start, its stdin and its limits.

    `start` starts the process in its own session with the given descriptors as stdin, stdout and stderr, and returns
    its id; it raises CannotStart or OSError. `marker` is a string in the environment of the process and of all its
    descendants. `lock` is a file to hold exclusively. `timeout` is in seconds, `deadline` a time of the monotonic
    clock, `max_output` in bytes of each stream. `line` is that of a program that answers lines (coprocess.py).
    """

    __slots__ = ("deadline", "lease", "line", "lock", "marker", "max_output", "start", "stdin", "timeout")

    def __init__(
        self,
        start: Callable[[int, int, int], int],
        stdin: bytes,
        *,
        timeout: float,
        max_output: int,
        marker: bytes = b"",
        lock: str | None = None,
        deadline: float = NEVER,
    ) -> None:
        self.start = start
        self.lease = start if isinstance(start, Lease) else None
        self.stdin = stdin
        self.timeout = timeout
        self.max_output = max_output
        self.marker = marker
        self.lock = lock
        self.deadline = deadline
        self.line: Line | None = None


class Process:
    """A running hook. Times are those of the monotonic clock."""

    __slots__ = (
        "closing",
        "deadline",
        "done",
        "ending",
        "err",
        "err_data",
        "exited",
        "family",
        "inp",
        "lock_fd",
        "out",
        "out_data",
        "outcome",
        "pid",
        "pidfd",
        "started",
        "status",
        "stdin",
        "task",
    )

    def __init__(self, task: Task, outcome: Outcome, started: float) -> None:
        self.task = task
        self.outcome = outcome
        self.started = started
        self.deadline = NEVER
        self.pid = 0
        self.inp = self.out = self.err = self.lock_fd = -1
        self.pidfd = NOT_YET
        self.stdin = memoryview(task.stdin)
        self.out_data = bytearray()
        self.err_data = bytearray()
        self.done = self.exited = False
        self.status: int | None = None
        self.family: ProcessFamily | None = None
        self.ending = 0
        self.closing = NEVER

    @property
    def is_kept(self) -> bool:
        """Whether the hook has answered and its program is kept for another line."""
        return self.task.line is not None and self.task.line.kept

    def spawn(self) -> None:
        """Create the pipes, start the process, and write as much stdin as fits at once; only that to a kept program.

        Raises OSError or CannotStart; then nothing is left open or running.
        """
        if self.pid:
            if self.write_stdin():
                self.close_stdin()
            return
        stdin, self.inp, self.out, stdout, self.err, stderr = _pipes()
        try:
            if len(self.stdin) > PIPE_ATOMIC or self.task.line is not None:
                os.set_blocking(self.inp, False)
            self.pid = self.task.start(stdin, stdout, stderr)
            if self.write_stdin():
                self.close_stdin()
        except BaseException as error:
            self.close()
            if self.pid or not isinstance(error, (OSError, CannotStart)):
                from hookrun.process import orphans

                orphans.kill_by_marker(self.task.marker)
            raise
        finally:
            for fd in (stdin, stdout, stderr):
                os.close(fd)

    def write_stdin(self) -> bool:
        """Write to the hook's stdin; return False while there is more to write.

        A hook that closes its stdin has read all it wants.
        """
        try:
            while self.stdin:
                written = os.write(self.inp, self.stdin[:MAX_WRITE])
                self.stdin = self.stdin[written:]
                self.outcome.bytes_in += written
        except BlockingIOError:
            return False
        except BrokenPipeError:
            pass
        return True

    def collect(self, fd: int, data: bytes) -> None:
        """Keep the first `max_output` bytes of stdout and the last of stderr; count all of them."""
        outcome, most = self.outcome, self.task.max_output
        if fd == self.out:
            outcome.bytes_out += len(data)
            self.out_data += data[: most - len(self.out_data)]
        else:
            outcome.bytes_err += len(data)
            self.err_data += data
            if len(self.err_data) > 2 * most:
                del self.err_data[:-most]

    def close_stdin(self) -> None:
        """Close the hook's stdin, unless the program may be kept for another line."""
        if self.task.line is not None and self.task.line.keeper is not None:
            return
        fd, self.inp = self.inp, -1
        os.close(fd)

    def close_stream(self, fd: int) -> None:
        """Close the hook's stdout or stderr at its end."""
        if fd == self.out:
            self.out = -1
        else:
            self.err = -1
        os.close(fd)

    def close(self) -> None:
        """Close the descriptors that are still open."""
        # Cleared before they are closed: in a child forked meanwhile the numbers could belong to other files.
        open_still = (self.inp, self.out, self.err, self.pidfd)
        self.inp = self.out = self.err = -1
        if self.pidfd >= 0:
            self.pidfd = CLOSED
        for fd in open_still:
            close(fd)

    def close_in_fork(self) -> None:
        """Close the parent's descriptors in a forked child: they would keep the hook's pipes open."""
        for fd in (self.inp, self.out, self.err, self.pidfd, self.lock_fd):
            try:
                close(fd)
            except OSError:  # it was about to be closed, or not open yet
                continue

    def is_gone(self) -> bool:
        """Return whether the process has exited, and was reaped by us or by others, or is `done` and waits for more."""
        lease = self.task.lease
        if lease is not None and not self.ending and lease.is_done():
            self.done, self.status = True, 0
            return True
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid:
            self.status = status
        return bool(pid)

    def finish(self) -> None:
        """Close the process's descriptors, reap it, and complete its outcome."""
        outcome = self.outcome
        line = self.task.line
        held = self.out >= 0 or self.err >= 0
        if line is not None and line.keeper is not None and line.kept:
            line.keeper.keep(line, self)
        else:
            self.close()
            self.reap()
        outcome.stdout = bytes(self.out_data)
        outcome.stderr = bytes(self.err_data[-self.task.max_output :])
        outcome.truncated = outcome.bytes_out > self.task.max_output
        if self.status is not None:
            outcome.exit_code = os.waitstatus_to_exitcode(self.status)
        if not self.ending and not self.is_kept:
            outcome.processes_left = self.count_leftovers(held=held)
        if self.task.lease is not None:
            self.task.lease.release(done=self.done, reusable=not (self.ending or held))
        if line is not None:
            line.settle(self)
        self.unlock()
        outcome.ms = (monotonic() - self.started) * 1000

    def reap(self) -> None:
        """Take the exit status, unless other code has taken it."""
        if self.status is None:
            try:
                pid, status = os.waitpid(self.pid, 0 if self.exited else os.WNOHANG)
                self.status = status if pid else None
            except ChildProcessError:
                if not self.ending:
                    lost = "its exit status is unknown: the host program ignores SIGCHLD or waits for any child"
                    self.outcome.failure = Failure("exit_code", lost)

    def signal_group(self, signal: int) -> None:
        """Signal the hook's process group, or the hook alone if it has not created one yet."""
        try:
            os.killpg(self.pid, signal)
        except ProcessLookupError:
            if self.status is None:
                try:
                    os.kill(self.pid, signal)
                except ProcessLookupError:  # reaped by other code
                    return
        except PermissionError:
            pass

    def count_leftovers(self, *, held: bool) -> int:
        """Return how many processes a hook that ended by itself has left behind.

        `held` tells whether another process still had its streams open when it exited.
        """
        if not held and (self.done or not self._has_group()):  # one that is done has looked for them itself
            return 0
        from hookrun.process import orphans

        family = orphans.ProcessFamily(self.pid, self.task.marker)
        orphans.find([family])
        return len([number for number, _ in family.known if not (self.done and number == self.pid)])

    def _has_group(self) -> bool:
        try:
            os.killpg(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def unlock(self) -> None:
        """Release the lock, even if a child that the program forked meanwhile has the file open."""
        if self.lock_fd >= 0:
            import fcntl

            fd, self.lock_fd = self.lock_fd, -1
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)


def close(fd: int) -> None:
    """Close a descriptor, if it is one."""
    if fd >= 0:
        os.close(fd)


def _pipes() -> list[int]:
    """Return three pipes, each as read end, write end. Raises OSError, and leaves none open."""
    ends: list[int] = []
    try:
        for _ in range(3):
            ends += os.pipe()
    except OSError:
        for fd in ends:
            os.close(fd)
        raise
    return ends
