"""Read a JSON or YAML config file with the place of every key and value; report problems at a place."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from hookrun.config.parse import MAX_PROJECT_VALUES, KeyPath, ParseError, PositionedData, parse_json
from hookrun.core import files
from hookrun.core.model import Hook
from hookrun.core.text import did_you_mean, escape, one_line, quote

# Limit on the size of a file.
MAX_BYTES = 16 << 20

EMPTY = "the file is empty"
YAML_SUFFIXES = (".yaml", ".yml")
BLANK = re.compile(r"[\s\ufeff]*")
MERGE_MARKER = re.compile(r"^(?:<<<<<<<|>>>>>>>) ", re.MULTILINE)
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")

# Timeouts from here on were probably meant in milliseconds.
MILLISECONDS = 1000

EMPTY_VALUES = {'""': "an empty string", "[]": "an empty list", "{}": "an empty object"}
PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or warning (`severity`) in a file; `line` and `column` are 1-based.

    `message` is one line in lower case without a full stop. `hint` says what to do.
    """

    path: str
    line: int
    column: int
    key: str
    message: str
    hint: str | None = None
    severity: str = "error"

    @classmethod
    def of_hook(cls, hook: Hook, message: str, hint: str | None = None) -> Diagnostic:
        """Return a warning at the line of a hook's entry."""
        return cls(hook.source, hook.line, 1, hook.name, message, hint, "warning")

    def __str__(self) -> str:
        """Return the diagnostic as printed: one line, and a second for the hint."""
        return f"{self.where}: {self._message}"

    @property
    def where(self) -> str:
        """`path:line:column`, the path as short as possible, safe to print."""
        return escape(f"{files.relative_path(self.path)}:{self.line}:{self.column}")

    @property
    def text(self) -> str:
        """The diagnostic on one line with the full path, for records."""
        return one_line(f"{self.path}:{self.line}:{self.column}: {self._message}")

    @property
    def _message(self) -> str:
        return f"{escape(self.message)}\nhint: {escape(self.hint)}" if self.hint else escape(self.message)

    def to_dict(self) -> dict[str, object]:
        """Return all parts by name, and the whole as `text`."""
        return {"severity": self.severity, **asdict(self), "text": self.text}


def errors_in(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the errors, without the warnings."""
    return [problem for problem in problems if problem.severity == "error"]


def problem_message(problem: str) -> str:
    r"""Return a `Diagnostic.text` as a message: short path, the hint on its own line.

    >>> problem_message("coder.json:1:1: `hooks` must be a list of hooks, not 1; write [] for no hooks")
    'coder.json:1:1: `hooks` must be a list of hooks, not 1\nhint: write [] for no hooks'
    """
    path, colon, rest = problem.partition(":")
    text, semicolon, hint = rest.partition("; ")
    shown = files.relative_path(path) if path.startswith("/") else path
    return f"{shown}{colon}{text}" + (f"\nhint: {hint}" if semicolon else "")


def key_text(path: KeyPath) -> str:
    """Return a key path as text: `hooks[2].when["tool_args.command"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{quote(step)}]"
    return text


def field_name(path: KeyPath) -> str:
    """Return a key path in backquotes, without a leading list item: `when.agent`, `args[0]`."""
    indexes = [at for at, step in enumerate(path[:-1]) if isinstance(step, int)]
    return f"`{key_text(path[indexes[-1] + 1 :] if indexes else path)}`" if path else "the file"


class Invalid(Exception):  # noqa: N818  # control flow: always caught, never shown
    """The value does not have its shape; the error has been reported."""


@dataclass(slots=True)
class Location:
    """A place in a document, with the diagnostics reported in it."""

    document: Document
    path: KeyPath
    problems: list[Diagnostic] = field(default_factory=list)

    def at(self, *steps: str | int) -> Location:
        """Return a place further inside with the same list of diagnostics."""
        return Location(self.document, (*self.path, *steps), self.problems)

    def report(self, message: str, hint: str | None = None) -> None:
        """Report an error in the value."""
        self.problems.append(self.document.problem(self.path, message, hint))

    def warn(self, message: str, hint: str | None = None) -> None:
        """Report a warning for the value."""
        self.problems.append(self.document.problem(self.path, message, hint, severity="warning"))

    def unknown_key(self, key: str, what: str, valid: Iterable[str], hint: str | None = None) -> None:
        """Report a key that is not a `what`; the default hint is the closest valid one."""
        hint = hint or did_you_mean(key, valid, "remove it")
        message = f"unknown {what} {quote(key)}"
        self.problems.append(self.document.problem((*self.path, key), message, hint, at_key=True))

    def type_error(self, value: object, expected: str, hint: str | None = None, *, note: str = "") -> Invalid:
        """Report a value of the wrong type; return the exception for the caller."""
        shown = EMPTY_VALUES.get(quote(value), quote(value))
        message = f"{field_name(self.path)} must be {expected}, not {shown}{note}"
        self.report(message, hint or _hint(value, expected))
        return Invalid()

    def warn_milliseconds(self, timeout: object) -> None:
        """Warn about a timeout in seconds that was probably meant in milliseconds."""
        if isinstance(timeout, float) and timeout >= MILLISECONDS:
            hint = f"write {timeout / 1000:g} if you mean milliseconds"
            self.warn(f"a timeout of {timeout:g} seconds is probably too long", hint)


def _hint(value: object, expected: str) -> str | None:
    if value is None:
        return "write a value, or remove the field"
    if value is False and '"off"' in expected:
        return 'write "off" in quotes'
    if isinstance(value, str) and value.strip().lower() in {"true", "false"} and "true" in expected:
        return "remove the quotes"
    if isinstance(value, str) and expected.startswith(("a number", "an integer")):
        return "write a number without quotes or unit"
    if isinstance(value, bool | int | float) and expected.startswith(
        ("a string", "a name", "the name", "an event", "globs")
    ):
        return "quote it"
    return f"write [{quote(value)}]" if isinstance(value, str) and expected.startswith("a list") else None


class SourceError(Exception):
    """A file that cannot be read or parsed; `problem` says where and why."""

    def __init__(self, problem: Diagnostic) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Document:
    """A parsed file: its `path`, `text`, `data` and the position of each part."""

    __slots__ = ("_lines", "_parsed", "data", "path", "text")

    def __init__(self, path: str, text: str, parsed: PositionedData) -> None:
        self.path = path
        self.text = text
        self.data = parsed.data
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._parsed = parsed

    @property
    def top(self) -> dict[str, object]:
        """The data if it is an object, else an empty one."""
        return self.data if isinstance(self.data, dict) else {}

    @classmethod
    def from_data(cls, name: str, data: object) -> Document:
        """Return in-memory data as a document named `name`. Raises TypeError or ValueError."""
        text = json.dumps(data, indent=1)
        return cls(name, text, parse_json(text))

    def position(self, key_path: KeyPath, *, key: bool = False) -> tuple[int, int]:
        """Return the 1-based line and column of the value (or `key`) at `key_path`, or the nearest enclosing value."""
        offset = self._parsed.offset(key_path, key=key)
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def problem(
        self, key_path: KeyPath, message: str, hint: str | None, severity: str = "error", *, at_key: bool = False
    ) -> Diagnostic:
        """Return a diagnostic about the value (`at_key`: the key) at `key_path`."""
        line, column = self.position(key_path, key=at_key)
        return Diagnostic(self.path, line, column, key_text(key_path), message, hint, severity)


# Stands for a file that cannot be read.
NOT_READ = Document("", "", PositionedData())


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the 1-based line and column of an offset."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def read(path: str, limit: int = MAX_PROJECT_VALUES, text: str | None = None) -> Document:
    """Return the parsed file of up to `limit` values: YAML by suffix, else JSON. Raises SourceError.

    `text` is used in place of what the file holds.
    """
    if text is None:
        text = decode(path, _read_bytes(path))
    if BLANK.fullmatch(text):
        raise _error(path, EMPTY, 'write {"hooks": []}, or remove the file')
    try:
        document = parse(path, text, limit)
    except ParseError as error:
        if marker := MERGE_MARKER.search(text):
            line, _ = line_and_column(text, marker.start())
            message, hint = (
                "an unfinished merge left its markers",
                "keep one of the two versions, or run `git merge --abort`",
            )
            raise SourceError(Diagnostic(path, line, 1, "", message, hint)) from error
        line, column = line_and_column(text, error.offset)
        raise SourceError(Diagnostic(path, line, column, "", error.message, error.hint)) from error
    if document.data is None and path.endswith(YAML_SUFFIXES):
        raise _error(path, EMPTY, "write `hooks: []`, or remove the file")
    return document


def parse(path: str, text: str, limit: int = MAX_PROJECT_VALUES) -> Document:
    """Return the parsed text: YAML by suffix, else JSON. Raises ParseError."""
    if path.endswith(YAML_SUFFIXES):
        from hookrun.config.parse_yaml import parse_yaml  # importing PyYAML takes 19 ms, and most files are JSON

        return Document(path, text, parse_yaml(text, limit))
    return Document(path, text, parse_json(text, limit))


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
    """Return the bytes as text without a byte-order mark. Raises SourceError unless UTF-8."""
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
