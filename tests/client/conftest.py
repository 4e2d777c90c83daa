"""The compiled client in a separate data directory, with a recorder instead of the cold command."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.client.fake_server import FakeServer, listen
from tests.compiler import compiler
from tests.python_launcher import socket_path
from tests.waiting import limit

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["compiler"]

SOURCE = Path(__file__).resolve().parents[2] / "hookrun" / "launch" / "client" / "client.c"
RECORDER = Path(__file__).with_name("programs").joinpath("recorder.py").read_text()
GONE = 'echo "gone|$*"\n'


class Result(NamedTuple):
    """What a finished client left: its status (negative for a signal) and its output."""

    status: int
    stdout: str
    stderr: str


class Launcher:
    """A data directory with the client as `claude` and what it reads."""

    def __init__(self, directory: Path, run_directory: Path, client: Path) -> None:
        self.data = directory / "data"
        self.data.mkdir()
        self.run_directory = run_directory
        self.socket = Path(socket_path(str(self.run_directory / "0123456789abcdef")))
        self.program = self.data / "claude"
        shutil.copy(client, self.program)
        self.start = directory / "program.py"
        self.start.write_text(RECORDER)
        self.gone = self.data / "gone"
        self.gone.write_text(GONE)
        self.conf = self.data / "launcher.conf"
        self.write_conf(self.lines())
        self._server: FakeServer | None = None

    def lines(self) -> list[str]:
        """Return the lines of a conf that is as it should be."""
        socket = f"socket {self.run_directory / '0123456789abcdef'}"
        return ["hookrun-launcher 1", socket, *(f"exec {word}" for word in (*self.words(), "fire"))]

    def words(self) -> list[str]:
        """Return the cold command without `fire`: with `serve` it is the server."""
        return [sys.executable, "-I", str(self.start)]

    def write_conf(self, lines: list[str]) -> None:
        """Write the conf, whole and with its mode."""
        self.conf.unlink(missing_ok=True)
        self.conf.write_text("".join(f"{line}\n" for line in lines))
        self.conf.chmod(0o600)

    def use(self, *words: str) -> None:
        """Have this as the cold command."""
        self.write_conf([*self.lines()[:2], *(f"exec {word}" for word in words)])

    def serve(
        self,
        serve: Callable[[socket.socket], None],
        *,
        command: list[str] | None = None,
        executable: Path | None = None,
        lock: Path | None = None,
    ) -> FakeServer:
        """Start a server where the client looks for one: this one's, or one of another command, program or lock."""
        listening = listen(command or self.words(), self.socket, lock, executable)
        self._server = FakeServer(listening, serve)
        return self._server

    def renew(self) -> None:
        """Put back all that a client reads, as it should be."""
        for path in (self.conf, self.data / "real"):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        self.write_conf(self.lines())
        self.start.write_text(RECORDER)

    def close(self) -> None:
        """End the server, if there is one."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            self.socket.unlink(missing_ok=True)

    def popen(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        before: Callable[[], object] | None = None,
    ) -> subprocess.Popen[str]:
        """Start the client."""
        return subprocess.Popen(
            [self.program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ if env is None else env,
            cwd=cwd,
            preexec_fn=before,  # noqa: PLW1509  # what a shell would do between fork and exec
        )

    def run(
        self,
        *arguments: str,
        stdin: str = "a message",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        before: Callable[[], object] | None = None,
    ) -> Result:
        """Run the client to its end."""
        process = self.popen(*arguments, env=env, cwd=cwd, before=before)
        stdout, stderr = process.communicate(stdin, timeout=limit())
        return Result(process.returncode, stdout, stderr)


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory, compiler: str) -> Path:
    """Compile the client, without a warning."""
    program = tmp_path_factory.mktemp("client") / "hookrun-client"
    command = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(SOURCE)]
    if subprocess.run([*command, "-static"], capture_output=True, check=False).returncode:
        subprocess.run(command, check=True)
    return program


@pytest.fixture
def launcher(tmp_path: Path, client: Path) -> Iterator[Launcher]:
    """Return a launcher in a separate directory; signals have their default action in what it starts."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)}
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    with tempfile.TemporaryDirectory(prefix="hookrun-") as run_directory:  # a socket's path must be short
        made = Launcher(tmp_path, Path(run_directory), client)
        yield made
        made.close()
        made.run_directory.mkdir(exist_ok=True)
    for number, handler in before.items():
        signal.signal(number, handler)
