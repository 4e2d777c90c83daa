"""Load the compiled configuration; when many runs start together, one compiles it and the others wait for its file."""

from __future__ import annotations

import fcntl
import os
from time import monotonic, sleep

from hookrun import state
from hookrun.config.cache import CompiledConfig, load_cached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.config.discovery import ConfigFiles

LONGEST_WAIT = 2.0
"""Seconds after which a run compiles for itself: the one that holds the lock may have been stopped."""


def load_compiled(found: ConfigFiles) -> CompiledConfig | None:
    """Return the compiled configuration of these files, from the cache if that is fresh; None without any file."""
    return load_cached(found) or compile_once(found) if found.files else None


def compile_once(found: ConfigFiles) -> CompiledConfig:
    """Return the compiled configuration: what another run compiles at this moment, or what is compiled here."""
    lock = -1
    try:
        if not any(is_young(own) for _, _, own in found.files):  # else nothing is cached, and each compiles
            lock = _open(state.cache_dir(found.home))
            compiled = _wait(lock, found)
            if compiled is not None:
                return compiled
        from hookrun.config.cache_writer import build

        return CompiledConfig(build(found))
    finally:
        if lock >= 0:
            os.close(lock)


def is_young(own: tuple[int, ...]) -> bool:
    """Return whether a file of this identity may change again unseen, or is missing."""
    return not any(own) or abs(state.now_ns() - own[4]) <= state.YOUNG


def _open(directory: str) -> int:
    """Return a descriptor of the directory of the cache, whose lock is taken; -1 if it cannot be opened."""
    try:
        state.make_private_dir(directory)
        return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return -1


def _wait(lock: int, found: ConfigFiles) -> CompiledConfig | None:
    """Take the lock; return the configuration if it is in the cache by then."""
    until = monotonic() + LONGEST_WAIT
    pause = 0.0
    while lock >= 0:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return load_cached(found) if pause else None
        except BlockingIOError:
            pause = min(pause + 0.005, 0.05)  # a hundred that wait must not delay the one that compiles
        except OSError:  # a file system without locks
            return None
        compiled = load_cached(found)
        if compiled is not None or monotonic() > until:
            return compiled
        sleep(pause)
    return None
