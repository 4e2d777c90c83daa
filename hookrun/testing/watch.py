"""`hookrun test --watch`: which files have a say in what comes of cases, and when one of them has changed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hookrun.config.find import identity
from hookrun.testing.find import NotThereError, find

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrun.config.find import Identity
    from hookrun.testing.ran import Ran

EVERY = 0.3
"""Seconds between two looks."""

COARSE = 10_000_000
"""Nanoseconds by which a file's times may lie behind the clock."""

State = dict[str, "Identity | None"]


def files_of(results: Iterable[Ran]) -> set[str]:
    """Return the files that had a say in these results, beside those of cases."""
    found: set[str] = set()
    for ran in results:
        found.update(ran.case.reads)
    for declared in {ran.declared for ran in results if ran.declared is not None}:
        found.update(declared.files)
        for hook in declared.hooks:
            words = [word for word in (*hook.words, *hook.look) if not word.startswith(("$", "~"))]
            found.update(os.path.join(declared.root, word) for word in words)
    return found


def until_changed(paths: Sequence[str], files: Iterable[str], since: int) -> None:
    """Wait until a file has changed since a time (nanoseconds), or one of cases at these paths is new or gone.

    Ctrl-C ends it.
    """
    before = _state(paths, files)
    if any(each is not None and each[-1] > since - COARSE for each in before.values()):
        return
    while _state(paths, files) == before:
        time.sleep(EVERY)


def _state(paths: Sequence[str], files: Iterable[str]) -> State:
    try:
        cases = find(paths)
    except NotThereError:
        cases = []
    return {path: _identity(path) for path in (*cases, *files)}


def _identity(path: str) -> Identity | None:
    try:
        return identity(path)
    except OSError:
        return None
