"""The signals that end hookrun or a hook: caught into a descriptor, or put back to what a new process expects.

Through `_signal`, the C module under `signal`: the enumerations of the latter cost 3.5 ms on every tool call.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # private, but `signal` itself is built on it
import os

ENDING = (1, 2, 15)
"""HUP, INT, TERM: what asks hookrun to end."""

RESTORED = tuple(number for number in range(1, 32) if number not in (_signal.SIGKILL, _signal.SIGSTOP))
"""What Python, or whoever started hookrun, may have set to be ignored: every signal that can be."""


_before: dict[int, object] = {}
"""What each of them did before they were caught; not Python's own answer to INT: what is left to do needs none."""


def catch() -> int:
    """Make the ending signals readable from the returned descriptor instead; those ignored stay ignored."""
    _signal.signal(
        _signal.SIGCHLD, _signal.SIG_DFL
    )  # ignored by whoever started us, it would take our children's status
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    _signal.set_wakeup_fd(write_end)
    for number in ENDING:
        before = _signal.getsignal(number)
        if before != _signal.SIG_IGN:
            _before[number] = _signal.SIG_DFL if before is _signal.default_int_handler else before
            _signal.signal(number, lambda _number, _frame: None)
    return read_end


def release() -> None:
    """Let the ending signals do again what they did before."""
    _signal.set_wakeup_fd(-1)
    for number, before in _before.items():
        _signal.signal(number, before)
    _before.clear()


def restore() -> None:
    """Put the signals of a forked child to their defaults, none of them blocked."""
    _signal.set_wakeup_fd(-1)
    for number in RESTORED:
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
