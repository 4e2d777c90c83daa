"""Metrics export: the text that Prometheus reads, JSON, and files that are never half there."""

from __future__ import annotations

import json
import os
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.events import AfterInference, PostCheckpoint, PostToolFailure, PostToolUse, SessionEnd, Stop
from hookrun.observe import (
    CauseChains,
    CostTracker,
    DatabaseError,
    MetricsExport,
    ObserverDatabase,
    PatternLearning,
    ToolTimes,
    WorkflowMetrics,
)
from hookrun.observe.metrics_report import METRICS, collect, prometheus

if TYPE_CHECKING:
    from pathlib import Path

STRANGE = 'mcp__a"b\\c\nd__tool'
LINE = re.compile(
    r"# HELP (?P<help>[a-z_]+) [^\n]+|# TYPE (?P<type>[a-z_]+) (?:counter|gauge|summary)"
    r"|(?P<name>[a-z_]+)(?P<labels>\{[a-z_]+=\"(?:[^\"\\\n]|\\[\\\"n])*\"(?:,[a-z_]+=\"(?:[^\"\\\n]|\\[\\\"n])*\")*\})?"
    r" (?P<value>-?[0-9.]+(?:e[-+]?[0-9]+)?)"
)
"""A line of the text format 0.0.4, as far as it is used."""


@pytest.fixture
def full(store: ObserverDatabase) -> ObserverDatabase:
    """Return a store that has something of everything."""
    same: dict[str, Any] = {"session_id": "secret-session", "working_dir": "/srv/app"}
    workflow, times, causes = WorkflowMetrics(store), ToolTimes(store), CauseChains(store)
    for minute, score in ((0, 90), (30, 95)):
        data = {"quality_score": score, "summary": "done", "files": ["/srv/app/a.py"]}
        context = PostCheckpoint(**same, checkpoint_data=data, timestamp=f"2026-01-02T10:{minute:02d}:00Z")
        workflow.on_checkpoint(context)
        PatternLearning(store).on_checkpoint(context)
    for tool, ms in (("bash", 100), ("bash", 300), (STRANGE, 1500)):
        result = PostToolUse(**same, tool_name=tool, duration_ms=ms, timestamp="2026-01-02T10:20:00Z")  # type: ignore[call-arg]
        times.on_result(result)
        workflow.on_result(result)
    failure = PostToolFailure(**same, tool_name="bash", tool_result_error="boom", timestamp="2026-01-02T10:21:00Z")
    for handler in (times.on_failure, workflow.on_failure, causes.on_failure):
        handler(failure)
    causes.record_fix(causes.record_error("other"), "a fix")
    costs = CostTracker({"large": {"input": 2, "output": 4}}, store)
    for model in ("large", "new"):
        usage = {"input_tokens": 1000, "output_tokens": 500, "cache_read_input_tokens": 10}
        costs.on_inference(AfterInference(**same, model=model, usage=usage))
    return store


def samples(text: str) -> dict[str, float]:
    """Return every sample, and hold every line to the format: each family together, HELP and TYPE before it, once."""
    assert text == "" or text.endswith("\n")
    found: dict[str, float] = {}
    families: list[str] = []
    for line in text.split("\n")[:-1]:
        match = LINE.fullmatch(line)
        assert match, line
        if match["help"]:
            families.append(match["help"])
        elif match["type"]:
            assert match["type"] == families[-1]
        else:
            assert re.sub("_(sum|count)$", "", match["name"]) == families[-1]
            key = match["name"] + (match["labels"] or "")
            assert key not in found
            found[key] = float(match["value"])
    assert len(families) == len(set(families))
    return found


def test_everything_is_there(full: ObserverDatabase) -> None:
    """Every value, in base units, by labels that are escaped; nothing of sessions, paths or messages."""
    text = prometheus(collect(full))
    strange = 'tool="mcp__a\\"b\\\\c\\nd__tool"'
    assert samples(text) == {
        "hookrun_sessions_total": 1,
        "hookrun_session_seconds_total": 1800,
        "hookrun_session_tool_calls_total": 4,
        "hookrun_session_failures_total": 1,
        "hookrun_files_changed_total": 1,
        "hookrun_checkpoints_total": 2,
        "hookrun_quality_score": 95,
        "hookrun_quality_slope": 5,
        f'hookrun_tool_calls_total{{{strange},result="ok"}}': 1,
        f'hookrun_tool_calls_total{{{strange},result="failed"}}': 0,
        'hookrun_tool_calls_total{tool="bash",result="ok"}': 2,
        'hookrun_tool_calls_total{tool="bash",result="failed"}': 1,
        f'hookrun_tool_duration_seconds{{{strange},quantile="0.5"}}': 1.5,
        f'hookrun_tool_duration_seconds{{{strange},quantile="0.95"}}': 1.5,
        f"hookrun_tool_duration_seconds_sum{{{strange}}}": 1.5,
        f"hookrun_tool_duration_seconds_count{{{strange}}}": 1,
        'hookrun_tool_duration_seconds{tool="bash",quantile="0.5"}': 0.1,
        'hookrun_tool_duration_seconds{tool="bash",quantile="0.95"}': 0.3,
        'hookrun_tool_duration_seconds_sum{tool="bash"}': 0.4,
        'hookrun_tool_duration_seconds_count{tool="bash"}': 2,
        'hookrun_inferences_total{model="large"}': 1,
        'hookrun_inferences_total{model="new"}': 1,
        'hookrun_inferences_unpriced_total{model="large"}': 0,
        'hookrun_inferences_unpriced_total{model="new"}': 1,
        **{
            f'hookrun_tokens_total{{model="{model}",kind="{kind}"}}': count
            for model in ("large", "new")
            for kind, count in {"input": 1000, "output": 500, "cache_read": 10, "cache_creation": 0}.items()
        },
        'hookrun_cost_usd_total{model="large"}': 0.00402,
        "hookrun_errors_total": 2,
        "hookrun_errors_fixed_total": 1,
        "hookrun_patterns": 1,
    }
    assert not any(private in text for private in ("secret-session", "/work", "boom"))


def test_names_follow_the_conventions() -> None:
    """Counters end in _total and nothing else does; units are seconds and USD; each has its own name."""
    assert len({name for name, *_ in METRICS}) == len(METRICS)
    for name, kind, says, _ in METRICS:
        assert name.startswith("hookrun_")
        assert name.endswith("_total") is (kind == "counter")
        assert says.endswith(".")


def test_nothing_is_there_yet(store: ObserverDatabase) -> None:
    """An empty store has counts of 0, and no gauge of an unknown value."""
    found = samples(prometheus(collect(store)))
    assert set(found.values()) == {0}
    assert "hookrun_quality_score" not in found


def test_json(full: ObserverDatabase) -> None:
    """The JSON form has all of it, with times for humans and for programs."""
    report = json.loads(json.dumps(collect(full).to_dict()))
    (session,) = report["sessions"]
    assert session["started"] == "2026-01-02T10:00:00Z"
    assert session["checkpoints"] == [
        {"at": "2026-01-02T10:00:00Z", "quality_score": 90.0},
        {"at": "2026-01-02T10:30:00Z", "quality_score": 95.0},
    ]
    assert session["quality_trend"] == "improving"
    assert [each["tool"] for each in report["tools"]] == [STRANGE, "bash"]
    assert report["errors"]["fixed"] == 1
    assert {each["message"] for each in report["errors"]["chains"]} == {"boom", "other"}


@pytest.mark.parametrize(("format", "begins"), [("prometheus", "# HELP "), ("json", "{")])
def test_the_file(full: ObserverDatabase, tmp_path: Path, format: str, begins: str) -> None:  # noqa: A002  # what it is
    """It is whole, readable by others, alone in its directory, and replaced by the next."""
    path = tmp_path / "out" / "hookrun.prom"
    path.parent.mkdir()
    export = MetricsExport(path, full, format)
    for context in (SessionEnd(session_id="s"), Stop(session_id="s")):
        path.write_text("old")
        export.on_end(context)
        assert path.read_text().startswith(begins)
        assert path.read_text().endswith("\n")
        assert path.stat().st_mode & 0o777 == 0o644
        assert os.listdir(path.parent) == ["hookrun.prom"]


def test_a_reader_never_sees_half_of_it(full: ObserverDatabase, tmp_path: Path) -> None:
    """However often it is written, a reader always gets one complete state."""
    path = tmp_path / "hookrun.prom"
    export = MetricsExport(path, full)
    export.on_end(Stop())
    whole = path.read_text()
    stopped = threading.Event()
    seen: set[str] = set()

    def read() -> None:
        while not stopped.is_set():
            seen.add(path.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(30):
        export.on_end(Stop())
    stopped.set()
    reader.join()
    assert seen == {whole}


def test_a_file_that_cannot_be_written(full: ObserverDatabase, tmp_path: Path) -> None:
    """The error names it; the old file stays, and no temporary file is left."""
    (tmp_path / "directory").mkdir()
    with pytest.raises(OSError, match="directory"):
        MetricsExport(tmp_path / "directory", full).on_end(Stop())
    with pytest.raises(FileNotFoundError):
        MetricsExport(tmp_path / "missing" / "hookrun.prom", full).on_end(Stop())
    assert sorted(os.listdir(tmp_path)) == ["directory", "state"]


def test_a_store_that_cannot_be_read_leaves_the_file(full: ObserverDatabase, tmp_path: Path) -> None:
    """The earlier export is still there."""
    path = tmp_path / "hookrun.prom"
    MetricsExport(path, full).on_end(Stop())
    before = path.read_text()
    with open(full.path, "wb") as file:
        file.write(b"x" * 5000)
    with pytest.raises(DatabaseError):
        MetricsExport(path, full).on_end(Stop())
    assert path.read_text() == before


def test_an_unknown_format(tmp_path: Path) -> None:
    """It is an error with the nearest."""
    with pytest.raises(
        ValueError, match='format is "prometeus", expected json or prometheus; did you mean "prometheus"'
    ):
        MetricsExport(tmp_path / "x", format="prometeus")


def test_one_session_only(full: ObserverDatabase) -> None:
    """A report of one session contains no data of others."""
    WorkflowMetrics(full).on_failure(PostToolFailure(session_id="another", tool_name="bash"))
    report = collect(full, session_id="another")
    assert [each.id for each in report.sessions] == ["another"]
    assert [each.count for each in report.tools] == [1]
    assert (report.summary.tool_calls, report.models, report.errors, report.patterns) == (1, [], 1, 0)
    assert not collect(full, session_id="nobody").sessions
    assert collect(full).sessions
