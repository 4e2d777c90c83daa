"""Start processes: programs by posix_spawn, Python functions by fork. Catch and restore the ending signals.

`WATCHER` ends the hooks of a process that is killed.

Signals go through `_signal`, the C module under `signal`, whose enumerations cost 3.5 ms a tool call.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # private, but `signal` itself is built on it
import _thread
import os
import sys
from errno import ENOENT, ENOEXEC, ENOTDIR

from hookrun.model import Failure
from hookrun.process.child import CannotStart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Start = Callable[[int, int, int], int]


ENDING = (1, 2, 15)
"""HUP, INT, TERM: the signals that ask hookrun to end."""

RESTORED = tuple(number for number in range(1, 32) if number not in (_signal.SIGKILL, _signal.SIGSTOP))
"""Every signal that Python, or the program that started hookrun, may ignore."""

_wakeup: list[int] = []
"""The pipe of `catch_signals`."""
_before: dict[int, object] = {}
"""Their handlers before `catch_signals`; for INT not Python's own: a KeyboardInterrupt at exit is no use."""

STANDARD = 2
"""The last of the three descriptors that a hook gets."""
KILL = 9
KEPT = 3
"""The one that a forked child may have besides."""

NOT_STARTED, ENDED = 0, -1
"""In a line of the watcher, instead of the process id of a hook."""
WATCH = """\
cd /
read -r end
exec <&1
while read -r line; do
  case $line in
    =) set -- ;;
    *) set -- "$@" "$line" ;;
  esac
done
[ $# = 0 ] || exec "$0" -I -S "$ORPHANS" "$@"
"""
"""The watcher's script: when its standard input ends, it reads the lines with running hooks from its second pipe.

Until then it never wakes, and the lines wait in the pipe.
"""
WATCH_PROGRAM = os.path.dirname(os.path.dirname(__file__)) + "/client/hookrun-watcher"
"""The same, compiled (client/watcher.c), if the package has it: it starts in a quarter of the time."""


def program(argv: tuple[str, ...], environment: Mapping[bytes, bytes], cwd: str) -> Start:
    """Return a function that starts argv[0] (a path). Only for a process with one thread: it changes directory.

    The new process leads its own session and has every signal at its default and unblocked.
    """

    def start(stdin: int, stdout: int, stderr: int) -> int:
        chdir(cwd)
        try:
            return posix_spawn(argv, environment, (stdin, stdout, stderr))
        except NotImplementedError:  # a C library without POSIX_SPAWN_SETSID
            interpreter = interpreter_of(argv[0])
            if interpreter is not None and not os.path.exists(interpreter):
                raise CannotStart(missing_interpreter(argv[0], interpreter)) from None
            return function(lambda: os.execve(argv[0], argv, environment), environment, cwd)(stdin, stdout, stderr)
        except OSError as error:
            if error.errno in (ENOENT, ENOTDIR, ENOEXEC):
                raise CannotStart(explain_exec_error(argv[0], error)) from error
            raise
        except ValueError as error:
            raise CannotStart(Failure("spawn", f"cannot be passed to the system: {error}")) from error

    return start


def posix_spawn(
    argv: tuple[str, ...], environment: Mapping[bytes, bytes], streams: Sequence[int], closed: Sequence[int] = ()
) -> int:
    """Start argv[0] in its own session with default signals; `streams` become its descriptors 0 to 2.

    Raises NotImplementedError if the C library cannot start a session.
    """
    return os.posix_spawn(
        argv[0],
        argv,
        environment,
        file_actions=[
            *((os.POSIX_SPAWN_DUP2, fd, standard) for standard, fd in enumerate(streams)),
            *((os.POSIX_SPAWN_CLOSE, fd) for fd in closed),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=RESTORED,
    )


def function(child: Callable[[], int], environment: Mapping[bytes, bytes], cwd: str, kept: int = -1) -> Start:
    """Return a function that forks, runs `child` and exits with the status it returns.

    The child has no descriptor but its standard streams, and, as number KEPT, `kept`.
    """

    def start(stdin: int, stdout: int, stderr: int) -> int:
        chdir(cwd)
        # A child, not a call in this process, so that the loop can kill a function or an HTTP exchange that hangs.
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            _become_child(stdin, stdout, stderr, environment, kept)
            status = child()
        except SystemExit as error:
            status = _status(error)
        except BaseException:  # the hook's own error: the user needs its traceback
            sys.excepthook(*sys.exc_info())
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)

    return start


class Watcher:
    """Kills the running hooks if this process is killed (SIGKILL), by a program that waits for the end of a pipe.

    The program, a shell or WATCH_PROGRAM, starts before the first hook and gets the marker of each before it starts, so
    that all are watched. If its pipe is full, it is replaced. A fork instead costs ten times as much, and can deadlock
    in a program with threads. `closed` returns the descriptors that it must not inherit. While it `stays`, as in a
    process that serves one run after the other, it outlives the run.
    """

    stays = False

    def __init__(self) -> None:
        self.closed: Callable[[], Sequence[int]] = tuple
        self._ends: Sequence[int] = ()
        self.forget()

    def forget(self) -> None:
        """Start over in a forked child: the shell and the hooks are the parent's."""
        _close_all(self._ends)
        self._ends = ()
        self._pid = 0
        self.stays = False
        self._lock = _thread.RLock()  # garbage collection may close a pool while it is held
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
                self._start()  # the shell was killed or its pipe is full: the next one gets the whole list

    def note_fork(self) -> None:
        """Record this process, the forked child that is the hook: the parent may be killed before it can."""
        self._write(b"%b %d\n" % (self._starting, os.getpid()))
        self.forget()

    def _write(self, line: bytes) -> bool:
        try:
            return bool(self._ends) and os.write(self._ends[0], line) > 0
        except OSError:
            return False

    def release(self) -> None:
        """Let the shell end, as no hook runs. `close` reaps it."""
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
        """Start a shell that knows all hooks, and then kill the previous one."""
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
            _kill(pid)  # before its pipe ends, at which it would kill the hooks
            _close_all(ends)


def _watch(
    arguments: tuple[str, ...], environment: Mapping[bytes, bytes], streams: Sequence[int], closed: Sequence[int]
) -> int:
    if os.access(WATCH_PROGRAM, os.X_OK):
        try:
            return posix_spawn((WATCH_PROGRAM, *arguments), environment, streams, closed)
        except OSError:  # compiled for another machine
            pass
    return posix_spawn(("/bin/sh", "-c", WATCH, *arguments), environment, streams, closed)


def _close_all(descriptors: Iterable[int]) -> None:
    for fd in descriptors:
        os.close(fd)


def _kill(pid: int) -> None:
    """Kill and reap a child, if there is one and it has not ended."""
    try:
        if pid and not os.waitpid(pid, os.WNOHANG)[0]:
            os.kill(pid, _signal.SIGKILL)
            os.waitpid(pid, 0)
    except OSError:  # reaped by the program
        pass


WATCHER = Watcher()


def set_cloexec_on_inherited() -> None:
    """Set close-on-exec on inherited descriptors: a process that a hook leaves behind would keep them open."""
    for fd in inheritable():
        os.set_inheritable(fd, False)  # noqa: FBT003


def inheritable() -> list[int]:
    """Return the descriptors above 2 that a new process would inherit."""
    found = []
    for name in os.listdir("/dev/fd"):
        try:
            if int(name) > STANDARD and os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:  # closed meanwhile, like that of the listing itself
            continue
    return found


def chdir(cwd: str) -> None:
    """Change to the working directory of a hook. Raises CannotStart."""
    try:
        os.chdir(cwd)
    except (OSError, ValueError) as error:
        raise cannot_enter(cwd, error) from error


def cannot_enter(cwd: str, error: OSError | ValueError) -> CannotStart:
    """Return the exception for a working directory that cannot be entered."""
    why = getattr(error, "strerror", None) or error
    return CannotStart(Failure("spawn", f"its working directory {cwd} cannot be entered: {why}"))


def _become_child(stdin: int, stdout: int, stderr: int, environment: Mapping[bytes, bytes], kept: int) -> None:
    """Set up the session, signals, descriptors and environment that a spawned program would have."""
    WATCHER.note_fork()
    os.setsid()
    restore_signals()
    for fd, standard in ((stdin, 0), (stdout, 1), (stderr, 2)):
        os.dup2(fd, standard)
    _close_others(kept)
    for name, standard in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:  # closed when Python started
            setattr(sys, name, os.fdopen(standard, "w", closefd=False, errors="backslashreplace"))
    set_environment(environment)


def _close_others(kept: int) -> None:
    """Close all descriptors but the standard streams; `kept` becomes KEPT, and the file that boot.py reads KEPT + 1."""
    boot = sys.modules.get("hookrun.boot")
    wanted = [(fd, KEPT + at) for at, fd in enumerate((kept, boot.Boot.fd if boot is not None else -1)) if fd >= 0]
    above = max((fd for fd, _ in wanted), default=0) + KEPT
    for fd, number in wanted:  # first out of each other's way
        os.dup2(fd, above + number)
    for _, number in wanted:
        os.dup2(above + number, number, inheritable=False)
    first = wanted[-1][1] + 1 if wanted else KEPT
    if len(wanted) == 1 and first > KEPT + 1:
        os.closerange(KEPT, first - 1)
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
    if boot is not None and boot.Boot.fd >= 0:
        boot.Boot.fd = KEPT + 1


def set_environment(variables: Mapping[bytes, bytes]) -> None:
    """Give this process, a forked child, another environment."""
    boot = sys.modules.get("hookrun.boot")
    if boot is not None and boot.set_environment(variables):
        return
    now = dict(os.environb.items())
    for name in now.keys() - variables.keys():
        del os.environb[name]
    for name, value in variables.items():
        if now.get(name) != value:
            os.environb[name] = value


def _status(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def explain_exec_error(path: str, error: OSError) -> Failure:
    """Return why an existing executable file could not be started."""
    interpreter = interpreter_of(path)
    if error.errno == ENOEXEC or interpreter is None:
        return Failure(
            "spawn", f"{path} is not a program that the system can start: add a #! line, or run it with `sh`"
        )
    return missing_interpreter(path, interpreter)


def exec_failure(path: str, directory: str) -> Failure | None:
    """Return why a script cannot be started in a directory, judging by its first bytes: no #! line, or a bad one."""
    interpreter = interpreter_of(path)
    if interpreter is not None:
        exists = os.path.exists(os.path.join(directory, interpreter))
        return None if exists else missing_interpreter(path, interpreter)
    try:
        with open(path, "rb", buffering=0) as file:
            is_text = b"\0" not in file.read(256)
    except OSError:
        return None
    return explain_exec_error(path, OSError(ENOEXEC, os.strerror(ENOEXEC))) if is_text else None


def missing_interpreter(path: str, interpreter: str) -> Failure:
    """Return the failure of a script whose #! line names a program that does not exist."""
    hint = "; the file has Windows line endings: save it with LF" if interpreter.endswith("\r") else ""
    return Failure("missing", f"the interpreter {interpreter!r} in the #! line of {path} does not exist{hint}")


def interpreter_of(path: str) -> str | None:
    """Return the program in a script's #! line, or None if it has no such line or cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            line = file.read(256).partition(b"\n")[0]
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = line[2:].strip(b" \t").split(b" ", 1)
    return os.fsdecode(words[0]) or None


def catch_signals() -> int:
    """Deliver the ending signals through the returned descriptor; ignored ones stay ignored.

    Returns -1 if no descriptor is left for that: signals then act as before, and hooks fail when they start.
    """
    # If the program that started us ignored SIGCHLD, the kernel would discard our children's exit status.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    try:
        read_end, write_end = _wakeup[:] = os.pipe()
    except OSError:
        return -1
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    _signal.set_wakeup_fd(write_end)
    for number in ENDING:
        before = _signal.getsignal(number)
        if before != _signal.SIG_IGN:
            _before[number] = _signal.SIG_DFL if before is _signal.default_int_handler else before
            _signal.signal(number, lambda _number, _frame: None)
    return read_end


def release_signals() -> None:
    """Restore the handlers that `catch_signals` replaced, and close its pipe: descriptors may be scarce."""
    _signal.set_wakeup_fd(-1)
    for number, before in _before.items():
        _signal.signal(number, before)
    _before.clear()
    while _wakeup:
        os.close(_wakeup.pop())


def restore_signals() -> None:
    """Reset every signal of a forked child to its default, unblocked."""
    _signal.set_wakeup_fd(-1)
    for number in RESTORED:
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
