"""What a parser hands over: plain data, where each key and value stands, and the error of a text it cannot read."""

from __future__ import annotations

KeyPath = tuple[str | int, ...]
"""The way from the top of a document to a value: keys of objects and indexes of lists."""

MAX_DEPTH = 64
"""How deep lists and objects may be nested."""

MAX_VALUES = 50_000
"""How many values a document may hold, aliases written out: declarations never come near, and a fire must not wait."""


class ParseError(Exception):
    """The text cannot be parsed: at `offset` (in characters) stands what was `found` instead of what was `expected`."""

    def __init__(self, offset: int, found: str, expected: str, advice: str) -> None:
        """Keep the four parts of the message; `advice` says what to do."""
        super().__init__(f"found {found}, expected {expected}; {advice}")
        self.offset = offset
        self.found = found
        self.expected = expected
        self.advice = advice


class Parsed:
    """Plain data (what JSON can hold) and the offsets, in characters, at which its keys and values begin."""

    __slots__ = ("data", "keys", "values")

    def __init__(self) -> None:
        """Begin with nothing parsed."""
        self.data: object = None
        self.keys: dict[KeyPath, int] = {}
        self.values: dict[KeyPath, int] = {}

    def mark(self, path: KeyPath, offset: int, key_offset: int | None = None) -> None:
        """Note where the value at `path` begins, and its key if it has one. Raises ParseError for one too many."""
        if len(self.values) == MAX_VALUES:
            raise too_many(offset)
        self.values[path] = offset
        if key_offset is not None:
            self.keys[path] = key_offset

    def offset(self, path: KeyPath, *, key: bool = False) -> int:
        """Return where the value at `path` begins (or its key), or the nearest value around it that is there."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, 0)


def too_deep(offset: int) -> ParseError:
    """Return the error for a list or object at `offset` that is nested deeper than MAX_DEPTH."""
    return ParseError(offset, f"more than {MAX_DEPTH} levels", "fewer levels of nesting", "flatten the file")


def too_many(offset: int) -> ParseError:
    """Return the error for a value at `offset` that is beyond MAX_VALUES."""
    found = f"more than {MAX_VALUES} values"
    return ParseError(offset, found, "a file of sensible size", "move what is not for hookrun to another file")
