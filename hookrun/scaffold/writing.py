"""Writes several files, all of them or none: what was written before something went wrong is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.wiring import change, files
from hookrun.wiring.change import Change
from hookrun.wiring.files import WiringError, existing

if TYPE_CHECKING:
    from collections.abc import Iterable


def write(changes: Iterable[Change]) -> None:
    """Write every file. Raises WiringError when one cannot be written; then none of them is changed."""
    begun: list[tuple[Change, list[str]]] = []
    try:
        for each in changes:
            begun.append((each, files.missing_directories(each.path)))
            change.write(each)
    except BaseException as error:
        back = [(each, _taken_back(each, directories)) for each, directories in reversed(begun)]
        left = [each.path for each, is_back in back[1:] if not is_back]  # the first of these is whole or not there
        if left:
            raise WiringError(f"{error}; {', '.join(left)} could not be taken back: look at it") from error
        raise


def _taken_back(each: Change, directories: list[str]) -> bool:
    """Bring a file back to what it was, unless it is somebody else's by now; tell whether that was possible."""
    try:
        now = existing(each.path)
        if each.now.data is None:
            if now.data in (None, each.after):
                files.remove(each.path, directories)
        elif now.data == each.after:
            change.write(Change(each.path, now, each.now.data))
    except WiringError:
        return False
    return True
