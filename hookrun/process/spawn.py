"""Start Python functions by fork; explain why a program cannot start."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # see child.py
import os
import sys
from errno import E2BIG, ENOENT, ENOEXEC, ENOTDIR

from hookrun.core.model import Failure
from hookrun.process.child import RESTORED, STANDARD, WATCHER, CannotStart, chdir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import NoReturn

    from hookrun.process.child import Start


def function(child: Callable[[], int], environment: Mapping[bytes, bytes], cwd: str) -> Start:
    """Return a function that forks, runs `child` and exits with its status."""

    def start(stdin: int, stdout: int, stderr: int) -> int:
        chdir(cwd)
        # A child, not a call here, so that the loop can kill a function or an HTTP exchange that hangs.
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            WATCHER.note_fork()
            become_child((stdin, stdout, stderr))
            for name, standard in (("stdout", 1), ("stderr", 2)):
                if getattr(sys, name) is None:  # closed when Python started
                    setattr(sys, name, os.fdopen(standard, "w", closefd=False, errors="backslashreplace"))
            set_environment(environment)
            status = child()
        except SystemExit as error:
            status = _status(error)
        except BaseException:  # the hook's error: the user needs its traceback
            sys.excepthook(*sys.exc_info())
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)

    return start


def become_child(streams: Sequence[int], kept: Iterable[int] = ()) -> None:
    """Make a forked process the leader of its own session, with signals at their defaults.

    Of its descriptors it has `streams` as its standard streams, and those `kept`.
    """
    os.setsid()
    restore_signals()
    for standard, fd in enumerate(streams):
        os.dup2(fd, standard)
    first = STANDARD + 1
    for fd in sorted(kept):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def set_environment(variables: Mapping[bytes, bytes]) -> None:
    """Replace the environment of this process, a forked child."""
    now = dict(os.environb.items())
    for name in now.keys() - variables.keys() - {b""}:  # no call removes a variable without a name
        del os.environb[name]
    for name, value in variables.items():
        if now.get(name) != value:
            os.environb[name] = value


def _status(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def start_otherwise(
    error: OSError | ValueError | NotImplementedError,
    argv: tuple[str, ...],
    environment: Mapping[bytes, bytes],
    cwd: str,
) -> Start:
    """Return another start for a program that could not be spawned. Raises CannotStart, or the error again."""
    if not isinstance(error, NotImplementedError):
        raise_cannot_start(argv[0], error)
    interpreter = interpreter_of(argv[0])  # a C library without POSIX_SPAWN_SETSID
    if interpreter is not None and not os.path.exists(interpreter):
        raise CannotStart(missing_interpreter(argv[0], interpreter)) from None
    return function(lambda: os.execve(argv[0], argv, environment), environment, cwd)


def raise_cannot_start(path: str, error: OSError | ValueError) -> NoReturn:
    """Raise CannotStart for a program that the system refuses to start; the error itself if it may start later."""
    if isinstance(error, ValueError):
        raise CannotStart(Failure("spawn", f"cannot be passed to the system: {error}")) from error
    if error.errno in (ENOENT, ENOTDIR, ENOEXEC):
        raise CannotStart(explain_exec_error(path, error)) from error
    raise error


def start_failure(error: OSError) -> Failure:
    """Return the failure of a hook that the system refuses to start, whatever else runs."""
    if error.errno == E2BIG:  # hooks get more variables than hookrun, which has just started
        why = "its arguments and environment variables are longer than the system allows: unset or shorten some"
    else:
        why = error.strerror or str(error)
    return Failure("spawn", f"could not be started: {why}")


def explain_exec_error(path: str, error: OSError) -> Failure:
    """Return why an existing executable file could not be started."""
    interpreter = interpreter_of(path)
    if error.errno == ENOEXEC or interpreter is None:
        return Failure(
            "spawn", f"{path} is not a program that the system can start: add a #! line, or run it with `sh`"
        )
    return missing_interpreter(path, interpreter)


def exec_failure(path: str, directory: str) -> Failure | None:
    """Return why a script cannot start in a directory, by its first bytes: no #! line, or a bad one."""
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
    """Return the failure of a script whose #! line names a missing program."""
    hint = "; the file has Windows line endings: save it with LF" if interpreter.endswith("\r") else ""
    return Failure("missing", f"the interpreter {interpreter!r} in the #! line of {path} does not exist{hint}")


def interpreter_of(path: str) -> str | None:
    """Return the program in a script's #! line, None without one or if unreadable."""
    try:
        with open(path, "rb", buffering=0) as file:
            line = file.read(256).partition(b"\n")[0]
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = line[2:].strip(b" \t").split(b" ", 1)
    return os.fsdecode(words[0]) or None


def restore_signals() -> None:
    """Reset every signal of a forked child to its default and unblock it."""
    _signal.set_wakeup_fd(-1)
    for number in RESTORED:
        _signal.signal(number, _signal.SIG_DFL)
    # As in every Python: where no file may grow (RLIMIT_FSIZE), a write fails, and does not end a guard.
    _signal.signal(_signal.SIGXFSZ, _signal.SIG_IGN)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
