"""The compiled declarations as `fire` reads them: one file, indexed by event, believed while nothing changed.

Line 1 is the header; after it come, for each event, a table of what selects each hook, and the hooks themselves. Only
the header, one table and the hooks that run are ever parsed. Format: JSON in ASCII, so that offsets are characters.
"""

from __future__ import annotations

import os

from hookrun.conditions import ConditionEvaluator
from hookrun.config.discovery import identity
from hookrun.fastjson import scan
from hookrun.model import Hook
from hookrun.state import cache_dir
from hookrun.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.config.discovery import ConfigFiles

    Globs = list[str] | None
    Conditions = dict[str, list[str]] | None
    Row = tuple[int, int, Globs, Conditions, Conditions, Globs, dict[str, object] | None, int]

FORMAT = 3
ROW_LENGTH = 8
PARALLEL, ALWAYS, ENFORCING = 1, 2, 4
"""What a hook's row in the table says of it without parsing the hook."""


class Compiled:
    """The declarations in force. `problems` are the troubles of whole files, `root` where the project's file lies.

    `events` are the host program's own event names; `settings` hold `on_error`, `audit`, `record_context` where set.
    What turns out to be damaged further down in a cache file is compiled anew from `found`.
    """

    def __init__(self, text: str, found: ConfigFiles) -> None:
        """Take the header of a compiled text. Raises ValueError, KeyError or TypeError for any other text."""
        header, end = scan(text, 0)
        if not isinstance(header, dict) or (header["format"], header["version"]) != (FORMAT, __version__):
            raise ValueError("not a cache file of this version")
        self._found = found
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

    def candidates(self, event: str) -> Declared:
        """Return the hooks declared for an event, in running order."""
        try:
            rows = self._table(event)
        except (ValueError, TypeError):
            self._compile_again()
            rows = self._table(event)
        return Declared(rows, self)

    def _table(self, event: str) -> list[Row]:
        if event not in self._index:
            return []
        rows, _ = scan(self._text, self._base + self._index[event])
        if not isinstance(rows, list) or any(len(row) != ROW_LENGTH for row in rows):
            raise ValueError("a damaged table")
        return rows

    def hooks(self) -> list[Hook]:
        """Return all hooks, in running order."""
        offsets = {row[7] for event in self._index for row in self._table(event)}
        return [self.hook(offset) for offset in sorted(offsets)]

    def hook(self, offset: int) -> Hook:
        """Return the hook that begins at an offset."""
        try:
            return self._hook(offset)
        except (ValueError, TypeError):
            self._compile_again()  # the same declarations in the same text: the offset holds
            return self._hook(offset)

    def _hook(self, offset: int) -> Hook:
        data, _ = scan(self._text, self._base + offset)
        if not isinstance(data, dict):
            raise TypeError("a damaged hook")
        return Hook.from_dict(data)

    def _compile_again(self) -> None:
        from hookrun.config.cache_writer import build

        self.__init__(build(self._found), self._found)  # type: ignore[misc]


class Declared:
    """The hooks declared for one event: the engine's candidates. A hook is parsed when it is asked for."""

    def __init__(self, rows: list[Row], compiled: Compiled) -> None:
        self._rows = rows
        self._compiled = compiled
        self._hooks: dict[int, Hook] = {}
        self._context: Mapping[str, object] = {}
        self._view = ConditionEvaluator(self._context)
        self._selected: dict[int, set[int]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def layer(self, index: int) -> int:
        """Return the layer's number in LAYERS."""
        return self._rows[index][0]

    def parallel(self, index: int) -> bool:
        """Tell whether the hook may run beside its neighbours."""
        return bool(self._rows[index][1] & PARALLEL)

    def always(self, index: int) -> bool:
        """Tell whether the hook runs even when the chain has ended."""
        return bool(self._rows[index][1] & ALWAYS)

    def enforcing(self, index: int) -> bool:
        """Tell whether the hook's word can change what happens."""
        return bool(self._rows[index][1] & ENFORCING)

    def selects(self, index: int, context: Mapping[str, object]) -> bool:
        """Tell whether the hook applies in this context."""
        if context is not self._context:
            self._context, self._view, self._selected = context, ConditionEvaluator(context), {}
        layer = self._rows[index][0]
        if layer not in self._selected:  # a layer at a time: what a project declares keeps no user's guard waiting
            rows = enumerate(self._rows)
            self._selected[layer] = {n for n, row in rows if row[0] == layer and self._view.selects(*row[2:7])}
        return index in self._selected[layer]

    def hook(self, index: int) -> Hook:
        """Return the hook itself."""
        if index not in self._hooks:
            self._hooks[index] = self._compiled.hook(self._rows[index][7])
        return self._hooks[index]


def path_for(found: ConfigFiles) -> str:
    """Return the cache file for these declaration files. Two sets of files that share one only take turns in it."""
    named = [f"{layer}:{path}" for layer, path, _ in found.files] + [f"claude:{path}" for path in found.claude]
    names = "\0".join(named).encode("utf-8", "surrogateescape")
    return f"{cache_dir(found.home)}/{int.from_bytes(names, 'big') % ((1 << 127) - 1):032x}.json"


def load(found: ConfigFiles) -> Compiled | None:
    """Return the compiled declarations, from the cache while it can be believed, else compiled; None without any."""
    if not found.files:
        return None
    try:
        compiled = Compiled(read_own(path_for(found)), found)
        same = compiled.sources == [[layer, path, [*state]] for layer, path, state in found.files]
        if same and compiled.claude == found.claude and _unchanged(compiled):
            return compiled
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        pass
    from hookrun.config.cache_writer import build

    return Compiled(build(found), found)


def read_own(path: str) -> str:
    """Return the text of a cache file. Raises OSError, and ValueError when somebody else could have written it."""
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
    return data.decode("ascii")


def _unchanged(compiled: Compiled) -> bool:
    for path, state in compiled.also:
        try:
            now: list[int] | None = [*identity(str(path))]
        except OSError:
            now = None
        if now != state:
            return False
    return True
