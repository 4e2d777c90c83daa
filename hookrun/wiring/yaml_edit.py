"""Edits the lists and mappings of a YAML text by spans: what is not edited keeps its very characters."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING

import yaml

from hookrun.config.parsed import ParseError
from hookrun.config.yaml_text import LOADER, parse
from hookrun.wiring.json_edit import OtherError

if TYPE_CHECKING:
    from hookrun.config.parsed import KeyPath

INDENT = 2
"""Columns by which a list stands to the right of its key where the text does not show its own way."""


class Yaml:
    """One YAML text. Every edit gives a new one; a text without data counts as an empty mapping.

    An edit that would come to something else than what is meant raises OtherError: one through an alias, for example.
    """

    def __init__(self, text: str) -> None:
        """Parse the text. Raises ParseError where it is not one document of plain data."""
        self.text = text
        parsed = parse(text)
        self.blank = parsed.data is None
        self.data: object = {} if self.blank else parsed.data
        self._node = None if self.blank else yaml.compose(text, Loader=LOADER)
        self._newline = "\r\n" if "\r\n" in text else "\n"

    def add(self, path: KeyPath, value: object, key: str | None = None) -> Yaml:
        """Put a value at the end of the list at `path`, or a member `key` at the end of the mapping there."""
        expected = copy.deepcopy(self.data)
        container = _walk(expected, path)
        if key is None and isinstance(container, list):
            container.append(copy.deepcopy(value))
        elif key is not None and isinstance(container, dict):
            container[key] = copy.deepcopy(value)
        else:
            raise OtherError
        item: object = [value] if key is None else {key: value}
        if self.blank:
            return self._checked(self._whole_lines(self.text) + self._written(item, 0), expected)
        node = self._at(path)
        if not isinstance(node, yaml.CollectionNode):
            raise OtherError
        if node.flow_style:
            return self._checked(self._in_flow(node, item, len(path)), expected)
        line_end = self._line_end(end_of(node, self.text))
        head = self._whole_lines(self.text[:line_end])
        tail = self.text[line_end:].removeprefix(self._newline)
        return self._checked(head + self._written(item, self._column(node)) + tail, expected)

    def _in_flow(self, node: yaml.CollectionNode, item: object, depth: int) -> str:
        """Return the text with one more item in brackets; brackets without any become lines where that is possible."""
        inner = json.dumps(item, ensure_ascii=False)[1:-1]
        if node.value:
            end = end_of(_last(node), self.text)
            return f"{self.text[:end]}, {inner}{self.text[end:]}"
        start, end = node.start_mark.index, node.end_mark.index
        if depth != 1 or self.text[end : self._line_end(end)].strip():
            return f"{self.text[:start]}{self.text[start]}{inner}{self.text[end - 1 :]}"
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        column = len(line) - len(line.lstrip(" ")) + INDENT
        head = self._whole_lines(self.text[:start].rstrip(" "))
        return head + self._written(item, column) + self.text[self._line_end(end) :].removeprefix(self._newline)

    def set(self, path: KeyPath, value: object) -> Yaml:
        """Put another value in the place of the item of a list at `path`."""
        expected = copy.deepcopy(self.data)
        _walk(expected, path[:-1])[path[-1]] = copy.deepcopy(value)  # type: ignore[index]  # found by parsing
        node = self._at(path)
        end = end_of(node, self.text)
        if self._list_around(path).flow_style:
            start, written = node.start_mark.index, json.dumps(value, ensure_ascii=False)
        else:
            start = self._dash(node)
            column = start - self.text.rfind("\n", 0, start) - 1
            written = self._written([value], column).strip(" \r\n")
        return self._checked(self.text[:start] + written + self.text[end:], expected)

    def remove(self, path: KeyPath) -> Yaml:
        """Take the item of a list at `path` out, with the lines that it stands in."""
        expected = copy.deepcopy(self.data)
        del _walk(expected, path[:-1])[path[-1]]  # type: ignore[attr-defined]  # found by parsing
        around, node = self._list_around(path), self._at(path)
        end = end_of(node, self.text)
        position = around.value.index(node)
        if around.flow_style:
            start = node.start_mark.index
            if position:
                start = end_of(around.value[position - 1], self.text)
            elif len(around.value) > 1:
                end = around.value[1].start_mark.index
            return self._checked(self.text[:start] + self.text[end:], expected)
        start = self.text.rfind("\n", 0, self._dash(node)) + 1
        rest = self.text[self._line_end(end) :].removeprefix(self._newline)
        head = self.text[:start]
        if len(around.value) == 1:
            colon = self._colon(path[:-1])
            head = head[: colon + 1] + " []" + head[colon + 1 :]
        return self._checked(head + rest, expected)

    # --- where things stand

    def _at(self, path: KeyPath) -> yaml.Node:
        node = self._node
        for step in path:
            if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = node.value[step]
            else:
                node = self._pair(node, step)[1]
        if node is None:
            raise OtherError
        return node

    @staticmethod
    def _pair(node: yaml.Node | None, key: str | int) -> tuple[yaml.Node, yaml.Node]:
        for name, value in node.value if isinstance(node, yaml.MappingNode) else []:
            if name.value == key:
                return name, value
        raise OtherError

    def _list_around(self, path: KeyPath) -> yaml.SequenceNode:
        node = self._at(path[:-1])
        if not isinstance(node, yaml.SequenceNode):
            raise OtherError
        return node

    def _colon(self, path: KeyPath) -> int:
        """Return the offset of the colon behind the last key of a path."""
        name, _ = self._pair(self._at(path[:-1]), path[-1])
        return self.text.index(":", name.end_mark.index)

    def _dash(self, node: yaml.Node) -> int:
        """Return the offset of the dash before an item."""
        offset = len(self.text[: node.start_mark.index].rstrip()) - 1
        if self.text[offset : offset + 1] != "-":
            raise OtherError
        return offset

    def _column(self, node: yaml.CollectionNode) -> int:
        """Return where the items of lines begin in their lines: a list's own mark may be that of its anchor."""
        if isinstance(node, yaml.MappingNode):
            return int(node.value[0][0].start_mark.column)
        dash = self._dash(node.value[0])
        return dash - self.text.rfind("\n", 0, dash) - 1

    def _line_end(self, offset: int) -> int:
        end = self.text.find(self._newline, offset)
        return len(self.text) if end < 0 else end

    # --- how it is written

    def _whole_lines(self, text: str) -> str:
        return text if not text or text.endswith("\n") else text + self._newline

    def _written(self, value: object, column: int) -> str:
        lines = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 30).splitlines()
        return "".join(" " * column + line + self._newline for line in lines)

    @staticmethod
    def _checked(text: str, expected: object) -> Yaml:
        """Return the edited text, once it is seen to hold exactly what it should."""
        try:
            edited = Yaml(text)
        except ParseError:
            raise OtherError from None
        if edited.data != expected:
            raise OtherError
        return edited


class _Dumper(yaml.SafeDumper):
    """Writes what is there twice out twice, and a list to the right of its key."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # PyYAML's signature
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  # PyYAML's
        super().increase_indent(flow, False)  # noqa: FBT003  # PyYAML's


def _walk(data: object, path: KeyPath) -> object:
    for step in path:
        data = data[step]  # type: ignore[index]  # the path was found by parsing
    return data


def _last(node: yaml.CollectionNode) -> yaml.Node:
    last: yaml.Node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    return last


def end_of(node: yaml.Node, text: str) -> int:
    """Return where a node's last character stands: PyYAML's own mark is behind the comments that follow."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        node = _last(node)
    end = node.end_mark.index
    return len(text[:end].rstrip()) if isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"} else end
