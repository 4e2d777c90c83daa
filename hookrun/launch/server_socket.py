"""The sockets of an account's servers: one for each installation of hookrun and control group.

Each version, interpreter and home has its own name, so that installations never meet.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import glob
from stat import S_ISDIR
from time import monotonic, sleep

from hookrun.core.files import read_or_none
from hookrun.core.state import STATE_DIR

# The version of the protocol between clients and server.
PROTOCOL = 1

# Of the hash in a socket's name: as few as tell homes and installations apart.
DIGITS = 16
# Ends of the names of a socket and its server's lock file.
SOCKET, LOCK = ".sock", ".sock.lock"
# Seconds for a server to release its lock: it does so before its last runs end.
END_WAIT = 5.0


def run_directory(home: str) -> str:
    """Return the directory of a home's sockets, perhaps also of other homes' of the account."""
    runtime = f"/run/user/{os.geteuid()}"  # not XDG_RUNTIME_DIR: a project can set the environment of an agent
    return f"{runtime}/hookrun" if is_private(runtime) else f"{home}{STATE_DIR}/run"


def socket_base(home: str, python: str = sys.executable, identity: Sequence[str] | None = None) -> str | None:
    """Return the beginning of the socket's path, as in launcher.conf; None for a home whose name has a line break.

    `python` is the server's interpreter, `identity` its loaded package's, by default the present one.
    """
    from hashlib import sha256

    texts = package_identity() if identity is None else identity
    whose = "\0".join((str(os.geteuid()), python, str(PROTOCOL), home, *texts))
    base = f"{run_directory(home)}/{sha256(os.fsencode(whose)).hexdigest()[:DIGITS]}"
    return base if "\n" not in base else None


@contextmanager
def directory_of(path: str) -> Iterator[str]:
    """Make a socket's directory the working one for a moment, and yield the socket's name.

    An address has room for about a hundred bytes, a home's path may have any length. Raises OSError.
    """
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(os.path.dirname(path))
        try:
            yield os.path.basename(path)
        finally:
            os.fchdir(before)
    finally:
        os.close(before)


def socket_here(base: str) -> str:
    """Return the socket of this process's control group; without those (macOS), of its limits and priority."""
    shared = read_or_none("/proc/self/cgroup")
    return f"{base}-{fnv1a(_limits() if shared is None else shared):016x}.sock"


def _limits() -> bytes:
    """Return every resource's soft and hard limit, and nice, as the client writes them."""
    from resource import getrlimit

    values: list[int] = []
    try:
        while True:
            values += getrlimit(len(values) // 2)
    except ValueError:  # the last resource was the one before
        values.append(os.getpriority(os.PRIO_PROCESS, 0))
    return b"".join((value & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little") for value in values)


def fnv1a(data: bytes) -> int:
    """Return the 64-bit FNV-1a hash, as the client computes it."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def is_private(directory: str) -> bool:
    """Return whether this is a directory that only the account can enter."""
    try:
        status = os.lstat(directory)
    except OSError:
        return False
    return S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o77


def package_files() -> list[str]:
    """Return the modules of this package, sorted. Raises OSError."""

    def fail(error: OSError) -> None:
        raise error

    below = os.walk(os.path.dirname(os.path.dirname(__file__)), onerror=fail)
    return sorted(f"{directory}/{name}" for directory, _, names in below for name in names if name.endswith(".py"))


def package_identity() -> list[str]:
    """Return a string for each module of this package that changes with it; none if one vanishes."""
    try:
        files = [(path, os.stat(path)) for path in package_files()]
    except OSError:
        return []
    return [f"{path} {status.st_mtime_ns} {status.st_size} {status.st_ino}" for path, status in files]


# --- the lock of a socket, which its server holds as long as it listens


def take_lock(path: str) -> int | None:
    """Return a descriptor of the lock of a socket; None while a server holds it. Raises OSError."""
    import fcntl

    while True:
        fd = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(fd, f"{path}.lock"):
                os.ftruncate(fd, 0)
                return fd
        except BlockingIOError:
            os.close(fd)
            return None
        os.close(fd)  # its server just ended and removed the file


def _is_at(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except FileNotFoundError:
        return False


def sign_lock(fd: int, home: str) -> None:
    """Write into the lock which process listens, and for which home. Raises OSError."""
    if sys.platform == "linux":
        import fcntl

        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # its owner can be asked of the system: clients do
    os.pwrite(fd, os.fsencode(f"{os.getpid()}\n{_process_numbers()}\n{home}"), 0)


def _process_numbers() -> str:
    """Return the namespace of process ids: in a container they mean other processes."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def release_lock(path: str, fd: int) -> None:
    """Release the lock for another server, and remove the file."""
    if _is_at(fd, f"{path}.lock"):
        os.unlink(f"{path}.lock")
    os.close(fd)


def sweep(directory: str) -> None:
    """Remove killed servers' sockets and locks."""
    for path in _sockets_with_locks(directory):
        try:
            fd = take_lock(path)
        except OSError:  # no file of ours
            continue
        if fd is not None:
            with suppress(OSError):  # none there, or a directory
                os.unlink(path)
            release_lock(path, fd)


def _sockets_with_locks(directory: str) -> list[str]:
    return sorted(f"{directory}/{name.removesuffix('.lock')}" for name in glob(f"*{LOCK}", root_dir=directory))


def listening(path: str) -> tuple[int, str] | None:
    """Return the process that holds a socket's lock and the home it serves, None if unknown."""
    import fcntl

    try:
        fd = os.open(f"{path}.lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pid, _, rest = os.fsdecode(os.pread(fd, 1 << 13, 0)).partition("\n")
        numbers, _, home = rest.partition("\n")
        return (int(pid), home) if home and pid.isdigit() and numbers == _process_numbers() else None
    finally:
        os.close(fd)
    return None


def servers(home: str) -> Iterator[tuple[str, int]]:
    """Yield socket and process of each server of a home, of any version, answering or not."""
    directory = run_directory(home)
    for path in _sockets_with_locks(directory) if is_private(directory) else ():
        found = listening(path)
        if found is not None and found[1] == home:
            yield path, found[0]


def end_server(path: str, pid: int) -> bool:
    """End a server, even if stopped or hanging; return whether it listens no more. Its runs end first."""
    return _ends(path, pid, signal.SIGTERM, signal.SIGCONT) or _ends(path, pid, signal.SIGKILL)


def _ends(path: str, pid: int, *signals: int) -> bool:
    until = monotonic() + END_WAIT
    if _listens(path, pid):
        for number in signals:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                break
    while _listens(path, pid):
        if monotonic() > until:
            return False
        sleep(0.02)
    return True


def _listens(path: str, pid: int) -> bool:
    found = listening(path)
    return found is not None and found[0] == pid
