"""Edit JSON in place, with or without comments, keeping its indentation, line breaks and spacing.

`SpanEditor` has the edits that JSON and YAML share.
"""

from __future__ import annotations

import copy
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Self

from hookrun.config.parse import JsonParser, KeyPath, ParseError


class EditError(Exception):
    """A document cannot be edited: changing a YAML alias, for example, would change another place."""

    def __init__(self, message: str = "it cannot be edited in place (a YAML alias?); change it by hand") -> None:
        super().__init__(message)


class SpanEditor(ABC):
    """A document. Every edit returns a new one; a blank text is an empty object.

    Edits raise EditError where the new text would not hold exactly the intended data.
    """

    def __init__(self, text: str, data: object) -> None:
        self.text = text
        self.data = data
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def at(self, path: KeyPath) -> object:
        """Return the value at a path, None if there is none."""
        try:
            return _walk(self.data, path)
        except (KeyError, IndexError, TypeError):  # TypeError: a key in a list, an index in an object or a number
            return None

    def put(self, path: KeyPath, value: object) -> Self:
        """Replace the value at `path`, or add it if its last step is a new key, or the length of a list.

        Missing containers above it are added.
        """
        parent, step = path[:-1], path[-1]
        if parent and self.at(parent) is None:
            return self.put(parent, {step: value} if isinstance(step, str) else [value])
        expected = copy.deepcopy(self.data)
        container = _walk(expected, parent)
        is_new = not self._has(path)
        if isinstance(container, list) and is_new and step == len(container):
            container.append(copy.deepcopy(value))
        elif isinstance(container, dict) or not is_new:
            container[step] = copy.deepcopy(value)
        else:
            raise EditError
        if is_new:
            return self._checked(self._with_item(parent, value, step if isinstance(step, str) else None), expected)
        return self._checked(self._with_value(path, value), expected)

    def add(self, path: KeyPath, value: object) -> Self:
        """Append a value to the list at `path`, adding the list if missing."""
        there = self.at(path)
        return self.put((*path, len(there) if isinstance(there, list) else 0), value)

    def remove(self, path: KeyPath) -> Self:
        """Remove the item at `path` from its list or object."""
        expected = copy.deepcopy(self.data)
        del _walk(expected, path[:-1])[path[-1]]
        for text in self._without(path):
            try:
                return self._checked(text, expected)
            except EditError:
                continue
        raise EditError

    def _checked(self, text: str, expected: object) -> Self:
        try:
            edited = self._parsed(text)
        except ParseError:
            raise EditError from None
        if edited.data != expected:
            raise EditError
        return edited

    @abstractmethod
    def _parsed(self, text: str) -> Self:
        """Return the editor of another text of the same format. Raises ParseError."""

    @abstractmethod
    def _has(self, path: KeyPath) -> bool:
        """Return whether the value at `path` is written there, not merged in. Raises EditError."""

    @abstractmethod
    def _with_item(self, path: KeyPath, value: object, key: str | None) -> str:
        """Return the text with one more item in the container at `path`."""

    @abstractmethod
    def _with_value(self, path: KeyPath, value: object) -> str:
        """Return the text with another value at `path`."""

    @abstractmethod
    def _without(self, path: KeyPath) -> Iterator[str]:
        """Yield the possible texts without the item at `path`, the best first."""


def _walk(data: object, path: KeyPath) -> dict[str | int, object]:
    for step in path:
        data = data[step]  # type: ignore[index]  # other values raise TypeError
    return data  # type: ignore[return-value]  # a list or an object


SPACES = " \t\r\n"
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Indentation of a level by default.
DEFAULT_UNIT = "  "


class ParserWithComments(JsonParser):
    """A parser that allows comments and trailing commas, as some agents do."""

    def skip(self, offset: int) -> int:
        """Skip white space and comments."""
        offset = super().skip(offset)
        while comment := COMMENT.match(self.text, offset):
            offset = super().skip(comment.end())
        return offset

    def separator(self, offset: int, close: str) -> int:
        """Skip a comma, even before the closing bracket."""
        comma = self.skip(offset)
        if self.text[comma : comma + 1] == ",":
            following = self.skip(comma + 1)
            if self.text[following : following + 1] == close:
                return following
        return super().separator(offset, close)


# A file's form -> its parser.
PARSERS = {"json": JsonParser, "jsonc": ParserWithComments}


class Json(SpanEditor):
    """One JSON text."""

    def __init__(self, text: str, form: str) -> None:
        """Parse the text in the form "json" or "jsonc". Raises ParseError."""
        self.form = form
        self.blank = not text.strip(SPACES)
        self._positions = PARSERS[form]("{}" if self.blank else text).parse()
        super().__init__(text, self._positions.data)

    def offset(self, path: KeyPath) -> int:
        """Return where the value at `path` or the nearest enclosing value begins."""
        return self._positions.offset(path)

    def _parsed(self, text: str) -> Json:
        return Json(text, self.form)

    def _has(self, path: KeyPath) -> bool:
        return path in self._positions.values

    # --- edits

    def _with_item(self, path: KeyPath, value: object, key: str | None) -> str:
        if self.blank:
            return self.text + self._written({key: value}, "", inline=False) + self.newline
        start, close = self._positions.values[path], self._end(path) - 1
        lead = len(self.text[:close].rstrip(SPACES))
        children = self._children(path)
        inline = bool(path or self.data) and "\n" not in (self.text[start:close] if children else self.text)
        indents = self._indents(path) or [self._line_indent(path) + self._unit()]
        indent = "" if inline else indents[-1]
        item = self._written(value, indent, inline=inline)
        if key is not None:
            item = json.dumps(key, ensure_ascii=False) + (":" if inline and self._is_compact() else ": ") + item
        before = " " if inline else self.newline + indent
        if not children:
            if inline:
                return self.text[:lead] + item + self.text[lead:]
            after = "" if "\n" in self.text[lead:close] else self.newline + self._line_indent(path)
            return self.text[:lead] + before + item + after + self.text[lead:]
        last = self._end(children[-1])
        if self._comma_after(last) is not None:  # this text puts a comma after the last item
            return self.text[:lead] + before + item + "," + self.text[lead:]
        if inline and self._is_compact():
            before = ""
        return self.text[:last] + "," + self.text[last:lead] + before + item + self.text[lead:]

    def _with_value(self, path: KeyPath, value: object) -> str:
        start, end = self._positions.values[path], self._end(path)
        inline = "\n" not in self.text[start:end]
        return self.text[:start] + self._written(value, self._line_indent(path), inline=inline) + self.text[end:]

    def _without(self, path: KeyPath) -> Iterator[str]:
        """Remove the item with its comma and an emptied line."""
        start = self._positions.offset(path, key=True)
        yield self._cut(path, len(self.text[:start].rstrip(SPACES)))
        # A comment to the end of the line precedes the item: its line break is needed.
        yield self._cut(path, start)

    def _cut(self, path: KeyPath, lead: int) -> str:
        """Return the text without the part from `lead` to the end of the item at `path` and one comma."""
        end = self._end(path)
        siblings = self._children(path[:-1])
        position = siblings.index(path)
        comma = self._comma_after(end)
        if comma is None and position:
            before = self._comma_after(self._end(siblings[position - 1]))
            if before is None:
                raise EditError
            return self.text[:before] + self.text[before + 1 : lead] + self.text[end:]
        rest = self.text[end if comma is None else comma + 1 :]
        if len(siblings) == 1 and lead == self._positions.values[path[:-1]] + 1:
            rest = rest.lstrip(SPACES)  # the brackets are empty now
        return self.text[:lead] + rest

    # --- how this text is written

    def _children(self, path: KeyPath) -> list[KeyPath]:
        value = self.at(path)
        steps = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        return [(*path, step) for step in steps]

    def _end(self, path: KeyPath) -> int:
        _, end = PARSERS[self.form](self.text).value(self._positions.values[path], path, 0)
        return end

    def _comma_after(self, end: int) -> int | None:
        offset = PARSERS[self.form](self.text).skip(end)
        return offset if self.text[offset : offset + 1] == "," else None

    def _is_compact(self) -> bool:
        return '": ' not in self.text

    def _indents(self, path: KeyPath) -> list[str]:
        """Return the indents of the items at `path` that are first in their line."""
        lines = [self._line_before(self._positions.offset(child, key=True)) for child in self._children(path)]
        return [line for line in lines if not line.strip(" \t")]

    def _line_indent(self, path: KeyPath) -> str:
        line = self._line_before(self._positions.values[path])
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _line_before(self, offset: int) -> str:
        return self.text[self.text.rfind("\n", 0, offset) + 1 : offset]

    def _unit(self) -> str:
        return next(filter(None, self._indents(())), DEFAULT_UNIT)

    def _written(self, value: object, indent: str, *, inline: bool) -> str:
        if inline:
            separators = (",", ":") if self._is_compact() else (", ", ": ")
            return json.dumps(value, ensure_ascii=False, separators=separators)
        lines = json.dumps(value, ensure_ascii=False, indent=self._unit()).split("\n")
        return (self.newline + indent).join(lines)
