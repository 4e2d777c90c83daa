"""The corpus of calls that people lose by, and of harmless ones near them: its form, and what the guards do with it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.recipes import corpus_cases
from tests.recipes.corpus_cases import UPDATE, cases, corpus, entries, errors, kinds, stopped_today

if TYPE_CHECKING:
    from pathlib import Path

FEWEST = 240
"""Cases that must be stopped, and cases that must pass."""
HARMLESS_ONLY = {"everyday_work"}
"""Kinds without a case that must be stopped."""


def test_every_entry_is_well_formed() -> None:
    """It has a call, what is wanted, and why."""
    found = [(kind, entry, errors(entry)) for kind in kinds() for entry in entries(kind)]
    assert [each for each in found if each[2]] == []


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "ls", "want": "pass", "because": "it lists"},
        {"id": "a", "want": "pass", "because": "it lists"},
        {"id": "a", "command": "ls", "tool": "bash", "args": {}, "want": "pass", "because": "it lists"},
        {"id": "a", "command": "ls", "want": "pass", "loses": "nothing"},
        {"id": "a", "command": "ls", "want": "stop", "loses": "x", "because": "y"},
        {"id": "a", "command": "ls", "want": "ask", "loses": "x"},
        {"id": "a", "command": ["ls"], "want": "pass", "because": "it lists"},
        {"id": "a", "command": "ls", "want": "pass", "because": ""},
        {"id": "a", "command": "ls", "want": "pass", "because": "it lists", "files": {"x": 1}},
        {"id": "a", "command": "ls", "want": "pass", "because": "it lists", "file": {"x": "y"}},
    ],
)
def test_another_entry_is_an_error(entry: dict[str, object]) -> None:
    """One thing is wrong in each."""
    assert len(errors(entry)) == 1


def test_ids_and_calls_are_unique() -> None:
    """A call is the same only if its files, branch and variables are, too."""
    for counts in (Counter(case.id for case in cases()), Counter(case.call for case in cases())):
        assert [each for each, count in counts.items() if count > 1] == []


def test_there_are_enough_of_both() -> None:
    """In all, and some in each kind."""
    counts = Counter(case.want for case in cases())
    assert {want: count for want, count in counts.items() if count < FEWEST} == {}
    assert {kind for kind in kinds() if {case.want for case in cases(kind)} != {"stop", "pass"}} == HARMLESS_ONLY


def test_the_record_names_cases() -> None:
    """Each once, in the order of the corpus."""
    recorded = set(stopped_today())
    assert stopped_today() == [case.id for case in cases() if case.id in recorded]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", kinds())
def test_the_guards_stop_what_is_recorded(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they stop beyond that, or no longer, is a change to review."""
    with corpus(tmp_path, monkeypatch) as asked:
        stopped = [case.id for case in cases(kind) if asked.stops(case)]
    assert stopped == stopped_today(kind), f"review the difference and run `{UPDATE}`"


@pytest.mark.parametrize("tool", ["bash", "read", "mcp__supabase__execute_sql"])
def test_guards_are_asked_about_their_tools(tool: str) -> None:
    """As their matchers say."""
    expected = {
        "bash": len(corpus_cases.GUARDS),
        "read": len({"protect-files", "secret-scan"}),
        "mcp__supabase__execute_sql": len(corpus_cases.GUARDS),
    }
    assert len(corpus_cases.guards(tool)) == expected[tool]
