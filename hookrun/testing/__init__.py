"""Test hooks by cases in *.hooktest files, in `hookrun test` and as a pytest plugin."""

SUFFIXES = (".hooktest.yaml", ".hooktest.yml", ".hooktest.json")


def is_case_file(path: str) -> bool:
    """Return whether a file, by its name, holds cases."""
    return path.endswith(SUFFIXES)  # here, without imports: pytest asks this of every file it sees
