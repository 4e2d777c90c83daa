"""Read a config file, JSON or YAML, with the line and column of every key and value."""

from __future__ import annotations

import json
import re
from bisect import bisect_right

from hookrun import files
from hookrun.config.diagnostics import Diagnostic, key_text
from hookrun.config.parse import MAX_PROJECT_VALUES, KeyPath, ParseError, PositionedData, parse_json

MAX_BYTES = 16 << 20
"""Limit on the size of a file."""

EMPTY = "the file is empty"
YAML_SUFFIXES = (".yaml", ".yml")
BLANK = re.compile(r"[\s\ufeff]*")
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


class SourceError(Exception):
    """A file that cannot be read or parsed; `problem` says where and why."""

    def __init__(self, problem: Diagnostic) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Document:
    """A parsed file: its `path`, its `data` and the position of each part."""

    __slots__ = ("_lines", "_parsed", "data", "path")

    def __init__(self, path: str, text: str, parsed: PositionedData) -> None:
        self.path = path
        self.data = parsed.data
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._parsed = parsed

    @property
    def top(self) -> dict[str, object]:
        """The data if it is an object, else an empty one."""
        return self.data if isinstance(self.data, dict) else {}

    @classmethod
    def from_data(cls, name: str, data: object) -> Document:
        """Return the document of data in memory, called `name` in messages. Raises TypeError or ValueError."""
        text = json.dumps(data, indent=1)
        return cls(name, text, parse_json(text))

    def position(self, key_path: KeyPath) -> tuple[int, int]:
        """Return the 1-based line and column of the value at `key_path`, or of the nearest enclosing value."""
        return self._place(self._parsed.offset(key_path))

    def key_position(self, key_path: KeyPath) -> tuple[int, int]:
        """Return the 1-based line and column of the key of the value at `key_path`."""
        return self._place(self._parsed.offset(key_path, key=True))

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def problem(
        self, key_path: KeyPath, message: str, hint: str | None, *, at_key: bool = False, severity: str = "error"
    ) -> Diagnostic:
        """Return a diagnostic about the value (or, `at_key`, its key) at `key_path`."""
        line, column = self.key_position(key_path) if at_key else self.position(key_path)
        return Diagnostic(self.path, line, column, key_text(key_path), message, hint, severity)


NOT_READ = Document("", "", PositionedData())
"""In place of a file that cannot be read."""


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the 1-based line and column of an offset in the text."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def read(path: str, limit: int = MAX_PROJECT_VALUES) -> Document:
    """Return the parsed file of at most `limit` values: YAML by its suffix, JSON otherwise. Raises SourceError."""
    text = decode(path, _read_bytes(path))
    blank = BLANK.match(text)
    if blank and blank.end() == len(text):
        raise _error(path, EMPTY, 'write {"hooks": []}, or remove the file')
    is_yaml = path.endswith(YAML_SUFFIXES)
    try:
        if is_yaml:
            from hookrun.config.parse_yaml import parse_yaml  # PyYAML takes 19 ms to import, and most files are JSON

            parsed = parse_yaml(text, limit)
        else:
            parsed = parse_json(text, limit)
    except ParseError as error:
        line, column = line_and_column(text, error.offset)
        raise SourceError(Diagnostic(path, line, column, "", error.message, error.hint)) from error
    if is_yaml and parsed.data is None:
        raise _error(path, EMPTY, "write `hooks: []`, or remove the file")
    return Document(path, text, parsed)


def _error(path: str, message: str, hint: str) -> SourceError:
    return SourceError(Diagnostic(path, 1, 1, "", message, hint))


def _read_bytes(path: str) -> bytes:
    try:
        data = files.read_regular(path, MAX_BYTES)
    except FileNotFoundError as error:
        raise _error(path, "no such file", "create it, or correct the path") from error
    except (IsADirectoryError, files.NotRegularError) as error:
        message = "is a directory" if isinstance(error, IsADirectoryError) else "not a regular file"
        raise _error(path, message, "name a JSON or YAML file") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = f"cannot read the file: {reason}"
        raise _error(path, message, "check its permissions (`ls -l`) and its path") from error
    if len(data) > MAX_BYTES:
        raise _error(path, f"larger than {MAX_BYTES >> 20} MiB", "split it with `hookrun.include`")
    return data


def decode(path: str, data: bytes) -> str:
    """Return the bytes as text without a byte-order mark. Raises SourceError unless they are UTF-8."""
    hint = "save the file as UTF-8"
    if data.startswith(WIDE_MARKS):
        raise _error(path, "the file is UTF-16", hint)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = line_and_column(before, len(before))
        message = f"invalid UTF-8 byte 0x{data[error.start]:02x}"
        raise SourceError(Diagnostic(path, line, column, "", message, hint)) from error
    return text.removeprefix("\ufeff")
