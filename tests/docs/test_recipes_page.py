"""The page about recipes is what the recipes say of themselves."""

from __future__ import annotations

import json
import re
import runpy

from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.recipes import RECIPES
from tests.conftest import ROOT, Project

PAGE = ROOT / "docs" / "reference" / "recipes.md"


def test_the_page_about_recipes_is_what_they_say() -> None:
    """`python scripts/document_recipes.py` writes it anew."""
    program = runpy.run_path(str(ROOT / "scripts" / "document_recipes.py"))
    assert program["page"]() == PAGE.read_text()


def test_what_the_page_says_is_to_be_declared_is_a_declaration(project: Project) -> None:
    """Each of them, alone in the user's file: no error, no warning."""
    declared = re.findall(r"Declaration:\n\n```json\n(.+?)\n```", PAGE.read_text(), re.DOTALL)
    assert len(declared) == len(RECIPES)
    file = project.home / ".config" / "hookrun" / "hooks.json"
    file.parent.mkdir(parents=True)
    for text in declared:
        file.write_text(text)
        found = load_config(find(str(project.root), str(project.home), managed=str(project.home / "none")))
        assert found.problems == []
        assert len(found.declarations.hooks) == len(json.loads(text)["hooks"])
