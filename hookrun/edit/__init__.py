"""Edit JSON, YAML and TOML in place: all other characters stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.config.document import YAML_SUFFIXES

if TYPE_CHECKING:
    from hookrun.edit.json_edit import SpanEditor


def editor_for(path: str, text: str) -> SpanEditor:
    """Return the editor for a file's text, by its suffix. Raises ParseError."""
    if path.endswith(YAML_SUFFIXES):
        from hookrun.edit.yaml_edit import Yaml

        return Yaml(text)
    from hookrun.edit.json_edit import Json

    return Json(text, "json")
