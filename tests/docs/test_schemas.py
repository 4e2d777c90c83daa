"""The published schemas match the tables, and accept what a hook really reads and prints."""

from __future__ import annotations

import json
import runpy
from typing import TYPE_CHECKING

import jsonschema
import pytest

from hookrun.core.context import FIELDS
from hookrun.core.model import VERDICT_OBJECTS, VERDICT_TEXTS
from tests import tour
from tests.conftest import ROOT

if TYPE_CHECKING:
    from tests.conftest import Project

PROGRAM = runpy.run_path(str(ROOT / "scripts" / "document_schemas.py"))
SCHEMAS = ROOT / "docs" / "schemas"
PAGE = (ROOT / "docs" / "reference" / "verdicts.md").read_text()


def published(name: str) -> dict[str, object]:
    """Return a schema as published on the site."""
    found: dict[str, object] = json.loads((SCHEMAS / f"{name}.json").read_text())
    return found


@pytest.mark.lint
def test_the_schemas_are_what_the_tables_give() -> None:
    """`python scripts/document_schemas.py` writes them anew; every field has a description."""
    assert {path: path.read_text() for path in SCHEMAS.iterdir()} == PROGRAM["files"]()
    assert set(PROGRAM["CONTEXT"]) == set(FIELDS)
    assert set(PROGRAM["VERDICT"]) == {*VERDICT_TEXTS, *VERDICT_OBJECTS}


def test_what_a_hook_reads_is_valid_and_has_the_fields_of_the_reference(project: Project) -> None:
    """The context that a hook gets, and the one that the reference shows."""
    project.hooks({"command": "cat > seen.json"})
    project.fire({"tool_name": "write", "tool_args": {"file_path": "a"}})
    seen = json.loads((project.root / "seen.json").read_text())
    (shown,) = [json.loads(block.text) for block in tour.blocks(PAGE) if block.title == "context.json"]
    for context in (seen, shown):
        jsonschema.validate(context, published("context"))
    assert list(shown) == list(seen)


def test_the_verdict_of_the_reference_is_valid() -> None:
    """And one with an unknown action is not."""
    verdicts = [json.loads(block.text) for block in tour.blocks(PAGE) if block.text.startswith('{"action"')]
    assert verdicts
    for verdict in verdicts:
        jsonschema.validate(verdict, published("verdict"))
    assert not jsonschema.Draft202012Validator(published("verdict")).is_valid({"action": "deny"})
