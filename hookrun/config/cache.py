"""Read the compiled configuration from the cache: one file, indexed by event, used while no source has changed.

Line 1 is the header. It is followed by the hooks and, for each event, a table with the conditions of its hooks. Only
the header, one table and the hooks that run are parsed. Format: JSON in ASCII, so that offsets count characters. In
the file a checksum is before it: damage anywhere, which could hide a hook, makes the whole file invalid.
"""

from __future__ import annotations

import os
from _imp import source_hash

from hookrun import __version__
from hookrun.conditions import ConditionEvaluator
from hookrun.fastjson import scan
from hookrun.model import LAYERS, UNTRUSTED_LAYERS, Hook
from hookrun.state import cache_file, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.config.discovery import ConfigFiles

    Globs = list[str] | None
    Conditions = dict[str, list[str]] | None
    Row = tuple[int, int, Globs, Conditions, Conditions, Globs, dict[str, object] | None, int]

FORMAT = 6
SEAL = 17
"""Characters of the checksum and the line end after it."""
ROW_LENGTH = 8
ALWAYS, ENFORCING = 1, 2
"""Flags of a hook in the table, known without parsing the hook."""


class CompiledConfig:
    """The effective configuration. `problems` are errors of whole files, `root` is the directory of the project's file.

    `events` are the host program's own events; `settings` hold `on_error`, `audit`, `record_context` where set.
    """

    def __init__(self, text: str) -> None:
        """Parse the header. Raises ValueError, KeyError or TypeError if it is not one of this version."""
        # JSON, neither pickle nor marshal: a foreign or torn file can do no harm.
        header, end = scan(text, 0)
        if not isinstance(header, dict) or (header["format"], header["version"]) != (FORMAT, __version__):
            raise ValueError("not a cache file of this version")
        self._text = text
        self._base = end + 1
        self._index: dict[str, int] = dict(header["index"])
        self.sources: list[list[object]] = header["sources"]
        self.also: list[list[object]] = header["also"]
        self.claude: list[str] = header["claude"]
        self.problems: list[str] = header["problems"]
        self.settings: dict[str, object] = header["settings"]
        self.events: list[str] = header["events"]
        self.root: str | None = header["root"]

    def candidates(self, event: str) -> EventHooks:
        """Return the hooks of an event in running order."""
        return EventHooks(self._table(event), self)

    def _table(self, event: str) -> list[Row]:
        if event not in self._index:
            return []
        rows, _ = scan(self._text, self._base + self._index[event])
        if not isinstance(rows, list) or any(len(row) != ROW_LENGTH for row in rows):
            raise ValueError("a damaged table")
        return rows

    def hooks(self) -> list[Hook]:
        """Return all hooks in running order."""
        offsets = {row[7] for event in self._index for row in self._table(event)}
        return [self.hook(offset) for offset in sorted(offsets)]

    def hook(self, offset: int) -> Hook:
        """Return the hook at an offset."""
        data, _ = scan(self._text, self._base + offset)
        if not isinstance(data, dict):
            raise TypeError("a damaged hook")
        return Hook.from_dict(data)


class EventHooks:
    """The hooks of one event: the engine's candidates. A hook is parsed when it is first needed."""

    def __init__(self, rows: list[Row], compiled: CompiledConfig) -> None:
        self._rows = rows
        self.count = len(rows)
        self._compiled = compiled
        self._hooks: dict[int, Hook] = {}
        self._context: Mapping[str, object] | None = None
        self._view: ConditionEvaluator
        self._selected: dict[int, set[int]] = {}

    def layer(self, index: int) -> int:
        """Return the index of the hook's layer in LAYERS."""
        return self._rows[index][0]

    def need_approval(self) -> bool:
        """Return whether a hook is of a layer that is not trusted."""
        return any(LAYERS[row[0]] in UNTRUSTED_LAYERS for row in self._rows)

    def always(self, index: int) -> bool:
        """Return whether the hook runs even after the chain has ended."""
        return bool(self._rows[index][1] & ALWAYS)

    def enforcing(self, index: int) -> bool:
        """Return whether the hook can block or modify the call."""
        return bool(self._rows[index][1] & ENFORCING)

    def any_selected(self, context: Mapping[str, object]) -> bool:
        """Return whether a hook matches this context."""
        return any(self.selects(index, context) for index in range(len(self._rows)))

    def selects(self, index: int, context: Mapping[str, object]) -> bool:
        """Return whether the hook matches this context."""
        if context is not self._context:
            self._context, self._view, self._selected = context, ConditionEvaluator(context), {}
        layer = self._rows[index][0]
        if layer not in self._selected:  # layer by layer: a project's conditions do not delay the user's guards
            rows = enumerate(self._rows)
            self._selected[layer] = {n for n, row in rows if row[0] == layer and self._view.selects(*row[2:7])}
        return index in self._selected[layer]

    def hook(self, index: int) -> Hook:
        """Return the hook, parsed."""
        if index not in self._hooks:
            self._hooks[index] = self._compiled.hook(self._rows[index][7])
        return self._hooks[index]


def path_for(found: ConfigFiles) -> str:
    """Return the cache file for these configuration files."""
    named = [f"{layer}:{path}" for layer, path, _ in found.files] + [f"claude:{path}" for path in found.claude]
    return cache_file(found.home, ".json", *named)


def seal(text: str) -> bytes:
    """Return a text as the content of a cache file, with a checksum before it."""
    data = text.encode("ascii")
    return _checksum(data) + data


def _checksum(data: bytes) -> bytes:
    # Python's own for .pyc files: builtin, so that nothing is imported for it, and no secret is needed here.
    return b"%b\n" % source_hash(FORMAT, data).hex().encode()


def load_cached(found: ConfigFiles) -> CompiledConfig | None:
    """Return the compiled configuration from the cache, None if it is missing, damaged or stale."""
    try:
        compiled = CompiledConfig(read(path_for(found)))
        # Believed only if it names the very state of every file that it was compiled from.
        same = compiled.sources == [[layer, path, [*state]] for layer, path, state in found.files]
        if same and compiled.claude == found.claude and _unchanged(compiled):
            return compiled
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        pass
    return None


def read(path: str) -> str:
    """Return the text of a cache file. Raises OSError, and ValueError if it is damaged or another account's."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            msg = "a foreign cache file"
            raise ValueError(msg)
        data = os.read(fd, status.st_size + 1)
        while len(data) < status.st_size:
            more = os.read(fd, status.st_size - len(data))
            if not more:
                break
            data += more
    finally:
        os.close(fd)
    text = data[SEAL:]
    if _checksum(text) != data[:SEAL]:
        raise ValueError("a damaged cache file")
    return text.decode("ascii")


def _unchanged(compiled: CompiledConfig) -> bool:
    for path, state in compiled.also:
        try:
            now: list[int] | None = [*identity(str(path))]
        except OSError:
            now = None
        if now != state:
            return False
    return True
