"""Parse shell with tree-sitter and its grammar for bash, which are loaded with the first line."""

from __future__ import annotations

import sys

from hookrun.shell import lazy_re
from hookrun.shell.words import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tree_sitter import Node, Parser

_PARSER: list[Parser] = []


class Source:
    """A parsed text, and the position of its first byte in the line: None if it is not in it verbatim."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int | None = None) -> None:
        self.data = data
        self.at = at

    def text(self, start: int, end: int) -> str:
        """Return the text between two bytes."""
        return self.data[start:end].decode("utf-8", "replace")

    def of(self, node: Node) -> str:
        """Return the text of a node."""
        return self.text(node.start_byte, node.end_byte)

    def place(self, start: int) -> int | None:
        """Return the position in the line of a byte of this text."""
        return None if self.at is None else self.at + start


def source_of(text: str, at: int | None = None) -> Source:
    """Return a text as a source; what is unknown in it is a variable that is never set."""
    return Source(text.replace(UNKNOWN, "${_}").encode("utf-8", "surrogatepass"), at)


def parse(data: bytes) -> Node:
    """Return the root of the syntax tree of a text."""
    if not _PARSER:
        library, grammar = _binding("tree_sitter"), _binding("tree_sitter_bash")
        _PARSER.append(library.Parser(library.Language(grammar.language())))
    return _PARSER[0].parse(data).root_node


def _binding(name: str) -> Any:  # what a package of C has
    """Return the compiled module of a package without the package around it, which imports `typing` and more."""
    boot = sys.modules.get("hookrun.boot")
    for find in (boot.installed if boot is not None else None, _find):
        spec = find(f"{name}._binding") if find is not None else None
        if spec is not None:
            try:
                return _loaded(spec)
            except Exception:  # noqa: S112  # installed anew since, or of a version that needs more
                continue
    return __import__(name)


def _find(name: str) -> Any:  # a spec or None
    """Return the spec of a package's compiled module, which `site` may be needed for."""
    boot = sys.modules.get("hookrun.boot")
    if boot is not None:
        boot.complete()
    from _frozen_importlib_external import PathFinder

    package = PathFinder.find_spec(name.partition(".")[0])
    places = package.submodule_search_locations if package is not None else None
    return PathFinder.find_spec(name, places) if places else None


class _Enum:
    """Instead of the module `enum`, which costs as much as all else: for the logs of a parser, which has none."""

    @staticmethod
    def IntEnum(name: str, values: Mapping[str, int], **_: object) -> type:  # noqa: N802  # as in `enum`
        """Return a class with the values."""
        return type(name, (int,), dict(values))


def _loaded(spec: Any) -> Any:  # a spec with a loader; what a package of C has
    """Load a compiled module, which finds in `re` and `enum` what it needs for queries and logs: we have neither."""
    import _frozen_importlib as bootstrap

    replaced = {name: module for name, module in (("re", lazy_re), ("enum", _Enum)) if name not in sys.modules}
    sys.modules.update(replaced)  # type: ignore[arg-type]
    try:
        module = bootstrap.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for name in replaced:
            del sys.modules[name]
    return module
