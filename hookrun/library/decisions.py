"""What a person has decided about hooks, for a program that lives on: read anew only when it may have changed."""

from __future__ import annotations

import os
from time import time_ns
from typing import TYPE_CHECKING

from hookrun.state import data_dir
from hookrun.trust import store as stores

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.trust.store import Store

    State = tuple[object, ...]

YOUNG = 2_000_000_000
"""Nanoseconds: a file that was changed so recently may be changed again without its times telling."""


class TrustStoreCache:
    """The store as it was read last. Safe to use from many threads."""

    def __init__(self) -> None:
        self._kept: tuple[State, Store] | None = None

    def load(self, home: str, owners: Iterable[int] = ()) -> Store:
        """Return what is decided, as `store.load` does. Raises StoreError."""
        owners = tuple(owners)
        where = data_dir(home)
        try:
            above = os.lstat(where)
        except FileNotFoundError:
            return stores.Store()
        except OSError:
            return stores.load(home, owners)
        try:
            found = os.lstat(f"{where}/{stores.NAME}")
        except OSError:
            return stores.load(home, owners)
        state = (home, owners, *map(_identity, (found, above)))
        kept = self._kept
        if kept is not None and kept[0] == state:
            return kept[1]
        store = stores.load(home, owners)
        if time_ns() - max(found.st_ctime_ns, above.st_ctime_ns) > YOUNG:
            self._kept = state, store
        return store

    def are_none(self, home: str, settings: Mapping[str, object]) -> bool:
        """Tell whether it is certain that nothing is switched off."""
        if settings.get("trusted_owners"):
            return False
        try:
            store = self.load(home)
        except stores.StoreError:
            return False
        return not (store.denied or store.disabled or store.paused)


def _identity(status: os.stat_result) -> State:
    """Return what tells one state of a file, and of who may write it, from another."""
    return (
        status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns,
        status.st_ctime_ns,
    )  # fmt: skip
