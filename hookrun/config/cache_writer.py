"""Compile the configuration into the cache that `discovery` reads.

Of many runs that start together, one compiles and the others wait for its file.
"""

from __future__ import annotations

import fcntl
import os
from time import monotonic, sleep

from hookrun import __version__
from hookrun.config.discovery import DECLARED, FORMAT, CompiledConfig, cached_as, identity_or_none, load_cached
from hookrun.core import files, state
from hookrun.core.fastjson import dumps
from hookrun.core.model import LAYERS, Hook
from hookrun.core.state import YOUNG, cache_file, seal
from hookrun.launch import launcher_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.config.discovery import ConfigFiles, Row
    from hookrun.config.load import Declarations
    from hookrun.core.state import Identity

# Seconds after which a run compiles for itself: the lock's holder may be stopped.
LONGEST_WAIT = 2.0

# The fields of a hook that decide whether it runs.
CONDITIONS = ("matcher", "when", "unless", "agents", "claude")

# Limit on cache files; the oldest are removed.
MAX_FILES = 256


def load_compiled(found: ConfigFiles) -> CompiledConfig | None:
    """Return the compiled configuration, from a fresh cache if possible; None without any file."""
    return load_cached(found) or compile_once(found) if found.files else None


def compile_once(found: ConfigFiles) -> CompiledConfig:
    """Return the configuration, compiled by another run at this moment or here."""
    lock = -1
    try:
        if not any(_is_young(own) for _, _, own in found.files):  # else nothing is cached, and each compiles
            lock = _open(found.home + state.CACHE_DIR)
            compiled = _wait(lock, found)
            if compiled is not None:
                return compiled
        return CompiledConfig(build(found))
    finally:
        if lock >= 0:
            os.close(lock)


def _open(directory: str) -> int:
    """Return a descriptor of the cache directory, locked; -1 if it cannot be opened."""
    try:
        state.make_private_dir(directory)
        return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return -1


def _wait(lock: int, found: ConfigFiles) -> CompiledConfig | None:
    """Take the lock; return the configuration if it is cached by then."""
    until = monotonic() + LONGEST_WAIT
    pause = 0.0
    while lock >= 0:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return load_cached(found) if pause else None
        except BlockingIOError:
            pause = min(pause + 0.005, 0.05)  # a hundred waiting runs must not delay the one that compiles
        except OSError:  # a file system without locks
            return None
        compiled = load_cached(found)
        if compiled is not None or monotonic() > until:
            return compiled
        sleep(pause)
    return None


def build(found: ConfigFiles) -> str:
    """Return the compiled configuration, and cache it unless a file's times are too recent to identify it.

    A cache that cannot be written (full disk, read-only home) is no failure: the next run compiles again.
    """
    from hookrun.config import last_readable
    from hookrun.config.approved_guards import load_in_force  # with all readers of config files: others need none

    loaded = load_in_force(found)
    declarations = loaded.declarations
    for file in loaded.files:
        if file.was_read and file.since is None and not file.unread:
            last_readable.keep(found.home, file.path, file.document.text)
    known = {path for _, path, _ in found.files}
    also = [(path, identity_or_none(path)) for path in declarations.files if path not in known]
    text = encode(declarations, found, also)
    identities = [own for _, _, own in found.files] + [own for _, own in also if own is not None]
    if not any(map(_is_young, identities)):
        try:
            write(seal(text), cache_file(*cached_as(found)))
        except OSError:
            pass
    launcher_file.note_change(found.home)
    return text


def encode(declarations: Declarations, found: ConfigFiles, also: list[tuple[str, Identity | None]]) -> str:
    """Return the compiled text of a configuration."""
    parts: list[str] = []
    length = 0
    tables: dict[str, list[Row]] = {}
    for hook in declarations.hooks:
        fields = hook.given()
        for event in hook.events:
            tables.setdefault(event, []).append(_row(hook, fields, length))
        parts.append(dumps(fields) + "\n")
        length += len(parts[-1])
    index: dict[str, int] = {}
    for event, rows in tables.items():
        index[event] = length
        parts.append(dumps(rows) + "\n")
        length += len(parts[-1])
    header = {
        "format": FORMAT,
        "version": __version__,
        "sources": [[layer, path, list(state)] for layer, path, state in found.files],
        "also": [[path, None if state is None else list(state)] for path, state in also],
        "claude": found.claude,
        "declared": {name: getattr(declarations, name) for name in DECLARED},
        "index": index,
    }
    return "".join((dumps(header), "\n", *parts))


def _row(hook: Hook, fields: dict[str, object], offset: int) -> Row:
    return {
        "name": hook.name,
        "layer": LAYERS.index(hook.layer),
        "always": hook.always,
        "enforcing": hook.enforcing,
        "conditions": {name: fields[name] for name in CONDITIONS if name in fields},
        "offset": offset,
    }


def _is_young(own: Identity) -> bool:
    """Return whether a file is missing, or may change without a new identity."""
    return not any(own) or abs(state.now_ns() - own[4]) <= YOUNG


def write(data: bytes, path: str) -> None:
    """Replace a cache file atomically and remove the oldest beyond MAX_FILES. Raises OSError."""
    where = os.path.dirname(path)
    state.make_private_dir(where)
    files.atomic_write(path, data, exact=True)  # the existing file's mode may be the fault
    state.remove_oldest(where, MAX_FILES)
