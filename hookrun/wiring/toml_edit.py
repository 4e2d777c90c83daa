"""Puts tables into a TOML text and takes them out again by whole lines: every other line keeps its very characters."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass

from hookrun.config.parsed import ParseError

HEADER = re.compile(r"[ \t]*\[[^\[].*")
PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
ASSIGNMENT = re.compile(r"[ \t]*([A-Za-z0-9_-]+)[ \t]*=")
SKIPPED = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|\n|.',
    re.DOTALL,
)
"""The strings and comments of TOML, in which a bracket means nothing, line ends, and any other character."""

TableKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One `[table]`: from the beginning of its header's line to the end of its last line with a key, as offsets."""

    key: TableKey
    start: int
    end: int


class Toml:
    """One TOML text. Every edit gives a new one."""

    def __init__(self, text: str) -> None:
        """Parse the text. Raises ParseError where it is not valid."""
        self.text = text
        try:
            self.data: dict[str, object] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _parse_error(text, str(error)) from error

    def at(self, key: TableKey) -> object:
        """Return the value at a key path; None where there is none."""
        value: object = self.data
        for step in key:
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def tables(self) -> list[Table]:
        """Return the tables that are written with a header of their own, in the order of the text."""
        lines = _top_level_lines(self.text)
        headers = [number for number, (start, end) in enumerate(lines) if _is_header(self.text[start:end])]
        found = []
        for number, following in zip(headers, [*headers, len(lines)][1:], strict=True):
            start, end = lines[number]
            key = _header_key(self.text[start:end])
            for line_start, line_end in lines[number + 1 : following]:
                if self.text[line_start:line_end].strip() and not self.text[line_start:line_end].lstrip().startswith(
                    "#"
                ):
                    end = line_end
            if key is not None:
                found.append(Table(key, start, end))
        return found

    def put(self, key: TableKey, name: str, value: str) -> Toml:
        """Set `name = "value"` in the table `key`, which is added at the end if it is not there.

        Raises ParseError when the text has no place for it: a table around it is written inline.
        """
        if self.at((*key, name)) == value:
            return self
        table = next((table for table in self.tables() if table.key == key), None)
        newline = "\r\n" if "\r\n" in self.text else "\n"
        if table is not None:
            text = self._assigned(table, f"{name} = {_quoted(value)}", name, newline)
        else:
            between = "" if not self.text or self.text.endswith("\n") else newline
            between += newline if self.text.strip() else ""
            header = "[" + ".".join(map(_key_part, key)) + "]"
            text = f"{self.text}{between}{header}{newline}{name} = {_quoted(value)}{newline}"
        try:
            edited = Toml(text)
        except ParseError:
            edited = self
        if edited.at((*key, name)) != value:
            found = f"{'.'.join(key[:-1])} written inline"
            raise ParseError(0, found, f"tables with headers, as [{'.'.join(key[:-1])}]", "write it as tables")
        return edited

    def _assigned(self, table: Table, line: str, name: str, newline: str) -> str:
        """Return the text with `line` in a table, in the place of the one that sets `name` now."""
        for start, end in _top_level_lines(self.text):
            if table.start < start < table.end:
                match = ASSIGNMENT.match(self.text, start, end)
                if match is not None and match.group(1) == name:
                    kept = self.text[end - 2 : end] if self.text[:end].endswith("\r\n") else self.text[end - 1 : end]
                    return self.text[:start] + line + (kept if kept.endswith("\n") else "") + self.text[end:]
        ended = self.text[: table.end].endswith("\n")
        return self.text[: table.end] + ("" if ended else newline) + line + newline + self.text[table.end :]

    def remove(self, key: TableKey) -> Toml:
        """Take the table `key` out, header and all, with one blank line before it. What is inline stays."""
        for table in self.tables():
            if table.key == key:
                before = self.text[: table.start]
                for blank in ("\r\n", "\n"):
                    if before.endswith(blank * 2):
                        before = before[: -len(blank)]
                        break
                return Toml(before + self.text[table.end :])
        return self


def _top_level_lines(text: str) -> list[tuple[int, int]]:
    """Return the lines, as offsets from first character to after the line end; a value over lines counts as one."""
    lines = []
    start = depth = 0
    for match in SKIPPED.finditer(text):
        piece = match.group()
        depth += (piece in "[{") - (piece in "]}") if len(piece) == 1 else 0
        if piece == "\n" and depth <= 0:
            lines.append((start, match.end()))
            start = match.end()
    if start < len(text):
        lines.append((start, len(text)))
    return lines


def _is_header(line: str) -> bool:
    return line.lstrip(" \t").startswith("[")


def _header_key(line: str) -> TableKey | None:
    """Return the key path of a `[table]` header; None for an `[[array of tables]]`."""
    if not HEADER.match(line):
        return None
    key: list[str] = []
    value: object = tomllib.loads(line)
    while isinstance(value, dict) and value:
        step, value = next(iter(value.items()))
        key.append(step)
    return tuple(key)


def _key_part(part: str) -> str:
    return part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else _quoted(part)


def _quoted(text: str) -> str:
    """Return a basic string of TOML: JSON's escapes are among those that it knows."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parse_error(text: str, message: str) -> ParseError:
    """Return tomllib's error as ours: it names a line and a column, or the end of the document."""
    place = PLACE.search(message)
    what = message.partition(" (at ")[0]
    offset = len(text)
    if place is not None:
        lines = text.split("\n")
        offset = sum(len(line) + 1 for line in lines[: int(place.group(1)) - 1]) + int(place.group(2)) - 1
    return ParseError(offset, f"a mistake ({what})", "valid TOML", "correct it")
