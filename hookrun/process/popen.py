"""Start programs from any thread of a long-lived process, where neither fork nor chdir is safe."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes an enumeration of each number
import fcntl
import os
import subprocess
from contextlib import suppress
from errno import ENOENT, ENOEXEC, ENOTDIR
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.model import Failure
from hookrun.process import spawn
from hookrun.process.child import RESTORED, CannotStart, posix_spawn

if TYPE_CHECKING:
    from collections.abc import Mapping

LEFT_IGNORED = tuple(n for n in RESTORED if n not in (_signal.SIGPIPE, _signal.SIGXFSZ))
"""Signals that `subprocess` leaves ignored in the new process if the host ignores them."""
LISTED_FOR = 0.1
"""Seconds before inheritable descriptors are listed again: listing costs a tenth of a start, and hosts open few."""
_LISTED: list[tuple[float, list[int]]] = [(float("-inf"), [])]
IN_DIRECTORY = 'cd "$0" && unset OLDPWD && exec "$@"'


def program(argv: tuple[str, ...], environment: Mapping[bytes, bytes], cwd: str) -> spawn.Start:
    """Return a function that starts argv[0] (an absolute path) in the directory `cwd`, from any thread.

    As with `spawn.program` the new process leads its own session, has every signal at its default and unblocked, and
    inherits no descriptor but its three streams.
    """

    def start(stdin: int, stdout: int, stderr: int) -> int:
        try:
            if b"" in environment:
                raise ValueError("illegal environment variable name")  # noqa: TRY301  # as `subprocess`
            # posix_spawn is the cheapest and resets signals, but it cannot change the directory. `subprocess` can, but
            # resets signals only in a preexec_fn: Python code after a fork, which can deadlock in a program with
            # threads. Where both are needed, a shell changes the directory, for half a millisecond more.
            if cwd == _working_directory() or _signals_are_inherited():
                with suppress(NotImplementedError):  # no sessions in this C library: ignored signals stay ignored
                    return _posix_spawn(argv, environment, cwd, (stdin, stdout, stderr))
            return _Reaped(
                argv, stdin=stdin, stdout=stdout, stderr=stderr, env=environment, cwd=cwd, start_new_session=True
            ).pid
        except OSError as error:
            _check_directory(cwd)
            if error.errno in (ENOENT, ENOTDIR, ENOEXEC):
                raise CannotStart(spawn.explain_exec_error(argv[0], error)) from error
            raise
        except ValueError as error:
            _check_directory(cwd)
            raise CannotStart(Failure("spawn", f"cannot be passed to the system: {error}")) from error

    return start


class _Reaped(subprocess.Popen[bytes]):
    """A process that the loop reaps: `subprocess` must not, even if Ctrl-C comes before the loop knows the number."""

    def __del__(self) -> None:  # instead of a warning, and a later `waitpid` for a number that may be another's by then
        pass


def _posix_spawn(
    argv: tuple[str, ...], environment: Mapping[bytes, bytes], cwd: str, streams: tuple[int, int, int]
) -> int:
    if cwd != _working_directory():
        _check_directory(cwd)
        failure = spawn.exec_failure(argv[0], cwd)  # the shell's exit status does not show the cause
        if failure is not None:
            raise CannotStart(failure)
        os.stat(argv[0])
        argv = ("/bin/sh", "-c", IN_DIRECTORY, cwd, *argv)
    copies: list[int] = []
    try:
        for fd in streams:  # above 2, so that no dup2 overwrites another of them
            copies += [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, spawn.STANDARD + 1)]
        return posix_spawn(argv, environment, copies, _inheritable())
    finally:
        for fd in copies:
            os.close(fd)


def _inheritable() -> list[int]:
    """Return the descriptors above 2 that a new process would inherit, at most LISTED_FOR seconds old."""
    listed, found = _LISTED[0]
    now = monotonic()
    if now - listed > LISTED_FOR:
        found = spawn.inheritable()
        _LISTED[0] = now, found
    return found


def _signals_are_inherited() -> bool:
    """Return whether the host ignores or blocks a signal that `subprocess` would pass on to a hook like that."""
    ignored = any(_signal.getsignal(number) == _signal.SIG_IGN for number in LEFT_IGNORED)
    return ignored or bool(_signal.pthread_sigmask(_signal.SIG_BLOCK, ()))


def _check_directory(cwd: str) -> None:
    """Raise CannotStart if the directory cannot be entered: a failed start does not report the cause."""
    try:
        os.stat(cwd)
        os.stat(f"{cwd}/.")  # fails as chdir does if it is not a directory or may not be searched
    except (OSError, ValueError) as error:
        raise spawn.cannot_enter(cwd, error) from error


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None
