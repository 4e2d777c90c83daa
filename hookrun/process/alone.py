"""One hook run by a caller that waits for it: as long as all goes as usual without a loop, which takes over if not."""

from __future__ import annotations

import os
import select
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.model import Outcome
from hookrun.process.child import CHUNK, PIPE_ATOMIC, CannotStart, Process
from hookrun.process.loop import MAX_INTERRUPTS, PIDFD_AFTER, pidfd

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.process.child import Task
    from hookrun.process.loop import Loop

_RUNNING: set[Process] = set()


def run(task: Task, wake: int, loop: Callable[[], Loop]) -> Outcome:
    """Run the task and return its outcome; whatever is raised, it is not left running.

    `loop` makes the loop that goes on with what is not usual: that it lasts, that it has to wait to begin, that its
    stdin takes long, that something comes at the descriptor `wake`, which the loop watches too.
    """
    now = monotonic()
    deadline = min(now + task.timeout, task.deadline)
    if task.lock is not None or len(task.stdin) > PIPE_ATOMIC or now >= deadline:
        return loop().run([task])[0]
    process = Process(task, Outcome(), now, deadline)
    _RUNNING.add(process)
    try:
        process.spawn()
        if not _ends_soon(process, wake):
            return loop().go_on(process)
        process.finish()
    except CannotStart as error:
        process.outcome.failure = error.failure
    except BaseException as error:
        if isinstance(error, OSError) and not process.pid:  # what is scarce may be given back by others
            return loop().run([task])[0]
        _terminate(process, loop)
        raise
    finally:
        _RUNNING.discard(process)
    return process.outcome


def _ends_soon(process: Process, wake: int) -> bool:
    """Read what the process writes; tell whether it has closed its streams and exited before our patience ends."""
    poll = select.poll()
    for fd in (process.out, process.err, wake):
        poll.register(fd, select.POLLIN)
    until = min(process.deadline, process.started + PIDFD_AFTER)
    while process.out >= 0 or process.err >= 0:
        ready = poll.poll(max(0, int((until - monotonic()) * 1000) + 1))
        if not ready:
            return False
        for fd, _ in ready:
            if fd == wake:
                return False
            data = os.read(fd, CHUNK)
            if data:
                process.collect(fd, data)
            else:
                poll.unregister(fd)
                process.close_stream(fd)
    process.exited = process.is_gone() or _exits_soon(process, poll, until)
    return process.exited


def _exits_soon(process: Process, poll: select.poll, until: float) -> bool:
    """Wait for a process that has closed its streams, and is about to exit; tell whether it has."""
    found = pidfd(process.pid)
    if found < 0:
        return False
    process.pidfd = found
    poll.register(found, select.POLLIN)
    poll.poll(max(0, int((until - monotonic()) * 1000) + 1))
    return process.is_gone()


def _terminate(process: Process, loop: Callable[[], Loop]) -> None:
    """End a process that has been started, however often Ctrl-C comes."""
    for _ in range(MAX_INTERRUPTS):
        try:
            if process.pid and not process.outcome.ms:
                loop().abandon(process)
        except KeyboardInterrupt:
            continue
        return


def _after_fork() -> None:
    for process in _RUNNING:
        process.close_in_fork()
    _RUNNING.clear()


os.register_at_fork(after_in_child=_after_fork)
