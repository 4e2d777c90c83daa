"""Parse YAML into plain JSON data with positions; reject alias bombs and cycles."""

from __future__ import annotations

from math import isfinite

import yaml

from hookrun.config.parse import MAX_DEPTH, MAX_VALUES, KeyPath, ParseError, PositionedData, too_deep, too_many
from hookrun.core.text import quote

LOADER: type[yaml.CSafeLoader | yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TAG = "tag:yaml.org,2002:"
TEXTS = frozenset({TAG + "str", TAG + "timestamp", TAG + "value"})
SCALARS = frozenset({TAG + "null", TAG + "bool", TAG + "int", TAG + "float"})
MERGE = TAG + "merge"
TYPES: dict[type, str] = {bool: "a boolean", int: "an integer", float: "a number"}
Pair = tuple[yaml.ScalarNode, yaml.Node]


def parse_yaml(text: str, limit: int = MAX_VALUES) -> PositionedData:
    """Return the data of a YAML document of up to `limit` values. Raises ParseError for anything else."""
    try:
        if not _measure(text, limit):
            return PositionedData()
        node = yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError as error:
        raise _error(text, error) from error
    builder = _YamlBuilder(limit)
    if node is not None:
        builder.parsed.data = builder.build(node, (), None)
    return builder.parsed


def _measure(text: str, limit: int) -> bool:
    """Return whether there is a document; first reject input that could exhaust memory or stack."""
    depth = nodes = documents = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                hint = 'remove the "---" and everything after it, or move it to another file'
                raise ParseError(_offset(event), "more than one YAML document", hint)
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise too_deep(_offset(event))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > limit:
            raise too_many(_offset(event), limit)
    return documents > 0


def _offset(thing: yaml.Event | yaml.Node) -> int:
    mark = thing.start_mark
    return 0 if mark is None else mark.index


def _error(text: str, error: yaml.YAMLError) -> ParseError:
    mark = getattr(error, "problem_mark", None)
    offset = mark.index if mark is not None else getattr(error, "position", 0)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    if text[offset : offset + 1] == "\t":
        return ParseError(offset, "tab in the indentation", "indent with spaces")
    if "mapping values" in problem:
        return ParseError(offset, 'unexpected ":" in a value', 'quote a value that contains ": "')
    begins_line = not text[:offset].rpartition("\n")[2].strip()
    if begins_line and "parsing a block" in str(getattr(error, "context", "")):
        return ParseError(offset, "wrong indentation", "align it with the line above")
    if "nesting depth" in problem:
        return ParseError(offset, "nested too deeply", "flatten the file")
    return ParseError(offset, f"invalid YAML: {problem}", "quote values with special characters")


class _YamlBuilder:
    """Turns nodes into plain data and counts the values: aliases can make a small text huge."""

    def __init__(self, limit: int) -> None:
        self.parsed = PositionedData(limit)
        self.merged = 0
        self.open: set[int] = set()
        self.constructor = yaml.constructor.SafeConstructor()

    def build(self, node: yaml.Node, path: KeyPath, key_offset: int | None) -> object:
        offset = _offset(node)
        if len(path) > MAX_DEPTH:
            raise too_deep(offset)
        self.parsed.record_position(path, offset, key_offset)
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        self.enter(node)
        try:
            if isinstance(node, yaml.MappingNode):
                _check_tag(node, "map")
                return {
                    key: self.build(each, (*path, key), _offset(at)) for key, (at, each) in self.pairs(node).items()
                }
            _check_tag(node, "seq")
            return [self.build(item, (*path, index), None) for index, item in enumerate(node.value)]
        finally:
            self.open.discard(id(node))

    def enter(self, node: yaml.Node) -> None:
        """Enter a node. Raises ParseError if it contains itself."""
        if id(node) in self.open:
            raise ParseError(_offset(node), "an alias refers to a value that contains it", "remove the alias")
        self.open.add(id(node))

    def pairs(self, node: yaml.MappingNode) -> dict[str, Pair]:
        """Return a mapping's pairs by key; its own override merged ones (`<<`)."""
        own: dict[str, Pair] = {}
        merged: dict[str, Pair] = {}
        for key_node, value in node.value:
            if key_node.tag == MERGE:
                for name, pair in self.merge(value).items():
                    merged.setdefault(name, pair)
                continue
            key = self.key(key_node)
            if key in own:
                raise ParseError(_offset(key_node), f"duplicate key {quote(key)}", "remove one of the two")
            own[key] = (key_node, value)
        return {**merged, **own}

    def merge(self, node: yaml.Node) -> dict[str, Pair]:
        """Return the pairs of `<<: node`; the first of several mappings has precedence."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        pairs: dict[str, Pair] = {}
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                raise ParseError(_offset(source), "`<<` needs a mapping", "use the alias of a mapping")
            self.merged += 1 + len(source.value)
            if self.merged > self.parsed.limit:
                raise too_many(_offset(source), self.parsed.limit)
            self.enter(source)
            for name, pair in self.pairs(source).items():
                pairs.setdefault(name, pair)
            self.open.discard(id(source))
        return pairs

    def key(self, node: yaml.Node) -> str:
        offset = _offset(node)
        if not isinstance(node, yaml.ScalarNode):
            raise ParseError(offset, "a list or mapping cannot be a key", "write a plain key")
        value = self.scalar(node)
        if not isinstance(value, str):
            kind = TYPES.get(type(value), "null")
            message = f"YAML reads the key `{node.value}` as {kind}: {quote(value)}"
            raise ParseError(offset, message, f'quote it: "{node.value}"')
        return value

    def scalar(self, node: yaml.ScalarNode) -> object:
        offset = _offset(node)
        text: str = node.value
        if node.tag in TEXTS:
            return text
        if node.tag not in SCALARS:
            _check_tag(node, "str")
        try:
            value: object = self.constructor.construct_object(node)
        except Exception as error:
            raise ParseError(offset, f"invalid YAML value {quote(text)}", "quote it") from error
        if isinstance(value, float) and not isfinite(value):
            raise ParseError(offset, f"number out of range: {text}", "write a finite number, or quote it")
        return value


def _check_tag(node: yaml.Node, name: str) -> None:
    if node.tag != TAG + name:
        message = f"unsupported YAML tag {quote(node.tag.removeprefix(TAG))}"
        raise ParseError(_offset(node), message, "remove the tag")
