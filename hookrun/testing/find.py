"""Finds files of cases: those that are named, and all that lie in and below directories."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrun.globs import glob
from hookrun.testing.cases import Case, CaseFile, load
from hookrun.testing.names import is_case_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PASSED_OVER = frozenset({".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__"})
"""Directories in which nobody has files of cases of their own."""


class NotThereError(LookupError):
    """A path that was named does not exist, or is no file of cases; the message says which."""


def find(paths: Iterable[str]) -> list[str]:
    """Return the files of cases at these paths, each once, in order. Raises NotThereError."""
    found: dict[str, str] = {}
    for path in paths:
        if os.path.isdir(path):
            for each in _below(path):
                found.setdefault(os.path.realpath(each), each)
        elif not os.path.exists(path):
            raise NotThereError(f"{path}: found nothing, expected a file of cases or a directory; correct the path")
        elif not is_case_file(path):
            expected = "expected a name that ends in .hooktest.yaml, .hooktest.yml or .hooktest.json"
            raise NotThereError(f"{path}: found another file, {expected}; rename it, or name another")
        else:
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _below(directory: str) -> Iterator[str]:
    for where, directories, files in os.walk(directory):
        directories[:] = sorted(set(directories) - PASSED_OVER)
        for name in sorted(files):
            if is_case_file(name):
                yield os.path.normpath(os.path.join(where, name))


def read(paths: Iterable[str]) -> list[CaseFile]:
    """Return every file of cases at these paths, read. Raises NotThereError."""
    return [load(path) for path in find(paths)]


def chosen(files: Iterable[CaseFile], pattern: str | None) -> list[Case]:
    """Return the cases whose `file: name` the pattern is a part of, or matches if it is a glob; all without one."""
    cases = [case for file in files for case in file.cases]
    if pattern is None:
        return cases
    whole = pattern if any(char in pattern for char in "*?[") else f"*{pattern}*"
    return [case for case in cases if glob(whole, f"{case.file.shown}: {case.name}") or glob(whole, case.name)]
