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
OTHERS = {
    "block_destructive_commands.py": "its rules, each named for the program that it refuses",
    "fire_call.py": "the programs of one kind of line, nothing of their words",
    "git_losses.py": "other systems than git, each with its commands that discard work",
    "further_losses.py": "its rules, each named for the program that takes something away",
    "package_manager.py": "its rules translate the commands of one program into those of another",
    "shown_secrets.py": "its rules, each named for the program that shows or sends a secret",
}
# Names that have another meaning in most places.
WORDS = {"[", "else", "false", "git", "http", "https", "if", "on", "rev", "then", "true", "yes", "{"}
READERS = ("shell/*.py", "recipes/*.py", "config/*.py")


def tables_in(path: Path) -> list[str]:
    """Return the collections of a module of which most members, at least two, are programs.

    Two names that something is compared with are code.
    """
    found, tree = [], ast.parse(path.read_text())
    compared = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Compare | ast.Call) for part in parts(node)}
    for node in ast.walk(tree):
        members = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        texts = [each.value for each in members if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            texts = node.value.split()
        named = [text for text in texts if text in NAMES]
        least = 3 if id(node) in compared else 2
        if len(named) >= least and len(named) > max(len(members), len(texts)) / 2 and not WORDS.issuperset(named):
            found.append(f"{path.name}: {' '.join(named)}")
    return found


def parts(node: ast.Compare | ast.Call) -> list[ast.expr]:
    """Return what a comparison compares with; of a call, what its method is called on or with."""
    if isinstance(node, ast.Compare):
        return node.comparators
    return [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]


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
    """A table is a literal collection, or a text of words, most of whose members, at least two, are programs.

    Code that reads one program's own words may name that program.
    """
    assert tables_of_others("programs.py", *OTHERS) == {}


def test_each_exception_has_such_a_table() -> None:
    """One that is not needed any more would hide the next one."""
    assert tables_of_others("programs.py").keys() == OTHERS.keys()


def tables_of_others(*excepted: str) -> dict[str, list[str]]:
    """Return the tables of the modules that read lines, by a module's name."""
    paths = [path for pattern in READERS for path in PACKAGE.glob(pattern) if path.name not in excepted]
    return {path.name: tables for path in paths if (tables := tables_in(path))}
