"""A worker: takes one caller's place after another, and runs `hookrun fire` as a process of its own would.

During a run the descriptors 0 to 2, working directory, umask and environment are the caller's, and its signals are sent
on to this process, to interrupt waits, reads and writes as in a process of its own. A worker takes another run only if
nothing unusual happened in this one.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # see process/child.py
import _thread
import fcntl
import gc
import mmap
import os
import resource
import select
import socket
import struct
import sys
import time
from contextlib import suppress

from hookrun.agents import end_with_zero, status_without_hooks
from hookrun.core.nesting import CallerProcess
from hookrun.core.state import CurrentRun
from hookrun.fire import command
from hookrun.launch import caller
from hookrun.process.child import WATCHER
from hookrun.process.coprocess import Coprocesses
from hookrun.process.loop import ENDING, Loop
from hookrun.process.runner import reap_supervisors
from hookrun.trust.hook_files import files_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.process.recipe_calls import CallSupervisor

# What a worker reports after a caller, added up in one byte: ready for the next; there was a request; failures block or
# do not, if the run knows; the setting `warm` is off.
READY, HAS_RUN, BLOCKS, PASSES, UNWANTED = 1, 2, 4, 8, 16

# Exit status of a worker that failed itself: its caller gets no answer.
NO_ANSWER = 250

# Runs after which garbage is collected.
COLLECT_EVERY = 64
# Bytes after which a worker is replaced.
MAX_MEMORY = 200 << 20
# Bytes in a unit of getrusage(2).
UNIT = 1 if sys.platform == "darwin" else 1024
# The module that is loaded only to report a bug of ours.
AFTER_A_BUG = "hookrun.core.crash"


DEADLINE = struct.Struct("d")


class CallWatch:
    """The time by which a worker's present call must end: memory that it shares with its server.

    The worker itself ends a call that runs Python; native code can only be ended from outside. A worker that is gone
    with a deadline set went within a call, whatever its exit status.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, DEADLINE.size)

    def begin(self, deadline: float) -> None:
        """Watch a call that must end by this (monotonic) time."""
        DEADLINE.pack_into(self._memory, 0, deadline)

    def end(self) -> None:
        """Watch no longer."""
        self.begin(0.0)

    def deadline(self) -> float:
        """Return the time by which the present call must end, 0 without one."""
        found: float = DEADLINE.unpack_from(self._memory)[0]
        return found


class Worker:
    """One worker process. `control` is its line to the server, which sends it connections and keeps a `watch`.

    The other public attributes are for its runs: see `fire/invocation.py`.
    """

    def __init__(self, control: socket.socket, watch: CallWatch) -> None:
        self.control = control
        self.watch: CallSupervisor = watch
        self.settings: Mapping[str, object] | None = None
        self.connection: socket.socket | None = None
        self.runs = 0
        self.nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self.coprocesses = Coprocesses(files_of)
        WATCHER.stays = True
        _signal.signal(_signal.SIGIO, self._on_input)

    def work(self) -> None:
        """Serve callers until the server closes the line or a run was unusual."""
        goes_on = True
        while goes_on:
            connection = self._next()
            if connection is None:
                break
            goes_on = self._serve(connection)
        self.coprocesses.close()
        WATCHER.stays = False
        WATCHER.close()

    def _next(self) -> socket.socket | None:
        """Return the next caller's connection, None when there are no more; tend programs until then."""
        while (due := self.coprocesses.tend()) is not None and not select.select([self.control], (), (), due)[0]:
            pass
        data, descriptors, _, _ = socket.recv_fds(self.control, 1, 1)
        if not data or not descriptors:
            return None
        return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, descriptors[0])

    def _serve(self, connection: socket.socket) -> bool:
        """Run one request and answer it; return whether this worker can take another."""
        with connection:
            try:
                request = caller.receive(connection)
            except (caller.ProtocolError, OSError, ValueError):
                request = None
            if request is None:
                return self._tell(READY)
            self._become(request)
            status, usual = self._run(request, connection)
            self._leave()
            word = HAS_RUN
            if (settings := self.settings) is not None:
                word |= BLOCKS if settings.get("on_error") == "block" else PASSES
                word |= UNWANTED * (settings.get("warm") == "off")
            goes_on = usual and not word & UNWANTED and self._is_clean()
            # Before the answer: the caller's next run finds this worker ready.
            goes_on = self._tell(word | READY * goes_on) and goes_on
            with suppress(OSError):  # killed meanwhile
                connection.send(caller.answer(status))
        self.runs += 1
        if self.runs % COLLECT_EVERY == 0:
            gc.collect()
        return goes_on

    def _tell(self, word: int) -> bool:
        """Report to the server; return whether it is still there."""
        try:
            self.control.send(bytes((word,)))
        except OSError:
            return False
        return True

    def _become(self, request: caller.RunRequest) -> None:
        """Take over the caller's descriptors, directory, umask and signals."""
        directory, *streams = request.descriptors
        try:
            os.fchdir(directory)
        except OSError:  # inaccessible by now: hooks cannot start there either
            os.chdir("/")
        os.close(directory)
        for standard, fd in enumerate(streams):
            os.dup2(fd, standard)
            os.close(fd)
        self.coprocesses.umask = request.umask & 0o777
        os.umask(self.coprocesses.umask)
        _reset_signals()

    def _run(self, request: caller.RunRequest, connection: socket.socket) -> tuple[int, bool]:
        """Return a run's exit status, and whether it ended as usual."""
        CallerProcess.pid = caller.credentials(connection)[0]
        sys.argv[1:] = request.argv
        self.settings = None
        CurrentRun.for_agent = True  # until the command line is read
        if status_without_hooks(sys.argv) == 0:  # for this agent any other is a refusal
            end_with_zero()
        try:
            # The caller's signals and its end interrupt this process.
            self.connection = connection
            fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(connection, fcntl.F_SETFL, os.O_RDWR | os.O_NONBLOCK | os.O_ASYNC)
            self._on_input(0, None)  # what came before
            _take_environment(request.environment)  # a variable may name a file to wait for, as a FIFO
            status = command.main(request.argv[1:], self)
            return status, status < caller.INTERRUPTED
        except KeyboardInterrupt:
            return 130, False
        except SystemExit as error:
            return (error.code if isinstance(error.code, int) else 1), False
        except (ImportError, OSError) as error:  # as in __main__
            os.write(2, f"hookrun: cannot be loaded, so no hook has run: {error}\n".encode())
            return (status_without_hooks(sys.argv) if isinstance(error, ImportError) else 1), False
        finally:
            self.connection = None
            fcntl.fcntl(connection, fcntl.F_SETFL, os.O_RDWR)

    def answer_if_lost(self, status: int, stdout: bytes, stderr: bytes) -> None:
        """Have the launcher answer so if this process ends without an answer."""
        if self.connection is not None:
            with suppress(OSError):  # killed meanwhile
                self.connection.send(caller.answer_if_lost(status, stdout, stderr))

    def _on_input(self, _number: int, _frame: object) -> None:
        """Pass the caller's signals on to this process; exit if it was killed: the watcher ends the hooks."""
        if self.connection is None:
            return
        try:
            numbers = self.connection.recv(64)
        except BlockingIOError:
            return
        except OSError:
            numbers = b""
        if not numbers:
            os._exit(1)
        for number in numbers:
            if number in ENDING:
                os.kill(os.getpid(), number)

    def _leave(self) -> None:
        """Release what was the caller's."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                continue
        for standard in (0, 1, 2):
            os.dup2(self.nothing, standard)
        os.chdir("/")  # before the answer: a caller may at once remove or unmount its directory
        _reset_signals()

    @staticmethod
    def _is_clean() -> bool:
        """Return whether the last run left this process as it was."""
        reap_supervisors()
        return (
            not _thread._count()  # noqa: SLF001  # what `threading` itself asks
            and not Loop.has_ended_hooks
            and AFTER_A_BUG not in sys.modules
            and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT < MAX_MEMORY
        )


def _reset_signals() -> None:
    """Give the signals the handlers of a newly started Python."""
    for number in ENDING:
        usual = _signal.default_int_handler if number == _signal.SIGINT else _signal.SIG_DFL
        if _signal.getsignal(number) != usual:
            _signal.signal(number, usual)


# Variables that the C library reads once.
CLOCK, LOCALE = (b"TZ",), (b"LANG", b"LC_ALL", b"LC_CTYPE")
# What a starting Python tries instead of the C locale.
UTF_8_LOCALES = ("C.UTF-8", "C.utf8", "UTF-8")


class TakenEnvironment:
    """The last environment taken: the caller's, and this process's own after it."""

    given: dict[bytes, bytes] | None = None
    own: dict[bytes, bytes] = {}  # noqa: RUF012  # replaced, never changed


def _take_environment(environment: dict[bytes, bytes]) -> None:
    """Make this process's environment the caller's; most of it is as last time."""
    own: dict[bytes, bytes] = os.environb._data  # type: ignore[attr-defined]  # noqa: SLF001
    if environment is TakenEnvironment.given and own == TakenEnvironment.own:
        return
    TakenEnvironment.given = None
    stale = {name for name in (*CLOCK, *LOCALE) if own.get(name) != environment.get(name)}
    for name in own.keys() - environment.keys():
        del own[name]
        if name:
            os.unsetenv(name)
    for name, value in environment.items():
        if name and own.get(name) != value:
            os.putenv(name, value)
    own.clear()
    own.update(environment)  # in its order
    if not stale.isdisjoint(CLOCK):
        time.tzset()
    if not stale.isdisjoint(LOCALE):
        _take_locale(own)
    TakenEnvironment.given, TakenEnvironment.own = environment, own.copy()


def _take_locale(own: dict[bytes, bytes]) -> None:
    """Take the locale as a starting Python does: if it replaces C, hooks find that in LC_CTYPE (PEP 538)."""
    import locale

    def take(name: str) -> str | None:
        try:
            return locale.setlocale(locale.LC_CTYPE, name)
        except locale.Error:
            return None

    if (take("") or take("C")) == "C" and not own.get(b"LC_ALL"):
        name = next(filter(take, UTF_8_LOCALES), None)
        if name is not None:
            os.putenv("LC_CTYPE", name)
            own[b"LC_CTYPE"] = name.encode()
