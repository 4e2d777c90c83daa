"""Workflow metrics: the data stored for a session, and the report."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from hookrun.events import FileChanged, PostCheckpoint, PostToolFailure, PostToolUse, SessionEnd, SessionStart
from hookrun.observe import WorkflowMetrics
from hookrun.observe.workflow import STEADY, slope, trend
from tests.rows import rows

if TYPE_CHECKING:
    from hookrun.observe import ObserverDatabase
    from tests.observe.conftest import Clock

TEN = 1_767_348_000.0
"""2026-01-02T10:00:00Z."""


@pytest.fixture
def workflow(store: ObserverDatabase, clock: Clock) -> WorkflowMetrics:
    """Return the bundle."""
    return WorkflowMetrics(store, clock=clock)


def at(minutes: float) -> str:
    """Return the time so many minutes after ten."""
    return datetime.fromtimestamp(TEN + minutes * 60, UTC).isoformat().replace("+00:00", "Z")


def checkpoint(score: object = None, minutes: float = 0, session: str = "s1", **data: Any) -> PostCheckpoint:
    """Return the context of a checkpoint."""
    if score is not None:
        data["quality_score"] = score
    return PostCheckpoint(session_id=session, timestamp=at(minutes), checkpoint_data=data)


def test_a_whole_session(workflow: WorkflowMetrics) -> None:
    """Start, end, project, calls, failures, files and checkpoints are kept at the time of each fire."""
    same: dict[str, Any] = {"session_id": "s1", "working_dir": "/srv/app"}
    workflow.on_start(SessionStart(**same, timestamp=at(0)))
    edit = {"file_path": "src/a.py"}
    workflow.on_result(PostToolUse(**same, tool_name="edit", tool_args=edit, timestamp=at(5)))
    workflow.on_file(FileChanged(**same, file_path="/srv/app/src/a.py", timestamp=at(5)))
    workflow.on_result(PostToolUse(**same, tool_name="read", tool_args={"file_path": "b.py"}, timestamp=at(6)))
    workflow.on_result(PostToolUse(**same, tool_name="write", tool_args={"file_path": "/c"}, timestamp=at(7)))
    workflow.on_failure(PostToolFailure(**same, tool_name="bash", tool_args={}, timestamp=at(20)))
    failed = PostToolUse(
        **same, tool_name="edit", tool_args={"file_path": "no"}, tool_result_error="x", timestamp=at(21)
    )
    workflow.on_result(failed)
    workflow.on_checkpoint(checkpoint(70, 30, files=["d.py"]))
    workflow.on_end(SessionEnd(**same, timestamp=at(60)))
    found = workflow.session("s1")
    assert (found.project, found.started, found.ended, found.last) == ("/srv/app", TEN, TEN + 3600, TEN + 3600)
    assert (found.tool_calls, found.failures) == (5, 2)
    assert found.files == ("/c", "/srv/app/src/a.py", "d.py")
    assert [(each.at, each.score) for each in found.checkpoints] == [(TEN + 1800, 70.0)]
    assert (found.seconds, found.checkpoints_per_hour, found.tool_calls_per_hour) == (3600, 1.0, 5.0)


@pytest.mark.parametrize(
    ("data", "started"),
    [
        ({"session_start_time": "2026-01-02T09:00:00Z"}, TEN - 3600),
        ({"session_start_time": "2026-01-02T09:00:00+02:00"}, TEN - 3 * 3600),
        ({"session_start_time": datetime(2026, 1, 2, 9, tzinfo=UTC)}, TEN - 3600),
        ({"session_start_time": TEN - 60}, TEN - 60),
        ({"session_start_time": int(TEN) - 60, "timestamp": TEN - 1}, TEN - 60),
        ({"timestamp": "2026-01-02T09:30:00Z"}, TEN - 1800),
        ({"timestamp": datetime.fromtimestamp(TEN - 7).astimezone().replace(tzinfo=None)}, TEN - 7),
        ({"session_start_time": None, "timestamp": ""}, TEN),
        ({}, TEN),
    ],
)
def test_when_a_session_began(workflow: WorkflowMetrics, data: dict[str, Any], started: float) -> None:
    """The checkpoint's session_start_time, else its timestamp, else the time of the fire; in any form."""
    workflow.on_checkpoint(checkpoint(**data))
    assert workflow.session("s1").started == started


def test_the_earliest_start_counts(workflow: WorkflowMetrics) -> None:
    """A later checkpoint does not move the start of a session; one that reports an earlier start does."""
    workflow.on_start(SessionStart(session_id="s1", timestamp=at(0)))
    workflow.on_checkpoint(checkpoint(70, 10))
    assert workflow.session("s1").started == TEN
    workflow.on_checkpoint(checkpoint(70, 20, session_start_time=TEN - 5))
    assert workflow.session("s1").started == TEN - 5


@rows(
    "data",
    [
        {"session_start_time": "yesterday"},
        {"session_start_time": TEN * 1000},
        {"timestamp": [1]},
        {"timestamp": True},
        {"session_start_time": float("nan")},
        {"session_start_time": -5},
        {"session_start_time": "1969-12-31T23:00:00Z"},
        {"session_start_time": "0001-01-01T00:00:00"},
        {"timestamp": "9999-12-31T23:59:59-12:00"},
        {"timestamp": datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2)))},
    ],
)
def test_a_time_that_is_none(workflow: WorkflowMetrics, data: dict[str, Any]) -> None:
    """It is an error that names the field, milliseconds and other millennia included, and nothing is kept."""
    (name,) = data
    with pytest.raises(ValueError, match=rf"checkpoint_data\.{name} is .*, expected a date and time"):
        workflow.on_checkpoint(checkpoint(70, **data))
    assert workflow.sessions() == []


def test_the_last_day_there_is(workflow: WorkflowMetrics) -> None:
    """Its hours are counted in every time zone, also where it is the year 10000 by then."""
    workflow.on_checkpoint(checkpoint(70, timestamp="9999-12-31T23:59:59Z"))
    for hours in (-12, 0, 14):
        assert sum(workflow.summary(zone=timezone(timedelta(hours=hours))).hours.values()) == 1


def test_a_score_that_is_none(workflow: WorkflowMetrics) -> None:
    """It is an error; a checkpoint without a score is one without a score."""
    for score in ("good", float("inf"), 1e308, -1e308):
        with pytest.raises(ValueError, match="quality_score"):
            workflow.on_checkpoint(checkpoint(score))
    workflow.on_checkpoint(checkpoint())
    assert workflow.session("s1").checkpoints[0].score is None


def test_the_clock_is_asked_where_the_context_does_not_say(workflow: WorkflowMetrics, clock: Clock) -> None:
    """A context that was not fired has no time, and one from outside may have a strange one."""
    for context in (SessionStart(session_id="a"), SessionStart(session_id="b", timestamp="soon")):
        workflow.on_start(context)
    assert [each.started for each in workflow.sessions()] == [clock.now, clock.now]


def test_a_session_goes_on(workflow: WorkflowMetrics) -> None:
    """A session that is resumed has not ended, and keeps its start."""
    workflow.on_start(SessionStart(session_id="s1", timestamp=at(0)))
    workflow.on_end(SessionEnd(session_id="s1", timestamp=at(9)))
    workflow.on_start(SessionStart(session_id="s1", timestamp=at(30)))
    found = workflow.session("s1")
    assert (found.started, found.ended, found.seconds) == (TEN, None, 1800)


def test_quality_trends(workflow: WorkflowMetrics) -> None:
    """The slope is by least squares over the checkpoints that have a score, in order of time."""
    given: dict[str, list[int | None]] = {"up": [60, 75, 70, 95], "flat": [80, 81, 80, 81], "down": [90, None, 80]}
    for session, scores in given.items():
        for number, score in enumerate(scores):
            workflow.on_checkpoint(checkpoint(score, number, session))
    workflow.on_checkpoint(checkpoint(50, 0, "one"))
    found = {each.id: (each.quality_slope, each.quality_trend) for each in workflow.sessions()}
    assert found == {
        "up": (10.0, "improving"),
        "flat": (0.2, "steady"),
        "down": (-10.0, "declining"),
        "one": (None, None),
    }


@given(st.floats(-50, 50), st.floats(0, 100), st.integers(2, 40))
def test_the_slope_of_a_line(rise: float, start: float, count: int) -> None:
    """Of values that lie on a line it is the line's, and it has the name that its sign and size give it."""
    found = slope([start + rise * number for number in range(count)])
    assert found == pytest.approx(rise, abs=1e-3)
    assert trend(found) == ("steady" if abs(found or 0) <= STEADY else "improving" if rise > 0 else "declining")


@given(st.lists(st.floats(0, 100), min_size=2, max_size=30))
def test_the_slope_turns_with_the_values(values: list[float]) -> None:
    """Backwards it is the opposite."""
    there, back = slope(values), slope(values[::-1])
    assert there is not None
    assert back == pytest.approx(-there, abs=2e-3)


def test_too_short_to_tell(workflow: WorkflowMetrics) -> None:
    """A session of a moment has no velocity, rather than thousands an hour."""
    workflow.on_checkpoint(checkpoint(70))
    workflow.on_checkpoint(checkpoint(70, 0.9))
    assert workflow.session("s1").checkpoints_per_hour is None
    workflow.on_checkpoint(checkpoint(70, 1))
    assert workflow.session("s1").checkpoints_per_hour == 180


def test_unknown_session(workflow: WorkflowMetrics) -> None:
    """It is an error that names it."""
    with pytest.raises(ValueError, match="no session 's9'"):
        workflow.session("s9")


def test_summary(workflow: WorkflowMetrics, clock: Clock) -> None:
    """Sessions together: sums, velocity over all their time, and the hours of the day in the zone asked for."""
    for day, session in ((0, "new"), (-3, "old")):
        for minute, score in ((0, 70), (60, 80)):
            workflow.on_checkpoint(checkpoint(score + day, day * 1440 + minute, session, files=["/a", f"/{session}"]))
    workflow.on_failure(PostToolFailure(session_id="new", tool_name="bash", timestamp=at(60)))
    found = workflow.summary(zone=UTC)
    assert (found.sessions, found.seconds, found.tool_calls, found.failures) == (2, 7200, 1, 1)
    assert (found.files, found.checkpoints, found.checkpoints_per_hour) == (3, 4, 2.0)
    assert found.quality_mean == 73.5
    assert found.quality_slope == 3.2
    assert found.hours == {10: 2, 11: 3}
    half = timezone(timedelta(hours=5, minutes=30))
    assert workflow.summary(zone=half).hours == {15: 2, 16: 3}
    clock.now = TEN + 7200
    assert [each.id for each in workflow.sessions()] == ["new", "old"]
    assert [each.id for each in workflow.sessions(days=1)] == ["new"]
    assert workflow.summary(days=1, zone=UTC).checkpoints == 2


def test_nothing_is_known_yet(workflow: WorkflowMetrics) -> None:
    """An empty summary has nothing, and divides by nothing."""
    found = workflow.summary()
    assert (found.sessions, found.checkpoints_per_hour, found.quality_mean, found.hours) == (0, None, None, {})


@rows("days", [0, -1, float("nan"), float("inf")])
def test_days_that_are_none(workflow: WorkflowMetrics, days: float) -> None:
    """They are an error, not everything or nothing."""
    with pytest.raises(ValueError, match="is not a number greater than 0"):
        workflow.sessions(days=days)
