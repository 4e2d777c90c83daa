"""The processes a hook has left or hidden: its group, its session, its descendants, and what carries its trace."""

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


def family(pid: int, trace: bytes, known: frozenset[Member] = frozenset()) -> frozenset[Member]:
    """Return the living processes that belong to the hook `pid`, each as (id, when it started, in clock ticks).

    These are its group and session, those whose environment holds `trace`, those `known` from an earlier look, and
    all their descendants. Where there is no /proc (macOS) nothing can be seen and the answer is empty.
    """
    parents: dict[int, int] = {}
    begun: dict[int, int] = {}
    found: set[int] = set()
    own = os.getpid()
    for number in _processes():
        stat = _read(f"/proc/{number}/stat")
        fields = stat[stat.rfind(b")") + 2 :].split()
        if len(fields) < 20 or fields[0] in (b"Z", b"X") or number == own:  # noqa: PLR2004  # up to the start time
            continue
        parents[number], begun[number] = int(fields[1]), int(fields[19])
        belongs = pid in (int(fields[2]), int(fields[3])) or (number, begun[number]) in known
        if belongs or (trace and trace in _read(f"/proc/{number}/environ")):
            found.add(number)
    grown = True
    while grown:
        children = {number for number, parent in parents.items() if parent in found or parent == pid} - found
        found |= children
        grown = bool(children)
    return frozenset((number, begun[number]) for number in found)


def kill_family(pid: int, trace: bytes, known: frozenset[Member]) -> None:
    """Kill all of them, and those they start meanwhile."""
    for _ in range(ROUNDS):
        known = family(pid, trace, known)
        if not known:
            return
        for number, _ in known:
            try:
                os.kill(number, KILL)
            except OSError:
                continue
        sleep(BETWEEN_ROUNDS)


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
