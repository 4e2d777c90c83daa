"""Check how the tests are written, as linters cannot.

python scripts/check_tests.py [PATH...]

Errors, each with its place; the exit status is then 1:

- waiting outside tests/waiting.py: `sleep(...)`, but `asyncio.sleep(0)`, which lets others run, and `monotonic() + ...`
- a test that branches on a parameter: two tests, or what is expected stands in the row
- a program of more than five lines in a string: it is a file in a folder `programs` beside the test
- a private name of hookrun's, but in a bench: one module for a room that must look inside
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WAITS = "tests/waiting.py"
BENCHES = ("tests/isolation.py", "tests/library/running.py", "tests/process/bench.py")
OWN = ("self", "cls", "super()", "os")
"""Whose private names may be used: an object's own, and `os._exit`."""
LONGEST_PROGRAM = 5  # lines


def main(arguments: list[str]) -> int:
    """Check these files and folders, or all tests. Returns the exit status."""
    found = [f"{place}: {what}" for path in _files(arguments) for place, what in errors(path)]
    print("\n".join(found) if found else "check_tests: no errors")
    return 1 if found else 0


def _files(arguments: list[str]) -> Iterator[Path]:
    for given in [Path(argument).resolve() for argument in arguments] or [ROOT / "tests"]:
        files = sorted(given.rglob("*.py")) if given.is_dir() else [given]
        yield from (file for file in files if "programs" not in file.parts)


def errors(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each error of a file: its place and what it is."""
    name = path.relative_to(ROOT).as_posix()
    tree = ast.parse(path.read_text(), str(path))
    for node in ast.walk(tree):
        for what in _errors_of(node, name):
            yield f"{name}:{getattr(node, 'lineno', 1)}", what


def _errors_of(node: ast.AST, name: str) -> Iterator[str]:
    if name != WAITS:
        yield from _waiting(node)
    if name not in BENCHES:
        yield from _private_names(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
        yield from _branches(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_long_program(node.value):
        yield f"a program of more than {LONGEST_PROGRAM} lines: make it a file in `programs` beside the test"


def _waiting(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and _last_name(node.func) == "sleep" and ast.unparse(node.args[0]) != "0":
        yield f"`{ast.unparse(node)}`: wait with tests/waiting.py"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.left, ast.Call):
        called = _last_name(node.left.func)
        if called == "monotonic":
            yield f"`{ast.unparse(node)}`: wait with tests/waiting.py"


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _private_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hookrun":
        yield from (f"`{each.name}` is private to {node.module}" for each in node.names if _is_private(each.name))
    if isinstance(node, ast.Attribute) and _is_private(node.attr) and ast.unparse(node.value) not in OWN:
        yield f"`{ast.unparse(node)}` is a private name"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _branches(test: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    parameters = {name for decorator in test.decorator_list for name in _parameters(decorator)}
    for node in ast.walk(test):
        if isinstance(node, ast.If | ast.IfExp | ast.Match):
            decides = node.subject if isinstance(node, ast.Match) else node.test
            used = parameters & {each.id for each in ast.walk(decides) if isinstance(each, ast.Name)}
            if used:
                yield f"{test.name} branches on `{min(used)}` (line {node.lineno}): split it, or put it into the row"


def _parameters(decorator: ast.expr) -> list[str]:
    if not (isinstance(decorator, ast.Call) and decorator.args):
        return []
    if _last_name(decorator.func) not in {"parametrize", "rows"}:
        return []
    try:
        names = ast.literal_eval(decorator.args[0])
    except ValueError:
        return []
    return [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]


def is_long_program(text: str) -> bool:
    """Return whether a string is a program of more than five lines: it has a `#!`, or is Python with a statement."""
    text = textwrap.dedent(text)
    if sum(1 for line in text.splitlines() if line.strip()) <= LONGEST_PROGRAM:
        return False
    if text.lstrip().startswith("#!"):
        return True
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef) for statement in body)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
