"""Edit YAML lists and mappings in place, keeping the text's indentation and block or flow style."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from hookrun.config.parse import KeyPath
from hookrun.config.parse_yaml import LOADER, parse_yaml
from hookrun.edit.json_edit import EditError, SpanEditor

# Default indentation of a list below its key.
INDENT = 2


class Yaml(SpanEditor):
    """One YAML text."""

    def __init__(self, text: str) -> None:
        """Parse the text. Raises ParseError unless it is one document of plain data."""
        data = parse_yaml(text).data
        self.blank = data is None
        super().__init__(text, {} if self.blank else data)
        self._root = None if self.blank else yaml.compose(text, Loader=LOADER)

    def _parsed(self, text: str) -> Yaml:
        return Yaml(text)

    def _has(self, path: KeyPath) -> bool:
        parent = None if self.blank else self._node(path[:-1])
        return _child(parent, path[-1]) is not None

    # --- edits

    def _with_item(self, path: KeyPath, value: object, key: str | None) -> str:
        item: object = [value] if key is None else {key: value}
        if self.blank:
            return self._whole_lines(self.text) + self._lines(item, 0)
        node = self._node(path)
        if not isinstance(node, yaml.CollectionNode):
            raise EditError
        if not node.flow_style:
            end = self._line_end(_end(node, self.text))
            return self._with_lines(self.text[:end], self._lines(item, self._column(node)), end)
        start, end = node.start_mark.index, node.end_mark.index
        if node.value:
            last = _end(_last(node), self.text)
            return f"{self.text[:last]}, {_inline(item)[1:-1]}{self.text[last:]}"
        if len(path) != 1 or self.text[end : self._line_end(end)].strip():
            return f"{self.text[: start + 1]}{_inline(item)[1:-1]}{self.text[end - 1 :]}"
        # Empty brackets at the end of their key's own line become lines.
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        column = len(line) - len(line.lstrip(" ")) + INDENT
        return self._with_lines(self.text[:start].rstrip(" "), self._lines(item, column), self._line_end(end))

    def _with_value(self, path: KeyPath, value: object) -> str:
        parent, node = self._node(path[:-1]), self._node(path)
        start, end = node.start_mark.index, _end(node, self.text)
        if isinstance(parent, yaml.SequenceNode) and not parent.flow_style:
            start = self._dash(node)
            written = self._lines([value], self._column_of(start)).strip(" \r\n")
        else:
            written = _inline([value])[1:-1]
            if start == end:  # the key has no value yet
                written = f" {written}"
        return self.text[:start] + written + self.text[end:]

    def _without(self, path: KeyPath) -> Iterator[str]:
        parent, node = self._node(path[:-1]), self._node(path)
        if not isinstance(parent, yaml.CollectionNode):
            raise EditError
        in_list = isinstance(parent, yaml.SequenceNode)
        items = [(each, each) if in_list else each for each in parent.value]  # each with its key
        position = next(number for number, (_, value) in enumerate(items) if value is node)
        start, end = items[position][0].start_mark.index, _end(node, self.text)
        if parent.flow_style:
            if position:
                start = _end(items[position - 1][1], self.text)
            elif len(items) > 1:
                end = items[1][0].start_mark.index
            yield self.text[:start] + self.text[end:]
            return
        start = self.text.rfind("\n", 0, self._dash(node) if in_list else start) + 1
        rest = self.text[self._line_end(end) :].removeprefix(self.newline)
        head = self.text[:start]
        if len(items) == 1:
            pair = _pair(self._node(path[:-2]), path[-2]) if len(path) > 1 else None
            if pair is None:
                raise EditError
            colon = self.text.index(":", pair[0].end_mark.index)
            head = head[: colon + 1] + (" []" if in_list else " {}") + head[colon + 1 :]
        yield head + rest

    # --- where things stand

    def _node(self, path: KeyPath) -> yaml.Node:
        node = self._root
        for step in path:
            node = _child(node, step)
        if node is None:
            raise EditError
        return node

    def _dash(self, node: yaml.Node) -> int:
        offset = len(self.text[: node.start_mark.index].rstrip()) - 1
        if self.text[offset : offset + 1] != "-":
            raise EditError
        return offset

    def _column(self, node: yaml.CollectionNode) -> int:
        """Return the column of a block's items: a list's own mark may be its anchor's."""
        if isinstance(node, yaml.MappingNode):
            return int(node.value[0][0].start_mark.column)
        return self._column_of(self._dash(node.value[0]))

    def _column_of(self, offset: int) -> int:
        return offset - self.text.rfind("\n", 0, offset) - 1

    def _line_end(self, offset: int) -> int:
        end = self.text.find(self.newline, offset)
        return len(self.text) if end < 0 else end

    # --- how it is written

    def _whole_lines(self, text: str) -> str:
        return text if not text or text.endswith("\n") else text + self.newline

    def _with_lines(self, head: str, lines: str, end: int) -> str:
        """Return the text with whole lines between `head` and the line break at `end`."""
        return self._whole_lines(head) + lines + self.text[end:].removeprefix(self.newline)

    def _lines(self, value: object, column: int) -> str:
        lines = _dump(value, flow=False).removesuffix("\n").split("\n")
        return "".join((" " * column + line if line else "") + self.newline for line in lines)


class _Dumper(yaml.SafeDumper):
    """Writes no aliases and indents lists below their keys."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # PyYAML's signature
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  # PyYAML's
        super().increase_indent(flow, False)  # noqa: FBT003  # PyYAML's

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Write several lines as a block if possible; PyYAML alone puts blank lines between them."""
        # Blank lines at the end are quoted: a block with them ends the document in PyYAML's output (`...`).
        can_be_block = text.replace("\n", "").isprintable() and text != "\n" and not text.endswith("\n\n")
        style = None if text.isprintable() else "|" if can_be_block else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def _dump(value: object, *, flow: bool) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 30, default_flow_style=flow
    )
    return text


def _inline(value: object) -> str:
    return _dump(value, flow=True).strip()


def _child(node: yaml.Node | None, step: str | int) -> yaml.Node | None:
    """Return a node's item or value unless it is merged in."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        return node.value[step] if step < len(node.value) else None
    pair = _pair(node, step)
    return None if pair is None else pair[1]


def _pair(node: yaml.Node | None, key: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((pair for pair in pairs if pair[0].value == key), None)


def _last(node: yaml.CollectionNode) -> yaml.Node:
    last: yaml.Node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    return last


def _end(node: yaml.Node, text: str) -> int:
    """Return the offset after a node's last character: PyYAML's mark is behind the following comments."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        node = _last(node)
    end = node.end_mark.index
    return len(text[:end].rstrip()) if isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"} else end
