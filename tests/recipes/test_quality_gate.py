"""A checkpoint needs a score that is there, is a number, and is high enough."""

from __future__ import annotations

import asyncio
import math
from fractions import Fraction

import pytest

from hookrun import Verdict
from hookrun.events import PreCheckpoint
from hookrun.recipes.quality_gate import QualityGate


def check(gate: QualityGate, **fields: object) -> Verdict:
    """Call the handler with a context of these fields."""
    return asyncio.run(gate.check(PreCheckpoint(session_id="s1", **fields)))  # type: ignore[arg-type]


def scored(score: object, threshold: float = 60) -> Verdict:
    """Call the handler with a score in the checkpoint's data."""
    return check(QualityGate(threshold), checkpoint_data={"quality_score": score})


def test_a_score_below_the_threshold_is_refused() -> None:
    """The message names the score and the minimum."""
    verdicts = {score: scored(score) for score in (0, 45, 59, 59.999999)}
    assert {
        score: (verdict.action, verdict.message, verdict.modified_context) for score, verdict in verdicts.items()
    } == {
        score: ("block", f"Quality too low for checkpoint (score: {score}/100, minimum: 60)", None)
        for score in verdicts
    }


def test_a_score_at_the_threshold_or_above_is_passed_on() -> None:
    """Later hooks get the original value."""
    scores = (60, 60.0, 85.5, 100, Fraction(121, 2))
    verdicts = [(scored(score).action, scored(score).modified_context) for score in scores]
    assert verdicts == [("continue", {"validated_quality": score}) for score in scores]


def test_a_whole_number_is_shown_as_one() -> None:
    """45.0 is shown as 45."""
    assert "(score: 45/100," in str(scored(45.0).message)


def test_a_score_that_is_no_number_from_0_to_100_is_refused_and_shown() -> None:
    """It never counts as 0, nor as a pass."""
    rows = [
        ("45", '"45"'),
        ("high", '"high"'),
        (True, "true"),
        ([70], "[70]"),
        ({}, "{}"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-1, "-1"),
        (100.5, "100.5"),
        (10**400, "1" + "0" * 59 + "..."),
        ("x" * 100, '"' + "x" * 59 + "..."),
    ]
    before, after = "No quality score for checkpoint: checkpoint_data.quality_score is ", ", not a number from 0 to 100"
    verdicts = {shown: scored(score) for score, shown in rows}
    assert {shown: (verdict.action, verdict.message) for shown, verdict in verdicts.items()} == {
        shown: ("block", f"{before}{shown}{after} (minimum: 60)") for shown in verdicts
    }


def test_a_missing_score_is_refused_even_with_threshold_0() -> None:
    """Nothing to judge by is no pass."""
    message = "No quality score for checkpoint: checkpoint_data has no quality_score (minimum: 0 of 100)"
    for fields in ({}, {"checkpoint_data": None}, {"checkpoint_data": {"quality_score": None}}):
        verdict = check(QualityGate(0), **fields)
        assert (verdict.action, verdict.message) == ("block", message), fields


def test_a_function_gives_the_score() -> None:
    """Sync or async, it gets the context; the score in the checkpoint's data is ignored then."""

    async def slow(ctx: PreCheckpoint) -> float:
        await asyncio.sleep(0)
        return float(ctx.checkpoint_data["lines"])

    data = {"quality_score": 1, "lines": 70}
    assert check(QualityGate(60, slow), checkpoint_data=data).modified_context == {"validated_quality": 70.0}
    gate = QualityGate(60, lambda ctx: len(ctx.checkpoint_data))
    assert check(gate, checkpoint_data=data).message == ("Quality too low for checkpoint (score: 2/100, minimum: 60)")


def test_a_function_without_a_number_is_refused() -> None:
    """None from a score function is an error that names it."""
    assert check(QualityGate(60, lambda _: None)).message == (
        "No quality score for checkpoint: the score function returned null, not a number from 0 to 100 (minimum: 60)"
    )


@pytest.mark.parametrize("threshold", [-1, 101, math.nan, True, "60"])
def test_a_wrong_threshold_is_refused_at_once(threshold: float) -> None:
    """Not when the first checkpoint is made."""
    with pytest.raises(ValueError, match=r"threshold must be a number from 0 to 100, not "):
        QualityGate(threshold)
