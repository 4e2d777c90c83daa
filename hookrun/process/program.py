"""Start programs from any thread of a long-lived process, where fork and chdir are unsafe; run one to its end."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes an enumeration of each number
import fcntl
import os
import subprocess
from errno import ENOENT
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Literal, NamedTuple

from hookrun.process import spawn
from hookrun.process.child import RESTORED, STANDARD, CannotStart, Task, cannot_enter, posix_spawn
from hookrun.process.pool import Pool
from hookrun.process.runner import inheritable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence

    from hookrun.core.model import Outcome
    from hookrun.process.child import Start

# Programs of `run_program` at once; more are queued.
MAX_PROGRAMS = 32
# Signals that `subprocess` leaves ignored if the host ignores them.
LEFT_IGNORED = tuple(n for n in RESTORED if n not in (_signal.SIGPIPE, _signal.SIGXFSZ))
# Seconds before inheritable descriptors are listed again: that costs a tenth of a start; hosts open few.
LISTED_FOR = 0.1
_LISTED: list[tuple[float, list[int]]] = [(float("-inf"), [])]
IN_DIRECTORY = 'cd "$0" && unset OLDPWD && exec "$@"'


def program(argv: tuple[str, ...], environment: Mapping[bytes, bytes], cwd: str) -> Start:
    """Return a function that starts argv[0] (an absolute path) in `cwd`, from any thread.

    As with `prepare.program` the process leads its own session, with every signal at its default and unblocked, and
    inherits only its three streams.
    """

    def start(stdin: int, stdout: int, stderr: int) -> int:
        try:
            if b"" in environment:
                raise ValueError("illegal environment variable name")  # noqa: TRY301  # as `subprocess`
            # posix_spawn is the cheapest and resets signals, but cannot change the directory. `subprocess` can, but
            # resets signals only in a preexec_fn: Python after a fork, which can deadlock with threads. For both, a
            # shell changes the directory, for half a millisecond more.
            here = cwd == _working_directory()
            if here or _signals_are_inherited():
                line = argv if here else _in_directory(argv, cwd)
                try:
                    return _posix_spawn(line, environment, (stdin, stdout, stderr))
                except NotImplementedError:  # a C library without sessions: ignored signals stay so
                    pass
            return _Reaped(
                argv, stdin=stdin, stdout=stdout, stderr=stderr, env=environment, cwd=cwd, start_new_session=True
            ).pid
        except (OSError, ValueError) as error:
            _check_directory(cwd)
            spawn.raise_cannot_start(argv[0], error)

    return start


class ProgramResult(NamedTuple):
    """A program's result: `exit_code` is None after a timeout."""

    exit_code: int | None
    output: str


class ProgramError(Exception):
    """The program could not be started; the message says why."""


async def run_program(
    argv: Sequence[str],
    *,
    timeout: float,  # noqa: ASYNC109  # the pool enforces it and kills the program
    max_output: int,
    keep: Literal["first", "last", "stderr"] = "stderr",
    cwd: str | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> ProgramResult:
    """Run a program without a shell; return its result, with at most `max_output` bytes of output as text.

    `keep` selects the `first` or `last` bytes of stdout and stderr together, or the last of `stderr` alone. After
    `timeout` seconds, or a cancellation, the program is killed with everything it started; what it leaves running at a
    normal exit is left alone. `env` is added to the environment. Raises ProgramError.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    finished: asyncio.Future[Outcome] = loop.create_future()
    from shutil import which  # loads compressors

    path = which(argv[0])
    if path is None:
        raise ProgramError(os.strerror(ENOENT))
    own = {os.fsencode(name): os.fsencode(value) for name, value in (env or {}).items()}
    environment = {**os.environb, **own}
    start = program((path, *argv[1:]), environment, cwd or os.getcwd())

    def start_merged(stdin: int, stdout: int, stderr: int) -> int:
        return start(stdin, *((stdout, stdout) if keep == "first" else (stderr, stderr)))

    task = Task(start if keep == "stderr" else start_merged, stdin, timeout=timeout, max_output=max_output)

    pool = _pool()
    batch = pool.submit([task], lambda outcomes: loop.call_soon_threadsafe(finished.set_result, outcomes[0]))
    try:
        outcome = await asyncio.shield(finished)
    except asyncio.CancelledError:
        pool.cancel(batch)
        await finished
        raise
    if outcome.failure is not None and outcome.failure.kind != "timeout":
        raise ProgramError(outcome.failure.detail)
    text = (outcome.stdout if keep == "first" else outcome.stderr).decode("utf-8", "replace")
    return ProgramResult(None if outcome.failure is not None else outcome.exit_code, text)


@cache
def _pool() -> Pool:
    # Its thread is a daemon, and a forked child starts its own: nothing to close.
    return Pool(MAX_PROGRAMS)


class _Reaped(subprocess.Popen[bytes]):
    """A process that the loop reaps, not `subprocess`, even if Ctrl-C comes before the loop knows its id."""

    def __del__(self) -> None:  # no warning, no later `waitpid` for an id that may be another's
        pass


def _in_directory(argv: tuple[str, ...], cwd: str) -> tuple[str, ...]:
    """Return a command that runs another in a directory.

    Raises CannotStart or OSError for what its exit status would not explain.
    """
    _check_directory(cwd)
    failure = spawn.exec_failure(argv[0], cwd)
    if failure is not None:
        raise CannotStart(failure)
    os.stat(argv[0])
    return ("/bin/sh", "-c", IN_DIRECTORY, cwd, *argv)


def _posix_spawn(argv: tuple[str, ...], environment: Mapping[bytes, bytes], streams: tuple[int, int, int]) -> int:
    if min(streams) > STANDARD:
        return posix_spawn(argv, environment, streams, closed=_inheritable())
    copies: list[int] = []
    try:
        for fd in streams:  # above 2, so that no dup2 overwrites another
            copies += [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, STANDARD + 1)]
        return posix_spawn(argv, environment, copies, closed=_inheritable())
    finally:
        for fd in copies:
            os.close(fd)


def _inheritable() -> list[int]:
    """Return the descriptors above 2 that a new process would inherit, at most LISTED_FOR seconds old."""
    listed, found = _LISTED[0]
    now = monotonic()
    if now - listed > LISTED_FOR:
        found = inheritable()
        _LISTED[0] = now, found
    return found


def _signals_are_inherited() -> bool:
    """Return whether the host ignores or blocks a signal, which `subprocess` would leave so in a hook."""
    ignored = any(_signal.getsignal(number) == _signal.SIG_IGN for number in LEFT_IGNORED)
    return ignored or bool(_signal.pthread_sigmask(_signal.SIG_BLOCK, ()))


def _check_directory(cwd: str) -> None:
    """Raise CannotStart if the directory is inaccessible: a failed start does not report the cause."""
    try:
        os.stat(cwd)
        os.stat(f"{cwd}/.")  # fails as chdir does: no directory, or not searchable
    except (OSError, ValueError) as error:
        raise cannot_enter(cwd, error) from error


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None
