"""One hook ready to be run, and one that is running: what the loop is given and what it keeps of each."""

from __future__ import annotations

import os
import select
from time import monotonic

from hookrun.model import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.model import Outcome
    from hookrun.process.orphans import ProcessFamily

NEVER = float("inf")
PIPE_ATOMIC = select.PIPE_BUF
"""Bytes that any empty pipe takes without making the writer wait."""
CHUNK = 1 << 16
"""Bytes that are read at a time; more than a pipe holds are written."""
MAX_WRITE = 1 << 20
NO_PIDFD, CLOSED, NOT_YET = -1, -2, -3
"""In the place of a pidfd: there is none to be had; it has told that the process is gone; nobody needed it so far."""


class CannotStart(Exception):  # noqa: N818  # the failure is the hook's
    """A hook cannot be started, and not for want of anything that another hook may give back. `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Task:
    """One hook ready to be run: what to start, with what on stdin, and within which bounds.

    `start` starts the process with the three given descriptors as its stdin, stdout and stderr, in a session of its
    own, and returns its id; it raises CannotStart or OSError when it cannot. `marker` is a word that stands in the
    environment of the process and of all that it starts. `lock` is a file that nobody else may hold meanwhile.
    `timeout` is seconds, `deadline` the same as a time of the monotonic clock, `max_output` bytes of each stream.
    `meanwhile` is called once it runs: what can be done while it does costs nobody any time. It must raise nothing.
    """

    __slots__ = ("deadline", "lock", "marker", "max_output", "meanwhile", "start", "stdin", "timeout")

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
        self.stdin = stdin
        self.timeout = timeout
        self.max_output = max_output
        self.marker = marker
        self.lock = lock
        self.deadline = deadline
        self.meanwhile: Callable[[], None] | None = None


class Process:
    """A hook that has been started. Times are those of the monotonic clock."""

    __slots__ = (
        "closing",
        "deadline",
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

    def __init__(self, task: Task, outcome: Outcome, started: float, deadline: float) -> None:
        self.task = task
        self.outcome = outcome
        self.started = started
        self.deadline = deadline
        self.pid = 0
        self.inp = self.out = self.err = self.lock_fd = -1
        self.pidfd = NOT_YET
        self.stdin = memoryview(task.stdin)
        self.out_data = bytearray()
        self.err_data = bytearray()
        self.exited = False
        self.status: int | None = None
        self.family: ProcessFamily | None = None
        self.ending = 0
        self.closing = NEVER

    def spawn(self) -> None:
        """Make the pipes, start the process, and write what its stdin takes at once.

        Raises OSError or CannotStart, and leaves nothing open and nothing running, when that fails.
        """
        stdin, self.inp, self.out, stdout, self.err, stderr = _pipes()
        try:
            if len(self.stdin) > PIPE_ATOMIC:
                os.set_blocking(self.inp, False)
            self.pid = self.task.start(stdin, stdout, stderr)
            if self.write_stdin():
                self.close_stdin()
            if self.task.meanwhile is not None:
                self.task.meanwhile()
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
        """Write what the hook reads of its stdin, and close it at the end; False while there is more to be written.

        A hook that closes its stdin has had enough.
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
        """Take what was read: the first `max_output` bytes of stdout are kept, the last of stderr, all are counted."""
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
        """Close its stdin, of which it has had enough."""
        fd, self.inp = self.inp, -1
        os.close(fd)

    def close_stream(self, fd: int) -> None:
        """Close its stdout or stderr, which is at its end."""
        if fd == self.out:
            self.out = -1
        else:
            self.err = -1
        os.close(fd)

    def close(self) -> None:
        """Close what is still open of it.

        A number is forgotten before it is closed: in a process that is forked meanwhile it could be somebody else's.
        """
        open_still = (self.inp, self.out, self.err, self.pidfd)
        self.inp = self.out = self.err = -1
        if self.pidfd >= 0:
            self.pidfd = CLOSED
        for fd in open_still:
            close(fd)

    def close_in_fork(self) -> None:
        """In a forked child of the program: close what is the parent's, lest nobody sees its end."""
        for fd in (self.inp, self.out, self.err, self.pidfd, self.lock_fd):
            try:
                close(fd)
            except OSError:  # it was about to be closed, or not open yet
                continue

    def is_gone(self) -> bool:
        """Tell whether it has exited; then it has been reaped, by us or by somebody else."""
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid:
            self.status = status
        return bool(pid)

    def finish(self) -> None:
        """Close what is open of the process, reap it, and complete its outcome."""
        outcome = self.outcome
        held = self.out >= 0 or self.err >= 0
        self.close()
        self.reap()
        outcome.stdout = bytes(self.out_data)
        outcome.stderr = bytes(self.err_data[-self.task.max_output :])
        outcome.truncated = outcome.bytes_out > self.task.max_output
        if self.status is not None:
            outcome.exit_code = os.waitstatus_to_exitcode(self.status)
        if not self.ending:
            outcome.processes_left = self.count_leftovers(held=held)
        self.unlock()
        outcome.ms = (monotonic() - self.started) * 1000

    def reap(self) -> None:
        """Take the exit status, where nobody else has."""
        if self.status is None:
            try:
                pid, status = os.waitpid(self.pid, 0 if self.exited else os.WNOHANG)
                self.status = status if pid else None
            except ChildProcessError:
                if not self.ending:
                    lost = (
                        "its exit status was taken by somebody else: the program ignores SIGCHLD or waits for any child"
                    )
                    self.outcome.failure = Failure("exit_code", lost)

    def signal_group(self, signal: int) -> None:
        """Signal the hook's process group, or the hook alone where it has not yet made one."""
        try:
            os.killpg(self.pid, signal)
        except ProcessLookupError:
            if self.status is None:
                try:
                    os.kill(self.pid, signal)
                except ProcessLookupError:  # somebody else has reaped it
                    return
        except PermissionError:
            pass

    def count_leftovers(self, *, held: bool) -> int:
        """Return how many processes a hook that ended by itself has left behind: at least those of its group.

        `held` tells that somebody still had its streams when it was gone.
        """
        try:
            os.killpg(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            if not held:
                return 0
        from hookrun.process import orphans

        head = orphans.ProcessFamily(self.pid, self.task.marker)
        orphans.find([head])
        return len(head.known)

    def unlock(self) -> None:
        """Give back its lock, also where a process that the program forked meanwhile holds the file open."""
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
