"""The compiled client with the real server: the server's answers are those of the cold command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hookrun
from hookrun.wiring.wired_command import HookrunProgram
from tests.serve.conftest import RunningServer
from tests.waiting import limit, until

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from tests.client.conftest import Launcher, Result
    from tests.conftest import Project

START = str(Path(hookrun.__file__).with_name("start.py"))
LS = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
ENDED = "hookrun: the server ended before it answered\n"


class Wired:
    """A project, its launcher and a server for it."""

    def __init__(self, project: Project, launcher: Launcher) -> None:
        self.project = project
        self.launcher = launcher
        launcher.use(*HookrunProgram.started_by([sys.executable, START, "fire"]).cold_command())
        self.arguments = ("PreToolUse", "--home", str(project.home))
        self.environment = project.environment(CI="1")  # a cold run starts no server
        self.payload = json.dumps({**LS, "cwd": str(project.root)})
        self.server = RunningServer(launcher.socket)

    def fire(self) -> Result:
        """Run the installed line."""
        return self.launcher.run(*self.arguments, stdin=self.payload, env=self.environment, cwd=self.project.root)

    def start(self) -> subprocess.Popen[str]:
        """Start the installed line with a hook that does not end, and wait until that runs."""
        process = self.launcher.popen(*self.arguments, env=self.environment, cwd=self.project.root)
        assert process.stdin is not None
        process.stdin.write(self.payload)
        process.stdin.close()
        process.stdin = None
        until(lambda: process.poll() is not None or (self.pid_file.exists() and self.pid_file.read_text()), "no hook")
        assert process.poll() is None, process.communicate()
        return process

    @property
    def pid_file(self) -> Path:
        """Where the hook that does not end writes its process id."""
        return self.project.root / "pid"

    def hook_ended(self) -> None:
        """Wait until that hook has ended."""
        process = Path("/proc", self.pid_file.read_text().strip())
        until(lambda: not process.exists(), "the hook runs on")


@pytest.fixture
def wired(project: Project, launcher: Launcher) -> Iterator[Wired]:
    """A launcher with a server, which is ended with the test."""
    made = Wired(project, launcher)
    yield made
    if made.server.process.poll() is None:
        assert made.server.end() == b""


@pytest.mark.slow
def test_the_answer_is_the_same_warm_and_cold(wired: Wired) -> None:
    """With a hook that blocks and without any; the audit shows which it was."""
    warm = wired.fire()
    wired.project.user_hooks({"command": "echo no >&2; exit 2"})
    blocked = wired.fire()
    wired.server.end()
    wired.server.process.wait()
    cold = wired.fire()
    records = [record for record in wired.project.audit() if record["kind"] == "fire"]
    assert [(record.get("warm"), record.get("cold")) for record in records[-2:]] == [(True, None), (None, "no-server")]
    assert (warm.status, warm.stderr) == (0, "")
    shown = [json.loads(result.stdout)["hookSpecificOutput"] for result in (blocked, cold)]
    assert shown[0] == shown[1]
    assert shown[0]["permissionDecision"] == "deny"


@pytest.mark.slow
@pytest.mark.parametrize(("on_error", "status"), [("continue", 1), ("block", 2)])
def test_a_server_that_is_killed_within_a_run(wired: Wired, on_error: str, status: int) -> None:
    """The run has failed, under `on_error` as the server last saw it; its hooks are ended."""
    wired.project.user_hooks({"command": "true"}, on_error=on_error)
    assert wired.fire().status == 0
    wired.project.user_hooks({"command": "echo $$ > pid; exec sleep 60"}, on_error=on_error)
    process = wired.start()
    for pid in (*wired.server.children(), wired.server.process.pid):
        os.kill(pid, signal.SIGKILL)
    _, stderr = process.communicate(timeout=limit())
    assert (process.returncode, stderr) == (status, ENDED)
    wired.hook_ended()


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_as_it_ends_a_cold_one(wired: Wired, number: signal.Signals) -> None:
    """The same status and the same output."""
    wired.project.user_hooks({"command": "echo $$ > pid; exec sleep 60"})
    results = []
    for _ in ("warm", "cold"):
        process = wired.start()
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=limit())
        results.append((process.returncode % 256, stdout, stderr))
        wired.hook_ended()
        wired.pid_file.unlink()
        if wired.server.process.poll() is None:
            assert wired.server.end() == b""
    assert results[0] == results[1]


@pytest.mark.slow
def test_a_killed_client_leaves_no_hook(wired: Wired) -> None:
    """The server ends what ran for it, and serves the next."""
    wired.project.user_hooks({"command": "echo $$ > pid; exec sleep 60"})
    process = wired.start()
    process.kill()
    process.communicate(timeout=limit())
    wired.hook_ended()
    wired.project.user_hooks({"command": "true"})
    assert wired.fire().status == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_without_cgroups_limits_and_nice_are_in_the_socket_s_name(launcher: Launcher) -> None:
    """As on macOS: a caller under other ones meets no server; client and server have the same name for it."""
    launcher.use("/bin/echo", "/dev/null", "fire")
    base = launcher.run_directory / "0123456789abcdef"
    code = f"from hookrun.server_socket import socket_here; print(socket_here({str(base)!r}))"
    name = in_no_proc(sys.executable, "-c", code).strip()
    launcher.socket = Path(name)

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"cold busy\n")

    launcher.serve(serve)
    cold = "/dev/null fire --agent claude --cold"
    assert in_no_proc(str(launcher.program), "Stop") == f"{cold} busy Stop\n"
    for change in ("ulimit -n 100; exec", "ulimit -S -c 7; exec", "exec nice -n 5"):
        assert in_no_proc("sh", "-c", f'{change} "$0" Stop', str(launcher.program)) == f"{cold} no-server Stop\n"


def in_no_proc(*command: str) -> str:
    """Run a command where /proc is empty, and return its output."""
    hide = 'mount -t tmpfs none /proc && exec "$@"'
    return subprocess.check_output(["unshare", "--mount", "sh", "-c", hide, "sh", *command], text=True)
