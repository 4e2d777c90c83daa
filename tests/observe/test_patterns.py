"""Pattern learning: which checkpoints are stored, with which data, and how they are found again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.events import PostCheckpoint, SessionStart
from hookrun.observe import PatternLearning
from tests.rows import rows

if TYPE_CHECKING:
    from hookrun import Verdict
    from hookrun.observe import ObserverDatabase
    from tests.observe.conftest import Clock

TOKEN = "ghp_" + "a1B2c3D4" * 5


@pytest.fixture
def learning(store: ObserverDatabase, clock: Clock) -> PatternLearning:
    """Return the bundle."""
    return PatternLearning(store, clock=clock)


def checkpoint(score: object = 90, where: str | None = "/srv/app", **data: Any) -> PostCheckpoint:
    """Return the context of a checkpoint."""
    return PostCheckpoint(session_id="s1", working_dir=where, checkpoint_data={"quality_score": score, **data})


def ids(verdict: Verdict | None) -> list[str]:
    """Return what a handler passed on, nothing if it returned nothing."""
    if verdict is None:
        return []
    assert verdict.action == "continue"
    found = (verdict.modified_context or {})["pattern_ids"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("score", "learned"),
    [(85, False), (85.0001, True), (86, True), (100, True), (10**30, True), (84, False), (-1, False), (None, False)],
)
def test_only_above_the_threshold(learning: PatternLearning, score: object, learned: bool) -> None:
    """A score of 85 is not above 85; without one there is nothing to learn from."""
    assert bool(ids(learning.on_checkpoint(checkpoint(score, summary="Split the parser")))) is learned
    assert bool(learning.find("parser")) is learned


def test_another_threshold(store: ObserverDatabase) -> None:
    """The program sets the threshold."""
    learning = PatternLearning(store, threshold=50)
    assert ids(learning.on_checkpoint(checkpoint(50, summary="x"))) == []
    assert ids(learning.on_checkpoint(checkpoint(51, summary="x"))) != []


@rows("score", ["90", True, [90], float("nan"), float("inf")])
def test_a_score_that_is_none(learning: PatternLearning, score: object) -> None:
    """The error shows it, and nothing is learned."""
    with pytest.raises(ValueError, match=r"checkpoint_data\.quality_score is .*, expected a number"):
        learning.on_checkpoint(checkpoint(score, summary="x"))
    assert learning.find("x") == []


def test_what_is_learned(learning: PatternLearning, clock: Clock) -> None:
    """The summary, the tools with the types of files, and what the program calls patterns; each with the rest."""
    found = ids(
        learning.on_checkpoint(
            checkpoint(
                92.5,
                working_directory="/srv/other/",
                summary="Split the parser\n\nIt had grown.",
                tags=["refactoring"],
                tools={"edit": 4, "bash": 2},
                files=["src/a.py", "src/b.py", "Makefile"],
                patterns=["tests first", {"title": "small steps", "because": "they hold"}, "", 7, {"no": "title"}],
            )
        )
    )
    best = {each.title: each for each in learning.best("/srv/other", limit=9)}
    assert sorted(best) == ["Split the parser", "bash, edit on .py, Makefile", "small steps", "tests first"]
    assert sorted(each.id for each in best.values()) == sorted(found)
    one = best["Split the parser"]
    assert (one.kind, one.score, one.times, one.first_at, one.last_at) == ("summary", 92.5, 1, clock.now, clock.now)
    assert one.project == "/srv/other"
    assert one.details["tags"] == ["refactoring"]
    assert one.details["file_types"] == [".py", "Makefile"]
    assert one.details["summary"].endswith("It had grown.")
    assert best["small steps"].details["because"] == "they hold"


def test_a_checkpoint_that_tells_nothing(learning: PatternLearning) -> None:
    """A score alone is no pattern, nor are values of strange types."""
    for data in ({}, {"summary": "  \n"}, {"summary": 7, "tools": "edit", "files": 3, "patterns": "x"}):
        assert learning.on_checkpoint(checkpoint(99, **data)) is None
    assert learning.count() == 0


def test_the_same_again_is_counted(learning: PatternLearning, clock: Clock) -> None:
    """A pattern that comes again raises its count and best score; numbers, case and spaces make no other one."""
    first = ids(learning.on_checkpoint(checkpoint(90, summary="Fixed 3 tests", tags=["old"])))
    clock.now += 60
    assert ids(learning.on_checkpoint(checkpoint(96, summary="fixed  4 tests", tags=["new"]))) == first
    assert ids(learning.on_checkpoint(checkpoint(88, summary="Fixed 5 tests", tags=["worse"]))) == first
    (found,) = learning.find("fixed tests")
    assert (found.times, found.score, found.details["tags"]) == (3, 96.0, ["new"])
    assert found.last_at - found.first_at == 60
    other = ids(learning.on_checkpoint(checkpoint(90, where="/srv/else", summary="Fixed 3 tests")))
    assert other != first
    assert learning.count() == 2


def test_twice_in_one_checkpoint(learning: PatternLearning) -> None:
    """A pattern named twice has one id."""
    found = ids(learning.on_checkpoint(checkpoint(patterns=["tests first", "Tests  first"])))
    assert len(found) == 1


def test_finding(learning: PatternLearning) -> None:
    """Those with most of the words come first, whichever part has them; what has too few is not found."""
    learning.on_checkpoint(checkpoint(summary="Split the parser into modules", tags=["syntax"]))
    learning.on_checkpoint(checkpoint(summary="Parser tests with fixtures"))
    learning.on_checkpoint(checkpoint(summary="New deployment pipeline"))
    assert [each.title for each in learning.find("parser modules")] == [
        "Split the parser into modules",
        "Parser tests with fixtures",
    ]
    assert [each.title for each in learning.find("syntax")] == ["Split the parser into modules"]
    assert len(learning.find("parser", limit=1)) == 1
    assert learning.find("zebra") == []
    assert learning.find("") == []


def test_credentials_are_not_kept(learning: PatternLearning, store: ObserverDatabase) -> None:
    """Nothing in the file has them."""
    data: dict[str, Any] = {
        "summary": f"login with {TOKEN}",
        "patterns": [{"title": TOKEN, "password": "hunter2hunter2"}],
    }
    learning.on_checkpoint(checkpoint(**data))
    content = Path(f"{store.path}.spool").read_bytes()
    assert b"[redacted]" in content
    assert b"ghp_" not in content
    assert b"hunter2" not in content


def test_details_too_large_stay_readable(learning: PatternLearning) -> None:
    """A checkpoint of ten thousand files is kept cut, and is read again."""
    files = [f"src/{number}.py" for number in range(10_000)]
    learning.on_checkpoint(checkpoint(summary="Renamed all", files=files))
    (found,) = learning.find("renamed")
    assert isinstance(found.details, dict)


def test_suggestions(learning: PatternLearning) -> None:
    """At session_start the model gets the best of this directory: the most frequent, then the highest."""
    for _ in range(2):
        learning.on_checkpoint(checkpoint(90, summary="small steps"))
    learning.on_checkpoint(checkpoint(97, summary="tests first"))
    learning.on_checkpoint(checkpoint(99, where="/elsewhere", summary="something else"))
    verdict = learning.on_start(SessionStart(working_dir="/srv/app/"))
    assert verdict is not None
    assert (verdict.additional_context or "").splitlines() == [
        "What went well in this project before:",
        "- small steps (quality 90, 2 times)",
        "- tests first (quality 97, once)",
    ]
    assert learning.on_start(SessionStart(working_dir="/nowhere")) is None
    assert learning.on_start(SessionStart()) is None
