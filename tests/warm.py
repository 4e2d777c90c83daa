"""A real server for tests, and the launchers that send it what would otherwise be run cold."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hookrun.launch.client import compiled_client
from hookrun.launch.launcher_file import LauncherFile, path_in, read, update_socket, write
from hookrun.launch.server_socket import socket_here
from hookrun.wiring.wired_command import HookrunProgram
from tests.fire.agents import AGENTS
from tests.isolation import run_folder
from tests.torture.reaper import command_line
from tests.waiting import limit, until

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
MAIN = ROOT / "hookrun" / "__main__.py"
LAUNCHER = Path(__file__).with_name("python_launcher.py")
REAPER = Path(__file__).parent / "torture" / "reaper.py"
PYTHON = (sys.executable, "-I", "-S", "-X", "utf8")


class WarmServer:
    """A server with a directory for its socket, whose name must be short, and one for launchers. A context manager.

    Its parent is a reaper, which adopts what runs leave behind. `within` begins its command line; without
    `serve` there are only the launchers.
    """

    def __init__(self, *options: str, main: Path = MAIN, within: Sequence[str] = (), serve: bool = True) -> None:
        self.directory = Path(tempfile.mkdtemp(dir=run_folder()))
        self.runtime = self.directory / "run"
        self.launchers = self.directory / "launchers"
        for made in (self.runtime, self.launchers):
            made.mkdir(mode=0o700)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.directory)}
        self.cold = HookrunProgram.started_by([sys.executable, str(main), "fire"]).cold_command()
        self.options = options
        self.within = within
        self.serve = serve
        self.commands = 0
        self.socket = Path()

    def __enter__(self) -> Self:
        base = str(self.runtime / "s")
        self._make_launchers(base)
        if self.serve:
            self._start(Path(socket_here(base)))
        return self

    def _start(self, at: Path) -> None:
        self.socket = at
        serve = [*self.within, *self.cold[:-1], "serve", "--foreground", "--socket", str(at), *self.options]
        self.reaper = subprocess.Popen(
            [sys.executable, str(REAPER), str(self.directory / "report"), *serve],
            cwd="/",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(self.directory / "stderr").open("wb"),
        )
        until(self.socket.exists, (self.directory / "stderr").read_text)
        [self.pid] = children(self.reaper.pid)

    def _make_launchers(self, base: str) -> None:
        self.conf = self.launchers / "launcher.conf"
        write(str(self.conf), LauncherFile(self.cold, base).text().encode())
        client = compiled_client()
        if client is not None:
            for name in AGENTS:
                shutil.copy(client, self.launchers / name)

    def __exit__(self, *_: object) -> None:
        """End the server and the hooks that it left."""
        try:
            if self.serve:
                self._end()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _end(self) -> None:
        try:
            os.kill(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        try:
            self.reaper.wait(limit())
        finally:
            self.reaper.kill()

    def command(self, *arguments: str) -> list[str]:
        """Return the command line that sends `fire ARGUMENTS` to the server."""
        self.commands += 1
        if arguments[:2] == ("fire", "--agent") and (self.launchers / arguments[2]).exists():
            return [str(self.launchers / arguments[2]), *arguments[3:]]
        return [*PYTHON, str(LAUNCHER), str(self.conf), *arguments]

    def lives(self) -> bool:
        """Return whether the server still runs."""
        return state(self.pid) not in ("", "Z", "X")

    def family(self) -> list[int]:
        """Return the server, its workers and all their descendants."""
        found = [self.pid]
        for pid in found:
            found += children(pid)
        return found

    def left(self) -> list[int]:
        """Return the processes that runs left behind."""
        return [pid for pid in children(self.reaper.pid) if pid != self.pid]

    def reap(self, earlier: Collection[int] = ()) -> dict[str, object]:
        """Report what runs left behind, and end it; and the memory of the largest process of the server's.

        `earlier` are processes of other runs: a background hook of a test before outlives the worker that started it.
        """
        left = [pid for pid in self.left() if pid not in earlier]
        lines = [command_line(pid) for pid in left]
        peaks = [line.split()[1] for pid in self.family() for line in status(pid) if line.startswith("VmHWM:")]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return {"left": lines, "peak_kilobytes": max(map(int, peaks))}


@contextmanager
def serving(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server that the launchers of a home look for, and yield its process."""
    conf = path_in(str(home))
    found = read(conf)
    assert found is not None, conf
    server = subprocess.Popen(
        [*found.command[:-1], "serve", "--foreground", "--home", str(home)],
        cwd="/",
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        stdin=subprocess.DEVNULL,
    )
    try:
        run = home / ".local/state/hookrun/run"
        sockets = until(lambda: list(run.glob("*.sock")), "the server's socket")
        update_socket(conf, found.command, str(sockets[0]).rpartition("-")[0])
        yield server
    finally:
        server.terminate()
        server.wait(limit())


def status(pid: int) -> list[str]:
    """Return the lines of a process's status; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return []


def children(parent: int) -> list[int]:
    """Return the living children of a process."""
    return [pid for pid in all_children(parent) if state(pid) not in ("", "Z", "X")]


def all_children(parent: int) -> list[int]:
    """Return the children of a process, those included that have ended and are not reaped."""
    found: dict[int, None] = {}
    for _ in range(2):  # one of them is left out where another is reaped at the same moment
        for thread in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found.update(dict.fromkeys(map(int, thread.read_text().split())))
            except OSError:  # the thread, or the process, has just ended
                continue
    return list(found)


def state(pid: int) -> str:
    """Return the letter of a process's state, "" if it has been reaped."""
    return next((line.split()[1] for line in status(pid) if line.startswith("State:")), "")


def waits(pid: int) -> bool:
    """Return whether a process waits for something to happen, or has ended."""
    return state(pid) in ("S", "")


def descriptors(pid: int) -> int:
    """Return how many descriptors a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid: int) -> int:
    """Return the KB of memory that only this process holds, and its share of what it shares."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
