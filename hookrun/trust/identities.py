"""The digests of hooks whose files have not changed: kept by what was declared and the identity of each file."""

from __future__ import annotations

from time import time_ns

from hookrun.config import cache
from hookrun.fastjson import dumps, scan
from hookrun.state import cache_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.trust.files import LocalFile

VERSION = 1
YOUNG = 2_000_000_000
"""Nanoseconds: what changed so shortly before it was hashed can change again and its times not show it (2 s on FAT)."""

MOST_HOOKS = 1000
"""Hooks of one project whose digests are kept."""


class Identities:
    """The known digests of the hooks of one project. A cache: what cannot be read or kept is computed again."""

    def __init__(self, home: str, root: str) -> None:
        self._home = home
        name = root.encode("utf-8", "surrogateescape")
        self._path = f"{cache_dir(home)}/{int.from_bytes(name, 'big') % ((1 << 127) - 1):032x}.trust.json"
        self._root = root
        self._known: dict[str, list[object]] = {}
        self._changed = False
        try:
            data, _ = scan(cache.read_own(self._path), 0)
            if isinstance(data, dict) and (data["version"], data["root"]) == (VERSION, root):
                self._known = dict(data["hooks"])
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def digest(self, declared: str, files: list[LocalFile]) -> str | None:
        """Return the digest of what is declared with these very files, None if it is not known."""
        known = self._known.get(declared)
        if isinstance(known, list) and known[1:] == [file.to_list() for file in files] and isinstance(known[0], str):
            return known[0]
        return None

    def remember(self, declared: str, files: list[LocalFile], digest: str) -> None:
        """Take in a digest that was computed now, unless one of the files is too young to be known by its times."""
        now = time_ns()
        if all(abs(now - file.identity[4]) > YOUNG for file in files):
            self._known[declared] = [digest, *(file.to_list() for file in files)]
            self._changed = True

    def keep(self) -> None:
        """Write down what was remembered. That it cannot be written is no failure."""
        if not self._changed:
            return
        from hookrun.config.store import keep

        hooks = dict(list(self._known.items())[-MOST_HOOKS:])
        try:
            keep(
                dumps({"version": VERSION, "root": self._root, "hooks": hooks}),
                self._path,
                cache_dir(self._home),
            )
        except (OSError, ValueError, TypeError):
            return
