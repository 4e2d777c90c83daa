"""Edit TOML tables, and arrays of tables, by whole lines, so that every other line keeps its characters.

tomlkit is no help: with a table it also removes the comments before the next one.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator

from hookrun.config.parse import KeyPath, ParseError
from hookrun.edit.json_edit import EditError, SpanEditor

HEADER = re.compile(r"^[ \t]*\[.*\n?", re.MULTILINE)
PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")

TableKey = tuple[str, ...]


class Toml:
    """One TOML text. Every edit returns a new one."""

    def __init__(self, text: str) -> None:
        """Parse the text. Raises ParseError."""
        self.text = text
        try:
            self.data: dict[str, object] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _parse_error(text, str(error)) from error

    def at(self, key: TableKey) -> object:
        """Return the value at a key path, or None."""
        value: object = self.data
        for step in key:
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def put(self, key: TableKey, name: str, value: str) -> Toml:
        """Set `name = "value"` in the table `key`, which is added at the end if missing.

        Raises ParseError if an enclosing table is inline.
        """
        if self.at((*key, name)) == value:
            return self
        newline = "\r\n" if "\r\n" in self.text else "\n"
        line = f"{name} = {_quoted(value)}"
        for edited in self._with_line(key, name, line, newline):
            if edited.at((*key, name)) == value:
                return edited
        table = ".".join(key[:-1])
        raise ParseError(0, f"`{table}` is an inline table", f"write it with a header: [{table}]")

    def remove(self, key: TableKey) -> Toml:
        """Remove the table `key` with its header and one blank line before it. Inline tables stay."""
        for start, _, end in tables(self.text, key):
            for edited in _valid(_before(self.text, start) + self.text[end:]):
                if edited.at(key) is None:
                    return edited
        return self

    def _with_line(self, key: TableKey, name: str, line: str, newline: str) -> Iterator[Toml]:
        """Yield the texts with `line` in a table with this header, or in a new one at the end."""
        for _, first, end in tables(self.text, key):
            body, count = re.subn(rf"(?m)^[ \t]*{name}[ \t]*=[^\r\n]*", lambda _: line, self.text[first:end], count=1)
            if not count:
                body += ("" if self.text[:end].endswith("\n") else newline) + line + newline
            yield from _valid(self.text[:first] + body + self.text[end:])
        between = "" if not self.text or self.text.endswith("\n") else newline
        between += newline if self.text.strip() else ""
        header = ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else _quoted(part) for part in key)
        yield from _valid(f"{self.text}{between}[{header}]{newline}{line}{newline}")


class TomlTables(SpanEditor):
    """One TOML text, in which only the tables of arrays, `[[name]]`, are edited: at `(name, number)`."""

    def __init__(self, text: str) -> None:
        """Parse the text. Raises ParseError."""
        super().__init__(text, Toml(text).data)
        self.blank = not text.strip()

    def offset(self, path: KeyPath) -> int:
        """Return where the table at `path` begins, 0 if there is none."""
        found = list(tables(self.text, (str(path[0]), ARRAY)))
        return found[int(path[1])][0] if len(path) > 1 and int(path[1]) < len(found) else 0

    def _parsed(self, text: str) -> TomlTables:
        return TomlTables(text)

    def _has(self, path: KeyPath) -> bool:
        return self.at(path) is not None

    def _with_item(self, path: KeyPath, value: object, key: str | None) -> str:
        items = value if key is not None and isinstance(value, list) else [value]
        text = self.text
        for item in items:
            text += self.newline * (bool(text) and not text.endswith("\n")) + self.newline * bool(text.strip())
            text += self._table(str(path[0] if path else key), item)
        return text

    def _with_value(self, path: KeyPath, value: object) -> str:
        start, end = self._span(path)
        return self.text[:start] + self._table(str(path[0]), value) + self.text[end:]

    def _without(self, path: KeyPath) -> Iterator[str]:
        start, end = self._span((*path, 0) if len(path) == 1 else path)
        yield _before(self.text, start) + self.text[end:]

    def _span(self, path: KeyPath) -> tuple[int, int]:
        found = list(tables(self.text, (str(path[0]), ARRAY)))
        if len(path) != len(("name", 0)) or int(path[1]) >= len(found):
            raise EditError
        start, _, end = found[int(path[1])]
        return start, end

    def _table(self, name: str, value: object) -> str:
        if not isinstance(value, dict):
            raise EditError
        lines = [f"[[{name}]]", *(f"{key} = {_quoted(each)}" for key, each in value.items())]
        return "".join(line + self.newline for line in lines)


# The last step in the key of an array's table.
ARRAY = "[]"


def tables(text: str, key: TableKey) -> Iterator[tuple[int, int, int]]:
    """Yield where the header `[key]` begins and ends, and the end of its last line with a key.

    A line within a long string may look like a header: callers check the result of their edit.
    """
    for match in HEADER.finditer(text):
        if _table_key(match.group()) == key:
            following = HEADER.search(text, match.end())
            lines = text[match.end() : following and following.start()].splitlines(keepends=True)
            while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
                lines.pop()
            yield match.start(), match.end(), match.end() + len("".join(lines))


def _before(text: str, start: int) -> str:
    """Return the text before a table that is removed, without one blank line at its end."""
    return re.sub(r"(\r?\n)\1\Z", r"\1", text[:start])


def _valid(text: str) -> Iterator[Toml]:
    try:
        yield Toml(text)
    except ParseError:
        return


def _table_key(header: str) -> TableKey | None:
    """Return a header's key path, which for `[[array of tables]]` ends with ARRAY; None for other lines."""
    key: list[str] = []
    try:
        value: object = tomllib.loads(header)
    except tomllib.TOMLDecodeError:
        return None
    while isinstance(value, dict) and value:
        step, value = next(iter(value.items()))
        key.append(step)
    return tuple(key) if value == {} else (*key, ARRAY) if value == [{}] else None


def _quoted(value: object) -> str:
    """Return a basic TOML string, which supports JSON's escapes, a number or a boolean."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parse_error(text: str, message: str) -> ParseError:
    """Return tomllib's error as a ParseError: it names line and column or the end of the document."""
    offset = len(text)
    if (place := PLACE.search(message)) is not None:
        line, column = map(int, place.groups())
        offset += column - 1 - len(text.split("\n", line - 1)[-1])
    return ParseError(offset, f"invalid TOML: {message.partition(' (at ')[0]}", "correct the line")
