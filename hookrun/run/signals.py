"""The signals that end hookrun or a hook: caught into a descriptor, or put back to what a new process expects.

Through `_signal`, the C module under `signal`: the enumerations of the latter cost 3.5 ms on every tool call.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # private, but `signal` itself is built on it
import os

ENDING = (1, 2, 15)
"""HUP, INT, TERM: what asks hookrun to end."""

RESTORED = (1, 2, 3, 13, 14, 15, 25)
"""HUP, INT, QUIT, PIPE, ALRM, TERM, XFSZ: what Python, or whoever started hookrun, may have set to be ignored."""


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
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, lambda _number, _frame: None)
    return read_end


def restore() -> None:
    """Put the signals of a forked child to their defaults."""
    _signal.set_wakeup_fd(-1)
    for number in RESTORED:
        _signal.signal(number, _signal.SIG_DFL)
