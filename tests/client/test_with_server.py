"""The compiled client with the real server: the server's answers are those of the cold command."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hookrun
from hookrun.wiring.wired_command import HookrunProgram
from tests.serve.conftest import RunningServer
from tests.serve.test_starting import MESSAGE, account_in
from tests.waiting import limit, until

if TYPE_CHECKING:
    import socket

    from tests.client.conftest import Launcher
    from tests.conftest import Project
    from tests.serve.test_starting import Account

MAIN = str(Path(hookrun.__file__).with_name("__main__.py"))
LOST = "hookrun: its server ended before it answered, so the call was not run; try again\n"
LS = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}


@pytest.mark.slow
@pytest.mark.parametrize("on_error", ["continue", "block"])
def test_a_server_that_is_killed_within_a_run(project: Project, launcher: Launcher, on_error: str) -> None:
    """The call is refused, whatever `on_error` says; its hooks are ended."""
    launcher.use(*HookrunProgram.started_by([sys.executable, MAIN, "fire"]).cold_command())
    server = RunningServer(launcher.socket)
    words, environment = ("PreToolUse", "--home", str(project.home)), project.environment(CI="1")
    message = json.dumps({**LS, "cwd": str(project.root)})
    project.user_hooks({"command": "true"}, on_error=on_error)
    assert launcher.run(*words, stdin=message, env=environment, cwd=project.root).status == 0
    project.user_hooks({"command": "echo $$ > pid; exec sleep 60"}, on_error=on_error)
    process = launcher.popen(*words, env=environment, cwd=project.root)
    assert process.stdin is not None
    process.stdin.write(message)
    process.stdin.flush()  # a whole object is not waited for the end of
    pid_file = project.root / "pid"
    until(lambda: pid_file.exists() and pid_file.read_text(), "no hook")
    for each in (*server.children(), server.process.pid):
        os.kill(each, signal.SIGKILL)
    _, stderr = process.communicate(timeout=limit())
    assert (process.returncode, stderr) == (2, LOST)  # the message does not say which agent sent it
    until(lambda: not Path("/proc", pid_file.read_text().strip()).exists(), "the hook runs on")
    server.process.communicate()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_without_cgroups_limits_and_nice_are_in_the_socket_s_name(launcher: Launcher) -> None:
    """As on macOS: a caller under other ones meets no server; client and server have the same name for it."""
    launcher.use("/bin/echo", "/dev/null", "fire")
    base = launcher.run_directory / "0123456789abcdef"
    code = f"from hookrun.launch.server_socket import socket_here; print(socket_here({str(base)!r}))"
    name = in_no_proc(sys.executable, "-c", code).strip()
    launcher.socket = Path(name)

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"cold busy\n")

    launcher.serve(serve)
    cold = "/dev/null fire --agent claude --cold"
    assert in_no_proc(str(launcher.program), "Stop") == f"{cold} busy Stop\n"
    for change in ("ulimit -n 100; exec", "ulimit -S -c 7; exec", "exec nice -n -5"):
        assert in_no_proc("sh", "-c", f'{change} "$0" Stop', str(launcher.program)) == f"{cold} no-server Stop\n"


def in_no_proc(*command: str) -> str:
    """Run a command where /proc is empty, and return its output."""
    hide = 'mount -t tmpfs none /proc && exec "$@"'
    return subprocess.check_output(["unshare", "--mount", "sh", "-c", hide, "sh", *command], text=True)


def test_a_home_of_any_length_has_a_warm_server(client: Path, tmp_path: Path) -> None:
    """A socket's address has room for about a hundred bytes: its directory's path is not in it."""
    with account_in(tmp_path / ("home" * 60) / ("home" * 60)) as account:
        launcher = account.conf.with_name("claude")
        shutil.copy(client, launcher)
        account.cold("off")
        account.until_served()
        records = account.home / ".local" / "state" / "hookrun" / "audit.jsonl"
        until(lambda: _is_warm_after(account, launcher, records), "no run was warm")
        assert "running (pid" in account.hookrun("serve")


def _is_warm_after(account: Account, launcher: Path, records: Path) -> bool:
    """Run the launcher in a directory that no socket is in, and return whether the server answered."""
    line = [str(launcher), "PreToolUse", "--home", str(account.home)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(account.home)}
    subprocess.run(line, input=MESSAGE, env=environment, cwd=account.home, check=True, capture_output=True)
    return json.loads(records.read_text().splitlines()[-1]).get("warm") is True
