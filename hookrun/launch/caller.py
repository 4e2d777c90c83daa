"""A caller: whether it can be served, and its request, in the words of this version.

It is served only under the server's own limits, privileges and namespaces: differences are not imitated, such a caller
runs cold. The server greets with one line. The client sends its request, with its working directory and standard
streams as descriptors, then a byte for each signal it receives. The server answers with the exit status,
and at a gate says before what the client is to answer if it ends before that.
"""

from __future__ import annotations

import os
import socket
import sys
from array import array
from collections.abc import Callable
from functools import cache
from struct import Struct, unpack
from time import monotonic
from typing import NamedTuple

MAGIC = b"HKR3"
# The magic word and the length of what follows.
HEADER = Struct("<4sI")
# Arguments, variables, umask.
COUNTS = Struct("<3I")
# Bytes of a request: more than any system gives a program.
MAX_BODY = 64 << 20
# Seconds for a request's header, and for its body: a silent client delays others.
REQUEST_WITHIN = 10
# The same as a `struct timeval`.
WAIT = Struct("@ll").pack(REQUEST_WITHIN, 0)
# Working directory, stdin, stdout, stderr.
DESCRIPTORS = 4

# Greetings; after the second, a client without an answer refuses.
GO, GO_BLOCK = b"go 0\n", b"go 1\n"
ANSWER = b"X"
# Before the answer: what the client is to say if there is none, with the sizes of stdout and stderr.
LOST, LOST_HEADER = b"R", Struct("<cBII")

# Added to a signal's number: from this exit status on, a run was cut off.
INTERRUPTED = 128


class ProtocolError(Exception):
    """The other side breaks the protocol."""


class RunRequest(NamedTuple):
    """A command line to run, and the client's process state."""

    argv: list[str]
    environment: dict[bytes, bytes]
    umask: int
    descriptors: list[int]


def cold(reason: str) -> bytes:
    """Return the greeting that sends a client away."""
    return f"cold {reason}\n".encode()


def answer(status: int) -> bytes:
    """Return the last line to a client."""
    return ANSWER + bytes((status & 0xFF,))


def answer_if_lost(status: int, stdout: bytes, stderr: bytes) -> bytes:
    """Return what a client is to answer if the last line does not come; a later one replaces it."""
    return LOST_HEADER.pack(LOST, status & 0xFF, len(stdout), len(stderr)) + stdout + stderr


class LastEnvironment:
    """The last request's environment, usually the next one's too."""

    text = b""
    variables: dict[bytes, bytes] = {}  # noqa: RUF012  # replaced, never changed


def receive(connection: socket.socket) -> RunRequest | None:
    """Return a client's request, or None if it went before sending it. Raises ProtocolError, OSError."""
    descriptors = array("i")
    data = bytearray()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, WAIT)
    try:
        _fill(connection, data, HEADER.size, descriptors)
        magic, length = HEADER.unpack_from(data)
        if magic == MAGIC and COUNTS.size <= length <= MAX_BODY:
            _fill(connection, data, HEADER.size + length, descriptors)
            return _parse(bytes(data[HEADER.size :]), list(descriptors))
    except BaseException as error:
        for fd in descriptors:
            os.close(fd)
        if isinstance(error, EOFError | ConnectionError):
            return None
        raise
    for fd in descriptors:
        os.close(fd)
    raise ProtocolError("the request is not one of this version")


def _fill(connection: socket.socket, data: bytearray, size: int, descriptors: array[int]) -> None:
    """Receive `size` bytes, and the descriptors with them. Raises EOFError, OSError."""
    until = monotonic() + REQUEST_WITHIN
    room = socket.CMSG_SPACE(DESCRIPTORS * descriptors.itemsize)
    while len(data) < size:
        chunk, extra, _, _ = connection.recvmsg(size - len(data), room, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        for level, kind, value in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(value[: len(value) - len(value) % descriptors.itemsize])
        if not chunk:
            raise EOFError
        if monotonic() > until:
            raise TimeoutError
        data += chunk


def _parse(body: bytes, descriptors: list[int]) -> RunRequest:
    argc, envc, umask = COUNTS.unpack_from(body)
    if len(descriptors) != DESCRIPTORS:
        raise ProtocolError("the request is not whole")
    *words, text = body[COUNTS.size :].split(b"\0", argc)
    if len(words) != argc or text.count(b"\0") != envc or text[-1:] not in {b"", b"\0"}:
        raise ProtocolError("the request has another length than it says")
    if text != LastEnvironment.text:
        LastEnvironment.text, LastEnvironment.variables = text, {}
        for each in text.split(b"\0"):
            name, equals, value = each.partition(b"=")
            if equals:
                LastEnvironment.variables.setdefault(name, value)  # as in Python the first one counts
    return RunRequest([os.fsdecode(word) for word in words], LastEnvironment.variables, umask, descriptors)


# --- whether it can be served

# Lines of /proc/PID/status that must be equal.
STATUS = (
    b"Uid:",
    b"Gid:",
    b"Groups:",
    b"NoNewPrivs:",
    b"Seccomp:",
    b"Seccomp_filters:",
    b"CapInh:",
    b"CapPrm:",
    b"CapEff:",
    b"CapBnd:",
    b"CapAmb:",
    b"Cpus_allowed:",
    b"Mems_allowed:",
)
# The number of ioprio_get(2), which Python lacks, and its first argument.
IOPRIO_GET, IOPRIO_WHO_PROCESS = {"x86_64": 252, "aarch64": 31}.get(os.uname().machine), 1
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "time_for_children", "user", "uts")


def credentials(connection: socket.socket) -> tuple[int, int]:
    """Return the peer's process id and user id. Raises OSError."""
    if sys.platform == "darwin":
        xucred = connection.getsockopt(0, 0x001, 76)  # SOL_LOCAL, LOCAL_PEERCRED: version, uid, groups
        return connection.getsockopt(0, 0x002), unpack("2I", xucred[:8])[1]  # LOCAL_PEERPID
    pid, uid, _ = unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


class Surroundings:
    """What the server runs under, read once."""

    def __init__(self) -> None:
        self._own = _of(os.getpid()) if sys.platform != "darwin" else {"sandbox": is_sandboxed(os.getpid())}

    def refusal(self, pid: int, uid: int) -> str | None:
        """Return why a caller cannot be served: the word of its greeting. Raises OSError."""
        if uid != os.geteuid():
            return "peer"
        if sys.platform == "darwin":
            its = is_sandboxed(pid)  # limits and priority are in the socket's name
            return None if its is not None and its == self._own["sandbox"] else "sandbox"
        if pid <= 0:
            return "namespace"
        try:
            its = _of(pid)
        except (PermissionError, FileNotFoundError, ProcessLookupError):
            return "namespace"  # only a process of the same user namespace can read its links; or it is gone
        return next((reason for reason, own in self._own.items() if its[reason] != own), None)


def is_sandboxed(pid: int) -> bool | None:
    """Return whether a process on macOS is sandboxed, None if unknown."""
    import ctypes

    try:
        answer = ctypes.CDLL(None).sandbox_check(pid, None, 0)
    except (OSError, AttributeError):
        return None
    return {0: False, 1: True}.get(answer)


def _of(pid: int) -> dict[str, object]:
    """Return the values that must be equal, by the reason given if one is not. Raises OSError.

    Every run waits for this: each value is read in the quickest way.
    """
    directory = f"/proc/{pid}/"
    status = _read(f"{directory}status")
    return {
        "namespace": [*[_link(f"{directory}ns/{name}") for name in NAMESPACES], os.readlink(f"{directory}root")],
        "privileges": [line for line in status.split(b"\n") if line.startswith(STATUS)],
        "label": _label(directory) if HAS_LABELS else b"",
        "limits": _read(f"{directory}limits"),
        "nice": (
            os.getpriority(os.PRIO_PROCESS, pid),
            os.sched_getscheduler(pid) & ~os.SCHED_RESET_ON_FORK,
            os.sched_getparam(pid).sched_priority,
            _read(f"{directory}oom_score_adj"),
            # what ionice(1) sets, 0 if the system call's number is unknown
            _system_call()(IOPRIO_GET, IOPRIO_WHO_PROCESS, pid) if IOPRIO_GET is not None else 0,
        ),
    }


@cache
def _system_call() -> Callable[[int, int, int], int]:
    import ctypes

    call: Callable[[int, int, int], int] = ctypes.CDLL(None).syscall
    return call


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 1 << 13)
    finally:
        os.close(fd)


def _link(path: str) -> str:
    """Return a link's target, nothing if the system has no such namespace. Raises PermissionError."""
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return ""


def _label(directory: str) -> bytes:
    """Return the security label, if a security module gives one."""
    try:
        return _read(f"{directory}attr/current")
    except OSError:
        return b""


# Whether a security module gives labels: then every process has one.
HAS_LABELS = _label("/proc/self/") != b""
