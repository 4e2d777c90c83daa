"""One hook ready to be run, and one that is running: what the loop is given and what it keeps of each."""

from __future__ import annotations

import os

from hookrun.model import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.model import Outcome
    from hookrun.run.strays import Head

NEVER = float("inf")


class CannotStart(Exception):  # noqa: N818  # the failure is the hook's
    """A hook cannot be started, and not for want of anything that another hook may give back. `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Task:
    """One hook ready to be run: what to start, with what on stdin, and within which bounds.

    `start` starts the process with the three given descriptors as its stdin, stdout and stderr, in a session of its
    own, and returns its id; it raises CannotStart or OSError when it cannot. `trace` is a word that stands in the
    environment of the process and of all that it starts. `lock` is a file that nobody else may hold meanwhile.
    `timeout` is seconds, `deadline` the same as a time of the monotonic clock, `max_output` bytes of each stream.
    """

    __slots__ = ("deadline", "lock", "max_output", "start", "stdin", "timeout", "trace")

    def __init__(
        self,
        start: Callable[[int, int, int], int],
        stdin: bytes,
        *,
        timeout: float,
        max_output: int,
        trace: bytes = b"",
        lock: str | None = None,
        deadline: float = NEVER,
    ) -> None:
        self.start = start
        self.stdin = stdin
        self.timeout = timeout
        self.max_output = max_output
        self.trace = trace
        self.lock = lock
        self.deadline = deadline


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
        self.pidfd = self.inp = self.out = self.err = self.lock_fd = -1
        self.stdin = memoryview(task.stdin)
        self.out_data = bytearray()
        self.err_data = bytearray()
        self.exited = False
        self.status: int | None = None
        self.family: Head | None = None
        self.ending = 0
        self.closing = NEVER

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
