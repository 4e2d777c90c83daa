"""Compile the configuration into the text that `cache` reads, and store it for the next run."""

from __future__ import annotations

import os

from hookrun import __version__, files, state
from hookrun.config.cache import ALWAYS, ENFORCING, FORMAT, path_for, seal
from hookrun.config.load import load_config
from hookrun.fastjson import dumps
from hookrun.model import LAYERS, Hook
from hookrun.state import YOUNG, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.config.discovery import ConfigFiles
    from hookrun.config.load import Declarations
    from hookrun.state import Identity

MAX_FILES = 256
"""Limit on cache files; the oldest are removed."""

DEFAULTS = Hook(name="", events=()).to_dict()


def build(found: ConfigFiles) -> str:
    """Return the compiled configuration, and cache it unless a file is too young to be known by its times.

    A cache that cannot be written (full disk, read-only home) is no failure: the next run compiles again.
    """
    declarations = load_config(found).declarations
    known = {path for _, path, _ in found.files}
    also = [(path, _identity(path)) for path in declarations.files if path not in known]
    text = encode(declarations, found, also)
    states = [state for _, _, state in found.files] + [state for _, state in also if state is not None]
    now = state.now_ns()
    if all(any(state) and abs(now - state[4]) > YOUNG for state in states):
        try:
            write(seal(text), path_for(found))
        except OSError:
            pass
    return text


def encode(declarations: Declarations, found: ConfigFiles, also: list[tuple[str, Identity | None]]) -> str:
    """Return the compiled text of a configuration."""
    parts: list[str] = []
    length = 0
    tables: dict[str, list[object]] = {}
    for hook in declarations.hooks:
        for event in hook.events:
            tables.setdefault(event, []).append(_row(hook, length))
        parts.append(
            dumps({name: value for name, value in hook.to_dict().items() if value != DEFAULTS.get(name)}) + "\n"
        )
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
    flags = ALWAYS * hook.always | ENFORCING * hook.enforcing
    return [LAYERS.index(hook.layer), flags, hook.matcher, hook.when, hook.unless, hook.agents, hook.claude, offset]


def _identity(path: str) -> Identity | None:
    try:
        return identity(path)
    except OSError:
        return None


def write(data: bytes, path: str) -> None:
    """Replace a file of the cache in one step, and remove the oldest beside it beyond MAX_FILES. Raises OSError."""
    where = os.path.dirname(path)
    state.make_private_dir(where)
    files.atomic_write(path, data, exact=True)  # the mode of the file that is there may be what is wrong
    with os.scandir(where) as entries:
        ours = [
            each for each in entries if each.name.endswith((".json", ".tmp")) and each.is_file(follow_symlinks=False)
        ]
        ages = [(each.stat(follow_symlinks=False).st_mtime_ns, each.path) for each in ours]
    for _, oldest in sorted(ages)[:-MAX_FILES]:
        files.remove_if_there(oldest)
