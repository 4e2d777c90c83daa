"""A server serves the version in its socket's name, ends when that has changed, and leaves nothing behind."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hookrun.launch import launcher_file
from hookrun.launch.server_socket import listening, package_identity, servers, socket_base, take_lock
from hookrun.launch.server_start import lock_path
from hookrun.launch.watched_package import WatchedPackage
from tests.conftest import copy_package
from tests.process.test_processes import alive
from tests.serve.conftest import workers_of
from tests.serve.test_lacking import until_idle
from tests.serve.test_starting import COMMAND, MAIN, Account, account, servers_of
from tests.serve.warm_client import ColdError, WarmClient
from tests.waiting import until

__all__ = ["account"]

CHANGES_ONCE = """
import os, time
if not os.path.exists({marker!r}):
    with open({marker!r}, "w") as file:
        file.write(str(os.getpid()))
    with open({other!r}, "a") as file:
        file.write("\\n")
"""


def copied(account: Account, directory: Path) -> tuple[Path, list[str]]:
    """Return a copy of the package that the account's launchers start, and the command."""
    package = copy_package(directory / "hookrun")
    command = [*COMMAND[:-2], str(package / "__main__.py"), "fire"]
    launcher_file.write(str(account.conf), launcher_file.LauncherFile(command).text().encode())
    return package, command


def listens(account: Account) -> bool:
    """Return whether a server of this home listens."""
    return any(servers(str(account.home)))


def may_start(account: Account) -> bool:
    """Return whether a cold run may start a server, as none is just starting or could not start."""
    try:
        with open(lock_path(str(account.home))) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return lock.read() == ""
    except FileNotFoundError:  # one with --foreground
        return True
    except BlockingIOError:
        return False


def started(account: Account) -> tuple[str, int]:
    """Return socket and process of the only server of the home, once it listens and has finished starting."""
    until(lambda: listens(account) and may_start(account), "no server has started")
    (server,) = servers(str(account.home))
    return server


@pytest.mark.slow
@pytest.mark.parametrize("module", ["launch/server.py", "core/engine.py"])
def test_a_package_changed_while_it_is_loaded_is_not_served(account: Account, tmp_path: Path, module: str) -> None:
    """What a server has loaded would be under a name of another state; it ends, and the next run starts another."""
    package, command = copied(account, tmp_path)
    marker = tmp_path / "marker"
    path = package / module
    code = CHANGES_ONCE.format(marker=str(marker), other=str(package / "core" / "events.py"))
    path.write_text(path.read_text() + code)
    account.cold("off", command)
    until(lambda: marker.exists() and marker.read_text() != "", "the module was not loaded")
    first = int(marker.read_text())
    until(lambda: not alive(first), "it runs on")
    account.cold("off", command)
    assert started(account)[1] != first


@pytest.mark.slow
def test_a_caller_that_comes_with_a_change_is_sent_away(account: Account, tmp_path: Path) -> None:
    """Whichever of the two the server notices first."""
    package, command = copied(account, tmp_path)
    account.cold("off", command)
    path, pid = started(account)
    os.kill(pid, signal.SIGSTOP)
    with WarmClient(path) as client:
        with (package / "core" / "events.py").open("a") as file:
            file.write("\n")
        os.kill(pid, signal.SIGCONT)
        with pytest.raises(ColdError, match=r"outdated|stopping"):
            client.greeting()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only there changes are waited for")
def test_a_replaced_server_that_waits_for_its_last_worker_does_not_compute(account: Account, tmp_path: Path) -> None:
    """An installer changes more files after the first one that the server has noticed."""
    package, command = copied(account, tmp_path)
    account.cold("off", command)
    path, pid = started(account)
    until(lambda: workers_of(pid) != [], "no worker")
    (worker,) = workers_of(pid)
    os.kill(worker, signal.SIGSTOP)
    for _ in range(2):
        with (package / "core" / "events.py").open("a") as file:
            file.write("\n")
        until(lambda: not Path(path).exists(), "its socket stays")
    until_idle(pid)
    os.kill(worker, signal.SIGCONT)
    until(lambda: not alive(pid), "it runs on")


@pytest.mark.slow
def test_the_server_of_another_version_is_shown_and_stopped(account: Account, tmp_path: Path) -> None:
    """Also once launchers look for another one."""
    account.cold("off")
    path, pid = started(account)
    copied(account, tmp_path)
    assert [server["socket"] for server in account.servers()] == [path]
    assert f"stopped the server (pid {pid})" in account.hookrun("serve", "--stop")
    until(lambda: not alive(pid), "it runs on")


def test_a_server_of_another_home_is_left_alone(account: Account) -> None:
    """Homes may share the directory of sockets."""
    account.cold("off")
    path, pid = started(account)
    assert listening(path) == (pid, str(account.home))
    assert list(servers(f"{account.home}/other")) == []


@pytest.mark.slow
def test_uninstall_of_the_last_agent_ends_the_server(account: Account) -> None:
    """Nothing starts it any more, and nothing would find it."""
    (account.home / ".claude").mkdir()
    (account.home / ".gemini").mkdir()
    account.hookrun("install", "claude", "gemini", "--scope", "user", "--all-events", "--from-here")
    account.cold("off")
    _, pid = started(account)
    account.hookrun("uninstall", "gemini", "--scope", "user")
    assert alive(pid)
    account.hookrun("uninstall", "claude", "--scope", "user")
    assert not account.conf.exists()
    until(lambda: not alive(pid), "it runs on")


@pytest.mark.slow
def test_lock_files_go_with_their_servers(account: Account) -> None:
    """Those of servers that were killed go when the next one starts."""
    account.cold("off")
    path, pid = started(account)
    dead = account.socket.parent / f"{'0' * 16}-{'1' * 16}.sock"
    lock = take_lock(str(dead))
    assert lock is not None
    dead.touch()
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), "it runs on")
    account.cold("no-server")
    path, pid = started(account)
    assert dead.exists()  # it is locked
    account.hookrun("serve", "--stop")
    os.close(lock)
    account.cold("no-server")
    path, pid = started(account)
    assert sorted(each.name for each in account.socket.parent.iterdir()) == [Path(path).name, f"{Path(path).name}.lock"]
    account.hookrun("serve", "--stop")
    until(lambda: list(account.socket.parent.iterdir()) == [], "files stay")


@pytest.mark.slow
def test_a_stopped_server_is_ended_by_the_next_start(account: Account) -> None:
    """It would cost every run two seconds."""
    account.cold("no-server")
    path, pid = started(account)
    os.kill(pid, signal.SIGSTOP)
    account.cold("timeout")
    until(lambda: not alive(pid), "it runs on")
    assert started(account)[1] != pid
    assert len(servers_of(account)) == 1
    with WarmClient(path) as client:
        assert client.greeting() == b"go 0\n"


@pytest.mark.slow
def test_a_stopped_server_can_be_stopped(account: Account) -> None:
    """`serve --stop` shows and ends it."""
    account.cold("no-server")
    _, pid = started(account)
    os.kill(pid, signal.SIGSTOP)
    assert f"stopped the server (pid {pid})" in account.hookrun("serve", "--stop")
    until(lambda: not alive(pid), "it runs on")


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["python", "site-packages/other.py"])
def test_another_interpreter_or_package_ends_the_server(account: Account, tmp_path: Path, changed: str) -> None:
    """It has loaded the one before."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "added.py").touch()
    interpreter = tmp_path / "python"
    shutil.copy(os.path.realpath(sys.executable), interpreter)
    code = "import sys; sys.path.append({!r}); sys.executable = {!r}; import added; from hookrun.cli import run; "
    code = code.format(str(packages), str(interpreter)) + "sys.exit(run(sys.argv[1:]))"
    account.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    argv = ["serve", "--foreground", "--home", str(account.home), "--socket", str(account.socket)]
    server = subprocess.Popen([sys.executable, "-c", code, *argv], cwd=Path(MAIN).parent.parent)
    path, _ = started(account)
    (tmp_path / changed).write_bytes(b"")

    def call() -> bool:
        try:
            WarmClient(path).close()
        except OSError:
            pass
        return server.poll() is not None

    until(call, "it runs on")
    assert server.returncode == 0


@pytest.mark.slow
def test_a_launcher_of_another_version_is_renewed_before_it_finds_the_server(account: Account) -> None:
    """It may speak another protocol: each of its calls would end without an answer, and run no hook."""
    (account.home / ".claude").mkdir()
    account.hookrun("install", "claude", "--scope", "user", "--all-events", "--from-here")
    launcher = account.conf.parent / "claude"
    written = launcher.read_bytes()
    launcher.write_bytes(b"#!/bin/sh\nexit 1\n")
    account.cold("no-server")
    account.until_served()
    assert launcher.read_bytes() == written
    assert launcher.stat().st_mode & 0o7777 == 0o700
    assert not (account.conf.parent / "gemini").exists()


def test_the_server_renews_the_command_of_an_earlier_version(account: Account) -> None:
    """It has other options of the interpreter."""
    earlier = [COMMAND[0], "-I", MAIN, "fire"]
    launcher_file.write(str(account.conf), launcher_file.LauncherFile(earlier).text().encode())
    account.cold("off", earlier)
    account.until_served()
    found = launcher_file.read(str(account.conf))
    assert found is not None
    assert (found.command, found.socket) == (COMMAND, socket_base(str(account.home)))


def test_no_server_is_found_by_a_launcher_that_cannot_be_renewed(account: Account) -> None:
    """The calls go on without a server."""
    launcher = account.conf.parent / "claude"
    (launcher / "in the way").mkdir(parents=True)
    account.cold("no-server")
    lock = Path(lock_path(str(account.home)))
    until(lambda: b"launcher" in lock.read_bytes(), "no reason is recorded")
    found = launcher_file.read(str(account.conf))
    assert found is not None
    assert found.socket is None
    assert not account.socket.exists()


def test_a_package_of_which_a_part_cannot_be_listed_is_none_that_was_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its other modules alone would be another package, which no user has."""
    scandir = os.scandir

    def vanishing(path: str) -> object:
        if path.endswith("/recipes"):
            raise FileNotFoundError(errno.ENOENT, "gone", path)
        return scandir(path)

    assert package_identity()
    monkeypatch.setattr(os, "scandir", vanishing)
    assert package_identity() == []


def test_changes_are_taken_note_of_where_they_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without a free descriptor would wait for none of them, and compute all the time."""

    def full(*_arguments: object) -> int:
        raise OSError(errno.EMFILE, "full")

    package = WatchedPackage()
    end, changes = os.pipe()
    os.set_blocking(end, False)
    monkeypatch.setattr(package, "_fd", end)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        for _ in range(2):
            os.write(changes, b"x")
            assert not package.has_changed()
            assert select.select([end], [], [], 0)[0] == []
    assert not package.has_changed()
    monkeypatch.setattr("hookrun.launch.watched_package.package_identity", lambda: ["another"])
    os.write(changes, b"x")
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        assert not package.has_changed()
    assert package.has_changed()
    os.close(end)
    os.close(changes)
