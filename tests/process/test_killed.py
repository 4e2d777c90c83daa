"""SIGKILL of hookrun, or of a program that uses it, leaves no hook running, nor anything that a hook has started."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.process import child
from hookrun.process.child import ENDED, NOT_STARTED, Watcher
from tests.compiler import compiler
from tests.conftest import Project
from tests.library.running import program
from tests.process.bench import processes_in, watch, watched, watcher_pid
from tests.process.test_processes import CONTEXT, Signpost, running, signpost
from tests.waiting import limit, until, vary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc here")

FAR = "setsid sh -c 'trap \"\" TERM HUP; sleep 300' & "
NEAR = "(trap '' TERM HUP; sleep 300) & "
NO_ENVIRONMENT = "env -i /bin/sh -c 'sleep 300' & "
STAYS = f"{FAR}{NEAR}{NO_ENVIRONMENT}sleep 300"
"""A hook with a grandchild in a separate session, one that ignores signals, and one that has no marker."""
PYTHON_STAYS = """
import subprocess, time

def run(context):
    subprocess.Popen(["setsid", "sleep", "300"])
    time.sleep(300)
"""
KILLS = 100
AT_ONCE = 10
PROGRAMS = Path(__file__).with_name("programs")

__all__ = ["compiler", "signpost"]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Return a project in which nothing runs any more at the end."""
    made = Project(tmp_path)
    yield made
    for pid in processes_in(made.root):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def gone(directory: Path) -> bool:
    """Return whether no process works in the directory."""
    return not processes_in(directory)


def hooks_of(project: Project, name: str) -> list[int]:
    """Return the processes of one hook."""
    marks = (f"HOOKRUN_HOOK={name}\0", f"HOOKRUN_CONFIG_DIR={project.root}\0")
    found = []
    for pid in processes_in(project.root):
        try:
            environment = Path(f"/proc/{pid}/environ").read_text()
        except OSError:
            continue
        if all(mark in environment for mark in marks):
            found.append(pid)
    return found


@pytest.mark.slow
def test_a_hundred_kills_at_random_moments_leave_nothing(project: Project) -> None:
    """Whenever hookrun is killed, while it starts, starts hooks, waits for them: soon none of them is left."""
    project.hooks(
        {"name": "quick", "command": "true"},
        {"name": "shell", "command": STAYS, "timeout": 600, "parallel": True},
        {"name": "python", "python": "stays:run", "timeout": 600, "parallel": True},
    )
    (project.root / "stays.py").write_text(PYTHON_STAYS)
    for _ in range(KILLS // AT_ONCE):
        for fire in [project.start(CONTEXT, "fire", "pre_tool_use") for _ in range(AT_ONCE)]:
            vary(random.uniform(0, 0.3))  # noqa: S311  # nothing secret
            fire.kill()
            fire.communicate()
        until(lambda: gone(project.root), "something runs on")


def test_the_agent_that_kills_the_whole_group_of_hookrun_leaves_nothing_either(
    project: Project, signpost: Callable[[str], Signpost]
) -> None:
    """What ends the hooks is in no group that an agent would kill."""
    begun = signpost("begun")
    project.hooks({"command": f"{FAR}{NEAR}echo > begun; sleep 300", "timeout": 600})
    with running(project, "setsid") as fire:
        begun.wait()
        os.killpg(fire.process.pid, signal.SIGKILL)
        fire.process.wait()
        until(lambda: gone(project.root), "something runs on")


def test_what_a_hook_that_has_ended_left_running_is_not_killed(
    project: Project, signpost: Callable[[str], Signpost]
) -> None:
    """A hook that ended by itself may leave children: only what still runs when hookrun is killed is its to end."""
    begun = signpost("begun")
    project.hooks(
        {"name": "leaves", "command": "setsid sleep 301 >/dev/null 2>&1 & exit 0"},
        {"name": "stays", "command": f"{FAR}echo > begun; sleep 300", "timeout": 600},
    )
    with running(project) as fire:
        begun.wait()
        fire.process.kill()
        fire.process.wait()
        until(lambda: len(processes_in(project.root)) <= 1, "the hook runs on")
        (left,) = processes_in(project.root)
        assert b"301" in Path(f"/proc/{left}/cmdline").read_bytes()


def test_a_background_hook_lives_on_and_is_killed_with_its_own_supervisor(
    project: Project, signpost: Callable[[str], Signpost]
) -> None:
    """SIGKILL of hookrun leaves it to its supervisor; SIGKILL of the supervisor ends it."""
    begun, also = signpost("begun"), signpost("also")
    project.hooks(
        {"name": "behind", "command": f"{FAR}echo $PPID > also; sleep 300", "timeout": 600, "background": True},
        {"name": "stays", "command": "echo > begun; sleep 302", "timeout": 600},
    )
    with running(project) as fire:
        begun.wait()
        supervisor = int(also.wait())
        fire.process.kill()
        fire.process.wait()
        until(lambda: not hooks_of(project, "stays"), "the hook runs on")
        assert hooks_of(project, "behind")
        os.kill(supervisor, signal.SIGKILL)
        until(lambda: gone(project.root), "something runs on")


def test_hookrun_waits_for_the_watcher_it_started(project: Project) -> None:
    """No process is left to the one that adopts orphans: in a container that may be a program that reaps nothing."""
    project.hooks({"command": "exit 2"}, {"name": "second", "command": "true", "always": True})
    trace = project.root / "trace"
    done = subprocess.run(
        ["strace", "-f", "-o", trace, "-e", "trace=execve,exit_group,wait4", *project.command("fire", "pre_tool_use")],
        cwd=project.root,
        env=project.environment(),
        input=CONTEXT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    lines = trace.read_text().splitlines()
    started = {line.split()[0] for line in lines if "execve(" in line}
    reaped = {line.split("wait4(")[1].split(",")[0] for line in lines if "wait4(" in line}
    assert len(started) == 4
    assert len(started - reaped) == 1  # hookrun itself


def test_a_program_that_is_killed_leaves_no_hook_of_its_engine(
    project: Project, signpost: Callable[[str], Signpost]
) -> None:
    """Hooks in its threads, from several concurrent fires, end with it."""
    begun = signpost("begun")
    project.user_hooks(
        {"name": "quick", "event": "stop", "command": "true"},
        {"name": "stays", "command": f"{FAR}{NEAR}echo in >> begun; sleep 300", "timeout": 600},
    )
    host = program(project, (PROGRAMS / "host.py").read_text())
    seen = b""
    while seen.count(b"in") < 3:
        seen += begun.wait()
    host.kill()
    host.communicate()
    until(lambda: gone(project.root), "something runs on")


SOURCE = Path(child.WATCH_PROGRAM).with_name("watcher.c")


@pytest.fixture(params=["shell", "compiled", "not for this machine"])
def watches(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have watchers be the shell's script, or the compiled program."""
    program = tmp_path / "watcher"
    monkeypatch.setattr(child, "WATCH_PROGRAM", str(program))
    if request.param == "compiled":
        subprocess.run(
            [request.getfixturevalue("compiler"), "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE],
            check=True,
        )
    elif request.param != "shell":
        program.write_bytes(b"\x7fELF of another machine")
        program.chmod(0o755)


OWN, OTHERS = b"watched%d.own;" % os.getpid(), b"watched%d.%%d;" % os.getpid()
"""Markers that no hook of another test process contains."""


class Hook:
    """A process that a watcher has to end."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(["sleep", "300"], start_new_session=True)

    def ended_by(self, watcher: Watcher) -> bool:
        """Let the pipe of the watcher end, and return whether that killed the process."""
        watcher.release()
        os.waitid(os.P_PID, watcher_pid(watcher), os.WEXITED | os.WNOWAIT)
        try:
            return self.process.wait(0.01) == -signal.SIGKILL
        except subprocess.TimeoutExpired:
            return False
        finally:
            watched(watcher).clear()
            watcher.close()
            self.process.kill()
            self.process.wait()


@pytest.mark.slow
@pytest.mark.usefixtures("watches")
def test_the_list_of_a_watcher_stays_right_when_its_pipe_is_full() -> None:
    """After more hooks beside it than a pipe holds lines of, the one that runs is still known; an ended one is not."""
    for stays in (True, False):
        watcher, hook = Watcher(), Hook()
        watcher.note(OWN, hook.process.pid)
        first = watcher_pid(watcher)
        for number in range(20_000):
            watcher.note(OTHERS % number, NOT_STARTED)
            watcher.note(OTHERS % number, ENDED)
        assert watcher_pid(watcher) != first
        if not stays:
            watcher.note(OWN, ENDED)
        assert hook.ended_by(watcher) is stays


@pytest.mark.usefixtures("watches")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_watcher_that_is_gone_or_does_not_read_is_replaced(number: signal.Signals) -> None:
    """The next one knows all that runs; the old one kills nothing."""
    watcher, hook = Watcher(), Hook()
    watcher.note(OWN, hook.process.pid)
    first = watcher_pid(watcher)
    os.kill(first, number)
    for each in range(40_000):
        watcher.note(OTHERS % each, NOT_STARTED)
        watcher.note(OTHERS % each, ENDED)
        if watcher_pid(watcher) != first:
            break
    assert watcher_pid(watcher) != first
    assert hook.process.poll() is None
    assert hook.ended_by(watcher)


@pytest.mark.sampled(6)
@pytest.mark.usefixtures("watches")
@pytest.mark.parametrize(
    ("begun", "lines", "started"),
    [
        ((), b"", ""),
        (("a.1; 7",), b"", "/\n-I -S orphans.py a.1; 7\n"),
        (("a.1; 7",), b"=\n", ""),
        (("a.1; 7",), b"=\nb.1; 0\nb.1; 8\n", "/\n-I -S orphans.py b.1; 0 b.1; 8\n"),
        ((), b"c.1; 0\nc.1; 9\n=\n=\nd.1; 0\nd.1; 1", "/\n-I -S orphans.py d.1; 0\n"),
        ((), b"e.1; 0\n" * 9_000, "/\n-I -S orphans.py" + " e.1; 0" * 9_000 + "\n"),
    ],
    ids=["nothing", "begun", "ended", "another", "cut", "full"],
)
def test_a_watcher_ends_what_is_left_in_its_lines(
    tmp_path: Path, begun: tuple[str, ...], lines: bytes, started: str
) -> None:
    """It reads them when its input ends, and starts Python with the hooks that still run; without any it only ends."""
    python, seen = tmp_path / "python", tmp_path / "seen"
    seen.touch()
    python.write_text(f'#!/bin/sh\n{{ pwd; echo "$@"; }} >> "{seen}"\n')
    python.chmod(0o755)
    (end, closes), (out, into) = os.pipe(), os.pipe()
    pid = watch((str(python), *begun), {b"ORPHANS": b"orphans.py"}, (end, out, end), (closes, into))
    os.write(into, lines)
    for fd in (end, out, into, closes):
        os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert seen.read_text() == started


def test_hooks_run_where_no_watcher_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without resources for it starts no watcher; nothing else fails."""

    def fails(*_: object, **_options: object) -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(child, "posix_spawn", fails)
    watcher = Watcher()
    before = len(os.listdir("/proc/self/fd"))
    watcher.note(OWN, NOT_STARTED)
    watcher.note(OWN, os.getpid())
    watcher.note(OWN, ENDED)
    watcher.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_closed_pool_leaves_no_watcher(project: Project) -> None:
    """The watcher of a program ends with the last engine that is closed while nothing runs."""
    project.user_hooks({"name": "quick", "event": "stop", "command": "true"})
    host = program(project, (PROGRAMS / "host.py").read_text(), "closes")
    _, stderr = host.communicate(timeout=limit())
    assert host.returncode == 0, stderr
