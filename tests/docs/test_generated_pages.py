"""Generated pages of the reference are up to date, and all pages together are short."""

from __future__ import annotations

import json
import re
import runpy

import pytest

from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.recipes import catalog
from tests.conftest import ROOT, Project

REFERENCE = ROOT / "docs" / "reference"


def program(name: str) -> dict[str, object]:
    """Return the names of a program in scripts/."""
    return runpy.run_path(str(ROOT / "scripts" / f"{name}.py"))


def test_the_pages_of_recipes_are_generated() -> None:
    """`python scripts/document_recipes.py` writes them anew."""
    pages = program("document_recipes")["pages"]()  # type: ignore[operator]
    assert {path.name: path.read_text() for path in (REFERENCE / "recipes").glob("*.md")} == pages


def test_commands_and_tables_are_generated() -> None:
    """`python scripts/document_reference.py` writes them anew."""
    found = program("document_reference")
    assert found["cli_page"]() == (REFERENCE / "cli.md").read_text()  # type: ignore[operator]
    for name in ("config", "events"):
        text = (REFERENCE / f"{name}.md").read_text()
        assert found["with_tables"](text) == text  # type: ignore[operator]


@pytest.mark.parametrize("name", catalog.names())
def test_the_hooks_of_a_recipe_are_valid_config(name: str, project: Project) -> None:
    """Alone in the user's file: no error, no warning."""
    found = re.search(r"## Hooks\n\n```json\n(.+?)\n```", (REFERENCE / "recipes" / f"{name}.md").read_text(), re.DOTALL)
    assert found is not None
    file = project.home / ".config" / "hookrun" / "hooks.json"
    file.parent.mkdir(parents=True)
    file.write_text(found[1])
    config = load_config(find(str(project.root), str(project.home), managed=str(project.home / "none")))
    assert config.problems == []
    assert len(config.declarations.hooks) == len(json.loads(found[1])["hooks"])


def test_all_pages_together_are_short() -> None:
    """English words, as `python scripts/count_words.py` prints them."""
    counted = program("count_words")
    assert sum(counted["counts"]().values()) <= counted["MOST"]  # type: ignore[operator]
