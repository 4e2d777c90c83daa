"""A cold run starts the server after it has answered; which callers are served, and obstacles at the start."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from string import ascii_letters
from typing import TYPE_CHECKING

import pytest

import hookrun
from hookrun.launch import launcher_file
from hookrun.launch.server_socket import socket_base, socket_here
from hookrun.launch.server_start import lock_path
from hookrun.wiring.wired_command import HookrunProgram
from tests.account import can_make_accounts, second_account
from tests.conftest import copy_package
from tests.process.test_processes import alive
from tests.serve.warm_client import ColdError, WarmClient
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAIN = str(Path(hookrun.__file__).parent / "__main__.py")
COMMAND = HookrunProgram.started_by([sys.executable, MAIN, "fire"]).cold_command()
MESSAGE = json.dumps(
    {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
).encode()


NAMES_MODULES = """import os, sys
end, me = os._exit, os.getpid()
os._exit = lambda status: (os.getpid() == me and open("modules", "w").write(" ".join(sys.modules)), end(status))
__file__ = sys.argv[0] = sys.argv.pop(1)
exec(compile(open(__file__).read(), __file__, "exec"))"""
"""Runs `__main__.py`, and writes down the modules at the end: not those of the server, which works elsewhere."""


class Account:
    """A home with launchers."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.conf = Path(launcher_file.path_in(str(home)))
        self.conf.parent.mkdir(parents=True)
        launcher_file.write(str(self.conf), launcher_file.LauncherFile(COMMAND).text().encode())
        base = socket_base(str(home))
        assert base is not None
        self.socket = Path(socket_here(base))

    def settings(self, **settings: object) -> None:
        """Write the user's own configuration."""
        path = self.home / ".config" / "hookrun" / "hooks.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"hookrun": settings}))

    def cold(self, reason: str, command: list[str] | None = None, **environment: str) -> dict[str, object]:
        """Run as a launcher does that has no server, and return the record of the run."""
        subprocess.run(
            [*(command or COMMAND), "--agent", "claude", "PreToolUse", "--home", str(self.home), "--cold", reason],
            input=MESSAGE,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), **environment},
            cwd=self.home,
            check=True,
            capture_output=True,
        )
        path = self.home / ".local" / "state" / "hookrun" / "audit.jsonl"
        record: dict[str, object] = json.loads(path.read_text().splitlines()[-1]) if path.exists() else {}
        return record

    def until_served(self) -> None:
        """Wait for the server that a run has started."""
        until(self.socket.exists, "no server has started")

    def has_tried_to_start(self) -> bool:
        """Return whether a run has tried to start a server, in vain or not."""
        return Path(lock_path(str(self.home))).exists()

    def hookrun(self, *argv: str, path: str = os.environ["PATH"]) -> str:
        """Run a hookrun command and return its output."""
        done = subprocess.run(
            [*COMMAND[:-1], *argv],
            env={"PATH": path, "HOME": str(self.home)},
            cwd=self.home,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def servers(self) -> list[dict[str, object]]:
        """Return the servers that run for this home."""
        found: list[dict[str, object]] = json.loads(self.hookrun("status", "--json"))["servers"]
        return found


@pytest.fixture
def account() -> Iterator[Account]:
    """An account in a short directory; its server is ended with the test."""
    with account_in(Path(tempfile.mkdtemp(prefix="hr"))) as made:
        yield made


@contextmanager
def account_in(directory: Path) -> Iterator[Account]:
    """Make an account whose home is this directory; end its server, and remove it."""
    made = Account(directory)
    try:
        yield made
    finally:
        if made.has_tried_to_start():
            made.hookrun("serve", "--stop")
        shutil.rmtree(directory)


def test_no_two_homes_have_a_socket_of_the_same_name() -> None:
    """Their sockets may be in one directory: /run/user of the account."""
    homes = [f"/home/{a}{'x' * 15}{b}" for a in ascii_letters for b in ascii_letters]
    names = {os.path.basename(socket_base(home, identity=()) or home) for home in homes}
    assert len(names) == len(homes)


def test_a_cold_run_starts_the_server_which_ends_when_it_is_stopped(account: Account) -> None:
    """The launchers learn where it is; it has nothing of the run that started it."""
    account.cold("off")
    account.until_served()
    found = launcher_file.read(str(account.conf))
    assert found is not None
    assert found.socket == socket_base(str(account.home))
    (server,) = account.servers()
    pid = int(str(server["pid"]))
    assert int(str(server["memory"])) < 40 << 20
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert os.getsid(pid) == pid
    assert Path(f"/proc/{pid}/environ").read_bytes() == f"HOME={account.home}\0PATH=/usr/bin:/bin\0".encode()
    assert [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (0, 1, 2)] == ["/dev/null"] * 3
    assert "running (pid" in account.hookrun("status")
    assert f"stopped the server (pid {pid})" in account.hookrun("serve", "--stop")
    until(lambda: not alive(pid), "it runs on")
    assert not account.socket.exists()
    assert account.hookrun("serve") == "not running; the next run of an agent starts it\n"
    assert account.hookrun("serve", "--stop") == "no server is running\n"


@pytest.mark.slow
def test_a_server_is_shown_where_there_is_no_ps(account: Account) -> None:
    """Small containers have none."""
    account.cold("off")
    account.until_served()

    def workers() -> list[int]:
        return [each["workers"] for each in json.loads(account.hookrun("status", "--json", path="/nowhere"))["servers"]]

    until(lambda: workers() != [0], "no worker")  # the first one comes after the socket
    assert workers() == [1]
    assert "running (pid" in account.hookrun("status", path="/nowhere")


def test_the_run_that_starts_the_server_needs_no_more_of_python_than_others(account: Account) -> None:
    """The agent waits for its end: what takes long is the server's part."""
    account.cold("no-server", [*COMMAND[:-2], "-c", NAMES_MODULES, MAIN, "fire"])
    loaded = (account.home / "modules").read_text().split()
    account.until_served()
    assert "hookrun.launch.server_start" in loaded
    assert {"signal", "enum", "subprocess", "socket"}.isdisjoint(loaded)


@pytest.mark.slow
def test_launchers_that_are_scripts_and_a_setting_that_is_off_are_named(account: Account) -> None:
    """Neither waits for a server that never comes; one that runs still is named nevertheless."""
    account.conf.with_name("claude").write_text("#!/bin/sh\n")
    assert account.hookrun("serve").startswith("not used: hookrun was installed without its compiled client")
    account.cold("no-server")
    account.until_served()
    account.settings(warm="off")
    assert account.hookrun("serve").startswith("off, by the setting `warm`; still running (pid")


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "environment"), [("auto", {}), ("on", {"CI": "true"})])
def test_where_the_server_is_started(account: Account, setting: str, environment: dict[str, str]) -> None:
    """Anywhere, by default, but in CI."""
    account.settings(warm=setting)
    account.cold("no-server", None, **environment)
    account.until_served()


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("setting", "environment"),
    [("off", {}), ("auto", {"CI": "true"}), ("auto", {"HOOKRUN_CHAIN": "0123.1;"})],
)
def test_where_no_server_is_started(account: Account, setting: str, environment: dict[str, str]) -> None:
    """Not if the setting is off, not in CI, not inside a hook."""
    account.settings(warm=setting)
    account.cold("no-server", None, **environment)
    assert not account.has_tried_to_start()


@pytest.mark.slow
def test_a_project_cannot_switch_it_on_or_off(account: Account) -> None:
    """The setting counts in the managed and user layers only."""
    account.settings(warm="off")
    (account.home / ".git").mkdir()
    (account.home / "coder.json").write_text('{"hookrun": {"warm": "on"}}')
    assert account.cold("no-server")["cold"] == "no-server"
    assert not account.has_tried_to_start()


@pytest.mark.slow
def test_the_setting_off_ends_a_server_and_the_launchers_forget_it(account: Account) -> None:
    """The run that sees it is still served."""
    account.cold("no-server")
    account.until_served()
    account.settings(warm="off")
    assert fire_at(account) == 0
    until(lambda: not account.socket.exists(), "the socket stays")
    account.cold("no-server")
    found = launcher_file.read(str(account.conf))
    assert found is not None
    assert found.socket is None
    assert account.hookrun("serve") == "off, by the setting `warm`\n"


@pytest.fixture(params=["unshare --user --map-root-user --net --ipc", "unshare --net", "setpriv --no-new-privs"])
def sandbox(request: pytest.FixtureRequest) -> list[str]:
    """Return the words before a command that run it in a sandbox."""
    words: list[str] = request.param.split()
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip(f"`{request.param}` is not allowed here")
    return words


@pytest.mark.slow
def test_a_run_in_a_sandbox_starts_no_server(account: Account, sandbox: list[str]) -> None:
    """It would own the account's socket and refuse every caller outside its sandbox."""
    account.cold("no-server", [*sandbox, *COMMAND])
    assert not account.has_tried_to_start()
    account.cold("no-server")
    account.until_served()


@pytest.mark.slow
def test_one_of_many_cold_runs_starts_one_server(account: Account) -> None:
    """The others leave it to that one."""
    argv = [*COMMAND, "--agent", "claude", "PreToolUse", "--home", str(account.home), "--cold", "no-server"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(account.home)}
    runs = [
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, cwd=account.home)
        for _ in range(12)
    ]
    for run in runs:
        run.communicate(MESSAGE)
    account.until_served()
    # a run that came late may have started another, which ends as soon as it finds the first
    until(lambda: len(account.servers()) == len(servers_of(account)) == 1, "not one server")


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "[signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)]",
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})",
    ],
    ids=["ignored", "blocked"],
)
def test_a_server_started_with_signals_ignored_or_blocked_passes_that_to_no_hook(account: Account, line: str) -> None:
    """`nohup agent &` starts it with INT and HUP ignored; its hooks are ended by them all the same."""
    code = f"import os, signal, sys\n{line}\nos.execv(sys.argv[1], sys.argv[1:])"
    account.cold("no-server", [sys.executable, "-c", code, *COMMAND])
    account.until_served()
    account.settings()
    hooks = account.home / ".config" / "hookrun" / "hooks.json"
    hook = {"name": "h", "event": "pre_tool_use"}
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        hooks.write_text(json.dumps({"hooks": [{**hook, "command": "echo $$ > pid; exec sleep 60"}]}))
        with started_at(account) as client:
            until(
                lambda: (account.home / "pid").exists() and (account.home / "pid").read_text() != "",
                "the hook has not begun",
            )
            client.signal(number)
            assert client.answer() == 128 + number
        assert not alive(int((account.home / "pid").read_text()))
        (account.home / "pid").unlink()
    hooks.write_text(json.dumps({"hooks": [{**hook, "command": "grep -E 'Sig(Ign|Blk)' /proc/self/status > seen"}]}))
    assert fire_at(account) == 0
    lines = (account.home / "seen").read_text().split()
    assert [int(word, 16) & 0x7FFFFFFF for word in lines[1::2]] == [0, 0]


@pytest.mark.slow
def test_what_lies_at_the_socket_s_place_is_replaced_or_left(account: Account) -> None:
    """A dead socket and a file are replaced; a directory is not, and the reason is shown."""
    account.socket.parent.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(account.socket))
    account.cold("no-server")
    until(lambda: account.servers() != [], "no server has started")
    account.hookrun("serve", "--stop")
    account.socket.mkdir()
    account.cold("no-server")
    until(lambda: "cannot listen at" in lock_of(account), lambda: lock_of(account))
    assert "cannot start: cannot listen at" in account.hookrun("serve")
    account.socket.rmdir()
    before = os.stat(lock_path(str(account.home)))
    account.cold("no-server")  # not again within a minute
    assert os.stat(lock_path(str(account.home))).st_ctime_ns == before.st_ctime_ns
    assert account.servers() == []
    os.utime(lock_path(str(account.home)), (0, 0))
    account.cold("no-server")
    account.until_served()
    assert account.hookrun("serve").startswith("running (pid")


def test_a_server_that_could_not_start_is_tried_again_after_the_clock_was_set_back(account: Account) -> None:
    """Not only when the clock has reached the time of the last try."""
    lock = Path(lock_path(str(account.home)))
    lock.write_text("it did not come up\n")
    lock.chmod(0o600)
    os.utime(lock, (time.time() + 1e6,) * 2)
    account.cold("no-server")
    account.until_served()


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda conf: conf.write_text("hookrun-launcher 1\nexec /usr/bin/pyth")]
)
def test_a_damaged_launcher_file_is_written_anew(account: Account, damage: Callable[[Path], object]) -> None:
    """By the run that its launcher starts without it; the next one starts the server."""
    damage(account.conf)
    account.conf.with_name("gone").touch()
    account.cold("no-launcher-file")
    found = launcher_file.read(str(account.conf))
    assert found is not None
    assert (found.command, found.socket) == (COMMAND, None)
    account.cold("off")
    account.until_served()


def test_a_home_without_launchers_gets_no_server(account: Account) -> None:
    """A run with another home, as `doctor --prove` makes them, leaves nothing there."""
    account.conf.unlink()
    account.cold("no-server")
    account.cold("no-launcher-file")
    assert not account.conf.exists()
    assert not account.has_tried_to_start()


def test_a_directory_that_others_can_enter_has_no_server(account: Account) -> None:
    """Another account could put its own socket there."""
    account.socket.parent.mkdir(parents=True)
    account.socket.parent.chmod(0o755)
    account.cold("no-server")
    until(lambda: "open to others" in lock_of(account), lambda: lock_of(account))
    assert "open to others" in account.hookrun("serve")
    account.socket.parent.chmod(0o700)


@pytest.mark.slow
def test_a_server_whose_socket_was_replaced_ends(account: Account) -> None:
    """The one that is found at the place is the one that counts."""
    account.cold("no-server")
    account.until_served()
    (server,) = account.servers()
    account.socket.rename(account.socket.with_suffix(".old"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(account.socket))
        try:
            with WarmClient(account.socket.with_suffix(".old")) as client:
                client.greeting()
        except (ColdError, ConnectionError):  # it has seen the change before the call
            pass
        until(lambda: not alive(int(str(server["pid"]))), "it runs on")
    assert account.socket.exists()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or not can_make_accounts(), reason="needs root")
def test_another_account_is_not_served(account: Account) -> None:
    """Not even where it can reach the socket: it is turned away before it can ask for anything."""
    account.cold("no-server")
    account.until_served()
    for each in (account.socket.parent, *account.socket.parent.parents[:4]):
        each.chmod(0o755)
    account.socket.chmod(0o777)
    with tempfile.TemporaryDirectory() as directory, second_account(Path(directory)) as home:
        Path(directory).chmod(0o755)
        code = (
            f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(account.socket)!r}); print(s.recv(99))"
        )
        done = subprocess.run(
            ["runuser", "-u", home.name, "--", "/usr/bin/python3", "-c", code],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.strip() == r"b'cold peer\n'", done.stderr
    account.socket.parent.chmod(0o700)


@pytest.mark.slow
def test_two_versions_have_servers_of_their_own(account: Account, tmp_path: Path) -> None:
    """A copy of the package has another socket; the first one's server does not serve it, nor end for it."""
    account.cold("no-server")
    account.until_served()
    copy = copy_package(tmp_path / "hookrun")
    other = [*COMMAND[:-2], str(copy / "__main__.py"), "fire"]
    launcher_file.write(str(account.conf), launcher_file.LauncherFile(other).text().encode())
    account.cold("off", other)
    until(lambda: len(list(account.socket.parent.glob("*.sock"))) == 2, "not two servers")
    found = launcher_file.read(str(account.conf))
    assert found is not None
    assert found.socket is not None
    assert not str(account.socket).startswith(found.socket)
    with WarmClient(account.socket) as client:
        assert client.greeting() == b"go 0\n"
    # the copy is replaced underneath its server
    events = copy / "core" / "events.py"
    events.write_text(events.read_text() + "\n")
    try:
        with WarmClient(socket_here(found.socket)) as client, pytest.raises(ColdError, match=r"outdated|stopping"):
            client.greeting()
    except (FileNotFoundError, ConnectionError):  # it has seen the change by itself, and is gone
        pass
    until(lambda: len(servers_of(account)) == 1, "not one server")


@contextmanager
def started_at(account: Account) -> Iterator[WarmClient]:
    """Send an agent's message to the server, which has not answered yet."""
    with tempfile.TemporaryFile() as stdin, open(os.devnull, "r+b") as nothing, WarmClient(account.socket) as client:
        stdin.write(MESSAGE)
        stdin.seek(0)
        client.greeting()
        client.request(
            ["fire", "--agent", "claude", "PreToolUse", "--home", str(account.home)],
            {"PATH": os.environ["PATH"], "HOME": str(account.home)},
            (stdin.fileno(), nothing.fileno(), nothing.fileno()),
            account.home,
        )
        yield client


def fire_at(account: Account) -> int | None:
    """Run an agent's message at the server, and return the status."""
    with started_at(account) as client:
        return client.answer()


def lock_of(account: Account) -> str:
    """Return the recorded data about the last server that could not start."""
    return Path(lock_path(str(account.home))).read_text()


def servers_of(account: Account) -> list[int]:
    """Return the processes of servers of this home that lead their session, also those that have lost their socket."""
    done = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,sid=,args="], capture_output=True, text=True, check=True)
    lines = [line.split(None, 2) for line in done.stdout.splitlines() if f"--daemon --home {account.home}" in line]
    return [int(pid) for pid, session, _ in lines if pid == session]
