"""Find and kill a hook's processes: its group, session, descendants, and those with its marker.

As a script, do so for the hooks of a killed process (see child.Watcher).
"""

from __future__ import annotations

import os
import sys
from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrun.process.child import Process

    Member = tuple[int, int]

ROUNDS = 40
# Seconds: a killed process may stay visible a moment.
BETWEEN_ROUNDS = 0.005

TERM, KILL = 15, 9
# Seconds between searches for a starting hook: its environment is unreadable during the exec.
PAUSES = (0.01, 0.03, 0.06, 0.1, 0.2)
# How often Ctrl-C may interrupt the search for a process before it ends.
MAX_INTERRUPTS = 10
# Searches for a process that may have been started.
SEARCHES = 5
# A family's process id if only its marker is known.
UNKNOWN_PID = -1
# Index of the start time in /proc/PID/stat, counted from the state (proc(5)).
START_TIME = 19

# The watcher's script: when stdin ends, it reads the lines of running hooks from its second pipe.
#
# Until then it never wakes, and the lines wait in the pipe.
WATCH = """\
cd /
read -r end
exec <&1
while read -r line; do
  case $line in
    =) set -- ;;
    *) set -- "$@" "$line" ;;
  esac
done
[ $# = 0 ] || exec "$0" -I -S "$ORPHANS" "$@"
"""


class ProcessFamily:
    """One hook's processes: its id, the marker in their environment, and the members found so far.

    A member is (process id, start time in clock ticks).
    """

    def __init__(self, pid: int, marker: bytes) -> None:
        self.pid = pid
        self.marker = marker
        self.known: frozenset[Member] = frozenset()


def find(families: list[ProcessFamily]) -> None:
    """Search all processes once; note each family's living members.

    These are its group, its session, processes with its marker, those found earlier, and all their descendants. Without
    /proc (macOS) none are found.
    """
    parents: dict[int, int] = {}
    begun: dict[int, int] = {}
    found: list[set[int]] = [set() for _ in families]
    own = os.getpid()
    for number in _processes():
        stat = _read(f"/proc/{number}/stat")
        fields = stat[stat.rfind(b")") + 2 :].split()
        if len(fields) <= START_TIME or fields[0] in (b"Z", b"X") or number == own:
            continue
        parents[number], begun[number] = int(fields[1]), int(fields[START_TIME])
        group, session, environment = int(fields[2]), int(fields[3]), _read(f"/proc/{number}/environ")
        for family, members in zip(families, found, strict=True):
            known = family.pid in (group, session) or (number, begun[number]) in family.known
            if known or (family.marker and family.marker in environment):
                members.add(number)
    for family, members in zip(families, found, strict=True):
        while children := {n for n, parent in parents.items() if parent in members or parent == family.pid} - members:
            members.update(children)
        family.known = frozenset((number, begun[number]) for number in members)


def kill(families: list[ProcessFamily]) -> None:
    """Kill these families, and what they start meanwhile."""
    for _ in range(ROUNDS):
        find(families)
        members = frozenset().union(*(family.known for family in families))
        if not members:
            return
        for number, _ in members:
            try:
                os.kill(number, KILL)
            except OSError:
                continue
        sleep(BETWEEN_ROUNDS)


def count(pid: int, marker: bytes) -> int:
    """Return how many of a hook's processes are alive."""
    family = ProcessFamily(pid, marker)
    find([family])
    return len(family.known)


def terminate(processes: Sequence[Process]) -> None:
    """Send TERM to these hooks. Record their descendants while they can be found."""
    find([process.family for process in processes if process.family is not None])
    for process in processes:
        _signal_group(process, TERM)


def kill_hooks(processes: Sequence[Process]) -> None:
    """Kill these hooks, after TERM, and all that is left of them, also outside their sessions."""
    for process in processes:
        _signal_group(process, KILL)
    kill([process.family for process in processes if process.family is not None])


def _signal_group(process: Process, signal: int) -> None:
    """Signal the hook's process group, or the hook alone if it has none yet."""
    try:
        os.killpg(process.pid, signal)
    except ProcessLookupError:
        if process.status is None:
            try:
                os.kill(process.pid, signal)
            except ProcessLookupError:  # reaped by other code
                return
    except PermissionError:
        pass


def kill_by_marker(marker: bytes) -> None:
    """Kill a process of unknown id, perhaps started just before Ctrl-C, which may come again."""
    family = ProcessFamily(UNKNOWN_PID, marker)
    started: set[Member] = set()
    for _ in range(MAX_INTERRUPTS):
        try:
            for _ in range(SEARCHES):  # its environment is unreadable during the exec
                find([family])
                started |= family.known
                if started:
                    break
                sleep(BETWEEN_ROUNDS)
            kill([family])
            for number, _ in started:
                try:
                    os.waitpid(number, 0)
                except ChildProcessError:
                    continue
        except KeyboardInterrupt:
            continue
        return


def main(lines: list[str]) -> None:
    """Kill the hooks in a list of `MARKER PID`: the last line of a hook counts; -1: it has ended."""
    pids: dict[str, int] = {}
    for line in lines:
        marker, _, pid = line.rpartition(" ")
        pids[marker] = int(pid)
    families = [ProcessFamily(pid or UNKNOWN_PID, marker.encode()) for marker, pid in pids.items() if pid >= 0]
    find(families)  # first: descendants are found by their parents
    for family in families:
        if family.pid > 0:
            try:
                os.killpg(family.pid, KILL)
            except OSError:
                continue
    kill(families)
    for pause in PAUSES if any(family.pid == UNKNOWN_PID for family in families) else ():
        sleep(pause)
        kill(families)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


if __name__ == "__main__":
    main(sys.argv[1:])
