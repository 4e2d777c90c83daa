"""What a client and the server say to each other, in the words of this version.

The server greets with one line. The client then sends its request, with its working directory and its standard streams
as descriptors, and afterwards a byte for each signal it receives. The server answers with the exit status.
"""

from __future__ import annotations

import os
import socket
from array import array
from struct import Struct
from time import monotonic

MAGIC = b"HKR2"
HEADER = Struct("<4sI")
"""The magic word and the length of what follows."""
COUNTS = Struct("<3I")
"""Arguments, variables, umask."""
MAX_BODY = 64 << 20
"""Bytes of a request: more than any system passes to a program."""
REQUEST_WITHIN = 10
"""Seconds for each part of a request, header and body: a silent client is in the way of others."""
WAIT = Struct("@ll").pack(REQUEST_WITHIN, 0)
"""The same as a `struct timeval`."""
DESCRIPTORS = 4
"""Working directory, stdin, stdout, stderr."""

GO, GO_BLOCK = b"go 0\n", b"go 1\n"
"""The greetings; with the second, a client that gets no answer refuses."""
ANSWER = b"X"

INTERRUPTED = 128
"""Added to the number of a signal: an exit status from here on means that a run was cut off."""


class ProtocolError(Exception):
    """The other side is not what it should be."""


class RunRequest:
    """What a client wants to be run, and as what."""

    __slots__ = ("argv", "descriptors", "environment", "umask")

    def __init__(self, argv: list[str], environment: dict[bytes, bytes], umask: int, descriptors: list[int]) -> None:
        self.argv = argv
        self.environment = environment
        self.umask = umask
        self.descriptors = descriptors


def cold(reason: str) -> bytes:
    """Return the greeting that sends a client away."""
    return f"cold {reason}\n".encode()


def answer(status: int) -> bytes:
    """Return the last words to a client."""
    return ANSWER + bytes((status & 0xFF,))


class LastEnvironment:
    """The environment of the last request, which that of the next one mostly is."""

    text = b""
    variables: dict[bytes, bytes] = {}  # noqa: RUF012  # replaced, never changed


def receive(connection: socket.socket) -> RunRequest | None:
    """Return the request of a client, or None if it went before it had sent it. Raises ProtocolError, OSError."""
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
    """Receive until there are so many bytes, and the descriptors that come with them. Raises EOFError, OSError."""
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
                LastEnvironment.variables.setdefault(name, value)  # as Python reads its own: the first one counts
    return RunRequest([os.fsdecode(word) for word in words], LastEnvironment.variables, umask, descriptors)
