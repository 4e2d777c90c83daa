"""A program on session_buddy's hooks changes its import; the default hooks are there, configured ones run beside."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hookrun import Engine, RegistrationError
from hookrun.compat.session_buddy import Hook, HookContext, HookResult, HooksManager, HookType
from hookrun.observe import CauseChains, ObserverDatabase, PatternLearning, WorkflowMetrics

PROGRAM = Path(__file__).with_name("programs") / "session_buddy_program.py"


def test_a_documented_program_runs() -> None:
    """Order, replacement, a failing hook and its error handler, a disabled one, what is passed on, and the lists."""
    command = [sys.executable, str(PROGRAM), "hookrun.compat.session_buddy"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[] {}",
        "told ValueError no disk",
        "True {'first': 'post_file_edit'} None True",
        "True {'auto_format': \"/a.py after ['first']\"} None True",
        "False None no disk True",
        "False None too large True",
        "{'first': 'post_file_edit', 'auto_format': \"/a.py after ['first']\"}",
        (
            "[{'name': 'first', 'priority': 10, 'enabled': True, 'metadata': {'by': 'me'}}, "
            "{'name': 'auto_format', 'priority': 100, 'enabled': True, 'metadata': {}}, "
            "{'name': 'off', 'priority': 200, 'enabled': False, 'metadata': {}}, "
            "{'name': 'broken', 'priority': 300, 'enabled': True, 'metadata': {}}, "
            "{'name': 'complains', 'priority': 400, 'enabled': True, 'metadata': {}}]"
        ),
        "[None, None, 'too large', 'too large']",
        "{'post_file_edit': ['first', 'auto_format', 'off', 'broken', 'complains'], 'session_end': ['first']}",
    ]


def context(hook_type: HookType, **fields: Any) -> HookContext:
    """Return a context of the session s1."""
    return HookContext(hook_type, "s1", datetime(2026, 3, 1, 9, tzinfo=UTC), **fields)


def run(manager: HooksManager, hook_type: HookType, **fields: Any) -> list[HookResult]:
    """Return the results of a type's hooks."""
    return asyncio.run(manager.execute_hooks(hook_type, context(hook_type, **fields)))


@pytest.fixture
def store(tmp_path: Path) -> ObserverDatabase:
    """Return an empty database."""
    return ObserverDatabase(tmp_path / "observe.db")


@pytest.fixture
def manager(store: ObserverDatabase) -> HooksManager:
    """Return a manager with the default hooks."""
    made = HooksManager(logging.getLogger("a.program"), store=store)
    asyncio.run(made.initialize())
    return made


async def once(handler: Any, logger: logging.Logger | None = None) -> tuple[list[HookResult], dict[Any, Any]]:
    """Return the results of one hook, and the metadata."""
    own, given = HooksManager(logger), context(HookType.SESSION_END)
    await own.register_hook(Hook("mine", HookType.SESSION_END, 10, handler))
    return await own.execute_hooks(HookType.SESSION_END, given), given.metadata


def test_any_key_is_passed_on() -> None:
    """As in any dictionary."""

    async def numbered(_: HookContext) -> HookResult:
        return HookResult(success=True, modified_context={5: "five"})  # type: ignore[dict-item]

    (result,), metadata = asyncio.run(once(numbered))
    assert (result.success, metadata) == (True, {5: "five"})


def test_the_program_s_logger_gets_failures(caplog: pytest.LogCaptureFixture) -> None:
    """Also of a handler that returns something else."""

    async def broken(_: HookContext) -> HookResult:
        raise OSError("no disk")

    (result,), _ = asyncio.run(once(broken, logging.getLogger("a.program")))
    assert (result.success, result.error) == (False, "no disk")
    assert [each.getMessage() for each in caplog.records if each.name == "a.program"] == [
        "Hook mine@session_end failed: no disk"
    ]


def test_a_hook_that_switches_itself_off_has_run() -> None:
    """Its result is in the list; the next time it is not."""

    async def main() -> tuple[list[HookResult], list[HookResult]]:
        async def only_once(_: HookContext) -> HookResult:
            hook.enabled = False
            return HookResult(success=True)

        hook, own = Hook("once", HookType.SESSION_END, 10, only_once), HooksManager()
        await own.register_hook(hook)
        first, then = [await own.execute_hooks(each, context(each)) for each in (HookType.SESSION_END,) * 2]
        return first, then

    first, then = asyncio.run(main())
    assert ([each.success for each in first], then) == ([True], [])


def test_a_type_is_also_its_text(manager: HooksManager) -> None:
    """`HookType` is a text as well."""
    text: Any = "pre_checkpoint"
    assert manager.list_hooks(text) == manager.list_hooks(HookType.PRE_CHECKPOINT) != {HookType.PRE_CHECKPOINT: []}


def test_the_default_hooks_have_their_names_and_priorities(manager: HooksManager) -> None:
    """Five, at four events."""
    listed = {
        each: [(hook["name"], hook["priority"]) for hook in hooks] for each, hooks in manager.list_hooks().items()
    }
    assert listed == {
        HookType.PRE_CHECKPOINT: [("quality_validation", 50)],
        HookType.POST_CHECKPOINT: [("learn_from_checkpoint", 200), ("collect_workflow_metrics", 300)],
        HookType.POST_FILE_EDIT: [("auto_format_python", 100)],
        HookType.POST_ERROR: [("track_error_fix_chain", 10)],
    }


def test_a_checkpoint_needs_60_of_100(manager: HooksManager) -> None:
    """Below it fails with the score; else the score is passed on; a missing one is not enough."""
    (low,) = run(manager, HookType.PRE_CHECKPOINT, checkpoint_data={"quality_score": 45})
    assert (low.success, low.error) == (False, "Quality too low for checkpoint (score: 45/100, minimum: 60)")
    (high,) = run(manager, HookType.PRE_CHECKPOINT, checkpoint_data={"quality_score": 80})
    assert (high.success, high.modified_context) == (True, {"validated_quality": 80})
    (missing,) = run(manager, HookType.PRE_CHECKPOINT)
    assert not missing.success


def test_an_error_has_its_chain(manager: HooksManager, store: ObserverDatabase) -> None:
    """The id is in the result; an event without an error has none."""
    (result,) = run(manager, HookType.POST_ERROR, error_info={"error_message": "disk full", "context": {"n": 1}})
    assert result.success
    assert CauseChains(store).chain(str(result.causal_chain_id)).message == "disk full"
    (none,) = run(manager, HookType.POST_ERROR)
    assert (none.success, none.causal_chain_id) == (True, None)


def test_a_good_checkpoint_is_learned_from_and_measured(manager: HooksManager, store: ObserverDatabase) -> None:
    """Above 85; of others there are metrics only."""
    data = {"quality_score": 80, "working_directory": "/repo", "patterns": ["Split the parser"]}
    learned, measured = run(manager, HookType.POST_CHECKPOINT, checkpoint_data=data)
    assert (learned.modified_context, measured.success) == (None, True)
    learned, _ = run(manager, HookType.POST_CHECKPOINT, checkpoint_data={**data, "quality_score": 90})
    assert learned.success
    assert PatternLearning(store).count() == len((learned.modified_context or {}).get("pattern_ids", ()))
    assert len(WorkflowMetrics(store).session("s1").checkpoints) == 2


def test_what_cannot_be_learned_or_measured_fails_no_checkpoint(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As in session_buddy: it is logged. An error that cannot be recorded is a failure."""
    (tmp_path / "file").touch()
    broken = HooksManager(logging.getLogger("a.program"), store=ObserverDatabase(tmp_path / "file" / "observe.db"))
    asyncio.run(broken.initialize())
    data = {"quality_score": 90, "patterns": ["Split the parser"]}
    assert [each.success for each in run(broken, HookType.POST_CHECKPOINT, checkpoint_data=data)] == [True, True]
    assert [each.levelname for each in caplog.records if each.name == "a.program"] == ["WARNING", "WARNING"]
    (result,) = run(broken, HookType.POST_ERROR, error_info={"error_message": "disk full"})
    assert not result.success


def test_a_python_file_is_formatted_after_an_edit(
    manager: HooksManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unused imports go, too; a file that cannot be parsed is a failure with its reason, other types are left alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # with ruff
    path = tmp_path / "a.py"
    path.write_text("import os\nx  =  1\n")
    assert [each.success for each in run(manager, HookType.POST_FILE_EDIT, file_path=str(path))] == [True]
    assert path.read_text() == "x = 1\n"
    path.write_text("x = (\n")
    (failed,) = run(manager, HookType.POST_FILE_EDIT, file_path=str(path))
    assert not failed.success
    assert "could not format" in str(failed.error)
    (tmp_path / "a.txt").write_text("x  =  1\n")
    assert run(manager, HookType.POST_FILE_EDIT, file_path=str(tmp_path / "a.txt"))[0].success
    assert (tmp_path / "a.txt").read_text() == "x  =  1\n"


def test_configured_hooks_run_beside(tmp_path: Path) -> None:
    """Their refusals are results without success, and they read what other hooks passed on."""
    guard = {
        "event": "pre_tool_use",
        "matcher": "bash",
        "command": "grep -q '\"reviewed\":true' || { echo not reviewed >&2; exit 2; }",
        "priority": 900,
    }
    with Engine(hooks=[guard], directory=tmp_path) as engine:
        manager = HooksManager(engine=engine)
        call = {"metadata": {"tool_name": "bash", "tool_args": {"command": "ls"}}}
        (blocked,) = run(manager, HookType.PRE_TOOL_EXECUTION, **call)
        assert (blocked.success, blocked.error) == (False, "not reviewed")

        async def review(_: HookContext) -> HookResult:
            return HookResult(success=True, modified_context={"reviewed": True})

        asyncio.run(manager.register_hook(Hook("review", HookType.PRE_TOOL_EXECUTION, 1, review)))
        assert [each.success for each in run(manager, HookType.PRE_TOOL_EXECUTION, **call)] == [True, True]


def test_a_handler_that_returns_something_else_fails(caplog: pytest.LogCaptureFixture) -> None:
    """As one that raises; an error handler that fails itself is logged and changes nothing."""

    async def nothing(_: HookContext) -> Any:
        return None

    async def fails(_: Exception) -> None:
        raise OSError("no log")

    manager = HooksManager()
    asyncio.run(manager.register_hook(Hook("nothing", HookType.SESSION_START, 1, nothing, fails)))
    (result,) = run(manager, HookType.SESSION_START)
    assert not result.success
    assert "modified_context" in str(result.error)
    assert "no log" in caplog.text


def test_a_priority_out_of_range_is_refused() -> None:
    """0 to 1000, as documented."""

    async def handler(_: HookContext) -> HookResult:
        return HookResult(success=True)

    with pytest.raises(RegistrationError, match="priority"):
        asyncio.run(HooksManager().register_hook(Hook("late", HookType.SESSION_END, 1001, handler)))
