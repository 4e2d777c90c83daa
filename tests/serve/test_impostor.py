"""A program of the account that listens at the server's socket: it is not asked, and hookrun names it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.launch import caller, launcher_file
from hookrun.launch.client import compiled_client
from hookrun.launch.launcher_file import LauncherFile
from hookrun.launch.running import foreign_server
from hookrun.launch.server_socket import directory_of, socket_here, take_lock
from tests.cli.command import hookrun
from tests.fire.agents import Agent, Told, run, says
from tests.waiting import until
from tests.warm import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Project

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose socket it is")

ENDS_WHEN_ASKED = """
import socket
from hookrun.launch.server_socket import release_lock, sign_lock, take_lock
path = {path!r}
lock = take_lock(path)
sign_lock(lock, "home")
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    listener.accept()
    release_lock(path, lock)
    listener.accept()
"""


@pytest.fixture
def impostor(project: Project) -> Iterator[socket.socket]:
    """Install for Claude Code, and listen at the socket of its launcher, with the lock."""
    project.user_hooks({"command": says(action="block", message="no"), "on_failure": "block"})
    assert hookrun(project, "install", "claude", "--trust").status == 0
    conf = launcher_file.read(launcher_file.path_in(str(project.home)))
    assert conf is not None
    path = Path(socket_here(str(conf.socket)))
    path.parent.mkdir(mode=0o700, parents=True)
    lock = take_lock(str(path))
    assert lock is not None
    os.write(lock, f"{os.getpid()}\n{os.readlink('/proc/self/ns/pid')}\n{project.home}".encode())
    with socket.socket(socket.AF_UNIX) as listener:
        with directory_of(str(path)) as name:
            listener.bind(name)
        listener.listen()
        yield listener
    os.close(lock)


@pytest.mark.skipif(compiled_client() is None, reason="there is no compiled client")
def test_it_is_not_asked(project: Project, impostor: socket.socket) -> None:
    """Though it says that the call may continue: the guard is asked without a server."""
    agent = Agent("claude", project)
    launcher = launcher_file.path_in(str(project.home), "claude")
    pid = os.fork()
    if not pid:
        connection, _ = impostor.accept()
        connection.sendall(b"go 0\n")
        connection.recv(1)
        os._exit(0)
    done = run(project, [launcher, "PreToolUse", "--home", str(project.home)], stdin=agent.shell("ls"), env={"CI": "1"})
    os.waitpid(pid, 0)
    assert Told(agent, done).reason == "no"
    assert project.audit()[-1]["cold"] == "foreign-server"


@pytest.mark.usefixtures("impostor")
def test_it_is_named(project: Project) -> None:
    """With its process, by `status` and `doctor`."""
    expected = f"pid {os.getpid()} ("
    for command in ("status", "doctor", "serve"):
        printed = hookrun(project, command).stdout.replace("\n", " ")
        assert expected in printed, command
        assert "is not its server" in " ".join(printed.split()), command


def test_a_server_that_ends_because_it_is_asked_is_not_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is out of date does, and leaves its lock: the first `doctor` after an installation found that."""
    base = str(tmp_path / "s")

    def credentials(client: socket.socket) -> tuple[int, int]:
        until(lambda: not Path(f"{socket_here(base)}.lock").exists(), "it keeps its lock")
        return peer(client)

    peer = caller.credentials
    monkeypatch.setattr(caller, "credentials", credentials)
    script = tmp_path / "server.py"
    script.write_text(ENDS_WHEN_ASKED.format(path=socket_here(base)))
    with subprocess.Popen([sys.executable, str(script), "serve"], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()
        found = foreign_server(LauncherFile([sys.executable, str(script), "fire"], base))
        server.kill()
    assert found is None


def test_the_server_is_not_one(project: Project) -> None:
    """It is what launchers look for."""
    assert hookrun(project, "install", "claude", "--all-events", "--trust").status == 0
    with serving(project.home):
        assert "running (pid" in hookrun(project, "status").stdout


def test_a_server_in_the_foreground_is_found_by_launchers(project: Project) -> None:
    """Started as a command, it takes the command line by which they know it."""
    assert hookrun(project, "install", "claude", "--all-events", "--trust").status == 0
    command = [sys.executable, "-m", "hookrun", "serve", "--foreground", "--idle", "1"]
    done = subprocess.run(command, env=project.environment(), cwd=project.root, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
