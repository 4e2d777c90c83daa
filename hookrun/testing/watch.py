"""Find the files that affect the results of cases and wait until one changes, for `hookrun test --watch`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hookrun.state import identity
from hookrun.testing.cases import NoCaseFileError, find_case_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrun.state import Identity
    from hookrun.testing.results import CaseRun

POLL_INTERVAL = 0.3
"""Seconds between two checks."""

TIMESTAMP_LAG = 10_000_000
"""Nanoseconds by which a file's time may lag behind the clock."""


def files_of(results: Iterable[CaseRun]) -> set[str]:
    """Return the files that affected these results, other than files of cases."""
    found: set[str] = set()
    for ran in results:
        found.update(ran.case.reads)
    for declared in {ran.config for ran in results if ran.config is not None}:
        found.update(declared.files)
        for hook in declared.hooks:
            named = [reference.partition(":")[2] for reference in hook.words]
            words = [word for word in (*named, *hook.look) if not word.startswith(("$", "~"))]
            found.update(os.path.join(declared.root, word) for word in words)
    return found


def until_changed(paths: Sequence[str], files: Iterable[str], since: int) -> list[str]:
    """Wait until a file has changed since a time (nanoseconds), or a test file at these paths is new or gone.

    Returns the paths that changed.
    """
    before = _state(paths, files)
    changed = [path for path, each in before.items() if each is not None and each[-1] > since - TIMESTAMP_LAG]
    while not changed:
        time.sleep(POLL_INTERVAL)
        now = _state(paths, files)
        changed = [path for path in {**before, **now} if before.get(path) != now.get(path)]
    return changed


def _state(paths: Sequence[str], files: Iterable[str]) -> dict[str, Identity | None]:
    try:
        cases = find_case_files(paths)
    except NoCaseFileError:
        cases = []
    return {path: _identity(path) for path in (*cases, *files)}


def _identity(path: str) -> Identity | None:
    try:
        return identity(path)
    except OSError:
        return None
