"""Edits a file of cases by spans: what is not edited keeps its very characters, comments and order included."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import yaml

from hookrun.config import json_text, yaml_text
from hookrun.config.parsed import ParseError
from hookrun.config.source import YAML_SUFFIXES
from hookrun.wiring.json_edit import Spans
from hookrun.wiring.yaml_edit import end_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.config.parsed import KeyPath

PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_ ./-]*[A-Za-z0-9_./-])?")
NOT_PLAIN = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that YAML takes for something else than text."""

SHARED = "it is a YAML alias or has one, so that another place would change with it; change it by hand"

ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
"""Characters that have a short escape."""


class CannotEditError(Exception):
    """A place cannot be edited without touching others; the message says why."""


@dataclass(frozen=True, slots=True)
class Change:
    """A value that is to stand at `path`. Where its last step is a key that is not there yet, it is added."""

    path: KeyPath
    value: object


class Form(Protocol):
    """A text whose values have spans, and how one is written in it."""

    def span(self, path: KeyPath) -> tuple[int, int] | None:
        """Return where the value at a path stands, None if there is none. Raises CannotEditError."""

    def addition(self, path: KeyPath, value: object) -> tuple[int, str]:
        """Return where to put a new member of an object, or a new item of a list, and its text."""

    def written(self, value: object) -> str:
        """Return a value as it is written on one line."""


def edited(path: str, text: str, changes: list[Change]) -> str:
    """Return the text with these changes made, the file's name telling its form. Raises CannotEditError.

    A change whose last step is the length of a list adds an item to it.
    """
    is_yaml = path.endswith(YAML_SUFFIXES)
    form: Form = YamlForm(text) if is_yaml else JsonForm(text)
    parse = yaml_text.parse if is_yaml else json_text.parse
    expected = copy.deepcopy(parse(text).data)
    edits: list[tuple[int, int, str]] = []
    for change in changes:
        _put(expected, change)
        span = form.span(change.path)
        if span is not None:
            edits.append((*span, form.written(change.value)))
        else:
            at, addition = form.addition(change.path, change.value)
            edits.append((at, at, addition))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    try:
        if parse(text).data == expected:
            return text
    except ParseError as error:
        raise CannotEditError(f"the edited text could not be read: {error}") from error
    raise CannotEditError("the edited text would not say what it should")


def _put(data: object, change: Change) -> None:
    for step in change.path[:-1]:
        data = data[step]  # type: ignore[index]  # the path is that of a case
    last = change.path[-1]
    if isinstance(data, list) and last == len(data):
        data.append(change.value)
    else:
        data[last] = change.value  # type: ignore[index]  # an object or a list


class JsonForm:
    """A JSON text."""

    def __init__(self, text: str) -> None:
        self._spans = Spans(text)
        self._text = text
        self._data, _ = self._spans.value(self._spans.skip(0), (), 0)

    def span(self, path: KeyPath) -> tuple[int, int] | None:
        """Return where the value at a path stands."""
        if path not in self._spans.ends:
            return None
        return self._spans.parsed.values[path], self._spans.ends[path]

    def addition(self, path: KeyPath, value: object) -> tuple[int, str]:
        """Return a new member or item after the last one; in a line of its own where that has one."""
        around, step = path[:-1], path[-1]
        new = self.written(value) if isinstance(step, int) else f"{json.dumps(step)}: {self.written(value)}"
        siblings = [each for each in self._spans.ends if each[:-1] == around and each != around]
        if not siblings:
            return self._spans.parsed.values[around] + 1, new
        last = max(siblings, key=self._spans.ends.__getitem__)
        begin = self._spans.parsed.keys.get(last, self._spans.parsed.values[last])
        before = self._text[self._text.rfind("\n", 0, begin) + 1 : begin]
        own_line = before.strip(" \t") == "" and "\n" in self._text[:begin]
        return self._spans.ends[last], "," + (_newline(self._text) + before if own_line else " ") + new

    def written(self, value: object) -> str:
        """Return a value as JSON."""
        return json.dumps(value, ensure_ascii=False)


class YamlForm:
    """A YAML text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._root = yaml.compose(text, Loader=yaml_text.LOADER)
        self._shared = {number for number, count in Counter(map(id, _walked(self._root))).items() if count > 1}

    def span(self, path: KeyPath) -> tuple[int, int] | None:
        """Return where the value at a path stands. Raises CannotEditError for an alias: it stands elsewhere."""
        node = self._root
        for step in path:
            if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                if step >= len(node.value):
                    return None
                node = self._own(node.value[step])
            elif isinstance(node, yaml.MappingNode):
                pair = next((pair for pair in node.value if pair[0].value == step), None)
                if pair is None:
                    return None
                self._not_elsewhere(*pair)
                node = self._own(pair[1])
            else:
                return None
        if node is None:
            return None
        if any(id(each) in self._shared for each in _walked(node)):
            raise CannotEditError(SHARED)
        return _start(node), end_of(node, self._text)

    def _not_elsewhere(self, key: yaml.Node, value: yaml.Node) -> None:
        if _start(value) < _start(key) or "*" in self._text[end_of(key, self._text) : _start(value)]:
            raise CannotEditError("it is written as an alias; change it by hand")

    def _own(self, node: yaml.Node) -> yaml.Node:
        if id(node) in self._shared:
            raise CannotEditError(SHARED)
        return node

    def addition(self, path: KeyPath, value: object) -> tuple[int, str]:
        """Return a new member or item: within the brackets, or in a line of its own below the last one."""
        node = self._node(path[:-1])
        step = path[-1]
        new = self.written(value) if isinstance(step, int) else f"{self.written(step)}: {self.written(value)}"
        children = [each[0] if isinstance(each, tuple) else each for each in node.value]
        if node.flow_style:
            if not children:
                return _start(node) + 1, new
            last = node.value[-1]
            return end_of(last[1] if isinstance(last, tuple) else last, self._text), f", {new}"
        first = children[0].start_mark
        indent = " " * (first.column if first is not None else 0)
        if isinstance(step, int):
            column = node.start_mark.column if node.start_mark is not None else 0
            new, indent = f"- {new}", " " * column
        end = self._text.find("\n", end_of(node, self._text))
        at = end if end >= 0 else len(self._text)
        at -= self._text[:at].endswith("\r")
        return at, _newline(self._text) + indent + new

    def _node(self, path: KeyPath) -> yaml.CollectionNode:
        node = self._root
        for step in path:
            if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = self._own(node.value[step])
            elif isinstance(node, yaml.MappingNode):
                pair = next((pair for pair in node.value if pair[0].value == step), None)
                if pair is None:
                    raise CannotEditError(f"{step} is not written in this place; change it by hand")
                self._not_elsewhere(*pair)
                node = self._own(pair[1])
        if not isinstance(node, yaml.CollectionNode):
            raise CannotEditError("there is no list or object in this place; change it by hand")
        return node

    def written(self, value: object) -> str:
        """Return a value on one line: plain words as they are, other texts in double quotes."""
        if isinstance(value, str):
            if PLAIN.fullmatch(value) and value.lower() not in NOT_PLAIN:
                return value
            return '"' + "".join(map(_escaped, value)) + '"'
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.written(key)}: {self.written(each)}" for key, each in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(self.written, value)) + "]"
        return json.dumps(value)


def _walked(node: yaml.Node | None) -> Iterator[yaml.Node]:
    """Yield a node and all within it; one that has aliases comes for each of them, what is within it once."""
    seen: set[int] = set()
    waiting = [] if node is None else [node]
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, yaml.CollectionNode) and id(each) not in seen:
            seen.add(id(each))
            pairs = each.value if isinstance(each, yaml.MappingNode) else ((item,) for item in each.value)
            waiting += [part for pair in pairs for part in pair]


def _start(node: yaml.Node) -> int:
    return node.start_mark.index if node.start_mark is not None else 0


def _escaped(char: str) -> str:
    """Return a character as it stands in double quotes: JSON's escapes of pairs are none of YAML's."""
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    code = ord(char)
    return ESCAPES.get(char) or (
        f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
    )


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
