"""Tell whether a caller runs under the same limits, privileges and namespaces as the server, so that it can be served.

What differs is not imitated: such a caller runs in a process of its own.
"""

from __future__ import annotations

import os
import socket
import sys
from struct import unpack

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
"""Lines of /proc/PID/status that must be the same."""
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "time_for_children", "user", "uts")


def credentials(connection: socket.socket) -> tuple[int, int]:
    """Return process id and user id of the process at the other end. Raises OSError."""
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
        """Return why a caller cannot be served, as the one word that it is greeted with. Raises OSError."""
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
            return "namespace"  # its links can be read only by a process of the same user namespace; or it is gone
        return next((reason for reason, own in self._own.items() if its[reason] != own), None)


def is_sandboxed(pid: int) -> bool | None:
    """Return whether a process of macOS runs in a sandbox, None if the system does not say."""
    import ctypes

    try:
        answer = ctypes.CDLL(None).sandbox_check(pid, None, 0)
    except (OSError, AttributeError):
        return None
    return {0: False, 1: True}.get(answer)


def _of(pid: int) -> dict[str, object]:
    """Return what must be the same, by the reason that is given where it is not. Raises OSError.

    Every run waits for it: each value is read in the quickest way.
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
        ),
    }


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 1 << 13)
    finally:
        os.close(fd)


def _link(path: str) -> str:
    """Return where a link leads; nothing where the system has no such namespace. Raises PermissionError."""
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return ""


def _label(directory: str) -> bytes:
    """Return the security label, nothing where no security module gives one."""
    try:
        return _read(f"{directory}attr/current")
    except OSError:
        return b""


HAS_LABELS = _label("/proc/self/") != b""
"""Whether a security module gives labels: then every process has one."""
