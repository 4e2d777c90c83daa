"""Tool times: the measurements, how calls are identified, and the report."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings, strategies as st

from hookrun.events import PostToolFailure, PostToolUse, PreToolUse
from hookrun.observe import ObserverDatabase, ToolTimes

if TYPE_CHECKING:
    from tests.observe.conftest import Clock


@pytest.fixture
def times(store: ObserverDatabase, clock: Clock) -> ToolTimes:
    """Return the bundle."""
    return ToolTimes(store, clock=clock)


def call(tool: str = "bash", use: str | None = None, session: str = "s1", **args: Any) -> dict[str, Any]:
    """Return the fields of one call."""
    return {"session_id": session, "tool_name": tool, "tool_use_id": use, "tool_args": args}


def stored(store: ObserverDatabase) -> list[tuple[str, float | None, bool]]:
    """Return every stored call: tool, milliseconds, success."""
    with store.read() as db:
        rows = db.execute("SELECT tool, ms, ok FROM events WHERE event != 'pre_tool_use' ORDER BY n").fetchall()
    return [(tool, None if ms is None else round(ms, 3), bool(ok)) for tool, ms, ok in rows]


def test_how_long_a_call_took(times: ToolTimes, store: ObserverDatabase, clock: Clock) -> None:
    """From pre_tool_use to whichever event ends it, in milliseconds."""
    for tool, end, error in (("bash", 1.5, None), ("read", 0.002, None), ("edit", 60.0, "no such text")):
        times.on_call(PreToolUse(**call(tool)))
        clock.now += end
        times.on_result(PostToolUse(**call(tool), tool_result_error=error))
    times.on_call(PreToolUse(**call("web_fetch")))
    times.on_failure(PostToolFailure(**call("web_fetch"), tool_result_error="x"))
    assert stored(store) == [("bash", 1500, True), ("read", 2, True), ("edit", 60_000, False), ("web_fetch", 0, False)]


def test_side_by_side(times: ToolTimes, store: ObserverDatabase, clock: Clock) -> None:
    """Calls of one tool that overlap are distinguished by their id, else by their arguments and session."""
    calls = [
        call(use="a", command="x"),
        call(use="b", command="x"),
        call(command="x"),
        call(command="y"),
        call(command="x", session="s2"),
    ]
    for number, each in enumerate(calls):
        times.on_call(PreToolUse(**each))
        clock.now += 2**number
    for number in (1, 2, 0, 4, 3):
        times.on_result(PostToolUse(**calls[number]))
    assert [ms for _, ms, _ in stored(store)] == [30_000, 28_000, 31_000, 16_000, 24_000]


def test_an_id_is_enough(times: ToolTimes, store: ObserverDatabase, clock: Clock) -> None:
    """Arguments that another hook changed after this one do not matter where there is an id."""
    times.on_call(PreToolUse(**call(use="a", command="x")))
    clock.now += 1
    times.on_result(PostToolUse(**call(use="a", command="x --safely")))
    assert stored(store) == [("bash", 1000, True)]


def test_one_call_for_several_files(times: ToolTimes, store: ObserverDatabase, clock: Clock) -> None:
    """An agent's call that is fired as several under one id is timed as often."""
    for path in "ab":
        times.on_call(PreToolUse(**call("edit", "patch", file_path=path)))
    clock.now += 1
    for path in "ab":
        times.on_result(PostToolUse(**call("edit", "patch", file_path=path)))
    assert [ms for _, ms, _ in stored(store)] == [1000, 1000]


def test_a_call_that_was_refused_does_not_count(times: ToolTimes, store: ObserverDatabase, clock: Clock) -> None:
    """Of two that cannot be distinguished the later one has ended: the earlier may have been refused an hour ago."""
    times.on_call(PreToolUse(**call(command="x")))
    clock.now += 3600
    times.on_call(PreToolUse(**call(command="x")))
    clock.now += 1
    times.on_result(PostToolUse(**call(command="x")))
    assert stored(store) == [("bash", 1000, True)]


def test_arguments_with_keys_of_two_kinds(times: ToolTimes, store: ObserverDatabase, clock: Clock) -> None:
    """Calls with them are distinguished as any others."""
    before = PreToolUse(session_id="s1", tool_name="x", tool_args={1: 1, "a": {(1, 2): 2}})  # type: ignore[dict-item]
    times.on_call(before)
    times.on_call(PreToolUse(session_id="s1", tool_name="x", tool_args={1: 1, "a": {(1, 2): 3}}))  # type: ignore[dict-item]
    clock.now += 1
    times.on_result(PostToolUse(session_id="s1", tool_name="x", tool_args={"a": {(1, 2): 2}, 1: 1}))  # type: ignore[dict-item]
    assert stored(store) == [("x", 1000, True)]


def test_a_call_that_was_not_seen_to_begin(times: ToolTimes) -> None:
    """It is counted, but not timed: no number is made up."""
    times.on_result(PostToolUse(**call()))
    (found,) = times.per_tool()
    assert (found.count, found.timed, found.total_ms) == (1, 0, 0)
    assert (found.mean_ms, found.p50_ms, found.p95_ms, found.max_ms) == (None, None, None, None)


@pytest.mark.parametrize(
    ("reported", "wanted"),
    [(12, 12), (0, 0), (3.5, 3.5), (-1, 2000), ("12", 2000), (True, 2000), (math.nan, 2000), (1e308, 2000)],
)
def test_what_the_agent_measured(
    times: ToolTimes, store: ObserverDatabase, clock: Clock, reported: object, wanted: float
) -> None:
    """Its `duration_ms` excludes the wait for the user and is preferred, if it is a time."""
    times.on_call(PreToolUse(**call()))
    clock.now += 2
    times.on_result(PostToolUse(**call(), duration_ms=reported))  # type: ignore[call-arg]
    assert stored(store) == [("bash", wanted, True)]


@pytest.mark.slow
@settings(max_examples=30)
@given(durations=st.integers(1, 200).flatmap(lambda n: st.lists(st.integers(0, 10**6), min_size=n, max_size=n)))
@example(durations=list(range(17)))
@example(durations=list(range(101)))
def test_percentiles(tmp_path_factory: pytest.TempPathFactory, durations: list[int]) -> None:
    """They are by nearest rank: the smallest time that this share of the calls did not exceed."""
    store = ObserverDatabase(tmp_path_factory.mktemp("times") / "observe.db")
    times = ToolTimes(store)
    for ms in durations:
        times.on_result(PostToolUse(session_id="s", tool_name="bash", duration_ms=ms))  # type: ignore[call-arg]
    (found,) = times.per_tool()
    ranked = sorted(durations)
    assert found.p50_ms == ranked[math.ceil(len(ranked) / 2) - 1]
    assert found.p95_ms == ranked[math.ceil(len(ranked) * 95 / 100) - 1]
    assert (found.count, found.max_ms, found.total_ms) == (len(ranked), ranked[-1], sum(ranked))
    assert found.mean_ms == pytest.approx(sum(ranked) / len(ranked))


def test_per_tool(times: ToolTimes) -> None:
    """The tool that took longest comes first; a session or a time can be asked for."""
    for tool, ms, session, when in (
        ("read", 5, "a", "2026-01-01T00:00:00Z"),
        ("bash", 500, "a", "2026-01-01T00:00:00Z"),
        ("bash", 100, "b", "2026-01-03T00:00:00Z"),
    ):
        times.on_result(PostToolUse(**call(tool, session=session), duration_ms=ms, timestamp=when))  # type: ignore[call-arg]
    times.on_failure(PostToolFailure(**call("bash", session="b"), timestamp="2026-01-03T00:00:00Z"))
    assert [(each.tool, each.count, each.failures, each.timed) for each in times.per_tool()] == [
        ("bash", 3, 1, 2),
        ("read", 1, 0, 1),
    ]
    assert [(each.tool, each.total_ms) for each in times.per_tool(session_id="b")] == [("bash", 100)]
    assert [each.count for each in times.per_tool(since=1_767_312_000.0)] == [2]
    assert times.per_tool(session_id="c") == []


@pytest.mark.slow
def test_many_threads(store: ObserverDatabase) -> None:
    """Calls that begin and end on many threads are each timed once."""
    times = ToolTimes(store)

    def work(thread: int) -> None:
        for number in range(10):
            each = call(use=f"{thread} {number}")
            times.on_call(PreToolUse(**each))
            times.on_result(PostToolUse(**each))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    (found,) = times.per_tool()
    assert (found.count, found.timed) == (80, 80)
