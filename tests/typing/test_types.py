"""What type checkers find in authors' programs: each mistake of a kind, and nothing in the examples."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from hookrun.config.schema import HOOK_FIELDS
from hookrun.core import literals
from hookrun.core.events import EVENTS
from hookrun.core.model import PRECEDENCE
from hookrun.library.fire_context import KNOWN
from hookrun.library.fire_fields import FireFields

ROOT = Path(__file__).parents[2]
MISTAKES = Path(__file__).parent / "mistakes.py"
ELSEWHERE = {
    *("adk_agent.py", "fastapi_approvals.py", "pydantic_ai_agent.py"),
    *("openai_agent.py", "openai_agents_hooks.py"),
}
"""Examples for packages that are installed in an environment of their own: `frameworks` in .ci/every_commit.py."""
EXAMPLES = sorted(path for path in (ROOT / "examples" / "library").glob("*.py") if path.name not in ELSEWHERE)

NOT_OURS = "reportUnknownMemberType=false, reportUnknownVariableType=false"
"""Packages that the examples use have types of unknown parts."""

pytestmark = pytest.mark.lint


def mypy(*files: Path, cache: Path) -> dict[str, list[int]]:
    """Return the lines with errors by file, as `mypy --strict` prints them."""
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), "--no-pretty", *map(str, files)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: dict[str, set[int]] = {}
    for line in ended.stdout.splitlines():
        path, _, rest = line.partition(":")
        number, _, what = rest.partition(":")
        if what.startswith(" error"):
            found.setdefault(Path(path).name, set()).add(int(number))
    assert ended.returncode == bool(found), ended.stdout + ended.stderr
    return {name: sorted(lines) for name, lines in found.items()}


def pyright(*files: Path) -> dict[str, list[int]]:
    """Return the lines with errors by file, as pyright prints them."""
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *map(str, files)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: dict[str, set[int]] = {}
    for each in json.loads(ended.stdout)["generalDiagnostics"]:
        if each["severity"] == "error":
            found.setdefault(Path(each["file"]).name, set()).add(each["range"]["start"]["line"] + 1)
    return {name: sorted(lines) for name, lines in found.items()}


def marked() -> dict[str, list[int]]:
    """Return the lines of the mistakes."""
    lines = MISTAKES.read_text().splitlines()
    return {MISTAKES.name: [number for number, line in enumerate(lines, 1) if "  # wrong: " in line]}


def test_mypy_finds_each_mistake_and_nothing_else(tmp_path: Path) -> None:
    """At least 22 kinds."""
    assert len(marked()[MISTAKES.name]) >= 22
    assert mypy(MISTAKES, cache=tmp_path) == marked()


def test_pyright_finds_each_mistake_and_nothing_else() -> None:
    """The same, strictly."""
    assert pyright(MISTAKES) == marked()


def test_the_examples_pass_mypy_strictly(tmp_path: Path) -> None:
    """All of them."""
    assert EXAMPLES
    assert mypy(*EXAMPLES, cache=tmp_path) == {}


def test_the_examples_pass_pyright_strictly(tmp_path: Path) -> None:
    """All of them, copied, so that they can be marked as strict."""
    copies = [tmp_path / example.name for example in EXAMPLES]
    for example, copy in zip(EXAMPLES, copies, strict=True):
        copy.write_text(f"# pyright: strict, {NOT_OURS}\n{example.read_text()}")
    assert pyright(*copies) == {}


def test_the_words_that_checkers_know_are_those_of_the_tables() -> None:
    """A literal type has to be written out."""
    assert set(get_args(literals.Action)) == {*PRECEDENCE}
    assert set(get_args(literals.EventName)) == {*EVENTS.values()}
    choices = {field.name: field.shape.known for field in HOOK_FIELDS if field.name in {"mode", "on_failure"}}
    assert set(get_args(literals.Mode)) == {*choices["mode"]}
    assert set(get_args(literals.Policy)) == {*choices["on_failure"]}


def test_the_fields_that_checkers_know_are_those_of_the_contexts() -> None:
    """Except what hookrun sets itself."""
    assert set(FireFields.__annotations__) == set().union(*KNOWN.values()) - {"event", "hook", "version"}
