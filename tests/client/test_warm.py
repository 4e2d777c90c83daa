"""A run that the server answers: what it gets, what the client does meanwhile and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tests.client.fake_server import Request, answering, ended
from tests.waiting import limit, until, vary
from tests.warm import status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.conftest import Launcher

ENDED = "hookrun: the server ended before it answered\n"


def test_the_request_holds_the_whole_call(launcher: Launcher, tmp_path: Path) -> None:
    """Arguments, environment and umask arrive unchanged; directory and streams as descriptors."""
    seen: list[Request] = []

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"go 0\n")
        request = Request(connection, keep=True)
        seen.append(request)
        directory, stdin, stdout, stderr = request.descriptors
        os.write(stdout, os.readlink(f"/proc/self/fd/{directory}").encode() + b"|" + os.read(stdin, 100))
        os.write(stderr, b"to stderr")
        request.close()
        connection.sendall(b"X\x05")

    launcher.serve(serve)
    here = tmp_path / "project é"
    here.mkdir()
    environment = {"A": "1", "EMPTY": "", "NOT_UTF8": "\udcff", "LINES": "a\nb=c"}
    result = launcher.run("PreToolUse", "", "--deadline", "9", env=environment, cwd=here, before=lambda: os.umask(0o27))
    assert result == (5, f"{here}|a message", "to stderr")
    assert seen[0].argv == [b"fire", b"--agent", b"claude", b"PreToolUse", b"", b"--deadline", b"9"]
    assert seen[0].environment == [
        f"{key}={value}".encode(errors="surrogateescape") for key, value in environment.items()
    ]
    assert seen[0].umask == 0o27


def test_the_exit_status_is_the_answer(launcher: Launcher) -> None:
    """Every status that a byte holds is the client's."""
    for number in (0, 2, 127, 255):
        launcher.serve(answering(b"X" + bytes([number]), greeting=b"go 1\n"))
        assert launcher.run("Stop") == (number, "", "")
        launcher.close()


def test_a_large_environment_arrives_at_a_slow_server(launcher: Launcher) -> None:
    """A request of many times the socket's buffer is sent in parts."""
    environment = {f"V{number}": "x" * 100_000 for number in range(15)}
    seen: list[Request] = []

    def serve(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(b"go 0\n")
        seen.append(Request(connection))
        connection.sendall(b"X\0")

    launcher.serve(serve)
    assert launcher.run("Stop", env=environment).status == 0
    assert len(seen[0].environment) == 15


def test_standard_input_is_left_alone(launcher: Launcher) -> None:
    """The client reads nothing of it: everything is there for the server, and after a fallback for the cold command."""
    read, write = os.pipe()
    os.write(write, b"all of it")
    os.close(write)

    launcher.serve(answering(b"X\0"))
    subprocess.run([launcher.program, "Stop"], stdin=read, check=True)
    assert os.read(read, 100) == b"all of it"
    os.close(read)


def lost(answer: bytes, status: int, out: bytes, err: bytes = b"") -> bytes:
    """Return what a worker says for the case that it ends, and then `answer`."""
    return struct.pack("<cBII", b"R", status, len(out), len(err)) + out + err + answer


LOST = "cold|fire|--agent|claude|--cold|lost|Stop\na message"


def test_a_server_that_ends_before_it_answers(launcher: Launcher) -> None:
    """There is no second run: the cold command learns that this one was lost."""
    for greeting in (b"go 0\n", b"go 1\n"):
        for answer in (b"", b"X", b"Y\0", b"\0\0", b"R", lost(b"", 0, b"deny\n")[:-1], b"R\0" + b"\xff" * 8):
            launcher.serve(answering(answer, greeting=greeting))
            assert launcher.run("Stop") == (7, LOST, ""), (greeting, answer)
            launcher.close()


def test_a_server_that_ends_without_a_cold_command(launcher: Launcher) -> None:
    """The status is that of a failed run, under `on_error`."""
    for greeting, number in ((b"go 0\n", 1), (b"go 1\n", 2)):
        launcher.renew()
        launcher.serve(answering(b"", greeting=greeting))
        launcher.start.unlink()
        assert launcher.run("Stop") == (number, "", ENDED)
        launcher.close()


def test_what_a_worker_said_for_the_case_that_it_ends(launcher: Launcher) -> None:
    """The last of it is the answer, unless there is one."""
    for said, expected in (
        (lost(b"", 2, b"deny\n", b"why\n"), (2, "deny\n", "why\n")),
        (lost(lost(b"", 0, b""), 2, b"deny\n"), (0, "", "")),
        (lost(b"X\x05", 2, b"deny\n"), (5, "", "")),
        (lost(b"", 0, b"x" * 30_000), (0, "x" * 30_000, "")),
    ):
        launcher.serve(answering(said))
        assert launcher.run("Stop") == expected
        launcher.close()


def test_a_server_that_ends_within_the_request(launcher: Launcher) -> None:
    """From the first byte on the client is bound."""
    sizes = (1, 4, 8, 24, 100, 5000, 400_000)
    reads = iter(sizes)

    def serve(connection: socket.socket) -> None:
        read = next(reads)
        connection.sendall(b"go 1\n")
        while read > len(connection.recv(read, socket.MSG_PEEK)) and not connection.recv(4096):
            pass

    launcher.serve(serve)
    environment = {f"V{number}": "x" * 100_000 for number in range(15)}
    found = {size: launcher.run("Stop", env=environment) for size in sizes}
    assert found == dict.fromkeys(sizes, (7, LOST, ""))


def test_an_answer_counts_that_came_before_the_request_was_read(launcher: Launcher) -> None:
    """A server may answer and close without reading all of a large request."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"go 0\n")
        connection.recv(100)
        connection.sendall(b"X\x09")

    launcher.serve(serve)
    environment = {f"V{number}": "x" * 100_000 for number in range(15)}
    assert launcher.run("Stop", env=environment).status == 9


def test_the_message_cannot_end_it_by_a_signal(launcher: Launcher) -> None:
    """Its stderr has no reader: the status is still the answer."""
    read, write = os.pipe()
    os.close(read)
    launcher.serve(answering(lost(b"", 2, b"", b"why\n")))
    assert subprocess.run([launcher.program, "Stop"], stderr=write, check=False).returncode == 2
    os.close(write)


PASSED_ON = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", PASSED_ON)
def test_signals_after_the_request_are_passed_on(launcher: Launcher, number: signal.Signals) -> None:
    """One byte each; the answer stays the server's."""
    bound, got = threading.Event(), bytearray()

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"go 0\n")
        Request(connection)
        bound.set()
        for _ in range(2):
            got.extend(connection.recv(1))
            bound.set()
        connection.sendall(b"X\x82")

    launcher.serve(serve)
    process = launcher.popen("Stop")
    for _ in range(2):
        assert bound.wait(limit())
        bound.clear()
        process.send_signal(number)
    process.communicate(timeout=limit())
    assert (process.returncode, bytes(got)) == (0x82, bytes([number, number]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", PASSED_ON)
@pytest.mark.parametrize(("greeting", "request_begins"), [(b"", 0), (b"go", 0), (b"go 0\n", 1)])
def test_a_signal_before_the_request_is_whole_ends_it(
    launcher: Launcher, number: signal.Signals, greeting: bytes, request_begins: int
) -> None:
    """As it would have ended a cold run at its start; the server sees the end."""
    reached, signalled = threading.Event(), threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.sendall(greeting)
        connection.recv(request_begins, socket.MSG_PEEK)  # some of the request, which is more than fits
        reached.set()
        assert signalled.wait(limit())
        while not ended(connection):
            pass

    launcher.serve(serve)
    process = launcher.popen("Stop", env={f"V{at}": "x" * 100_000 for at in range(15)})
    assert reached.wait(limit())
    process.send_signal(number)
    assert process.wait(limit()) == -number
    signalled.set()
    process.communicate()


@pytest.mark.slow
def test_a_signal_at_any_moment_is_lost_to_nobody(launcher: Launcher) -> None:
    """Whatever the moment: either it ends the client and nothing runs, or the whole request is there and so is it."""
    requests: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        try:
            connection.sendall(b"go 0\n")
            Request(connection)
        except (AssertionError, ValueError, OSError):  # closed before the request was whole
            return
        requests.append(connection.recv(1))
        connection.sendall(b"X\x07")

    launcher.serve(serve)
    for round_ in range(150):
        before = len(requests)
        process = launcher.popen("Stop", env={f"V{at}": "x" * 100_000 for at in range(round_ % 3 * 2)})
        vary(round_ * 0.00004)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=limit())
        if process.returncode == 7:
            assert requests[before:] == [bytes([signal.SIGTERM])]
        else:
            assert process.returncode == -signal.SIGTERM
    assert set(requests) <= {bytes([signal.SIGTERM])}


def test_ignored_signals_stay_ignored(launcher: Launcher) -> None:
    """`nohup` and a shell's `&`: neither the client nor the server gets the signals."""
    bound, go_on, got = threading.Event(), threading.Event(), bytearray()

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"go 0\n")
        Request(connection)
        bound.set()
        assert go_on.wait(limit())
        connection.sendall(b"X\x03")
        while heard := connection.recv(10):  # to its end: a handler may run later than the signal was sent
            got.extend(heard)

    def ignore() -> None:
        for number in PASSED_ON:
            signal.signal(number, signal.SIG_IGN)

    launcher.serve(serve)
    process = launcher.popen("Stop", before=ignore)
    assert bound.wait(limit())
    for number in PASSED_ON:
        process.send_signal(number)
    go_on.set()
    process.communicate(timeout=limit())
    launcher.close()
    assert (process.returncode, bytes(got)) == (3, b"")


def test_a_killed_client_is_seen_by_the_server(launcher: Launcher) -> None:
    """Its connection ends with it: no descriptor of it is anywhere else."""
    bound, end = threading.Event(), []

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"go 0\n")
        Request(connection)
        bound.set()
        end.append(connection.recv(1))

    launcher.serve(serve)
    process = launcher.popen("Stop")
    assert bound.wait(limit())
    process.kill()
    process.communicate(timeout=limit())
    launcher.close()
    assert end == [b""]


@pytest.mark.slow
def test_a_stopped_client_goes_on(launcher: Launcher) -> None:
    """Stopping and continuing interrupts its calls without an effect."""
    greeted, bound, stopped = threading.Event(), threading.Event(), threading.Event()

    def serve(connection: socket.socket) -> None:
        greeted.set()
        assert stopped.wait(limit())
        stopped.clear()
        connection.sendall(b"go 0\n")
        Request(connection)
        bound.set()
        assert stopped.wait(limit())
        connection.sendall(b"X\x04")

    launcher.serve(serve)
    process = launcher.popen("Stop")
    for event in (greeted, bound):
        assert event.wait(limit())
        process.send_signal(signal.SIGSTOP)
        until(lambda: any(line.startswith("State:\tT") for line in status(process.pid)), "it is not stopped")
        process.send_signal(signal.SIGCONT)
        stopped.set()
    process.communicate(timeout=limit())
    assert process.returncode == 4


if sys.platform != "linux":
    pytest.skip("the fake server reads /proc", allow_module_level=True)
