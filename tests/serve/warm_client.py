"""A client of the server in Python, for tests: it does what the launcher does, and can stop at any step."""

from __future__ import annotations

import os
import socket
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hookrun.launch import caller
from tests.waiting import limit

if TYPE_CHECKING:
    from typing import Self


class ColdError(Exception):
    """The server does not take this caller; the message is the reason."""


class WarmClient:
    """One connection to a server."""

    def __init__(self, path: Path | str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(limit())
        self.socket.connect(str(path))
        self.said: list[tuple[int, bytes, bytes]] = []  # for the case that there is no answer

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Be gone."""
        self.close()

    def greeting(self) -> bytes:
        """Return the server's first line. Raises ColdError where it declines."""
        line = b""
        while not line.endswith(b"\n") and len(line) < 64:
            byte = self.socket.recv(1)
            if not byte:
                raise ColdError("no-greeting")
            line += byte
        if line not in (caller.GO, caller.GO_BLOCK):
            raise ColdError(line.decode().removeprefix("cold ").strip())
        return line

    def request(
        self,
        argv: list[str],
        environment: dict[str, str],
        streams: tuple[int, int, int],
        cwd: str | Path,
        *,
        umask: int = 0o022,
    ) -> None:
        """Send the command to run."""
        body = request_body(argv, environment, umask)
        directory = os.open(cwd, os.O_RDONLY | os.O_DIRECTORY)
        try:
            data = caller.HEADER.pack(caller.MAGIC, len(body)) + body
            sent = socket.send_fds(self.socket, [data], [directory, *streams])
            while sent < len(data):  # never an empty one: the answer may have come already
                sent += self.socket.send(data[sent:])
        finally:
            os.close(directory)

    def signal(self, number: int) -> None:
        """Pass a signal on."""
        self.socket.sendall(bytes((number,)))

    def answer(self) -> int | None:
        """Return the exit status, None if the server ended before it answered."""
        while (head := self._receive(2))[:1] == caller.LOST:
            sizes = self._receive(caller.LOST_HEADER.size - len(head))
            _, status, out, err = caller.LOST_HEADER.unpack(head + sizes)
            self.said.append((status, self._receive(out), self._receive(err)))
        assert head[:1] in {b"", caller.ANSWER}
        return head[1] if len(head) > 1 else None

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (chunk := self.socket.recv(size - len(data))):
            data += chunk
        return data

    def close(self) -> None:
        """Be gone, as a client that was killed."""
        self.socket.close()


def request_body(argv: list[str], environment: dict[str, str], umask: int = 0o022) -> bytes:
    """Return the body of a request, without its header."""
    words = [*map(os.fsencode, argv), *(os.fsencode(f"{name}={value}") for name, value in environment.items())]
    counts = struct.pack("<3I", len(argv), len(environment), umask)
    return counts + b"".join(word + b"\0" for word in words)


def main(path: str, *argv: str) -> int:
    """Be a launcher: run `fire` with these arguments at the server."""
    client = WarmClient(path)
    client.greeting()
    umask = os.umask(0)
    os.umask(umask)
    client.request(["fire", *argv], dict(os.environ), (0, 1, 2), ".", umask=umask)
    status = client.answer()
    return 1 if status is None else status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
