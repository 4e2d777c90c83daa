"""All waiting of the tests: for a condition, for a process, or without end.

What is waited for has a limit, 60 s on a machine that starts a shell and Python quickly, and up to ten times as long on
one that does not. A test that nothing happened waits for nothing: it does what must happen afterwards, or waits for the
record that says why it did not.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

LIMIT = 60.0  # seconds, on a quick machine
QUICK = 0.1  # seconds in which a quick machine starts a shell and Python
AT_MOST = 10.0  # times as slow: a limit that grows without end would hide what hangs
SLOWNESS = "HOOKRUN_TESTS_SLOWNESS"
"""The environment variable by which the session passes what it measured on to its workers."""


@cache
def slowness() -> float:
    """Return how much slower than a quick one this machine is, 1 to 10: as the session measured it, or measured now."""
    if SLOWNESS in os.environ:
        return float(os.environ[SLOWNESS])
    begun = time.perf_counter()
    subprocess.run(["sh", "-c", ":"], check=True)
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)
    return min(max((time.perf_counter() - begun) / QUICK, 1.0), AT_MOST)


def limit() -> float:
    """Return after how many seconds what has not happened here does not happen any more."""
    return LIMIT * slowness()


def until(what: Callable[[], T], why: str | Callable[[], str]) -> T:
    """Wait until `what` returns something true, and return it. `why` says for what the test waited in vain."""
    give_up = time.monotonic() + limit()
    while not (found := what()):
        _give_up_at(give_up, why)
        time.sleep(0.01)
    return found


async def until_async(what: Callable[[], T], why: str | Callable[[], str]) -> T:
    """Wait as `until` does, while the event loop runs."""
    give_up = time.monotonic() + limit()
    while not (found := what()):
        _give_up_at(give_up, why)
        await asyncio.sleep(0.005)
    return found


def _give_up_at(moment: float, why: str | Callable[[], str]) -> None:
    if time.monotonic() > moment:
        raise AssertionError(f"waited {limit():.0f} s in vain: {why if isinstance(why, str) else why()}")


def ended(process: subprocess.Popen[Any]) -> int:
    """Wait until a process ends by itself, and return its exit status."""
    return process.wait(limit())


def is_running(pid: int) -> bool:
    """Return whether a process runs: one that has ended and is not collected does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip()[:1] not in ("", "Z")


def hang() -> None:
    """Block the thread as a handler does that never returns. A second interpreter, or the test's end, ends it."""
    time.sleep(limit())


async def hang_async() -> None:
    """Wait without end, as a handler does that is cancelled some day."""
    await asyncio.sleep(limit())


def vary(seconds: float) -> None:
    """Let a moment pass, so that the rounds of a race differ. No result may depend on how long it is."""
    time.sleep(seconds)
