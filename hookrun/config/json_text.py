"""Parses JSON strictly and notes where every key and value stands; its errors say what to do."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # public, but not in the stubs
from math import isfinite

from hookrun.config.parsed import MAX_DEPTH, KeyPath, Parsed, ParseError, too_deep
from hookrun.config.problem import shown

SPACE = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
WORD = re.compile(r"-?[A-Za-z_$][A-Za-z0-9_$]*|[0-9+.-]+|.", re.DOTALL)
SURROGATE = re.compile("[\ud800-\udfff]")
LITERALS: dict[str, object] = {"true": True, "false": False, "null": None}
MISTAKEN = {
    "True": "write true",
    "False": "write false",
    "None": "write null",
    "NaN": "JSON has no such number: write a finite one",
    "Infinity": "JSON has no such number: write a finite one",
    "-Infinity": "JSON has no such number: write a finite one",
    "undefined": "write null, or leave the key out",
    "'": 'use double quotes: "..."',
    "#": "JSON has no comments: remove it, or use YAML",
    "/": "JSON has no comments: remove it, or use YAML",
}
"""What people write where a value belongs -> what to do about it."""


def parse(text: str) -> Parsed:
    """Return what the JSON text holds. Raises ParseError when it is not exactly one JSON value."""
    parser = Parser(text)
    start = parser.skip(0)
    parser.parsed.data, end = parser.value(start, (), 0)
    end = parser.skip(end)
    if end < len(text):
        parser.refuse(end, "the end of the file", "remove what follows the value")
    return parser.parsed


class Parser:
    """One text and what is noted of it so far. A method takes an offset and returns the one after what it read.

    All of them raise ParseError for what does not belong there.
    """

    def __init__(self, text: str) -> None:
        """Begin with nothing parsed."""
        self.text = text
        self.parsed = Parsed()

    def skip(self, offset: int) -> int:
        """Pass over space."""
        match = SPACE.match(self.text, offset)
        return match.end() if match else offset

    def refuse(self, offset: int, expected: str, advice: str) -> None:
        """Raise the error for something at `offset` that does not belong there."""
        word = WORD.match(self.text, offset)
        if word is None:
            raise ParseError(
                offset, "the end of the file", expected, "finish the file: a bracket or quote is left open"
            )
        found = word.group()
        if self.text[offset : offset + 2] in {"//", "/*"} or found == "#":
            advice = MISTAKEN["#"]
            raise ParseError(offset, "a comment", expected, advice)
        raise ParseError(offset, shown(found), expected, MISTAKEN.get(found, advice))

    def value(self, offset: int, path: KeyPath, depth: int, key_offset: int | None = None) -> tuple[object, int]:
        """Read any value."""
        self.parsed.mark(path, offset, key_offset)
        char = self.text[offset : offset + 1]
        if char == '"':
            return self.string(offset)
        if char in {"{", "["} and char:
            if depth == MAX_DEPTH:
                raise too_deep(offset)
            return self.members(offset, path, depth + 1) if char == "{" else self.elements(offset, path, depth + 1)
        number = NUMBER.match(self.text, offset)
        if number:
            return self.number(number), number.end()
        word = WORD.match(self.text, offset)
        if word is None or word.group() not in LITERALS:
            self.refuse(
                offset, "a JSON value", "write a string in double quotes, a number, true, false, null, {} or []"
            )
            return None, offset
        return LITERALS[word.group()], word.end()

    def string(self, offset: int) -> tuple[str, int]:
        """Read a string."""
        try:
            text, end = scanstring(self.text, offset + 1, True)  # noqa: FBT003  # strict: json.decoder has no keyword
        except json.JSONDecodeError as error:
            raise _string_error(self.text, offset, error) from error
        if half := SURROGATE.search(text):
            found = f"half of a surrogate pair (\\u{ord(half.group()):04x})"
            raise ParseError(offset, found, "whole characters", "write the character itself or both halves")
        return text, end

    def number(self, match: re.Match[str]) -> int | float:
        """Return what a match of NUMBER says."""
        text = match.group()
        try:
            value = float(text) if match.group(1) or match.group(2) else int(text)
        except ValueError:
            value = float("inf")
        if isinstance(value, float) and not isfinite(value):
            raise ParseError(match.start(), shown(text), "a number of sensible size", "write a smaller number")
        return value

    def elements(self, offset: int, path: KeyPath, depth: int) -> tuple[list[object], int]:
        """Read a list."""
        items: list[object] = []
        offset = self.skip(offset + 1)
        while self.text[offset : offset + 1] != "]":
            item, offset = self.value(offset, (*path, len(items)), depth)
            items.append(item)
            offset = self.separator(offset, "]")
        return items, offset + 1

    def members(self, offset: int, path: KeyPath, depth: int) -> tuple[dict[str, object], int]:
        """Read an object."""
        items: dict[str, object] = {}
        offset = self.skip(offset + 1)
        while self.text[offset : offset + 1] != "}":
            key_offset = offset
            if self.text[offset : offset + 1] != '"':
                self.refuse(offset, "a key in double quotes", "put the key in double quotes")
            key, offset = self.string(offset)
            if key in items:
                found = f"the key {shown(key)} a second time"
                raise ParseError(key_offset, found, "each key once in an object", "remove one of the two")
            offset = self.skip(offset)
            if self.text[offset : offset + 1] != ":":
                self.refuse(offset, f'":" after the key {shown(key)}', 'put ":" between key and value')
            items[key], offset = self.value(self.skip(offset + 1), (*path, key), depth, key_offset)
            offset = self.separator(offset, "}")
        return items, offset + 1

    def separator(self, offset: int, close: str) -> int:
        """Return the offset of the next item, or of the closing bracket, after an item that ended at `offset`."""
        offset = self.skip(offset)
        char = self.text[offset : offset + 1]
        if char == close:
            return offset
        if char != ",":
            self.refuse(offset, f'"," or "{close}"', 'put "," between two items')
        following = self.skip(offset + 1)
        if self.text[following : following + 1] == close:
            raise ParseError(offset, f'"," before "{close}"', "no comma after the last item", "remove the comma")
        return following


def _string_error(text: str, offset: int, error: json.JSONDecodeError) -> ParseError:
    if error.msg.startswith("Unterminated"):
        return ParseError(offset, "a string that does not end", 'a closing "', 'close the string with "')
    if "control character" in error.msg:
        found = f"the control character {shown(text[error.pos : error.pos + 1])} in a string"
        return ParseError(
            error.pos, found, "control characters to be escaped", "write \\n for a line break, \\t for a tab"
        )
    found = f"the escape {shown(text[error.pos : error.pos + 2])}"
    return ParseError(error.pos, found, "an escape that JSON knows", "write \\\\ for a backslash")
