"""Find the servers of a home: for `hookrun serve`, `status` and `doctor`."""

from __future__ import annotations

import os
import socket
import subprocess

from hookrun.agents import AGENTS
from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import find
from hookrun.core.files import read_or_none
from hookrun.core.nesting import parent_of
from hookrun.launch import caller, launcher_file
from hookrun.launch.launcher_file import LauncherFile
from hookrun.launch.server_socket import directory_of, listening, servers, socket_here
from hookrun.launch.server_start import lock_path

KILOBYTE = 1024
# Bytes shown of a command line, and of the reason why the last server could not start.
MAX_COMMAND, MAX_FAILURE = 100, 500


def running_servers(home: str) -> list[dict[str, object]]:
    """Return the servers of a home, one for each version and control group, as JSON.

    Each has its process id, socket, number of workers, and memory in bytes, shared parts counted once.
    """
    found = [(path, pid, _children(pid)) for path, pid in servers(home)]
    return [
        {"pid": pid, "socket": path, "workers": len(workers), "memory": sum(map(_memory, (pid, *workers)))}
        for path, pid, workers in found
    ]


def setting(home: str, name: str) -> object:
    """Return a home's setting, projects' aside; None if unset."""
    compiled = load_compiled(find(None, home))
    return compiled.settings.get(name) if compiled is not None else None


def describe(home: str) -> tuple[bool, str]:
    """Return whether a home's server is well, and its state in words, "" if no launcher uses one."""
    found = launcher_file.read(launcher_file.path_in(home))
    if found is None:
        return True, ""
    foreign = foreign_server(found)
    if foreign is not None:
        return False, f"{foreign} answers at hookrun's socket and is not its server, so no launcher asks it"
    running = running_servers(home)
    texts = [f"pid {each['pid']}, {round(int(str(each['memory'])) / KILOBYTE**2)} MB" for each in running]
    if setting(home, "warm") == "off":
        still = f"; still running ({'; '.join(texts)})" if texts else ""
        return True, f"off, by the setting `warm`{still}"
    if running:
        return True, f"running ({'; '.join(texts)})"
    if _launchers_are_scripts(home):
        return True, "not used: hookrun was installed without its compiled client, so every run starts Python"
    failure = (read_or_none(lock_path(home), MAX_FAILURE) or b"").decode("utf-8", "backslashreplace").strip()
    return not failure, f"cannot start: {failure}" if failure else "not running; the next run of an agent starts it"


def foreign_server(found: LauncherFile) -> str | None:
    """Return what answers at the socket of launchers without being their server, as they see it; None if nothing."""
    if found.socket is None:
        return None
    path = socket_here(found.socket)
    holder = listening(path)  # before it is asked: a server that is out of date ends then
    try:
        with socket.socket(socket.AF_UNIX) as client, directory_of(path) as name:
            client.settimeout(1)
            client.connect(name)
            pid, _ = caller.credentials(client)
    except OSError:
        return None
    words = (read_or_none(f"/proc/{pid}/cmdline") or b"").split(b"\0")
    wanted = [*map(os.fsencode, found.command[:-1]), b"serve"]
    try:
        is_known = not os.path.exists("/proc/self/exe") or (
            os.path.samefile(f"/proc/{pid}/exe", found.command[0]) and words[: len(wanted)] == wanted
        )
    except FileNotFoundError:  # it has ended
        return None
    if is_known and holder is not None and holder[0] == pid:
        return None
    return f"pid {pid} ({b' '.join(words)[:MAX_COMMAND].decode(errors='replace').strip()})"


def _launchers_are_scripts(home: str) -> bool:
    """Return whether no launcher of a home is the compiled client: only that calls a server."""
    begins = {read_or_none(launcher_file.path_in(home, agent), 2) for agent in AGENTS}
    return begins - {None} == {b"#!"}


def _children(pid: int) -> list[int]:
    if not os.path.exists("/proc/self/stat"):
        pairs = [line.split() for line in _ps("-A", "-o", "pid=,ppid=").splitlines()]
        return [int(child) for child, parent in pairs if int(parent) == pid]
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            if parent_of(int(number)) == pid:
                found.append(int(number))
        except OSError:  # it has ended
            continue
    return found


def _memory(pid: int) -> int:
    """Return a process's memory in bytes; shared parts are divided among the processes where known."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return next((int(line.split()[1]) * KILOBYTE for line in file if line.startswith("Pss:")), 0)
    except OSError:
        return int(_ps("-o", "rss=", "-p", str(pid)).strip() or 0) * KILOBYTE


def _ps(*options: str) -> str:
    """Return what ps(1) prints, nothing without ps, as in a small container."""
    try:
        done = subprocess.run(["ps", *options], capture_output=True, text=True, check=False)  # noqa: S607
    except OSError:
        return ""
    return done.stdout
