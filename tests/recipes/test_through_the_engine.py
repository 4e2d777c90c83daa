"""The bundles in a real engine, fired as a program would: sync and async, with failures."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from hookrun import Engine, Verdict
from hookrun.compat.stackbench import AgentLogger
from hookrun.events import PostToolUse, PreCheckpoint
from hookrun.recipes.format_on_edit import FormatOnEdit, Formatter
from hookrun.recipes.notify import Notify
from hookrun.recipes.notify_channels import CommandChannel
from hookrun.recipes.quality_gate import QualityGate
from hookrun.recipes.retry import Retry, RetryRule
from hookrun.recipes.validate_json import Rule, ValidateJSON
from tests.compat.logs import log_of
from tests.recipes.channels import Kept
from tests.waiting import hang_async, limit

COUNTS = Rule("*_counts.json", {"type": "object", "required": ["total"]})


def test_a_gate_refuses_and_passes_on() -> None:
    """A low score blocks; a high one is in the metadata of the hooks that follow."""
    seen: list[object] = []
    with Engine().use(QualityGate(60)) as engine:
        engine.register("pre_checkpoint", lambda ctx: seen.append(ctx.metadata["validated_quality"]), name="after")
        low = engine.fire_sync("pre_checkpoint", checkpoint_data={"quality_score": 45})
        assert (low.action, low.message) == ("block", "Quality too low for checkpoint (score: 45/100, minimum: 60)")
        assert engine.fire_sync("pre_checkpoint", checkpoint_data={"quality_score": 61}).go_on
    assert seen == [61]


def test_a_gate_whose_score_function_fails_or_hangs_refuses() -> None:
    """No score, no checkpoint."""

    def broken(_: PreCheckpoint) -> float:
        raise LookupError("no coverage")

    async def hanging(_: PreCheckpoint) -> float:
        await hang_async()
        return 100

    for score, says in ((broken, "no coverage"), (hanging, "no answer after")):
        with Engine().use(QualityGate(60, score, timeout=0.2)) as engine:
            result = engine.fire_sync("pre_checkpoint", checkpoint_data={"quality_score": 99})
            assert result.refused
            assert says in str(result.message)


def test_json_is_checked_as_other_hooks_have_changed_it() -> None:
    """The check comes after the hooks that change arguments."""
    with Engine().use(ValidateJSON([COUNTS])) as engine:

        def fire(tool: str, content: str) -> str:
            args = {"file_path": "/out/a_counts.json", "content": content}
            return engine.fire_sync("pre_tool_use", tool_name=tool, tool_args=args).action

        assert fire("write", "{}") == "block"
        assert fire("Write", "{}") == "block"
        assert fire("read", "{}") == "continue"
        assert fire("write", '{"total": 1}') == "continue"
        engine.register("pre_tool_use", lambda _: Verdict.patch({"content": "{}"}), name="spoiler")
        assert fire("write", '{"total": 1}') == "block"


def test_a_check_that_fails_refuses(tmp_path: Path) -> None:
    """A file that cannot be read cannot be checked."""
    loop = tmp_path / "a_counts.json"
    loop.symlink_to(loop)
    args = {"file_path": str(loop), "old_string": "a", "new_string": "b"}
    with Engine().use(ValidateJSON([COUNTS])) as engine:
        result = engine.fire_sync("pre_tool_use", tool_name="edit", tool_args=args)
    assert result.refused
    assert "Too many levels of symbolic links" in str(result.message)


def test_a_log_sees_refused_calls_and_its_trouble_stops_nobody(tmp_path: Path) -> None:
    """Logged although blocked; and when it cannot be written the hook has failed, visibly, and the agent continues."""
    log = log_of(tmp_path, "a")
    broken = AgentLogger("/dev/full", "/dev/full", name="broken-log")
    with Engine().use(log).use(broken) as engine:
        engine.register("pre_tool_use", lambda _: Verdict.block("no"), name="guard", matcher="bash")
        assert engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": "x"}).action == "block"
        result = engine.fire_sync("pre_tool_use", tool_name="read", tool_use_id="t1")
        assert result.go_on
        failures = {run.hook.name: run.failure.detail if run.failure else None for run in result.runs}
        assert failures["agent-log-pre_tool_use"] is None
        assert "No space left" in str(failures["broken-log-pre_tool_use"])
        engine.fire_sync("post_tool_failure", tool_name="read", tool_use_id="t1", tool_result_error="gone")
    entries = [json.loads(line) for line in Path(log.tools_log_file).read_text().splitlines()]
    assert [(entry["tool_name"], entry["event_type"]) for entry in entries] == [
        ("bash", "pre_tool"),
        ("read", "pre_tool"),
        ("read", "post_tool"),
    ]
    assert entries[1]["timestamp"].endswith("Z")
    assert entries[2]["error"] == "gone"


def test_a_file_is_formatted_by_fire_and_by_fire_sync(tmp_path: Path) -> None:
    """In the program's loop and in the engine's own; both events of a change, once."""
    formatting = FormatOnEdit([Formatter("ruff", (".py",), ((str(Path(sys.executable).parent / "ruff"), "format"),))])
    path = tmp_path / "a.py"
    fields: dict[str, Any] = {"file_path": str(path), "working_dir": str(tmp_path)}

    def change() -> tuple[str | None, str | None]:
        path.write_text("x = {  'a':1 }\n")
        written = engine.fire_sync("post_tool_use", tool_name="edit", tool_args={"file_path": str(path)}, **fields)
        changed = engine.fire_sync("file_changed", **fields)
        return written.additional_context, changed.additional_context

    async def change_async() -> str | None:
        path.write_text("y = {  'a':1 }\n")
        args = {"file_path": str(path)}
        context = PostToolUse(tool_name="write", tool_args=args, **fields)
        other = PostToolUse(tool_name="read", tool_args=args, **fields)
        assert (await engine.fire(other)).additional_context is None
        return (await engine.fire(context)).additional_context

    with Engine().use(formatting) as engine:
        assert change() == ("formatted a.py with ruff", None)
        assert asyncio.run(change_async()) == "formatted a.py with ruff"
    assert path.read_text() == 'y = {"a": 1}\n'


def test_a_success_between_two_failures_resets_the_attempts() -> None:
    """Both events of a call are heard."""
    call: dict[str, Any] = {"session_id": "s1", "tool_name": "web_fetch"}
    with Engine().use(Retry([RetryRule("web_fetch", "*timed out*")])) as engine:
        engine.fire_sync("post_tool_failure", tool_result_error="timed out", **call)
        engine.fire_sync("post_tool_use", tool_result_output="page", **call)
        result = engine.fire_sync("post_tool_failure", tool_result_error="timed out", **call)
    assert "attempt 2 of 3" in str(result.additional_context)


def test_a_person_is_told_without_the_agent_waiting(tmp_path: Path) -> None:
    """The fire ends while the program still waits; then it gets the note. Sync and async."""
    script = 'while [ ! -e "$1/go" ]; do sleep 0.02; done; cat >> "$1/notes"'
    notify = Notify(CommandChannel(["sh", "-c", script, "sh", str(tmp_path)], timeout=limit()))

    async def both(engine: Engine) -> None:
        await engine.fire("notification", message="one")
        await asyncio.to_thread(engine.fire_sync, "post_error", error_info={"error_message": "two"})  # type: ignore[arg-type]
        assert not (tmp_path / "notes").exists()
        (tmp_path / "go").touch()
        async with asyncio.timeout(limit()):
            await engine.wait_background()

    with Engine().use(notify) as engine:
        asyncio.run(both(engine))
    texts = {json.loads(line)["text"] for line in (tmp_path / "notes").read_text().splitlines()}
    assert texts == {"one", "two"}


def test_a_delivery_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The agent's fire succeeds; the engine logs the note that was not delivered."""
    with caplog.at_level(logging.ERROR, "hookrun"), Engine().use(Notify(CommandChannel(["false"]))) as engine:
        assert engine.fire_sync("notification", message="hello").go_on
        engine.close_sync(wait=limit())
    assert "notify: CommandChannel failed in the background: ChannelError: false exited with status 1" in caplog.text


def test_the_end_is_told_only_when_it_is_the_end() -> None:
    """A hook that has the agent go on keeps the note of its stop back."""
    channel = Kept()
    with Engine().use(Notify(channel)) as engine:
        engine.register("stop", lambda _: Verdict.block("tests fail"), name="not-yet")
        engine.fire_sync("stop")
        engine.remove("not-yet")
        engine.fire_sync("stop")
        engine.close_sync(wait=limit())
    assert [note.text for note in channel.notes] == ["finished"]


def test_all_bundles_together_have_names_of_their_own() -> None:
    """None replaces another's hook."""
    engine = Engine()
    bundles = (FormatOnEdit(), QualityGate(), ValidateJSON([COUNTS]), AgentLogger("a", "b"), Retry([]), Notify([]))
    for bundle in bundles:
        engine.use(bundle)
    assert len(engine.hooks()) == 2 + 1 + 1 + 3 + 2 + 1
