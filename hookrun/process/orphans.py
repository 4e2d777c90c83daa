"""The processes a hook has left or hidden: its group, its session, its descendants, and what carries its marker."""

from __future__ import annotations

import os
from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    Member = tuple[int, int]

ROUNDS = 40
BETWEEN_ROUNDS = 0.005
"""Seconds: a process that was killed is seen for a moment longer."""

KILL = 9
LOOKS = 5
"""How often what may have been started is looked for."""
NOBODY = -1
"""The process id of a head of which only the marker is known."""
START_TIME = 19
"""Where /proc/PID/stat has the start time, counted from the state on (proc(5))."""


class ProcessFamily:
    """A hook whose processes are looked for: its process id, the word its environment carries, and who is known.

    A member is (process id, when it started, in clock ticks).
    """

    __slots__ = ("known", "marker", "pid")

    def __init__(self, pid: int, marker: bytes) -> None:
        self.pid = pid
        self.marker = marker
        self.known: frozenset[Member] = frozenset()


def find(heads: list[ProcessFamily]) -> None:
    """Look once through all processes and note, for each hook, the living ones that belong to it.

    These are its group and session, those whose environment holds its marker, those known from an earlier look, and
    all their descendants. Where there is no /proc (macOS) nothing can be seen.
    """
    parents: dict[int, int] = {}
    begun: dict[int, int] = {}
    found: list[set[int]] = [set() for _ in heads]
    own = os.getpid()
    for number in _processes():
        stat = _read(f"/proc/{number}/stat")
        fields = stat[stat.rfind(b")") + 2 :].split()
        if len(fields) <= START_TIME or fields[0] in (b"Z", b"X") or number == own:
            continue
        parents[number], begun[number] = int(fields[1]), int(fields[START_TIME])
        group, session, environment = int(fields[2]), int(fields[3]), _read(f"/proc/{number}/environ")
        for head, members in zip(heads, found, strict=True):
            known = head.pid in (group, session) or (number, begun[number]) in head.known
            if known or (head.marker and head.marker in environment):
                members.add(number)
    for head, members in zip(heads, found, strict=True):
        while children := {n for n, parent in parents.items() if parent in members or parent == head.pid} - members:
            members.update(children)
        head.known = frozenset((number, begun[number]) for number in members)


def kill(heads: list[ProcessFamily]) -> None:
    """Kill all that belongs to these hooks, and what it starts meanwhile."""
    for _ in range(ROUNDS):
        find(heads)
        members = frozenset().union(*(head.known for head in heads))
        if not members:
            return
        for number, _ in members:
            try:
                os.kill(number, KILL)
            except OSError:
                continue
        sleep(BETWEEN_ROUNDS)


def kill_by_marker(marker: bytes) -> None:
    """End what may have been started a moment before an exception came (Ctrl-C), so that its number is not known."""
    head = ProcessFamily(NOBODY, marker)
    for _ in range(LOOKS):  # while it becomes another program its environment cannot be seen
        find([head])
        if head.known:
            break
        sleep(BETWEEN_ROUNDS)
    started = head.known
    kill([head])
    for number, _ in started:
        try:
            os.waitpid(number, 0)
        except ChildProcessError:
            continue


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
