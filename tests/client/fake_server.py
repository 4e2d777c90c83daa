"""A server that sends and expects what a test wants, one connection at a time; the protocol as seen by a client."""

from __future__ import annotations

import array
import os
import socket
import struct
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from tests.waiting import limit

if TYPE_CHECKING:
    from collections.abc import Callable

    Serve = Callable[[socket.socket], None]
    Process = subprocess.Popen[bytes]


def ended(connection: socket.socket) -> bool:
    """Wait for the client's next byte; return whether there is none."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:  # it has not read all that it was sent
        return True


class Request:
    """One request, read completely: the strings, the umask and, if requested, its file descriptors."""

    def __init__(self, connection: socket.socket, *, keep: bool = False) -> None:
        data, rights, _, _ = connection.recvmsg(65536, socket.CMSG_SPACE(8 * 4))
        ((_, _, packed),) = rights
        descriptors = array.array("i")
        descriptors.frombytes(packed)
        self.descriptors = list(descriptors)
        assert len(self.descriptors) == 4
        if not keep:
            self.close()
        while len(data) < 8:
            data += connection.recv(1)
        assert data[:4] == b"HKR3"
        (length,) = struct.unpack("<I", data[4:8])
        while len(data) < 8 + length:
            more = connection.recv(8 + length - len(data))
            assert more, "the client closed within its request"
            data += more
        assert len(data) == 8 + length
        argc, envc, self.umask = struct.unpack_from("<3I", data, 8)
        *strings, end = data[20:].split(b"\0")
        assert end == b""
        assert len(strings) == argc + envc
        self.argv, self.environment = strings[:argc], strings[argc:]

    def close(self) -> None:
        """Close the descriptors: a reader of the client's output waits for that."""
        for descriptor in self.descriptors:
            os.close(descriptor)


def answering(answer: bytes, *, greeting: bytes = b"go 0\n", argv: list[bytes] | None = None) -> Serve:
    """Return a server that greets, reads one request and answers; `argv` is what the request must be."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(greeting)
        request = Request(connection)
        assert argv in (None, request.argv)
        connection.sendall(answer)

    return serve


def listen(
    command: list[str], path: Path, lock: Path | None = None, executable: Path | None = None
) -> tuple[socket.socket, Process]:
    """Return a socket that a process of this command line listens at, and the process, which holds its lock."""
    ours, its = socket.socketpair()
    with ours, its:
        words = [*command, "serve", str(path), str(lock or f"{path}.lock"), str(its.fileno())]
        process = subprocess.Popen(words, executable=executable, stdin=subprocess.PIPE, pass_fds=[its.fileno()])
        _, [number], _, _ = socket.recv_fds(ours, 1, 1)
    return socket.socket(fileno=number), process


class FakeServer:
    """Serve every connection with `serve`, in turn. An error there is raised by `close`."""

    def __init__(self, listening: tuple[socket.socket, Process], serve: Serve) -> None:
        self._socket, self._process = listening
        self._serve = serve
        self._error: BaseException | None = None
        self.served = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.served += 1
            with connection:
                connection.settimeout(limit())
                try:
                    self._serve(connection)
                except BaseException as error:
                    self._error = error
                    return

    def close(self) -> None:
        """Stop listening; raise what `serve` raised."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._thread.join(limit())
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error
