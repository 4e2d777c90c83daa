"""Callers at the socket: the worker that waits there takes them, the server the others; whoever ends, none is left."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from hookrun.serve import caller
from tests.serve.test_lacking import Started, is_greeted, send, start, workers_of
from tests.serve.test_worker import alive, wait_for
from tests.serve.warm_client import ColdError, WarmClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Project
    from tests.serve.conftest import RunningServer, WarmProject

__all__ = ["start"]

SERVER_ALONE = "from hookrun.serve import reception\nreception.WORKERS_WAIT = False\n"
"""As on macOS."""
SLOW_LOOK = """
import time
from hookrun.serve import reception
refusal = reception.Reception.refusal
def look(*arguments):
    open(PATH + ".looks", "w").close()
    time.sleep(0.3)
    return refusal(*arguments)
reception.Reception.refusal = look
"""
CHANGEABLE = """
from hookrun.serve import watched_package
identity, watch = watched_package.package_identity, watched_package._watch
watched_package.package_identity = lambda: ["new"] if os.path.exists(CHANGED) else identity()
watched_package._watch = lambda places: watch({os.path.dirname(CHANGED), *places})
"""
"""The package has changed when there is this file."""


def wakes(pid: int) -> int:
    """Return how often a process has waited."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))


def test_a_run_does_not_wake_the_server(warm: WarmProject) -> None:
    """The worker that waits takes one caller after the other; the server counts the runs when it wakes by itself."""
    assert warm.fire("stop").status == 0
    time.sleep(0.2)
    before, workers = wakes(warm.server.process.pid), warm.server.children()
    for _ in range(20):
        assert warm.fire("stop").status == 0
    assert wakes(warm.server.process.pid) - before < 5
    assert warm.server.children() == workers


def test_where_only_the_server_can_wait_it_gives_callers_to_idle_workers(
    project: Project, start: Callable[..., Started]
) -> None:
    """One worker serves one after the other there, too, and a signal is answered for."""
    _, path = start(SERVER_ALONE)
    project.hooks({"command": "echo $PPID >> seen"})
    for _ in range(5):
        with WarmClient(path) as client:
            client.greeting()
            send(client, project, "pre_tool_use")
            assert client.answer() == 0
        time.sleep(0.1)
    assert len(set((project.root / "seen").read_text().split())) == 1
    project.hooks({"command": "touch began; sleep 60"})
    with WarmClient(path) as client:
        client.greeting()
        send(client, project, "pre_tool_use")
        wait_for((project.root / "began").exists)
        client.signal(signal.SIGTERM)
        assert client.answer() == 128 + signal.SIGTERM


def test_a_worker_that_is_killed_when_a_caller_has_woken_it(server: RunningServer) -> None:
    """It has not accepted it: the server does, at once."""
    wait_for(lambda: is_greeted(server.socket))
    (worker,) = server.children()
    os.kill(worker, signal.SIGSTOP)
    with server.client() as client:
        os.kill(worker, signal.SIGKILL)
        client.socket.settimeout(1)
        assert client.greeting() == caller.GO


def test_a_worker_that_is_killed_between_accepting_and_greeting(start: Callable[..., Started]) -> None:
    """Its caller hears the end, and has sent nothing; the next one is served."""
    server, path = start(SLOW_LOOK)
    with WarmClient(path) as client:
        wait_for(path.with_suffix(".looks").exists)
        for worker in workers_of(server.pid):
            os.kill(worker, signal.SIGKILL)
        with pytest.raises(ColdError, match="no-greeting"):
            client.greeting()
    assert is_greeted(path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_worker_that_is_killed_between_greeting_and_answer(server: RunningServer, number: int) -> None:
    """There is no answer, and no second run; the next caller is served."""
    wait_for(lambda: is_greeted(server.socket))
    (worker,) = server.children()
    with server.client() as client:
        assert client.greeting() == caller.GO
        os.kill(worker, number)
        assert client.answer() is None
    assert is_greeted(server.socket)
    assert worker not in server.children()


def test_callers_at_the_same_instant(server: RunningServer) -> None:
    """Each is greeted, by the waiting worker or by a new one, and soon."""
    wait_for(lambda: is_greeted(server.socket))
    together, slowest = threading.Barrier(12), []

    def call() -> None:
        together.wait()
        begin = time.monotonic()
        with server.client() as client:
            assert client.greeting() == caller.GO
            slowest.append(time.monotonic() - begin)
            together.wait()

    threads = [threading.Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(slowest) == 12
    assert max(slowest) < 1.5


def test_a_server_that_is_told_to_stop_while_callers_come(start: Callable[..., Started]) -> None:
    """Each is greeted, turned away or finds nobody; none is left waiting."""
    server, path = start()
    waits = []
    for count in range(10_000):
        if count == 200:
            server.terminate()
        begin = time.monotonic()
        try:
            with WarmClient(path) as client:
                client.greeting()
        except (OSError, ColdError):
            if not path.exists():
                break
        waits.append(time.monotonic() - begin)
    assert len(waits) >= 200
    assert max(waits) < 1.5
    server.wait(20)


def test_a_server_that_is_killed_leaves_nobody_at_the_socket(server: RunningServer) -> None:
    """A worker that waits there goes, so that the next caller need not find out by waiting."""
    wait_for(lambda: is_greeted(server.socket))
    (worker,) = server.children()
    server.process.kill()
    server.process.wait()
    wait_for(lambda: not alive(worker))
    with pytest.raises(ConnectionRefusedError):
        server.client()


def test_a_silent_caller_keeps_nobody_else_waiting(server: RunningServer) -> None:
    """Its worker is busy: the server has another one for the next."""
    with server.client() as silent:
        silent.greeting()
        begin = time.monotonic()
        with server.client() as client:
            client.greeting()
        assert time.monotonic() - begin < 1


def test_a_package_replaced_under_a_waiting_worker(start: Callable[..., Started], tmp_path: Path) -> None:
    """It looks for itself: nobody is greeted by what was loaded before, from the first moment on."""
    changed = tmp_path / "changed"
    server, path = start(CHANGEABLE.replace("CHANGED", repr(str(changed))))
    wait_for(lambda: is_greeted(path))
    os.kill(server.pid, signal.SIGSTOP)
    assert is_greeted(path)
    changed.touch()
    with WarmClient(path) as client, pytest.raises(ColdError, match="outdated"):
        client.greeting()
    os.kill(server.pid, signal.SIGCONT)
    assert server.wait(20) == 0
