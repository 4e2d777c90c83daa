"""Read docstrings for the reference: context fields with their types, examples as code."""  # noqa: INP001  # mkdocs loads it by its path

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from griffe import Attribute, Docstring, Extension

if TYPE_CHECKING:
    from griffe import Object

TYPES = {
    "text": "str | None",
    "word": "str",
    "required": "str",
    "flag": "bool",
    "count": "int | None",
    "mapping": "dict[str, Any]",
}
"""The maker of a context field (hookrun.library.event_contexts) -> the type of the field."""


class ReadDocstrings(Extension):
    """Give each context field its type and description, and put docstring examples into code blocks."""

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        """Take type and description of a field from the call that makes it."""
        match ast.parse(str(attr.value), mode="eval").body if attr.value is not None else None:
            case ast.Call(func=ast.Name(id=made_by), args=[ast.Constant(value=str(says))]) if made_by in TYPES:
                attr.annotation = TYPES[made_by]
                attr.docstring = Docstring(says, parent=attr)
                attr.value = None

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Mark the examples of a docstring as what they are: Markdown takes `>>>` for quotations."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = "\n\n".join(_marked(part) for part in obj.docstring.value.split("\n\n"))


def _marked(paragraph: str) -> str:
    return f"```pycon\n{paragraph}\n```" if paragraph.startswith(">>> ") else paragraph
