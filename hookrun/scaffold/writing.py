"""Writes several files, all of them or none: what was written before something went wrong is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.wiring import change, files
from hookrun.wiring.change import Change
from hookrun.wiring.files import existing

if TYPE_CHECKING:
    from collections.abc import Iterable


def write(changes: Iterable[Change]) -> None:
    """Write every file. Raises WiringError when one cannot be written; then none of them is changed."""
    begun: list[tuple[Change, list[str]]] = []
    try:
        for each in changes:
            begun.append((each, files.missing_directories(each.path)))
            change.write(each)
    except BaseException:
        for each, directories in reversed(begun):
            _take_back(each, directories)
        raise


def _take_back(each: Change, directories: list[str]) -> None:
    """Bring a file back to what it was, unless it is somebody else's by now."""
    now = existing(each.path)
    if each.now.data is None:
        if now.data in (None, each.after):
            files.remove(each.path, directories)
    elif now.data == each.after:
        change.write(Change(each.path, now, each.now.data))
