"""The table of programs: each is named once, and no other table of programs stands beside it."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from hookrun.shell import programs

pytestmark = pytest.mark.lint

PACKAGE = Path(programs.__file__).resolve().parent.parent
NAMES = [name for row in programs.ROWS if " :: " in row for name in row.partition(" :: ")[0].split()]
OTHERS = {"programs.py", "fire_call.py"}  # the latter: the programs of one kind of line, nothing of their words
READERS = (
    "shell/*.py",
    "config/executed.py",
    "config/interpreters.py",
    "config/references.py",
    "config/command_words.py",
)


def tables_in(path: Path) -> list[str]:
    """Return the collections of a module of which most members, at least three, are programs."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        members = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        texts = [each.value for each in members if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            texts = node.value.split()
        named = [text for text in texts if text.isalnum() and text in NAMES]
        if len(named) > max(2, len(texts) / 2):
            found.append(f"{path.name}: {' '.join(named)}")
    return found


def test_each_program_has_one_row() -> None:
    """A second row would add its facts in silence."""
    assert [name for name, count in Counter(NAMES).items() if count > 1] == []


def test_every_fact_is_read() -> None:
    """What is not asked for is no fact: it would rot unseen."""
    facts = {fact.partition("=")[0] for row in programs.ROWS for fact in row.partition(" :: ")[2].split()}
    asked: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
        for call in calls:
            if ast.unparse(call.func) in {"having", "values", "_options"}:
                asked.update(str(each.value) for each in call.args if isinstance(each, ast.Constant))
    assert facts - asked == set()


def test_no_other_module_that_reads_lines_has_a_table_of_programs() -> None:
    """Of what reads a line; a rule of a recipe names the programs that it is about.

    A table is a literal collection, or a text of words, most of whose members, at least three, are programs. Code that
    reads one program's own words may name that program.
    """
    paths = [path for pattern in READERS for path in PACKAGE.glob(pattern) if path.name not in OTHERS]
    assert [table for path in paths for table in tables_in(path)] == []
