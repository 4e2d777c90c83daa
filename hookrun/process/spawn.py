"""Start processes: programs by posix_spawn, Python functions by fork. Catch and restore the signals that end them.

Signals go through `_signal`, the C module under `signal`: the enumerations of the latter cost 3.5 ms a tool call.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # private, but `signal` itself is built on it
import gc
import os
import sys
from errno import ENOENT, ENOEXEC, ENOTDIR

from hookrun.model import Failure
from hookrun.process.child import CannotStart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Start = Callable[[int, int, int], int]


ENDING = (1, 2, 15)
"""HUP, INT, TERM: the signals that ask hookrun to end."""

RESTORED = tuple(number for number in range(1, 32) if number not in (_signal.SIGKILL, _signal.SIGSTOP))
"""Every signal that Python, or the program that started hookrun, may have set to be ignored."""

_before: dict[int, object] = {}
"""Their handlers before `catch_signals`; for INT not Python's own: a KeyboardInterrupt at the end helps nobody."""

STANDARD = 2
"""The last of the three descriptors that a hook gets."""


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
            raise CannotStart(Failure("spawn", f"it cannot be given to the system as it is: {error}")) from error

    return start


def posix_spawn(
    argv: tuple[str, ...], environment: Mapping[bytes, bytes], streams: Sequence[int], closed: Sequence[int] = ()
) -> int:
    """Start argv[0] in its own session with default signals; `streams` become its descriptors 0 to 2.

    Raises NotImplementedError where the C library cannot start a session.
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


def function(child: Callable[[], int], environment: Mapping[bytes, bytes], cwd: str) -> Start:
    """Return a function that forks, runs `child` and exits with the status that it returns."""

    def start(stdin: int, stdout: int, stderr: int) -> int:
        chdir(cwd)
        # A child, not a call in this process: a function or an HTTP exchange that hangs can be killed by the same loop.
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            _become_child(stdin, stdout, stderr, environment)
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


def set_cloexec_on_inherited() -> None:
    """Close on exec the descriptors that the caller left open: a process that a hook leaves behind would hold them."""
    for fd in inheritable():
        os.set_inheritable(fd, False)  # noqa: FBT003


def inheritable() -> list[int]:
    """Return the descriptors above 2 that a new process would inherit."""
    found = []
    for name in os.listdir("/dev/fd"):
        try:
            if int(name) > STANDARD and os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:  # closed meanwhile, as that of the listing itself
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


def _become_child(stdin: int, stdout: int, stderr: int, environment: Mapping[bytes, bytes]) -> None:
    """Set up the session, signals, descriptors and environment that a spawned program would have."""
    gc.enable()
    os.setsid()
    restore_signals()
    for fd, standard in ((stdin, 0), (stdout, 1), (stderr, 2)):
        os.dup2(fd, standard)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    for name, standard in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:  # it was closed when Python started
            setattr(sys, name, os.fdopen(standard, "w", closefd=False, errors="backslashreplace"))
    os.environ.clear()
    os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()})


def _status(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def explain_exec_error(path: str, error: OSError) -> Failure:
    """Return why an existing executable file cannot be started."""
    interpreter = interpreter_of(path)
    if error.errno == ENOEXEC or interpreter is None:
        return Failure(
            "spawn", f"{path} is no program the system can start: a script needs a #! line, or run it by `sh`"
        )
    return missing_interpreter(path, interpreter)


def exec_failure(path: str) -> Failure | None:
    """Return why a script cannot be started, as its first bytes tell: a missing interpreter, or no #! line."""
    interpreter = interpreter_of(path)
    if interpreter is not None:
        return None if os.path.exists(interpreter) else missing_interpreter(path, interpreter)
    try:
        with open(path, "rb", buffering=0) as file:
            is_text = b"\0" not in file.read(256)
    except OSError:
        return None
    return explain_exec_error(path, OSError(ENOEXEC, os.strerror(ENOEXEC))) if is_text else None


def missing_interpreter(path: str, interpreter: str) -> Failure:
    """Return the failure of a script whose #! line names a program that does not exist."""
    hint = "; the file has Windows line ends: save it with LF" if interpreter.endswith("\r") else ""
    return Failure("missing", f"the interpreter {interpreter!r} that {path} names in its #! line does not exist{hint}")


def interpreter_of(path: str) -> str | None:
    """Return the program in a script's #! line; None without such a line or when the file cannot be read."""
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
    """Deliver the ending signals through the returned descriptor instead; ignored ones stay ignored."""
    # If the program that started us ignored SIGCHLD, the kernel would discard our children's exit status.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    read_end, write_end = os.pipe()
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
    """Restore the handlers that `catch_signals` has replaced."""
    _signal.set_wakeup_fd(-1)
    for number, before in _before.items():
        _signal.signal(number, before)
    _before.clear()


def restore_signals() -> None:
    """Set every signal of a forked child to its default, unblocked."""
    _signal.set_wakeup_fd(-1)
    for number in RESTORED:
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
