"""Generated pages of the reference are up to date, others name all there is, and all pages together are short."""

from __future__ import annotations

import ast
import inspect
import json
import re
import runpy
from pathlib import Path

import pytest

from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.core import audit
from hookrun.core.model import FAILURES
from hookrun.recipes import catalog
from tests.conftest import ROOT, Project
from tests.rows import rows

pytestmark = pytest.mark.lint

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


def test_the_results_of_hook_runners_are_generated() -> None:
    """`python scripts/document_peers.py` writes them anew, as scripts/measure_peers.py measured them."""
    found = program("document_peers")
    assert found["page"]() == (ROOT / "docs" / "guides" / "conformance.md").read_text()  # type: ignore[operator]


@rows("name", catalog.names())
def test_the_hooks_of_a_recipe_are_valid_config(name: str, project: Project) -> None:
    """Alone in the user's file: no error, no warning."""
    found = re.search(r"## Hooks\n\n```json\n(.+?)\n```", (REFERENCE / "recipes" / f"{name}.md").read_text(), re.DOTALL)
    assert found is not None
    file = project.home / ".config" / "hookrun" / "hooks.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(found[1])
    config = load_config(find(str(project.root), str(project.home), managed=str(project.home / "none")))
    assert config.problems == []
    assert len(config.declarations.hooks) == len(json.loads(found[1])["hooks"])


def named_in(table: str) -> set[str]:
    """Return the names in the first column of a table."""
    return {name for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)}


def audit_fields(package: Path) -> set[str]:
    """Return the fields of the audit log, as the code that makes its records names them."""
    found = {name for name, _ in audit.ABOUT}
    parameters = inspect.signature(audit.fire_records).parameters.keys()
    for path in package.rglob("*.py"):
        if not re.search(r"fire_records|audit\.record|_audit\b", text := path.read_text()):
            continue  # parsing the whole package takes seconds
        for function in ast.walk(ast.parse(text)):
            if not isinstance(function, ast.FunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in RECORDERS:
                    found.update({each.arg for each in node.keywords if each.arg is not None} - parameters)
                elif path.name != "audit.py" and function.name != "_audit":
                    continue
                elif isinstance(node, ast.Dict):
                    found.update(str(key.value) for key in node.keys if isinstance(key, ast.Constant))
                elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                    found.update([str(node.slice.value)] if isinstance(node.slice, ast.Constant) else [])
    return found


RECORDERS = {"audit.fire_records", "audit.record", "self._audit"}
"""Functions whose keywords are fields of the audit log."""


def test_the_reference_names_every_kind_of_failure() -> None:
    """And no other."""
    assert named_in((REFERENCE / "failures.md").read_text()) == set(FAILURES)


def test_the_reference_names_every_field_of_the_audit_log() -> None:
    """And no other."""
    section = (REFERENCE / "environment.md").read_text().partition("## Log\n")[2].partition("## ")[0]
    assert named_in(section) == audit_fields(ROOT / "hookrun")


def test_all_pages_together_are_short() -> None:
    """English words, as `python scripts/count_words.py` prints them."""
    counted = program("count_words")
    assert sum(counted["counts"]().values()) <= counted["MOST"]  # type: ignore[operator]
