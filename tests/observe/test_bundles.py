"""The bundles in a real engine: they run at their events, and their failures are reported and stop nothing."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from hookrun import Engine, Verdict
from hookrun.observe import (
    CauseChains,
    CostTracker,
    MetricsExport,
    ObserverDatabase,
    PatternLearning,
    ToolTimes,
    WorkflowMetrics,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookrun import Context, Result


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Return an engine without handlers, which is closed in the end."""
    engine = Engine()
    yield engine
    engine.close_sync()


def failures(result: Result) -> dict[str, str]:
    """Return the hooks that failed, and how."""
    return {run.hook.name: run.failure.detail for run in result.runs if run.failure}


def use_all(engine: Engine, store: ObserverDatabase, path: Path) -> None:
    """Register all bundles on one store."""
    for bundle in (
        MetricsExport(path, store),
        CauseChains(store),
        PatternLearning(store, suggest=True),
        WorkflowMetrics(store),
        ToolTimes(store),
        CostTracker({"large": {"input": 1, "output": 2}}, store, budget=1),
    ):
        assert engine.use(bundle) is engine


def test_a_session_from_start_to_end(engine: Engine, store: ObserverDatabase, tmp_path: Path) -> None:
    """Everything is kept of a session that an agent sends event by event, and is exported at its end."""
    use_all(engine, store, tmp_path / "hookrun.prom")
    same: dict[str, object] = {"session_id": "s1", "working_dir": "/srv/app"}
    bash = {**same, "tool_name": "bash", "tool_use_id": "u1", "tool_args": {"command": "pytest"}}
    edit = {**same, "tool_name": "edit", "tool_use_id": "u2"}
    edit["tool_args"] = {"file_path": "/srv/app/a.py", "old_string": "x", "new_string": "y"}
    began = datetime(2026, 1, 1, tzinfo=UTC)
    checkpoint = {"quality_score": 90, "summary": "Tests pass again", "session_start_time": began}
    usage = {"input_tokens": 900_000, "output_tokens": 50_000}
    results = [
        engine.fire_sync("session_start", same),
        engine.fire_sync("pre_tool_use", bash),
        engine.fire_sync("post_tool_failure", bash, tool_result_error="1 failed in 0.12s"),
        engine.fire_sync("pre_tool_use", edit),
        engine.fire_sync("post_tool_use", edit),
        engine.fire_sync("file_changed", same, file_path="/srv/app/a.py"),
        engine.fire_sync("pre_tool_use", bash),
        engine.fire_sync("post_tool_use", bash),
        engine.fire_sync("post_checkpoint", same, checkpoint_data=checkpoint),
        engine.fire_sync("after_inference", same, model="large", usage=usage),
        engine.fire_sync("session_end", same),
    ]
    assert [failures(result) for result in results] == [{}] * len(results)
    assert all(result.go_on for result in results)
    (chain,) = CauseChains(store).chains()
    assert results[2].modified_context == {"causal_chain_id": chain.id}
    assert chain.fix is not None
    assert chain.fix.description == 'editing a.py ("x" -> "y")'
    (pattern,) = PatternLearning(store).find("tests pass")
    assert results[8].modified_context == {"pattern_ids": [pattern.id]}
    session = WorkflowMetrics(store).session("s1")
    assert (session.started, session.tool_calls, session.failures) == (began.timestamp(), 3, 1)
    assert session.files == ("/srv/app/a.py",)
    assert session.ended is not None
    assert {each.tool: (each.count, each.timed) for each in ToolTimes(store).per_tool()} == {
        "bash": (2, 2),
        "edit": (1, 1),
    }
    assert "hookrun_sessions_total 1\n" in (tmp_path / "hookrun.prom").read_text()
    refused = engine.fire_sync("pre_tool_use", bash)
    assert refused.refused
    assert refused.message == "the budget of $1.00 for this session is used up ($1.00)"
    assert engine.fire_sync("user_prompt_submit", same, user_prompt="more").refused
    again = engine.fire_sync("session_start", {**same, "session_id": "s2"})
    assert again.additional_context is not None
    assert "Tests pass again" in again.additional_context


def test_what_was_learned_is_there_for_later_handlers(engine: Engine, store: ObserverDatabase) -> None:
    """The chain's id and the patterns' ids are in the metadata of the hooks that come after."""
    seen: dict[str, object] = {}

    def late(ctx: Context) -> None:
        seen.update(ctx.metadata)

    engine.use(CauseChains(store)).use(PatternLearning(store))
    engine.register(["error", "post_checkpoint"], late, name="late", priority=900)
    engine.fire_sync("post_error", session_id="s1", error_info={"error_message": "boom"})  # type: ignore[arg-type]
    engine.fire_sync("post_checkpoint", session_id="s1", checkpoint_data={"quality_score": 99, "summary": "x"})
    assert seen == {
        "causal_chain_id": CauseChains(store).chains()[0].id,
        "pattern_ids": [PatternLearning(store).find("x")[0].id],
    }


def test_observers_see_what_was_refused(engine: Engine, store: ObserverDatabase) -> None:
    """A chain that was ended by another hook is observed all the same; a refused call did not begin."""
    times = ToolTimes(store)
    engine.use(times).use(WorkflowMetrics(store))

    def no(ctx: Context) -> Verdict:
        return Verdict.block(f"no {ctx.event}")

    engine.register(["pre_tool_use", "post_tool_use"], no, name="no", priority=0)
    assert engine.fire_sync("pre_tool_use", session_id="s1", tool_name="bash", tool_args={}).refused
    assert times.per_tool() == []
    engine.fire_sync("post_tool_use", session_id="s1", tool_name="bash", tool_args={})
    assert WorkflowMetrics(store).session("s1").tool_calls == 1
    assert [each.count for each in times.per_tool()] == [1]


def test_trouble_with_the_store_is_seen_and_stops_what_a_budget_guards(
    engine: Engine, store: ObserverDatabase, tmp_path: Path
) -> None:
    """With a corrupt database each handler that needs it fails by name; the others continue, events are spooled."""
    use_all(engine, store, tmp_path / "hookrun.prom")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "observe.db").write_bytes(b"no database " * 500)
    bash = {"session_id": "s1", "tool_name": "bash", "tool_args": {}}
    wanted = {
        "pre_tool_use": {"cost-budget-pre-tool-use"},
        "post_tool_use": set[str](),  # it is spooled
        "post_tool_failure": {"cause-chains-failure"},
        "stop": {"metrics-export-hookrun.prom-stop", "observe-store-stop"},
    }
    for event, names in wanted.items():
        result = engine.fire_sync(event, bash)  # type: ignore[arg-type]
        assert result.go_on is (event != "pre_tool_use")
        found = failures(result)
        assert set(found) == names
        assert all("observe.db: not a readable database" in detail for detail in found.values())


def test_a_checkpoint_that_cannot_be_learned_from_goes_on(engine: Engine, store: ObserverDatabase) -> None:
    """A wrong score is those hooks' failure, reported in full, and the checkpoint is kept."""
    engine.use(PatternLearning(store)).use(WorkflowMetrics(store))
    result = engine.fire_sync("post_checkpoint", session_id="s1", checkpoint_data={"quality_score": "high"})
    assert result.go_on
    assert set(failures(result)) == {"pattern-learning", "workflow-metrics-checkpoint"}
    assert all('quality_score is "high", expected a number' in detail for detail in failures(result).values())


@pytest.mark.slow
def test_many_fires_at_once(store: ObserverDatabase) -> None:
    """Calls that run side by side in one loop are each kept and timed."""

    async def one(engine: Engine, number: int) -> bool:
        call = {"session_id": "s1", "tool_name": "bash", "tool_use_id": str(number), "tool_args": {"command": "x"}}
        results = [await engine.fire("pre_tool_use", call), await engine.fire("post_tool_use", call)]
        return not any(failures(result) for result in results)

    async def all_of_them() -> list[bool]:
        async with Engine() as engine:
            engine.use(ToolTimes(store)).use(WorkflowMetrics(store))
            return await asyncio.gather(*(one(engine, number) for number in range(40)))

    assert all(asyncio.run(all_of_them()))
    (found,) = ToolTimes(store).per_tool()
    assert (found.count, found.timed) == (40, 40)
    assert WorkflowMetrics(store).session("s1").tool_calls == 40


def test_two_exports(engine: Engine, store: ObserverDatabase, tmp_path: Path) -> None:
    """One for a collector and one for a program live side by side."""
    engine.use(MetricsExport(tmp_path / "a.prom", store)).use(MetricsExport(tmp_path / "a.json", store, "json"))
    assert failures(engine.fire_sync("stop", session_id="s1")) == {}
    assert {path.name for path in tmp_path.iterdir()} == {"a.prom", "a.json"}


def test_exports_of_one_name_to_two_directories(engine: Engine, store: ObserverDatabase, tmp_path: Path) -> None:
    """Both are written; one that is registered twice is there once."""
    paths = [tmp_path / each / "hookrun.prom" for each in ("a", "b")]
    for path in (*paths, *paths):
        path.parent.mkdir(exist_ok=True)
        engine.use(MetricsExport(path, store))
    assert len(engine.fire_sync("stop", session_id="s1").runs) == 2
    assert all(path.exists() for path in paths)


def test_two_stores(engine: Engine, store: ObserverDatabase, tmp_path: Path) -> None:
    """Each bundle keeps what happens in its own."""
    other = ObserverDatabase(tmp_path / "other.db")
    for each in (store, other, store):
        use_all(engine, each, tmp_path / "hookrun.prom")
        engine.use(CostTracker({"m": {"input": 1, "output": 1}}, each, budget=1.0))
    call: dict[str, Any] = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "make"}}
    engine.fire_sync("pre_tool_use", **call)
    engine.fire_sync("post_tool_failure", **call, tool_result_error="no rule")
    engine.fire_sync(
        "post_checkpoint", session_id="s1", checkpoint_data={"quality_score": 90, "summary": "Tests first"}
    )
    engine.fire_sync("after_inference", session_id="s1", model="m", usage={"input_tokens": 1})
    for each in (store, other):
        assert [(it.tool, it.timed) for it in ToolTimes(each).per_tool()] == [("bash", 1)]
        assert WorkflowMetrics(each).session("s1").tool_calls == 1
        assert [chain.fixed_at for chain in CauseChains(each).chains()] == [None]
        assert PatternLearning(each).count() == 1
        assert CostTracker({}, each).per_model()[0].inferences == 1


def test_the_default_store_is_the_accounts(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bundles without a store share the account's, which is created when first needed."""
    monkeypatch.setenv("HOME", str(tmp_path))
    engine.use(WorkflowMetrics()).use(ToolTimes()).use(CauseChains())
    assert list(tmp_path.iterdir()) == []
    engine.fire_sync("post_tool_use", session_id="s1", tool_name="bash", tool_args={})
    assert WorkflowMetrics(ObserverDatabase(tmp_path / ".local/state/hookrun/observe.db")).session("s1").tool_calls == 1
