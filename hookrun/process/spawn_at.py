"""How a program is started by any thread of a living process: in a directory of its own, without chdir and fork.

`os.posix_spawn` cannot change the new process's directory; the C library's posix_spawn can (glibc 2.29, musl 1.1.24,
macOS 10.15) and is called through ctypes. Where it cannot be, /bin/sh changes the directory.
"""

from __future__ import annotations

import fcntl
import os
import sys
from errno import ENOENT, ENOEXEC, ENOTDIR
from struct import pack

from hookrun.model import Failure
from hookrun.process.child import CannotStart
from hookrun.process.spawn import (
    RESTORED,
    STANDARD,
    cannot_enter,
    explain_exec_error,
    interpreter_of,
    missing_interpreter,
)

try:
    import ctypes
except ImportError:  # a Python that was built without libffi
    ctypes = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Set as AbstractSet

    from hookrun.process.prepare import Environment, Inherited

    Start = Callable[[int, int, int], int]

SETSIGDEF, SETSIGMASK = 0x04, 0x08
FLAGS = {
    "linux": SETSIGDEF | SETSIGMASK | 0x80,
    "darwin": SETSIGDEF | SETSIGMASK | 0x400 | 0x4000,
}
"""Of <spawn.h>, with POSIX_SPAWN_SETSID as glibc and musl, and as macOS count it; the last is CLOEXEC_DEFAULT, macOS's
alone: only descriptors that file actions name are inherited."""
OPAQUE = 1024
"""Bytes, more than any C library's posix_spawnattr_t, posix_spawn_file_actions_t or sigset_t takes (at most 336)."""
MOST_KEPT = 256
"""Descriptors and directories for which the actions are kept."""
IN_DIRECTORY = 'cd "$0" && unset OLDPWD && exec "$@"'


def program(argv: tuple[str, ...], environment: Environment, cwd: str) -> Start:
    """Return what starts the program argv[0] (an absolute path) in the directory `cwd` (absolute), from any thread.

    The new process leads a session of its own, has every signal at its default and unblocked, and has no descriptor
    but its three. One that the host made inheritable gets into it only where the C library cannot close the others
    (glibc before 2.34, musl).
    """

    def start(stdin: int, stdout: int, stderr: int) -> int:
        copies: list[int] = []
        try:
            streams = [_above_standard(fd, copies) for fd in (stdin, stdout, stderr)]
            if LIBRARY is None:
                return _by_shell(argv, environment, cwd, streams)
            return LIBRARY.spawn([os.fsencode(word) for word in argv], environment, os.fsencode(cwd), streams)
        except OSError as error:
            _check_directory(cwd)
            if error.errno in (ENOENT, ENOTDIR, ENOEXEC):
                raise CannotStart(explain_exec_error(argv[0], error)) from error
            raise
        except ValueError as error:
            _check_directory(cwd)
            raise CannotStart(Failure("spawn", f"it cannot be given to the system as it is: {error}")) from error
        finally:
            for fd in copies:
                os.close(fd)

    return start


class Library:
    """The C library's posix_spawn, with those attributes that are the same for every process.

    Making it raises AttributeError, KeyError or OSError where the library lacks something of it, or is not known.
    """

    def __init__(self) -> None:
        # PyDLL keeps the GIL, as os.posix_spawn does: a spawn takes 0.3 ms, and each time that the GIL is let go costs
        # 5 ms where another thread computes. The price: a directory on a dead mount holds up all threads of the host.
        libc = ctypes.PyDLL(None)

        def function(name: str, *types: type) -> Callable[..., int]:
            found = getattr(libc, name)
            found.argtypes, found.restype = types, ctypes.c_int
            return found  # type: ignore[no-any-return]

        opaque, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
        texts, pid = text, ctypes.POINTER(number)  # pointers to texts, packed into bytes
        self._spawn = function("posix_spawn", pid, text, opaque, opaque, texts, texts)
        self._init = function("posix_spawn_file_actions_init", opaque)
        self._destroy = function("posix_spawn_file_actions_destroy", opaque)
        self._dup2 = function("posix_spawn_file_actions_adddup2", opaque, number, number)
        self._chdir = function("posix_spawn_file_actions_addchdir_np", opaque, text)
        self._closefrom = None
        if hasattr(libc, "posix_spawn_file_actions_addclosefrom_np"):
            self._closefrom = function("posix_spawn_file_actions_addclosefrom_np", opaque, number)

        # Never written again, so that all threads may use them. A program that fires one hook after another has the
        # same descriptors and directories over and over: what is to be done with those is kept, never to be destroyed.
        self._kept: dict[tuple[object, ...], ctypes.Array[ctypes.c_char]] = {}
        self._attributes = ctypes.create_string_buffer(OPAQUE)
        signals = ctypes.create_string_buffer(OPAQUE)
        _check(function("posix_spawnattr_init", opaque)(self._attributes))
        _check(function("sigemptyset", opaque)(signals))
        _check(function("posix_spawnattr_setsigmask", opaque, opaque)(self._attributes, signals))
        for each in RESTORED:
            _check(function("sigaddset", opaque, number)(signals, each))
        _check(function("posix_spawnattr_setsigdefault", opaque, opaque)(self._attributes, signals))
        _check(function("posix_spawnattr_setflags", opaque, ctypes.c_short)(self._attributes, FLAGS[sys.platform]))

    def spawn(self, argv: list[bytes], environment: Environment, cwd: bytes, streams: list[int]) -> int:
        """Start a process and return its id; `streams` are above 2. Raises OSError, ValueError for a NUL in a text."""
        if b"\0" in cwd:
            raise ValueError("embedded null byte")
        inherited = _inherited(environment)
        own = _lines(environment.own)
        pointers, _block = _pointers([*argv, *own])
        words = pack(f"{len(argv) + 1}P", *pointers[: len(argv)], 0)
        lines = inherited.pointers + pack(f"{len(own) + 1}P", *pointers[len(argv) :], 0)
        pid = ctypes.c_int()
        key = (*streams, cwd)
        actions = self._kept.get(key)
        if actions is not None:
            _check(self._spawn(pid, argv[0], actions, self._attributes, words, lines), argv[0])
            return pid.value
        actions = ctypes.create_string_buffer(OPAQUE)
        _check(self._init(actions))
        try:
            for standard, fd in enumerate(streams):
                _check(self._dup2(actions, fd, standard))
            if self._closefrom is not None:
                _check(self._closefrom(actions, STANDARD + 1))
            _check(self._chdir(actions, cwd))
            _check(self._spawn(pid, argv[0], actions, self._attributes, words, lines), argv[0])
            if len(self._kept) < MOST_KEPT:
                self._kept[key] = actions
        finally:
            if self._kept.get(key) is not actions:
                self._destroy(actions)
        return pid.value


def _library() -> Library | None:
    """Return the C library's posix_spawn; None where it cannot change the directory or cannot be called."""
    if ctypes is None:
        return None
    try:
        return Library()
    except (AttributeError, KeyError, OSError):
        return None


def _check(code: int, path: bytes | None = None) -> None:
    """Raise the OSError of what a function of posix_spawn's family has returned: it does not set errno."""
    if code:
        raise OSError(code, os.strerror(code), None if path is None else os.fsdecode(path))


class Vector:
    """Inherited lines NAME=value as C has them: their pointers, and what these lead into; `hidden` are left out."""

    __slots__ = ("_block", "hidden", "pointers")

    def __init__(self, inherited: Inherited, hidden: AbstractSet[bytes]) -> None:
        self.hidden = hidden
        pointers, self._block = _pointers(_lines({name: inherited[name] for name in inherited if name not in hidden}))
        self.pointers = pack(f"{len(pointers)}P", *pointers)


def _inherited(environment: Environment) -> Vector:
    """Return the inherited lines that the hook's own do not replace: of many hooks in a row they are the same."""
    inherited = environment.inherited
    hidden = inherited.keys() & environment.own.keys()
    kept = inherited.vector
    if not isinstance(kept, Vector) or kept.hidden != hidden:
        kept = inherited.vector = Vector(inherited, hidden)
    return kept


def _pointers(texts: list[bytes]) -> tuple[list[int], object]:
    """Return pointers to the texts as C has them, and what they lead into, to be kept for as long.

    Raises ValueError for a NUL, at which C would end a text.
    """
    joined = b"\0".join(texts)
    if joined.count(b"\0") != max(len(texts) - 1, 0):
        raise ValueError("embedded null byte")
    block = ctypes.create_string_buffer(joined)
    pointer = ctypes.addressof(block)
    pointers = []
    for text in texts:
        pointers.append(pointer)
        pointer += len(text) + 1
    return pointers, block


def _lines(environment: Mapping[bytes, bytes]) -> list[bytes]:
    """Return the environment as lines NAME=value. Raises ValueError for a name that cannot be one."""
    if b"" in environment or b"=" in b"".join(environment):
        raise ValueError("illegal environment variable name")
    return list(map(b"=".join, environment.items()))


def _above_standard(fd: int, copies: list[int]) -> int:
    """Return the descriptor or, for one of 0 to 2 that a dup2 to another might overwrite, a copy noted in `copies`."""
    if fd > STANDARD:
        return fd
    copies.append(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, STANDARD + 1))
    return copies[-1]


def _check_directory(cwd: str) -> None:
    """Raise CannotStart when the directory cannot be entered: posix_spawn's error does not say what it is about."""
    try:
        os.stat(cwd)
        os.stat(f"{cwd}/.")  # fails as chdir does for what is no directory or may not be searched
    except (OSError, ValueError) as error:
        raise cannot_enter(cwd, error) from error


def _by_shell(argv: tuple[str, ...], environment: Mapping[bytes, bytes], cwd: str, streams: list[int]) -> int:
    """Start the program where only a shell can change the directory, unless it is the one we are in."""
    _check_directory(cwd)
    if cwd != _here():
        interpreter = interpreter_of(argv[0])
        if interpreter is not None and not os.path.exists(interpreter):
            raise CannotStart(missing_interpreter(argv[0], interpreter))
        os.stat(argv[0])
        argv = ("/bin/sh", "-c", IN_DIRECTORY, cwd, *argv)
    try:
        return os.posix_spawn(
            argv[0],
            argv,
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, standard) for standard, fd in enumerate(streams)],
            setsid=True,
            setsigmask=(),
            setsigdef=RESTORED,
        )
    except NotImplementedError as error:
        detail = "this system's C library cannot start a process in a session of its own, which a hook needs"
        raise CannotStart(Failure("spawn", detail)) from error


def _here() -> str | None:
    """Return our working directory; None when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


LIBRARY = _library()
