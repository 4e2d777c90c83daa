"""A hook ready to run (Task), a running hook (Process), and what ends it if this process is killed (WATCHER).

Signals go through `_signal`, the C module under `signal`: its enumerations cost 3.5 ms a tool call.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # private, but `signal` itself is built on it
import _thread
import os
import sys
from time import monotonic

from hookrun.core.model import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hookrun.core.model import Outcome
    from hookrun.process.coprocess import Line
    from hookrun.process.orphans import ProcessFamily

    Start = Callable[[int, int, int], int]

NEVER = float("inf")
# The last of the three descriptors that a hook gets.
STANDARD = 2
# Bytes that an empty pipe takes without blocking on every system (POSIX).
PIPE_ATOMIC = 512
# Bytes read at a time.
CHUNK = 1 << 16
# Bytes of stdin written at a time.
MAX_WRITE = 1 << 20
# Instead of a pidfd: there is none; it reported the exit and is closed.
NO_PIDFD, CLOSED = -1, -2


# Every signal that Python, or hookrun's parent, may ignore.
RESTORED = tuple(number for number in range(1, 32) if number not in (_signal.SIGKILL, _signal.SIGSTOP))

# In a line to the watcher, instead of a hook's process id.
NOT_STARTED, ENDED = 0, -1
# `orphans.WATCH` compiled (launch/client/watcher.c), if the package has it: starts in a quarter of the time.
WATCH_PROGRAM = os.path.dirname(os.path.dirname(__file__)) + "/launch/client/hookrun-watcher"


class CannotStart(Exception):  # noqa: N818  # the failure is the hook's
    """A hook cannot start, even when another one ends. `failure` is the reason."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Task:
    """A hook ready to run: its program, stdin and limits.

    `start` starts the process in its own session with the given stdin, stdout and stderr, and returns its id; it raises
    CannotStart or OSError. `marker` is in the environment of the process and its descendants. `lock` is a file to hold
    exclusively. `timeout` is in seconds, `deadline` a monotonic time, `max_output` in bytes of each stream. `line`
    is for a program that answers lines (coprocess.py). `let_go` leaves a process that asks for it to a supervisor, and
    returns whether it could.
    """

    def __init__(
        self,
        start: Start,
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
        self.line: Line | None = None
        self.let_go: Callable[[Process], bool] | None = None


class Process:
    """A running hook. Times are monotonic. One that is another process's child ends without an exit status."""

    is_child = True

    def __init__(self, task: Task, outcome: Outcome, started: float) -> None:
        self.task = task
        self.outcome = outcome
        self.started = started
        self.deadline = NEVER
        self.pid = 0
        self.inp = self.out = self.err = self.lock_fd = -1
        self.pidfd = NO_PIDFD
        self.stdin = memoryview(task.stdin)
        self.out_data = bytearray()
        self.err_data = bytearray()
        self.exited = False
        self.status: int | None = None
        self.family: ProcessFamily | None = None
        self.ending = 0
        self.closing = NEVER

    def spawn(self) -> None:
        """Create the pipes, start the process, and write what stdin takes at once; a kept program only gets that.

        Raises OSError or CannotStart, with nothing left open or running.
        """
        WATCHER.note(self.task.marker, NOT_STARTED)
        if not self.pid:
            self._start()
        elif self.write_stdin():
            self.close_stdin()
        WATCHER.note(self.task.marker, self.pid)

    def _start(self) -> None:
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
        """Keep the first `max_output` bytes of stdout and the last of stderr; count all."""
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

    def close(self) -> None:
        """Close the open descriptors."""
        # Cleared first: in a child forked meanwhile the numbers could belong to other files.
        open_still = (self.inp, self.out, self.err, self.pidfd)
        self.inp = self.out = self.err = -1
        if self.pidfd >= 0:
            self.pidfd = CLOSED
        for fd in open_still:
            close(fd)

    def finish(self) -> None:
        """Close its descriptors, reap it, and complete its outcome."""
        outcome, line = self.outcome, self.task.line
        kept = line is not None and line.kept
        # If a pidfd reported the exit, the hook is reaped only here, after any signal to its group: until then no other
        # process gets its id.
        if not kept:
            WATCHER.note(self.task.marker, ENDED)
        held = self.out >= 0 or self.err >= 0
        if line is not None and line.keeper is not None and kept:
            line.keeper.keep(line, self)
        else:
            self.close()
            self.reap()
        outcome.stdout = bytes(self.out_data)
        outcome.stderr = bytes(self.err_data[-self.task.max_output :])
        outcome.truncated = outcome.bytes_out > self.task.max_output
        if self.status is not None:
            outcome.exit_code = os.waitstatus_to_exitcode(self.status)
        if not (self.ending or kept):
            outcome.processes_left = self.count_leftovers(held=held)
        if line is not None:
            line.settle(self)
        self.unlock()
        outcome.ms = (monotonic() - self.started) * 1000

    def reap(self) -> None:
        """Take the exit status, if other code has not."""
        if self.status is None and self.is_child:
            try:
                pid, status = os.waitpid(self.pid, 0 if self.exited else os.WNOHANG)
                self.status = status if pid else None
            except ChildProcessError:
                if not self.ending:
                    lost = "its exit status is unknown: the host program ignores SIGCHLD or waits for any child"
                    self.outcome.failure = Failure("exit_code", lost)

    def count_leftovers(self, *, held: bool) -> int:
        """Return how many processes a hook that ended by itself left behind.

        `held`: another process had its streams open at its exit.
        """
        if not held:
            try:
                os.killpg(self.pid, 0)
            except (ProcessLookupError, PermissionError):  # its group is empty
                return 0
        from hookrun.process import orphans

        return orphans.count(self.pid, self.task.marker)

    def unlock(self) -> None:
        """Release the lock, even if a child forked meanwhile has the file open."""
        if self.lock_fd >= 0:
            import fcntl

            fd, self.lock_fd = self.lock_fd, -1
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)


def close(fd: int) -> None:
    """Close a descriptor unless it is negative."""
    if fd >= 0:
        os.close(fd)


def _pipes() -> list[int]:
    """Return three pipes, each as read end, write end. Raises OSError, with none left open."""
    ends: list[int] = []
    try:
        for _ in range(3):
            ends += os.pipe()
    except OSError:
        for fd in ends:
            os.close(fd)
        raise
    return ends


def chdir(cwd: str) -> None:
    """Change to the working directory of a hook. Raises CannotStart."""
    try:
        os.chdir(cwd)
    except (OSError, ValueError) as error:
        raise cannot_enter(cwd, error) from error


def cannot_enter(cwd: str, error: OSError | ValueError) -> CannotStart:
    """Return the exception for an inaccessible working directory."""
    why = getattr(error, "strerror", None) or error
    return CannotStart(Failure("spawn", f"its working directory {cwd} cannot be entered: {why}"))


def posix_spawn(
    argv: tuple[str, ...],
    environment: Mapping[bytes, bytes],
    streams: Sequence[int],
    *,
    closed: Sequence[int] = (),
    cwd: str | None = None,
) -> int:
    """Start argv[0] in its own session, signals at their defaults, `streams` as descriptors 0 to 2.

    This process changes to `cwd`, if given. Raises NotImplementedError if the C library cannot start a session.
    """
    if cwd is not None:
        chdir(cwd)
    return os.posix_spawn(
        argv[0],
        argv,
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, fd, standard) for standard, fd in enumerate(streams)]
        + [(os.POSIX_SPAWN_CLOSE, fd) for fd in closed],
        setsid=True,
        setsigmask=(),
        setsigdef=RESTORED,
    )


class Watcher:
    """Kills the running hooks if this process is killed (SIGKILL): a program waits for the end of a pipe.

    The program, a shell or WATCH_PROGRAM, starts before the first hook and gets each one's marker before its start, so
    that all are watched. If its pipe is full, it is replaced. A fork costs ten times as much, and can deadlock in a
    program with threads. `closed` returns the descriptors it must not inherit. If it `stays`, as in a process that
    serves many runs, it outlives the run.
    """

    stays = False

    def __init__(self) -> None:
        self.closed: Callable[[], Sequence[int]] = tuple
        self._ends: Sequence[int] = ()
        self.forget()

    def forget(self) -> None:
        """Start over in a forked child: shell and hooks are the parent's."""
        _close_all(self._ends)
        self._ends = ()
        self._pid = 0
        self.stays = False
        self._lock = _thread.RLock()  # garbage collection may close a pool meanwhile
        self._hooks: dict[bytes, int] = {}
        self._starting = b""

    def note(self, marker: bytes, pid: int) -> None:
        """Record a hook's process id; NOT_STARTED before it starts, ENDED when it has ended."""
        with self._lock:
            if pid == ENDED:
                if self._hooks.pop(marker, None) is None:
                    return
            else:
                self._hooks[marker] = pid
                if pid == NOT_STARTED:
                    self._starting = marker
            if not self._write(b"%b %d\n" % (marker, pid) if self._hooks else b"=\n"):
                self._start()  # killed, or its pipe is full: the next one gets the whole list

    def note_fork(self) -> None:
        """Record this process, a forked hook: the parent may be killed before it can."""
        self._write(b"%b %d\n" % (self._starting, os.getpid()))
        self.forget()

    def _write(self, line: bytes) -> bool:
        try:
            return bool(self._ends) and os.write(self._ends[0], line) > 0
        except OSError:
            return False

    def release(self) -> None:
        """Let the shell end when no hook runs. `close` reaps it."""
        with self._lock:
            if self.stays:
                return
            _close_all(self._ends)
            self._ends = ()

    def close(self) -> None:
        """End and reap the shell if no hook runs."""
        with self._lock:
            if not self._hooks and not self.stays:
                pid, self._pid = self._pid, 0
                _kill(pid)
                self.release()

    def _start(self) -> None:
        """Start a shell that knows all hooks, then kill the previous one."""
        pid, ends = self._pid, self._ends
        self._pid, self._ends = 0, ()
        pipes: list[int] = []
        try:
            pipes += os.pipe()
            pipes += os.pipe()
            end, stays_open, lines, write_end = pipes
            os.set_blocking(write_end, False)
            orphans = os.fsencode(os.path.dirname(__file__) + "/orphans.py")
            hooks = [f"{os.fsdecode(marker)} {number}" for marker, number in self._hooks.items()]
            self._pid = _watch((sys.executable, *hooks), {b"ORPHANS": orphans}, (end, lines, end), self.closed())
            self._ends, pipes = (write_end, stays_open), [end, lines]
        except (OSError, NotImplementedError):  # hooks run without a watcher
            pass
        finally:
            _close_all(pipes)
            _kill(pid)  # before its pipe ends and it kills the hooks
            _close_all(ends)


def _watch(
    arguments: tuple[str, ...], environment: Mapping[bytes, bytes], streams: Sequence[int], closed: Sequence[int]
) -> int:
    if os.access(WATCH_PROGRAM, os.X_OK):
        try:
            return posix_spawn((WATCH_PROGRAM, *arguments), environment, streams, closed=closed)
        except OSError:  # compiled for another machine
            pass
    from hookrun.process.orphans import WATCH

    return posix_spawn(("/bin/sh", "-c", WATCH, *arguments), environment, streams, closed=closed)


def _close_all(descriptors: Iterable[int]) -> None:
    for fd in descriptors:
        os.close(fd)


def _kill(pid: int) -> None:
    """Kill and reap a child, if there is one."""
    try:
        if pid and not os.waitpid(pid, os.WNOHANG)[0]:
            os.kill(pid, _signal.SIGKILL)
            os.waitpid(pid, 0)
    except OSError:  # reaped by the program
        pass


WATCHER = Watcher()
