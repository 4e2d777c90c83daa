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
    from collections.abc import Callable, Mapping

    Start = Callable[[int, int, int], int]


ENDING = (1, 2, 15)
"""HUP, INT, TERM: what asks hookrun to end."""

RESTORED = tuple(number for number in range(1, 32) if number not in (_signal.SIGKILL, _signal.SIGSTOP))
"""What Python, or whoever started hookrun, may have set to be ignored: every signal that can be."""


_before: dict[int, object] = {}
"""What each of them did before they were caught; not Python's own answer to INT: what is left to do needs none."""

STANDARD = 2
"""The last of the descriptors that a hook gets."""


def program(argv: tuple[str, ...], environment: Mapping[bytes, bytes], cwd: str) -> Start:
    """Return what starts the program argv[0] (a path), for a process with one thread: it changes directory to spawn.

    The new process leads a session of its own and has every signal at its default and unblocked.
    """

    def start(stdin: int, stdout: int, stderr: int) -> int:
        chdir(cwd)
        try:
            return os.posix_spawn(
                argv[0],
                argv,
                environment,
                file_actions=(
                    (os.POSIX_SPAWN_DUP2, stdin, 0),
                    (os.POSIX_SPAWN_DUP2, stdout, 1),
                    (os.POSIX_SPAWN_DUP2, stderr, 2),
                ),
                setsid=True,
                setsigmask=(),
                setsigdef=RESTORED,
            )
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


def function(child: Callable[[], int], environment: Mapping[bytes, bytes], cwd: str) -> Start:
    """Return what runs `child` in a forked process and ends it with the status that `child` returns."""

    def start(stdin: int, stdout: int, stderr: int) -> int:
        chdir(cwd)
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            _become_child(stdin, stdout, stderr, environment)
            status = child()
        except SystemExit as error:
            status = _status(error)
        except BaseException:  # the hook's own error: its traceback is what the person needs
            sys.excepthook(*sys.exc_info())
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)

    return start


def set_cloexec_on_inherited() -> None:
    """Keep descriptors that whoever fired left open from the hooks: what one leaves behind would hold them."""
    for name in os.listdir("/dev/fd"):
        try:
            if int(name) > STANDARD:
                os.set_inheritable(int(name), False)  # noqa: FBT003
        except OSError:
            continue


def chdir(cwd: str) -> None:
    """Change to the working directory of a hook. Raises CannotStart when that cannot be done."""
    try:
        os.chdir(cwd)
    except (OSError, ValueError) as error:
        raise cannot_enter(cwd, error) from error


def cannot_enter(cwd: str, error: OSError | ValueError) -> CannotStart:
    """Return what is raised where a hook's working directory cannot be entered."""
    why = getattr(error, "strerror", None) or error
    return CannotStart(Failure("spawn", f"its working directory {cwd} cannot be entered: {why}"))


def _become_child(stdin: int, stdout: int, stderr: int, environment: Mapping[bytes, bytes]) -> None:
    """Be what a spawned program would be: own session, default signals, three descriptors, the hook's environment."""
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
    """Say why a file that is there and executable cannot be started."""
    interpreter = interpreter_of(path)
    if error.errno == ENOEXEC or interpreter is None:
        return Failure(
            "spawn", f"{path} is no program the system can start: a script needs a #! line, or run it by `sh`"
        )
    return missing_interpreter(path, interpreter)


def missing_interpreter(path: str, interpreter: str) -> Failure:
    """Return the failure of a script whose #! line names a program that is not there."""
    hint = "; the file has Windows line ends: save it with LF" if interpreter.endswith("\r") else ""
    return Failure("missing", f"the interpreter {interpreter!r} that {path} names in its #! line does not exist{hint}")


def interpreter_of(path: str) -> str | None:
    """Return the program that a script names in its #! line; None when it has none or cannot be read."""
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
    """Make the ending signals readable from the returned descriptor instead; those ignored stay ignored."""
    _signal.signal(
        _signal.SIGCHLD, _signal.SIG_DFL
    )  # ignored by whoever started us, it would take our children's status
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
    """Let the ending signals do again what they did before."""
    _signal.set_wakeup_fd(-1)
    for number, before in _before.items():
        _signal.signal(number, before)
    _before.clear()


def restore_signals() -> None:
    """Put the signals of a forked child to their defaults, none of them blocked."""
    _signal.set_wakeup_fd(-1)
    for number in RESTORED:
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
