"""Parse JSON into plain data with the position of every key and value."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # public, but not in the stubs
from math import isfinite
from typing import NoReturn

from hookrun.core.text import quote

# The keys and list indexes from the top of a document to a value.
KeyPath = tuple[str | int, ...]

# Limit on nested lists and objects.
MAX_DEPTH = 64

# Limit on values in a document with aliases expanded: about 50,000 hooks.
MAX_VALUES = 1_000_000

# The same for a project's files, so that none delays a run.
MAX_PROJECT_VALUES = 50_000


class ParseError(Exception):
    """A text that cannot be parsed; `offset` is the place in characters."""

    def __init__(self, offset: int, message: str, hint: str) -> None:
        super().__init__(f"{message}\nhint: {hint}")
        self.offset = offset
        self.message = message
        self.hint = hint


class PositionedData:
    """Plain JSON data and the character offsets of its keys and values."""

    __slots__ = ("data", "keys", "limit", "values")

    def __init__(self, limit: int = MAX_VALUES) -> None:
        self.limit = limit
        self.data: object = None
        self.keys: dict[KeyPath, int] = {}
        self.values: dict[KeyPath, int] = {}

    def record_position(self, path: KeyPath, offset: int, key_offset: int | None = None) -> None:
        """Record the offsets of a value and its key. Raises ParseError beyond the limit."""
        if len(self.values) == self.limit:
            raise too_many(offset, self.limit)
        self.values[path] = offset
        if key_offset is not None:
            self.keys[path] = key_offset

    def offset(self, path: KeyPath, *, key: bool = False) -> int:
        """Return the offset of the value (or `key`) at `path` or the nearest enclosing value."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, 0)


def too_deep(offset: int) -> ParseError:
    """Return the error for a value nested deeper than MAX_DEPTH."""
    return ParseError(offset, f"nested more than {MAX_DEPTH} levels deep", "flatten the file")


def too_many(offset: int, limit: int) -> ParseError:
    """Return the error for a document with more values than the limit."""
    return ParseError(offset, f"more than {limit} values in a file", "move unrelated data to another file")


SPACE = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
WORD = re.compile(r"-?[A-Za-z_$][A-Za-z0-9_$]*|[0-9+.-]+|.", re.DOTALL)
SURROGATE = re.compile("[\ud800-\udfff]")
LITERALS: dict[str, object] = {"true": True, "false": False, "null": None}
# Common mistakes for a value -> hint.
MISTAKEN = {
    "True": "write true",
    "False": "write false",
    "None": "write null",
    "NaN": "write a finite number",
    "Infinity": "write a finite number",
    "-Infinity": "write a finite number",
    "undefined": "write null, or leave the key out",
    "'": 'use double quotes: "..."',
}


def parse_json(text: str, limit: int = MAX_VALUES) -> PositionedData:
    """Return the data of a JSON text of up to `limit` values. Raises ParseError for anything else."""
    return JsonParser(text, limit).parse()


class JsonParser:
    """A recursive-descent parser. Methods take an offset and return the next, or raise ParseError."""

    def __init__(self, text: str, limit: int = MAX_VALUES) -> None:
        self.text = text
        self.parsed = PositionedData(limit)

    def parse(self) -> PositionedData:
        """Return the data of the text."""
        self.parsed.data, end = self.value(self.skip(0), (), 0)
        end = self.skip(end)
        if end < len(self.text):
            self.refuse(end, "remove everything after the first value")
        return self.parsed

    def skip(self, offset: int) -> int:
        """Return the offset of the next character other than white space."""
        match = SPACE.match(self.text, offset)
        return match.end() if match else offset

    def refuse(self, offset: int, hint: str) -> NoReturn:
        """Raise ParseError for the unexpected word at `offset`."""
        word = WORD.match(self.text, offset)
        if word is None:
            raise ParseError(offset, "unexpected end of file", "close every bracket and string")
        found = word.group()
        if self.text[offset : offset + 2] in {"//", "/*"} or found == "#":
            raise ParseError(offset, "JSON has no comments", "remove the comment, or use YAML")
        raise ParseError(offset, f"unexpected {quote(found)}", MISTAKEN.get(found, hint))

    def value(self, offset: int, path: KeyPath, depth: int, key_offset: int | None = None) -> tuple[object, int]:
        """Return the value at `offset`."""
        self.parsed.record_position(path, offset, key_offset)
        char = self.text[offset : offset + 1]
        if char == '"':
            return self.string(offset)
        if char in {"{", "["}:
            if depth == MAX_DEPTH:
                raise too_deep(offset)
            return self.members(offset, path, depth + 1) if char == "{" else self.elements(offset, path, depth + 1)
        number = NUMBER.match(self.text, offset)
        if number:
            return self.number(number), number.end()
        word = WORD.match(self.text, offset)
        if word is None or word.group() not in LITERALS:
            self.refuse(offset, "write a string in double quotes, a number, true, false, null, {} or []")
        return LITERALS[word.group()], word.end()

    def string(self, offset: int) -> tuple[str, int]:
        """Return the string at `offset`."""
        try:
            text, end = scanstring(self.text, offset + 1, True)  # noqa: FBT003  # strict: json.decoder has no keyword
        except json.JSONDecodeError as error:
            raise _string_error(self.text, offset, error) from error
        if half := SURROGATE.search(text):
            message = f"half of a surrogate pair: \\u{ord(half.group()):04x}"
            raise ParseError(offset, message, "write the character itself, or both halves")
        return text, end

    def number(self, match: re.Match[str]) -> int | float:
        """Return the number of a match of NUMBER."""
        text = match.group()
        try:
            value = float(text) if match.group(1) or match.group(2) else int(text)
        except ValueError:
            value = float("inf")
        if isinstance(value, float) and not isfinite(value):
            raise ParseError(match.start(), f"number out of range: {quote(text)[1:-1]}", "write a smaller number")
        return value

    def elements(self, offset: int, path: KeyPath, depth: int) -> tuple[list[object], int]:
        """Return the list at `offset`."""
        items: list[object] = []
        offset = self.skip(offset + 1)
        while self.text[offset : offset + 1] != "]":
            item, offset = self.value(offset, (*path, len(items)), depth)
            items.append(item)
            offset = self.separator(offset, "]")
        return items, offset + 1

    def members(self, offset: int, path: KeyPath, depth: int) -> tuple[dict[str, object], int]:
        """Return the object at `offset`."""
        items: dict[str, object] = {}
        offset = self.skip(offset + 1)
        while self.text[offset : offset + 1] != "}":
            key_offset = offset
            if self.text[offset : offset + 1] != '"':
                self.refuse(offset, "put the key in double quotes")
            key, offset = self.string(offset)
            if key in items:
                raise ParseError(key_offset, f"duplicate key {quote(key)}", "remove one of the two")
            offset = self.skip(offset)
            if self.text[offset : offset + 1] != ":":
                self.refuse(offset, f'put ":" after the key {quote(key)}')
            items[key], offset = self.value(self.skip(offset + 1), (*path, key), depth, key_offset)
            offset = self.separator(offset, "}")
        return items, offset + 1

    def separator(self, offset: int, close: str) -> int:
        """Return the offset of the next item, or of the closing bracket."""
        offset = self.skip(offset)
        char = self.text[offset : offset + 1]
        if char == close:
            return offset
        if char != ",":
            self.refuse(offset, f'put "," between items, or "{close}" after the last one')
        following = self.skip(offset + 1)
        if self.text[following : following + 1] == close:
            raise ParseError(offset, f'trailing comma before "{close}"', "remove the comma")
        return following


def _string_error(text: str, offset: int, error: json.JSONDecodeError) -> ParseError:
    if error.msg.startswith("Unterminated"):
        return ParseError(offset, "unterminated string", 'close the string with "')
    if "control character" in error.msg:
        message = f"control character {quote(text[error.pos : error.pos + 1])} in a string"
        return ParseError(error.pos, message, "write \\n for a line break, \\t for a tab")
    message = f"invalid escape {quote(text[error.pos : error.pos + 2])}"
    return ParseError(error.pos, message, "write \\\\ for a backslash")
