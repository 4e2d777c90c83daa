"""Every row of the lineage table names where its feature is, and an existing test."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.lint

PAGE = (ROOT / "docs" / "appendix" / "lineage.md").read_text()
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
NAME = re.compile(r"`(hookrun(?:\.\w+)+)`")
FEWEST = {"oats": 40, "session_buddy": 60, "synwire": 50, "StackBench": 40, "stakpak": 30}
"""How many rows each engine has at least."""


def rows() -> list[tuple[str, list[str]]]:
    """Return the rows of all tables, as their engine and their cells."""
    found = []
    for section in re.split(r"(?=^## )", PAGE, flags=re.MULTILINE)[1:]:
        engine = section.partition("\n")[0].removeprefix("## ")
        lines = [line for line in section.splitlines() if line.startswith("| ")]
        found += [(engine, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]) for line in lines[1:]]
    return found


@cache
def names_in(path: str) -> frozenset[str]:
    """Return the names of the functions that a file holds, without importing it."""
    tree = ast.parse((ROOT / path).read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, functions))


def test_every_engine_has_its_rows() -> None:
    """Each with three cells, each feature once."""
    found = rows()
    assert list(dict.fromkeys(engine for engine, _ in found)) == list(FEWEST)
    for engine, fewest in FEWEST.items():
        mine = [cells for each, cells in found if each == engine]
        assert len(mine) >= fewest
        assert [cells for cells in mine if len(cells) != 3] == []
        abilities = [cells[0] for cells in mine]
        assert [each for each in set(abilities) if abilities.count(each) > 1] == []


def test_every_row_names_a_test_that_there_is() -> None:
    """By file and function, as the files have them now."""
    missing = []
    for engine, cells in rows():
        named = TEST.findall(cells[2])
        if not named or any(not (ROOT / path).exists() or name not in names_in(path) for path, name in named):
            missing.append((engine, cells[0], cells[2]))
    assert missing == []


def test_every_name_of_the_page_can_be_imported() -> None:
    """A module, something in it, or an attribute of that."""
    assert [name for name in sorted(set(NAME.findall(PAGE))) if not is_there(name)] == []


def is_there(name: str) -> bool:
    """Return whether a dotted name resolves; for a module that needs a package, whether its file defines it."""
    parts = name.split(".")
    split = next(n for n in range(len(parts), 0, -1) if is_module(".".join(parts[:n])))
    module, attributes = ".".join(parts[:split]), parts[split:]
    try:
        found: object = import_module(module)
    except ImportError:
        return module.startswith("hookrun.integrations.") and names_in(module.replace(".", "/") + ".py") >= {
            *attributes
        }
    missing = object()  # a field's default may be None
    for attribute in attributes:
        found = getattr(found, attribute, missing)
    return found is not missing


def is_module(name: str) -> bool:
    """Return whether there is a module of this name, without importing it."""
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def test_every_row_says_where_it_is() -> None:
    """By the name of something that can be imported."""
    assert [(engine, cells[0]) for engine, cells in rows() if not NAME.search(cells[1])] == []
