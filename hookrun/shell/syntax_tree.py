"""Parse shell with tree-sitter and its grammar for bash, which are loaded with the first line."""

from __future__ import annotations

import sys

from hookrun.shell import lazy_re
from hookrun.shell.words import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    if boot is not None:
        boot.complete()  # it may be an installed package, which is found by `site`
    import _frozen_importlib as bootstrap
    from _frozen_importlib_external import PathFinder

    package = PathFinder.find_spec(name)
    if package is not None and package.submodule_search_locations:
        spec = PathFinder.find_spec(f"{name}._binding", package.submodule_search_locations)
        if spec is not None and spec.loader is not None:
            needs_re = "re" not in sys.modules
            if needs_re:  # for queries, of which we make none
                sys.modules["re"] = lazy_re
            try:
                module = bootstrap.module_from_spec(spec)
                spec.loader.exec_module(module)
            finally:
                if needs_re:
                    del sys.modules["re"]
            return module
    return __import__(name)
