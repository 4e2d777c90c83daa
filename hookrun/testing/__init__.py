"""Test hooks: run cases from *.hooktest files, in `hookrun test` and as a pytest plugin."""

SUFFIXES = (".hooktest.yaml", ".hooktest.yml", ".hooktest.json")


def is_case_file(path: str) -> bool:
    """Return whether a file holds cases, judging by its name."""
    return path.endswith(SUFFIXES)  # here, where it imports nothing: pytest asks this of every file it sees
