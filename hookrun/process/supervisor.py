"""Run a background hook under a forked supervisor, which enforces its timeout and reports its end."""

from __future__ import annotations

import os

from hookrun.model import Failure, Interrupted, Outcome
from hookrun.process.loop import Loop
from hookrun.process.spawn import WATCHER, catch_signals, restore_signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.process.child import Task


_started: set[int] = set()
"""Supervisors that are children of this process and may have ended."""


def start(task: Task, on_end: Callable[[Outcome], None]) -> Outcome:
    """Fork a supervisor that runs the task and calls `on_end` with its outcome; return at once.

    The supervisor closes every descriptor of ours, so that nothing that reads our streams to their end waits for it.
    """
    try:
        pid = os.fork()
    except OSError as error:
        return Outcome(Failure("spawn", f"could not start its supervisor: {error.strerror}"))
    if pid:
        _started.add(pid)
        return Outcome()
    try:
        _leave()
        try:
            outcome = Loop(wake=catch_signals()).run([task])[0]
        except Interrupted as interrupted:
            outcome = interrupted.outcomes[0] or Outcome()
            outcome.failure = Failure("signal", f"ended when its supervisor received signal {interrupted.signal}")
        WATCHER.close()
        on_end(outcome)
    finally:
        os._exit(0)


def reap() -> None:
    """Take the exit status of supervisors that have ended, in a process that lives on."""
    for pid in tuple(_started):
        if os.waitpid(pid, os.WNOHANG)[0]:
            _started.discard(pid)


def _leave() -> None:
    WATCHER.forget()
    _started.clear()
    os.setsid()
    restore_signals()
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
