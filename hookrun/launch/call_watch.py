"""End a worker whose call of a recipe runs too long, however it hangs."""

from __future__ import annotations

from mmap import mmap
from struct import Struct

DEADLINE = Struct("d")


class CallWatch:
    """The time by which a worker's present call must end: memory that it shares with its server.

    The worker itself ends a call that runs Python; native code can only be ended from outside. A worker that is gone
    with a deadline set went within a call, whatever its exit status.
    """

    def __init__(self) -> None:
        self._memory = mmap(-1, DEADLINE.size)

    def begin(self, deadline: float) -> None:
        """Watch a call that must end by this (monotonic) time."""
        DEADLINE.pack_into(self._memory, 0, deadline)

    def end(self) -> None:
        """Watch no longer."""
        self.begin(0.0)

    def deadline(self) -> float:
        """Return the time by which the present call must end, 0 without one."""
        found: float = DEADLINE.unpack_from(self._memory)[0]
        return found
