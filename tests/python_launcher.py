"""A launcher in Python for any command line of `fire`: what client.c does for one agent's. CONF fire ARGUMENT..."""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import sys
from pathlib import Path
from typing import NoReturn

GREETING = float(os.environ.pop("LAUNCHER_WAITS", "2"))  # seconds for the greeting
LONGEST_GREETING = 64


def main() -> NoReturn:
    """Hand the command line to the server, or become the cold one."""
    conf, *argv = sys.argv[1:]
    lines = [line.split(" ", 1) for line in Path(conf).read_text().splitlines()]
    cold = [line[1] for line in lines if line[0] == "exec"][:-1]
    bases = [line[1] for line in lines if line[0] == "socket"]
    try:
        for fd in range(3):
            os.fstat(fd)
    except OSError:
        _become(cold, argv, "streams")
    try:
        here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        _become(cold, argv, "directory")
    with socket.socket(socket.AF_UNIX) as server:
        greeting = _greeting(server, bases[0], here) if bases else "cold off"
        if greeting not in {"go 0", "go 1"}:
            _become(cold, argv, greeting.removeprefix("cold "))
        if sys.platform == "linux" and not _may_look_at(server):
            _become(cold, argv, "sandbox")
        _send(server, argv, here)
        _end(server, cold, argv)


def _end(server: socket.socket, cold: list[str], argv: list[str]) -> NoReturn:
    """End with the server's answer, or as it said for the case that there is none."""
    lost: tuple[int, bytes, bytes] | None = None
    while (answer := _received(server, 2))[:1] == b"R":
        out, err = struct.unpack("<2I", _received(server, 8))
        lost = answer[1], _received(server, out), _received(server, err)
    if len(answer) == 2 and answer[:1] == b"X":
        os._exit(answer[1])
    for number in PASSED:
        os._exit(128 + number)
    if lost is None and "--agent" in argv:
        _become(cold, argv, "lost")
    status, stdout, stderr = lost or (1, b"", b"hookrun: the server ended before it answered\n")
    os.write(1, stdout)
    os.write(2, stderr)
    os._exit(status)


def socket_path(base: str) -> str:
    """Return the name of the socket for the cgroup of this process."""
    cgroup = Path("/proc/self/cgroup")
    if not cgroup.exists():
        return f"{base}.sock"
    digest = 0xCBF29CE484222325  # FNV-1a
    for byte in cgroup.read_bytes():
        digest = (digest ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{base}-{digest:016x}.sock"


def _greeting(server: socket.socket, base: str, here: int) -> str:
    """Return the server's first line, or a replacement if there is none."""
    path = socket_path(base)
    line = b""
    try:
        directory = Path(path).parent.lstat()
        if directory.st_uid != os.geteuid() or directory.st_mode != stat.S_IFDIR | 0o700:
            return "cold socket-directory"
        server.setblocking(False)
        os.chdir(Path(path).parent)  # an address has no room for a long path
        try:
            server.connect(Path(path).name)
        finally:
            os.fchdir(here)
        server.settimeout(GREETING)
        while not line.endswith(b"\n") and (more := server.recv(LONGEST_GREETING - len(line))):
            line += more
    except TimeoutError:
        return "cold timeout"
    except OSError as error:
        return f"cold {COLD.get(type(error), 'no-greeting')}"
    return line.decode().strip() or "cold no-greeting"


COLD = {FileNotFoundError: "no-server", ConnectionRefusedError: "no-server", BlockingIOError: "busy"}


def _may_look_at(server: socket.socket) -> bool:
    """Return whether this process may look at the server: in a sandbox of Landlock it may not."""
    pid, _, _ = struct.unpack("3i", server.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    try:
        return bool(Path(f"/proc/{pid}/root").readlink())
    except OSError:
        return False


def _send(server: socket.socket, argv: list[str], here: int) -> None:
    mask = os.umask(0o077)
    os.umask(mask)
    strings = [os.fsencode(word) for word in argv]
    environment = [name + b"=" + value for name, value in os.environb.items()]
    body = struct.pack("<3I", len(strings), len(environment), mask)
    body += b"".join(each + b"\0" for each in strings + environment)
    request = b"HKR3" + struct.pack("<I", len(body)) + body
    server.settimeout(None)
    signals = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    for number in signals:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda got, _frame: _pass_on(server, got))
    sent = socket.send_fds(server, [request], [here, 0, 1, 2])
    while sent < len(request):  # never an empty rest: the server may have answered and gone
        sent += server.send(request[sent:])
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


PASSED: list[int] = []


def _pass_on(server: socket.socket, number: int) -> None:
    PASSED.append(number)
    try:
        server.send(bytes([number]))
    except OSError:
        return


def _received(server: socket.socket, size: int) -> bytes:
    """Return so many bytes, fewer at the end."""
    data = b""
    try:
        while len(data) < size and (more := server.recv(size - len(data))):
            data += more
    except OSError:
        pass
    return data


def _become(cold: list[str], argv: list[str], reason: str) -> NoReturn:
    os.execv(cold[0], [*cold, argv[0], "--cold", reason, *argv[1:]])


if __name__ == "__main__":
    main()
