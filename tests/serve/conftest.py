"""A separate server for each test that asks for one."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import LAUNCHED
from tests.serve.warm_client import WarmClient
from tests.waiting import limit, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Project


class RunningServer:
    """A server process, and its socket."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.process = subprocess.Popen(
            [sys.executable, *LAUNCHED, "serve", "--foreground", "--socket", str(socket)],
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            umask=0o077,  # as of a server that a cold run has started
        )
        until(lambda: socket.exists() or self.process.poll() is not None, "no socket")
        assert self.process.poll() is None, self.process.communicate()
        until(self.children, "no worker")  # the first worker comes after the socket

    def client(self) -> WarmClient:
        """Return a client that is connected."""
        return WarmClient(self.socket)

    def children(self) -> list[int]:
        """Return the process ids of the workers."""
        return workers_of(self.process.pid)

    def end(self) -> bytes:
        """End it, and return its stderr."""
        self.process.terminate()
        return self.process.communicate(timeout=limit())[1]


def workers_of(server: int) -> list[int]:
    """Return the workers of a server; all are process ids."""
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(server)], capture_output=True, check=False)
    return [int(word) for word in done.stdout.split()]


def send(client: WarmClient, project: Project, *argv: str, context: bytes) -> None:
    """Send a run without reading its output."""
    with open(os.devnull, "r+b") as nothing, open(project.temporary / "sent", "w+b") as stdin:
        stdin.write(context)
        stdin.seek(0)
        streams = (stdin.fileno(), nothing.fileno(), nothing.fileno())
        client.request(["fire", *argv], project.environment(), streams, project.root)


class WarmRun:
    """The result of a run in the server."""

    def __init__(self, status: int | None, stdout: bytes, stderr: bytes) -> None:
        self.status = status
        self.stdout = stdout
        self.stderr = stderr.decode()


class WarmProject:
    """A project whose runs go to a server."""

    def __init__(self, project: Project, server: RunningServer) -> None:
        self.project = project
        self.server = server

    def start(
        self, *argv: str, stdin: int, stdout: int, stderr: int, environment: dict[str, str] | None = None
    ) -> WarmClient:
        """Send a run, which has not been answered yet."""
        client = self.server.client()
        client.greeting()
        client.request(
            ["fire", *argv],
            environment if environment is not None else self.project.environment(),
            (stdin, stdout, stderr),
            self.project.root,
        )
        return client

    def send(self, context: bytes, *argv: str) -> WarmClient:
        """Send a run without reading its output; it has not been answered yet."""
        client = self.server.client()
        client.greeting()
        send(client, self.project, *argv, context=context)
        return client

    def fire(self, *argv: str, context: bytes = b"{}", environment: dict[str, str] | None = None) -> WarmRun:
        """Run `fire` with these arguments, and return its result."""
        ends = [os.pipe() for _ in range(2)]
        with open(self.project.temporary / "stdin", "w+b") as stdin:
            stdin.write(context)
            stdin.seek(0)
            client = self.start(
                *argv, stdin=stdin.fileno(), stdout=ends[0][1], stderr=ends[1][1], environment=environment
            )
        texts = []
        for _, write_end in ends:
            os.close(write_end)
        for read_end, _ in ends:
            with open(read_end, "rb") as file:
                texts.append(file.read())
        status = client.answer()
        client.close()
        return WarmRun(status, *texts)


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that is ended with the test."""
    running = RunningServer(tmp_path_factory.mktemp("s") / "socket")
    yield running
    said = running.end()
    assert said == b""


@pytest.fixture
def warm(project: Project, server: RunningServer) -> WarmProject:
    """A project with a server."""
    return WarmProject(project, server)
