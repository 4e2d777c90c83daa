"""Compiles the declarations into the text that `cache` reads, and keeps it where the next fire finds it."""

from __future__ import annotations

import os
from time import time_ns

from hookrun import state
from hookrun.config.cache import ALWAYS, ENFORCING, FORMAT, PARALLEL, path_for
from hookrun.config.discovery import identity
from hookrun.config.load import compile_declarations
from hookrun.fastjson import dumps
from hookrun.model import LAYERS, Hook
from hookrun.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.config.discovery import ConfigFiles, Identity
    from hookrun.config.load import Declarations

YOUNG = 2_000_000_000
"""Nanoseconds: a file that changed so shortly before can change again without its times showing it (2 s on FAT)."""

MOST_FILES = 256
"""Cache files kept; beyond that the oldest go."""

DEFAULTS = Hook(name="", events=()).to_dict()


def build(found: ConfigFiles) -> str:
    """Compile the declarations, keep the text for the next fire where that can be trusted, and return it.

    That it cannot be kept (a full disk, a read-only home) is no failure: the next fire compiles again.
    """
    declarations = compile_declarations(found)
    known = {path for _, path, _ in found.files}
    also = [(path, _identity(path)) for path in declarations.files if path not in known]
    text = encode(declarations, found, also)
    states = [state for _, _, state in found.files] + [state for _, state in also if state is not None]
    now = time_ns()
    if all(any(state) and abs(now - state[4]) > YOUNG for state in states):
        try:
            write(text, path_for(found), state.cache_dir(found.home))
        except OSError:
            pass
    return text


def encode(declarations: Declarations, found: ConfigFiles, also: list[tuple[str, Identity | None]]) -> str:
    """Return the compiled text of some declarations."""
    parts: list[str] = []
    length = 0
    tables: dict[str, list[object]] = {}
    for hook in declarations.hooks:
        for event in hook.events:
            tables.setdefault(event, []).append(_row(hook, length))
        parts.append(dumps({name: value for name, value in hook.to_dict().items() if value != DEFAULTS[name]}) + "\n")
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
        "problems": declarations.problems,
        "settings": declarations.settings,
        "events": declarations.events,
        "root": declarations.root,
        "index": index,
    }
    return "".join((dumps(header), "\n", *parts))


def _row(hook: Hook, offset: int) -> list[object]:
    flags = PARALLEL * hook.parallel | ALWAYS * hook.always
    if hook.enforcing:
        flags |= ENFORCING
    return [LAYERS.index(hook.layer), flags, hook.matcher, hook.when, hook.unless, hook.agents, hook.claude, offset]


def _identity(path: str) -> Identity | None:
    try:
        return identity(path)
    except OSError:
        return None


def write(text: str, path: str, where: str) -> None:
    """Write a file of the cache whole or not at all: two processes may do so at once. Raises OSError."""
    state.make_private_dir(where)
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "wb", buffering=0) as file:
            data = memoryview(text.encode("ascii"))
            while data:
                data = data[file.write(data) :]
        os.replace(temporary, path)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise
    _prune(where)


def _prune(where: str) -> None:
    with os.scandir(where) as entries:
        files = [(each.stat(follow_symlinks=False).st_mtime_ns, each.path) for each in entries if _is_ours(each)]
    for _, path in sorted(files)[:-MOST_FILES]:
        try:
            os.unlink(path)
        except FileNotFoundError:  # another process was at it
            continue


def _is_ours(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith((".json", ".tmp")) and entry.is_file(follow_symlinks=False)
