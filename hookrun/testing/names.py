"""How the names of files of cases end. No imports: pytest asks at every file that it sees."""

from __future__ import annotations

SUFFIXES = (".hooktest.yaml", ".hooktest.yml", ".hooktest.json")


def is_case_file(path: str) -> bool:
    """Tell by its name whether a file holds cases."""
    return path.endswith(SUFFIXES)
