"""The catalogue: its compiled form is fresh, and each of its lines is judged as it says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.recipes.catalogue.compiled_rows import COMPILED
from hookrun.recipes.catalogue.compiling import compiled, entries, files_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.recipes.account import Account

FILES = files_of(str(Path(COMPILED).parent))
UPDATE = "python scripts/compile_catalogue.py"


def lines(path: str, what: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file that must be caught, or must pass, each with its guard."""
    for entry in entries([path]):
        for harm in (entry, *entry.get("harms", ())):
            for line in harm.get(what, ()):
                yield entry.get("guard", "protect-data"), line


@pytest.mark.lint
def test_the_compiled_form_is_fresh() -> None:
    """What is read in a call says what the YAML says."""
    assert Path(COMPILED).read_text(encoding="utf-8") == compiled(FILES), f"run `{UPDATE}`"


@pytest.mark.lint
def test_every_entry_names_its_source() -> None:
    """Facts are from the tools' documentation."""
    assert [each for each in entries(FILES) if not str(each.get("source", "")).startswith("https://")] == []


@pytest.mark.lint
def test_every_harm_has_a_line_that_is_caught_and_each_tool_one_that_passes() -> None:
    """So that a rule that never matches, or always does, is seen."""
    bare = [
        (entry.get("tool"), harm.get("verbs"))
        for entry in entries(FILES)
        for harm in entry.get("harms", ())
        if "verbs" in harm and not harm.get("caught")
    ]
    never = [
        entry.get("tool")
        for entry in entries(FILES)
        if "tool" in entry and not any(each.get("passes") for each in (entry, *entry.get("harms", ())))
    ]
    assert (bare, never) == ([], [])


@pytest.mark.parametrize("path", FILES, ids=lambda path: Path(path).stem)
def test_what_must_be_caught_is(path: str, nobody: Account) -> None:
    """Blocked or asked about."""
    passed = [line for guard, line in lines(path, "caught") if answer(nobody, guard, line) is None]
    assert passed == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: Path(path).stem)
def test_what_must_pass_does(path: str, nobody: Account) -> None:
    """Neither blocked nor asked about."""
    stopped = [(line, said) for guard, line in lines(path, "passes") if (said := answer(nobody, guard, line))]
    assert stopped == []


def answer(account: Account, guard: str, line: str) -> dict[str, Any] | None:
    """Return a guard's answer to a line of the catalogue: shell, or `mcp__SERVER__TOOL` with its arguments as JSON."""
    if not line.startswith("mcp__"):
        return account.answer(guard.replace("-", "_"), line)
    import json

    tool, _, arguments = line.partition(" ")
    call = {"event": "pre_tool_use", "agent": "claude", "tool_name": tool, "tool_args": json.loads(arguments or "{}")}
    return account.call(guard.replace("-", "_"), **call)
