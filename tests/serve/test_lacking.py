"""How the server and its workers behave when the system, the package, a client or the server itself fails."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import subprocess
import sys
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from hookrun.launch import caller
from hookrun.launch.server import CHECK_EVERY, IDLE_LIMIT, MAX_WORKERS
from hookrun.launch.server_socket import listening
from tests.process.test_processes import alive
from tests.serve.conftest import send, workers_of
from tests.serve.test_starting import COMMAND, Account, account, fire_at
from tests.serve.test_worker import BASH
from tests.serve.warm_client import ColdError, WarmClient
from tests.waiting import ended, until, vary
from tests.warm import children

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Project
    from tests.serve.conftest import RunningServer, WarmProject

__all__ = ["account"]

NO_FORK = """
fork = os.fork
def refuse():
    if os.path.exists(PATH + ".full"): raise BlockingIOError(11, "no process")
    return fork()
os.fork = refuse
"""
NO_MODULE = """
from hookrun.fire import command
def main(*_): raise ImportError("incomplete")
command.main = main
"""
LATE = """
import time
from hookrun.launch import server
def delayed(function): return lambda *arguments: time.sleep(0.2) or function(*arguments)
server.catch_signals, server.sign_lock = delayed(server.catch_signals), delayed(server.sign_lock)
"""
A_BUG = """
from hookrun.fire import invocation
def fail(*_): raise ZeroDivisionError("a bug")
invocation.EventFire.run = fail
"""
A_THREAD = """
import threading, time
from hookrun.fire import command
def main(*_): return threading.Thread(target=time.sleep, args=(60,), daemon=True).start() or 1
command.main = main
"""
IMPATIENT = "from hookrun.launch import server\nserver.WORKER_TIMEOUT = 0.5\n"

Started = tuple["subprocess.Popen[bytes]", "Path"]


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Started]]:
    """Start servers in which something is otherwise; they are ended with the test."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(code: str = "", **options: object) -> Started:
        path = tmp_path_factory.mktemp("s") / "socket"
        begins = f"import os\nPATH = {str(path)!r}\n{code}\nfrom hookrun.launch.daemon import serve\n"
        begins += "from hookrun.launch.watched_package import WatchedPackage\n"
        running.append(
            subprocess.Popen([sys.executable, "-c", f"{begins}serve(PATH, '/', WatchedPackage(), **{options!r})"])
        )
        until(path.exists, "no server has started")
        return running[-1], path

    yield begin
    for each in running:
        each.terminate()
        ended(each)


def sockets_of(pid: int) -> int:
    """Return how many sockets a process has open."""
    with os.scandir(f"/proc/{pid}/fd") as found:
        return sum(os.readlink(each.path).startswith("socket:") for each in found)


def cpu_seconds(pid: int) -> float:
    """Return how long a process has computed."""
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def until_idle(pid: int) -> None:
    """Wait until a process has computed nothing for a while."""
    looks: deque[float] = deque(maxlen=30)

    def is_idle() -> bool:
        looks.append(cpu_seconds(pid))
        return looks.count(looks[-1]) == looks.maxlen

    until(is_idle, "it computes all the time")


@pytest.mark.slow
def test_a_refusal_is_answered_though_the_server_is_gone(
    project: Project, start: Callable[..., Started], capfd: pytest.CaptureFixture[str]
) -> None:
    """The parent is killed while the hook runs: its verdict is the caller's all the same."""
    server, path = start()
    project.hooks({"command": "touch began; sleep 0.5; exit 2"})
    with WarmClient(path) as client:
        client.greeting()
        send(client, project, "pre_tool_use", context=BASH)
        until((project.root / "began").exists, "the hook has not begun")
        server.kill()
        server.wait()
        assert client.answer() == 2
    assert capfd.readouterr().err == ""


def test_a_server_is_known_and_can_be_ended_once_its_socket_is_there(start: Callable[..., Started]) -> None:
    """Whatever takes long at its start: `serve --stop` would not see it, or leave its socket behind."""
    server, path = start(LATE)
    assert listening(str(path)) == (server.pid, "/")
    server.terminate()
    assert ended(server) == 0
    assert not path.exists()


@pytest.mark.slow
def test_a_look_leaves_the_greeting_as_it_is(warm: WarmProject) -> None:
    """Failures block, also for the caller after one that left without a request, or whose worker exits."""
    warm.project.user_hooks({"name": "n", "command": "sleep 60", "timeout": 0.1, "on_failure": "continue"})
    config = warm.project.home / ".config" / "hookrun" / "hooks.json"
    config.write_text(config.read_text().replace("{", '{"hookrun": {"on_error": "block"}, ', 1))
    warm.fire("pre_tool_use", context=BASH)
    for seconds in (0, 0.01, 0.1):
        vary(seconds)
        with warm.server.client() as client:
            assert client.greeting() == caller.GO_BLOCK


@pytest.mark.slow
def test_the_first_greeting_of_a_server_says_that_failures_block(account: Account) -> None:
    """The run that starts it passes that on."""
    account.settings(on_error="block")
    account.cold("no-server")
    account.until_served()
    with WarmClient(account.socket) as client:
        assert client.greeting() == caller.GO_BLOCK
    assert fire_at(account) == 0


@pytest.mark.slow
def test_without_a_process_for_them_callers_are_sent_away(project: Project, start: Callable[..., Started]) -> None:
    """One that is busy is none; when there is a free one, callers are served."""
    _, path = start(NO_FORK)
    project.hooks({"command": "touch began; while test ! -e go; do sleep 0.02; done"})
    with WarmClient(path) as busy:
        busy.greeting()
        send(busy, project, "pre_tool_use", context=BASH)
        until((project.root / "began").exists, "the hook has not begun")
        path.with_suffix(".full").touch()
        for _ in range(3):
            with WarmClient(path) as client, pytest.raises(ColdError, match="busy"):
                client.greeting()
        (project.root / "go").touch()
        assert busy.answer() == 0
    with WarmClient(path) as client:
        client.greeting()
        send(client, project, "stop", context=BASH)
        assert client.answer() == 0


@pytest.mark.slow
def test_callers_who_were_greeted_are_not_kept_without_a_process(
    project: Project, start: Callable[..., Started]
) -> None:
    """The workers that they were promised are gone, and there are no new ones: they are notified, and nothing spins."""
    server, path = start(NO_FORK + IMPATIENT)
    until(lambda: workers_of(server.pid) != [], "no worker")
    (worker,) = workers_of(server.pid)
    os.kill(server.pid, signal.SIGSTOP)
    with WarmClient(path) as first, WarmClient(path) as second:
        path.with_suffix(".full").touch()
        os.kill(worker, signal.SIGSTOP)
        os.kill(server.pid, signal.SIGCONT)
        first.greeting()
        with pytest.raises(ColdError, match="busy"):
            second.greeting()
        os.kill(worker, signal.SIGKILL)
        assert first.answer() is None
    until_idle(server.pid)
    path.with_suffix(".full").unlink()
    until(lambda: is_greeted(path), "no caller is taken")


def is_greeted(path: Path) -> bool:
    """Return whether a server takes callers."""
    with WarmClient(path) as client:
        try:
            client.greeting()
        except ColdError:
            return False
        return True


@pytest.mark.slow
def test_no_server_where_processor_time_is_limited(account: Account) -> None:
    """It would add up over the runs of a worker."""
    code = "import os, resource, sys\n"
    code += "resource.setrlimit(resource.RLIMIT_CPU, (60, 60)); os.execv(sys.argv[1], sys.argv[1:])"
    account.cold("no-server", [sys.executable, "-c", code, *COMMAND])
    assert not account.has_tried_to_start()


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "status"), [("claude", 1), ("copilot", 0)])
def test_a_run_that_cannot_be_loaded_refuses_nothing(
    project: Project, start: Callable[..., Started], agent: str, status: int
) -> None:
    """As in a separate process."""
    _, path = start(NO_MODULE)
    with WarmClient(path) as client:
        client.greeting()
        send(client, project, "--agent", agent, "PreToolUse", context=BASH)
        assert client.answer() == status


@pytest.mark.slow
@pytest.mark.parametrize("code", [A_BUG, A_THREAD])
def test_a_worker_that_is_not_as_before_serves_no_more(
    project: Project, start: Callable[..., Started], capfd: pytest.CaptureFixture[str], code: str
) -> None:
    """After a bug of ours, or with a thread that a run has left, another one takes over."""
    server, path = start(code)
    until(lambda: children(server.pid) != [], "no worker")
    first = children(server.pid)
    with WarmClient(path) as client:
        client.greeting()
        send(client, project, "pre_tool_use", context=BASH)
        assert client.answer() == 1
    until(lambda: not set(first) & set(children(server.pid)), "the worker serves on")
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_looks_do_not_keep_a_server(start: Callable[..., Started]) -> None:
    """It ends after a while without a run, however often it is looked at."""
    server, path = start(idle_limit=1.0)

    def look() -> bool:
        with suppress(OSError):
            WarmClient(path).close()
        return server.poll() is not None

    until(look, "it runs on")
    assert server.poll() == 0


@pytest.mark.slow
def test_a_silent_client_is_not_waited_for(server: RunningServer) -> None:
    """Its worker is ready again after 10 seconds."""
    with server.client() as client:
        client.greeting()
        client.socket.sendall(b"HK")
        assert client.answer() is None
    assert len(server.children()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no /proc")
def test_why_a_caller_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is gone or hidden is another namespace's; a lack of descriptors is not its fault."""
    surroundings = caller.Surroundings()
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert surroundings.refusal(gone.pid, os.geteuid()) == "namespace"

    def fail(number: int) -> Callable[[str], object]:
        def of(_process: str) -> object:
            raise OSError(number, "no")

        return of

    monkeypatch.setattr(caller, "_of", fail(errno.EACCES))
    assert surroundings.refusal(os.getpid(), os.geteuid()) == "namespace"
    monkeypatch.setattr(caller, "_of", fail(errno.EMFILE))
    with pytest.raises(OSError, match="no"):
        surroundings.refusal(os.getpid(), os.geteuid())


@pytest.mark.slow
def test_a_server_without_descriptors_neither_spins_nor_ends(start: Callable[..., Started]) -> None:
    """Callers are served again when there are some."""
    server, path = start()
    until(lambda: is_greeted(path), "no caller is taken")
    until(
        lambda: sockets_of(server.pid) == 1 + len(workers_of(server.pid)), "a connection stays open"
    )  # the connection is closed
    soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    free = min(set(range(soft)).difference(map(int, os.listdir(f"/proc/{server.pid}/fd"))))
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (free, hard))
    with WarmClient(path):
        until_idle(server.pid)  # on a busy machine it may still be at its start
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (free + 1, hard))  # enough to accept, not to look
    with WarmClient(path) as client, pytest.raises(ColdError, match="busy"):
        client.greeting()
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (soft, hard))
    until(lambda: is_greeted(path), "no caller is taken")
    assert alive(server.pid)


def test_a_caller_in_another_sandbox_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS: one that cannot be asked about, too."""
    monkeypatch.setattr(sys, "platform", "darwin")
    reasons: dict[tuple[bool | None, bool | None], str | None] = {}
    for own, its in ((False, False), (True, True), (False, True), (True, False), (None, None)):
        sandboxed = {os.getpid(): own, 1: its}
        monkeypatch.setattr(caller, "is_sandboxed", sandboxed.get)
        reasons[own, its] = caller.Surroundings().refusal(1, os.geteuid())
    assert [both for both, reason in reasons.items() if reason is None] == [(False, False), (True, True)]
    assert set(reasons.values()) == {None, "sandbox"}


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root")
def test_a_caller_with_another_root_directory_is_sent_away(tmp_path: Path) -> None:
    """chroot(2) makes no namespace, but other files have the paths of a hook."""
    code = f"import os; os.chroot({str(tmp_path)!r}); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as caught:
        assert caught.stdout is not None
        caught.stdout.readline()
        assert caller.Surroundings().refusal(caught.pid, os.geteuid()) == "namespace"
        caught.communicate(b"\n")


def test_whether_a_process_is_sandboxed() -> None:
    """Only macOS reports it."""
    assert caller.is_sandboxed(os.getpid()) is (False if sys.platform == "darwin" else None)


@pytest.mark.slow
def test_a_hundred_callers_at_once_are_greeted(server: RunningServer) -> None:
    """So many are served as there can be workers, the others sent away at once: none waits for another's end."""
    for _ in range(3):
        greetings, clients = [], [server.client() for _ in range(100)]
        for client in clients:
            try:
                greetings.append(client.greeting().decode())
            except ColdError as error:
                greetings.append(str(error))
        assert set(greetings) == {"go 0\n", "busy"}
        assert greetings.count("go 0\n") <= MAX_WORKERS
        for client in clients:
            client.close()
        until(lambda: len(server.children()) < MAX_WORKERS, "no worker has ended")


def test_nothing_is_left_a_quarter_of_an_hour_after_the_last_run() -> None:
    """Nor is a server, whenever it looks at the time."""
    assert IDLE_LIMIT + CHECK_EVERY < 16 * 60


def test_a_socket_s_name_may_be_too_long(tmp_path: Path) -> None:
    """The reason is Python's own: the system is not asked."""
    command = [sys.executable, "-m", "hookrun", "serve", "--foreground", "--socket", str(tmp_path / ("x" * 120))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.rpartition(": ")[2]) == (1, "AF_UNIX path too long\n")


def test_options_of_a_server_are_refused_where_none_is_started(tmp_path: Path) -> None:
    """They would have no effect."""
    command = [sys.executable, "-m", "hookrun", "serve", "--socket", str(tmp_path / "s")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "need --foreground" in done.stderr) == (1, True)


def test_of_two_equal_variables_the_first_counts() -> None:
    """As in Python, and getenv(3), of a cold run: execve(2) takes an environment with a name twice."""
    body = caller.COUNTS.pack(1, 3, 0o022) + b"fire\0PATH=/bin\0PATH=/tmp/evil\0A=1\0"
    ours, its = socket.socketpair()
    with ours, its:
        descriptors = [0] * caller.DESCRIPTORS
        socket.send_fds(its, [caller.HEADER.pack(caller.MAGIC, len(body)) + body], descriptors)
        request = caller.receive(ours)
    assert request is not None
    for descriptor in request.descriptors:
        os.close(descriptor)
    assert request.environment == {b"PATH": b"/bin", b"A": b"1"}


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no seccomp")
def test_a_caller_that_seccomp_confines_is_sent_away() -> None:
    """Even without a filter, which the line after that one counts: in the strict mode of prctl(2)."""
    code = "import ctypes, os; os.write(1, b'%d' % ctypes.CDLL(None).prctl(22, 1)); os.read(0, 1)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as confined:
        assert confined.stdout is not None
        if confined.stdout.read(1) != b"0":
            pytest.skip("this kernel has no strict mode of seccomp")
        assert caller.Surroundings().refusal(confined.pid, os.geteuid()) == "privileges"
        confined.kill()
