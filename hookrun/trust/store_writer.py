"""Change the user's decisions: read under a lock, change, and replace the file atomically."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from hookrun import files, state
from hookrun.trust.store import NAME, VERSION, Store, open_directory, read

LOCK = "trust.lock"
MAX_APPROVED = 5000
"""Limit on stored digests; the oldest are dropped. Digests of other branches are not needed again."""


@contextmanager
def locked_store(home: str, owners: Iterable[int] = ()) -> Iterator[Store]:
    """Yield the store to be changed, and write it unless the block raises. Other writers wait meanwhile.

    Raises StoreError if the store cannot be trusted and OSError if it cannot be written; then it stays as it was.
    """
    where = state.data_dir(home)
    state.make_private_dir(where)
    fd = open_directory(where, owners)
    try:
        os.fchmod(fd, 0o700)
        with files.locked(f"{where}/{LOCK}"):
            store = read(fd, where)
            yield store
            files.atomic_write(f"{where}/{NAME}", _text(store).encode("ascii"), durable=True)
            files.sweep(where)
    finally:
        os.close(fd)


def _text(store: Store) -> str:
    newest = sorted(store.approved.items(), key=lambda item: item[1]["time"])[-MAX_APPROVED:]
    data = {
        "version": VERSION,
        "approved": dict(newest),
        "denied": store.denied,
        "disabled": store.disabled,
        "paused": store.paused,
    }
    return json.dumps(data, indent=1) + "\n"
