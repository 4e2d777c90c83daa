"""Edits a JSON text, with comments or without, by spans: what is not edited keeps its very characters."""

from __future__ import annotations

import copy
import json
import re
from typing import TYPE_CHECKING

from hookrun.config.json_text import Parser
from hookrun.config.parsed import ParseError

if TYPE_CHECKING:
    from hookrun.config.parsed import KeyPath

SPACES = " \t\r\n"
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
DEFAULT_UNIT = "  "
"""What a level is indented by where the text does not show its own way."""


class Spans(Parser):
    """A strict parser that also notes where every value ends."""

    def __init__(self, text: str) -> None:
        """Begin with nothing parsed."""
        super().__init__(text)
        self.ends: dict[KeyPath, int] = {}

    def value(self, offset: int, path: KeyPath, depth: int, key_offset: int | None = None) -> tuple[object, int]:
        """Read a value and note its end."""
        data, end = super().value(offset, path, depth, key_offset)
        self.ends[path] = end
        return data, end


class SpansWithComments(Spans):
    """The same for JSON with comments and trailing commas, as Gemini CLI and Qwen Code read it."""

    def skip(self, offset: int) -> int:
        """Pass over space and comments."""
        offset = super().skip(offset)
        while comment := COMMENT.match(self.text, offset):
            offset = super().skip(comment.end())
        return offset

    def separator(self, offset: int, close: str) -> int:
        """Pass over a comma, also over one before the closing bracket."""
        comma = self.skip(offset)
        if self.text[comma : comma + 1] == ",":
            following = self.skip(comma + 1)
            if self.text[following : following + 1] == close:
                return following
        return super().separator(offset, close)


PARSERS = {"json": Spans, "jsonc": SpansWithComments}
"""Form of a file -> how it is parsed."""


class Json:
    """One JSON text. Every edit gives a new one; a blank text counts as an empty object."""

    def __init__(self, text: str, form: str) -> None:
        """Parse the text, `form` being "json" or "jsonc". Raises ParseError where it is not valid."""
        self.text = text
        self.form = form
        self.blank = not text.strip(SPACES)
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._spans = PARSERS[form]("{}" if self.blank else text)
        self.data: object = self._parse()

    def _parse(self) -> object:
        spans = self._spans
        data, end = spans.value(spans.skip(0), (), 0)
        end = spans.skip(end)
        if end < len(spans.text):
            spans.refuse(end, "the end of the file", "remove what follows the value")
        return data

    def offset(self, path: KeyPath, *, key: bool = False) -> int:
        """Return where the value at `path` begins (or its key), or the nearest value around it that is there."""
        return self._spans.parsed.offset(path, key=key)

    def at(self, path: KeyPath) -> object:
        """Return the value at a path; None where there is none."""
        value = self.data
        for step in path:
            try:
                value = value[step] if isinstance(value, (dict, list)) else None  # type: ignore[index]  # what does not fit is caught
            except (KeyError, IndexError, TypeError):  # a key in a list, an index in an object
                return None
        return value

    # --- edits

    def add(self, path: KeyPath, value: object, key: str | None = None) -> Json:
        """Put a value at the end of the list at `path`, or a member `key` at the end of the object there."""
        expected = copy.deepcopy(self.data)
        _put(_walk(expected, path), value, key)
        if self.blank:
            text = self.text + self._written({key: value}, "", inline=False) + self._newline
            return self._checked(text, expected)
        start, close = self._spans.parsed.values[path], self._spans.ends[path] - 1
        lead = len(self.text[:close].rstrip(SPACES))
        inline = bool(path or self.data) and "\n" not in (self.text[start:close] if self._children(path) else self.text)
        indent = "" if inline else self._indent_within(path)
        item = self._written(value, indent, inline=inline)
        if key is not None:
            item = json.dumps(key, ensure_ascii=False) + (":" if inline and self._is_compact() else ": ") + item
        return self._checked(self._with_item(path, item, lead, None if inline else indent), expected)

    def _with_item(self, path: KeyPath, item: str, lead: int, indent: str | None) -> str:
        """Return the text with one more item after `lead`, in a line of its own if it has an indent."""
        children = self._children(path)
        close = self._spans.ends[path] - 1
        before = " " if indent is None else self._newline + indent
        if not children:
            if indent is None:
                return self.text[:lead] + item + self.text[lead:]
            after = "" if "\n" in self.text[lead:close] else self._newline + self._line_indent(path)
            return self.text[:lead] + before + item + after + self.text[lead:]
        last = self._spans.ends[children[-1]]
        if self._comma_after(last) is not None:  # a comma after the last item is this text's way
            return self.text[:lead] + before + item + "," + self.text[lead:]
        if indent is None and self._is_compact():
            before = ""
        return self.text[:last] + "," + self.text[last:lead] + before + item + self.text[lead:]

    def set(self, path: KeyPath, value: object) -> Json:
        """Put another value in the place of the one at `path`."""
        start, end = self._spans.parsed.values[path], self._spans.ends[path]
        inline = "\n" not in self.text[start:end]
        written = self._written(value, self._line_indent(path), inline=inline)
        expected = copy.deepcopy(self.data)
        if path:
            _walk(expected, path[:-1])[path[-1]] = copy.deepcopy(value)
        else:
            expected = value
        return self._checked(self.text[:start] + written + self.text[end:], expected)

    def remove(self, path: KeyPath) -> Json:
        """Take the item at `path` out of its list or object, with its comma and the line that it leaves empty."""
        expected = copy.deepcopy(self.data)
        del _walk(expected, path[:-1])[path[-1]]
        start = self._spans.parsed.keys.get(path, self._spans.parsed.values[path])
        lead = len(self.text[:start].rstrip(SPACES))
        try:
            return self._checked(self._without(path, lead), expected)
        except (OtherError, ParseError):  # a comment to the end of the line stands before it: its line break is needed
            return self._checked(self._without(path, start), expected)

    def _without(self, path: KeyPath, lead: int) -> str:
        end = self._spans.ends[path]
        siblings = self._children(path[:-1])
        comma = self._comma_after(end)
        if comma is not None:
            rest = self.text[comma + 1 :]
            if len(siblings) == 1:
                rest = self._closed(rest, lead, path)
            return self.text[:lead] + rest
        position = siblings.index(path)
        if position == 0:
            return self.text[:lead] + self._closed(self.text[end:], lead, path)
        before = self._spans.ends[siblings[position - 1]]
        comma = self._comma_after(before)
        if comma is None:
            raise OtherError
        return self.text[:comma] + self.text[comma + 1 : lead] + self.text[end:]

    def _closed(self, rest: str, lead: int, path: KeyPath) -> str:
        """Return what follows the only item without the space before the bracket, if the brackets are empty now."""
        opened = self._spans.parsed.values[path[:-1]] + 1
        return rest.lstrip(SPACES) if lead == opened else rest

    # --- how this text is written

    def _children(self, path: KeyPath) -> list[KeyPath]:
        value = self.at(path)
        steps: list[str | int] = list(value) if isinstance(value, dict) else []
        if isinstance(value, list):
            steps = list(range(len(value)))
        return [(*path, step) for step in steps]

    def _comma_after(self, end: int) -> int | None:
        """Return the offset of the comma that follows what ends at `end`."""
        offset = self._spans.skip(end)
        return offset if self.text[offset : offset + 1] == "," else None

    def _is_compact(self) -> bool:
        return '": ' not in self.text

    def _indent_within(self, path: KeyPath) -> str:
        """Return the indent of the items in the brackets at `path`."""
        for child in reversed(self._children(path)):
            indent = self._own_line(self._spans.parsed.keys.get(child, self._spans.parsed.values[child]))
            if indent is not None:
                return indent
        return self._line_indent(path) + self._unit()

    def _line_indent(self, path: KeyPath) -> str:
        """Return the white space at the beginning of the line in which the value at `path` begins."""
        offset = self._spans.parsed.values[path]
        line = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _own_line(self, offset: int) -> str | None:
        """Return the indent of what begins at `offset`, None if it is not the first in its line."""
        line = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        return None if line.strip(" \t") else line

    def _unit(self) -> str:
        for child in self._children(()):
            indent = self._own_line(self._spans.parsed.keys.get(child, self._spans.parsed.values[child]))
            if indent:
                return indent
        return DEFAULT_UNIT

    def _written(self, value: object, indent: str, *, inline: bool) -> str:
        if inline:
            separators = (",", ":") if self._is_compact() else (", ", ": ")
            return json.dumps(value, ensure_ascii=False, separators=separators)
        lines = json.dumps(value, ensure_ascii=False, indent=self._unit()).split("\n")
        return (self._newline + indent).join(lines)

    def _checked(self, text: str, expected: object) -> Json:
        """Return the edited text, once it is seen to hold exactly what it should."""
        edited = Json(text, self.form)
        if edited.data != expected:
            raise OtherError
        return edited


class OtherError(Exception):
    """An edit has come to something else than what was meant."""


def _walk(data: object, path: KeyPath) -> dict[str | int, object]:
    for step in path:
        data = data[step]  # type: ignore[index]  # the path was found by parsing
    return data  # type: ignore[return-value]  # a list or an object: both are indexed and deleted from alike


def _put(container: object, value: object, key: str | None) -> None:
    if isinstance(container, list):
        container.append(copy.deepcopy(value))
    elif isinstance(container, dict):
        container[key] = copy.deepcopy(value)
