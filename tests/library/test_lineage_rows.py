"""Rows of docs/appendix/lineage.md that need a test in the terms of earlier engines."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

import hookrun
from hookrun import Abort, Context, Engine, PreSearchQuery, PreToolUse, RegistrationError, Skip, Verdict
from hookrun.compat.oats import HookContext, HookEvent, HookResult
from hookrun.compat.stackbench import AgentHooks, AgentLog
from hookrun.library.event_contexts import CLASSES
from hookrun.observe import CauseChains, ObserverDatabase, PatternLearning, WorkflowMetrics
from hookrun.recipes.format_on_edit import FormatOnEdit
from hookrun.recipes.quality_gate import QualityGate
from tests.library.firing import Fire, answers, order, raises
from tests.rows import rows

EVENTS = {
    "oats": ("pre_tool_use post_tool_use user_prompt_submit session_start file_changed assistant_response"),
    "session_buddy": (
        "pre_checkpoint pre_tool_execution pre_reflection_store pre_session_end pre_search_query post_checkpoint "
        "post_tool_execution post_file_edit post_error session_start session_end user_prompt_submit"
    ),
    "synwire": (
        "PreToolUse PostToolUse PostToolUseFailure Notification SubagentStart SubagentStop PreCompact PostCompact "
        "SessionStart SessionEnd"
    ),
    "stakpak": (
        "BeforeRequest AfterRequest BeforeInference AfterInference ToolCallRequested BeforeToolExecution "
        "AfterToolExecution ToolCallAborted Error"
    ),
    "stackbench": "PreToolUse PostToolUse",
}
"""The events of each engine, by its own names."""

FIELDS: dict[str, dict[str, Any]] = {
    "pre_tool_use": {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}, "tool_use_id": "t1"},
    "post_tool_use": {"tool_name": "bash", "tool_args": {"command": "ls"}, "tool_result_output": "a b"},
    "post_tool_failure": {"tool_name": "bash", "tool_args": {}, "tool_result_error": "no such file"},
    "user_prompt_submit": {"user_prompt": "go on", "root_session_id": "s0"},
    "assistant_response": {"assistant_response": "done"},
    "file_changed": {"file_path": "/repo/a.py", "working_dir": "/repo"},
    "notification": {"message": "done", "level": "info"},
    "subagent_start": {"agent_name": "explorer", "initial_message": "look around"},
    "subagent_stop": {"agent_name": "explorer", "reason": "it is done"},
    "pre_compact": {"message_count": 90, "token_count": 180_000},
    "post_compact": {"message_count": 4, "token_count": 9_000},
    "session_start": {"session_id": "s1", "resumed": True},
    "session_end": {"session_id": "s1", "reason": "logout"},
    "error": {"session_id": "s1", "error_info": {"error_message": "disk full", "context": {"tool": "bash"}}},
    "pre_checkpoint": {"checkpoint_data": {"quality_score": 80}, "metadata": {"branch": "main"}},
    "post_checkpoint": {"checkpoint_data": {"quality_score": 80}, "timestamp": "2026-03-01T09:00:00Z"},
}
"""The fields of their contexts, by hookrun's names, with a value each."""


@rows("name", sorted({name for names in EVENTS.values() for name in names.split()}))
def test_an_event_of_theirs_is_registered_and_fired_by_its_own_name(name: str, fire: Fire, engine: Engine) -> None:
    """Registered and fired as they called it; the handler gets that event's class, by its canonical name."""
    seen: list[Any] = []
    engine.register(name, seen.append)
    fire(engine, name, session_id="s1")
    assert [type(each) for each in seen] == [CLASSES[seen[0].event]]
    assert seen[0].event in CLASSES


@rows(
    "name, fields, ran",
    [
        *[(name, {"tool_name": "write_file"}, ["any", "write_*"]) for name in EVENTS["synwire"].split()[:3]],
        *[(name, {}, ["any"]) for name in EVENTS["synwire"].split()[3:]],
    ],
)
def test_of_the_hooks_of_an_event_those_that_match_run(  # a table of cases
    name: str, fields: dict[str, str], ran: list[str], fire: Fire, engine: Engine
) -> None:
    """By the tool's name where the event has a tool, else those without a matcher; none of another event."""
    for matcher in (None, "write_*", "read_*"):
        engine.register(name, answers(None), name=matcher or "any", matcher=matcher, replace=True)
    engine.register("Stop", answers(None), name="other")
    assert order(fire(engine, name, session_id="s1", **fields)) == ran


@rows("event", FIELDS)
def test_every_field_of_their_contexts_is_read_by_its_name(event: str, fire: Fire, engine: Engine) -> None:
    """As an attribute of the event's class, and as a key of the context."""
    seen: list[Any] = []
    engine.register(event, seen.append)
    fire(engine, event, FIELDS[event])
    (ctx,) = seen
    for name, value in FIELDS[event].items():
        assert (getattr(ctx, name), ctx[name]) == (value, value)


def test_a_context_is_plain_data(fire: Fire, engine: Engine) -> None:
    """`to_dict` is JSON, and the caller's own copy; its class and fields can be seen in a debugger."""
    seen: list[Any] = []
    engine.register("pre_tool_use", seen.append)
    fire(engine)
    assert repr(seen[0]).startswith("PreToolUse({")
    data = seen[0].to_dict()
    assert json.loads(json.dumps(data))["tool_args"] == {"command": "ls", "n": 1}
    data["tool_args"]["n"] = 2
    assert seen[0].tool_args["n"] == 1


def test_results_stand_in_the_order_in_which_hooks_ran_with_their_times(fire: Fire, engine: Engine) -> None:
    """Failures too: each has its name, its verdict, its error and its duration."""
    engine.register("stop", raises(OSError("x")), name="second", priority=200)
    engine.register("stop", answers(Verdict.with_metadata(a=1)), name="first", priority=100)
    engine.register("stop", answers(None), name="third", priority=300)
    result = fire(engine, "stop", session_id="s1")
    assert [(run.name, run.failure is None) for run in result.runs] == [
        ("first", True),
        ("second", False),
        ("third", True),
    ]
    assert all(run.ms >= 0 for run in result.runs)
    assert result.ms >= max(run.ms for run in result.runs)


def test_what_a_hook_passes_on_reaches_later_hooks_and_the_program(fire: Fire, engine: Engine) -> None:
    """`modified_context` grows along the chain; the caller's own metadata is unchanged."""
    seen: list[Any] = []
    given = {"given": 0}
    engine.register("post_error", answers(Verdict.with_metadata(causal_chain_id="c1")), name="chain", priority=10)
    engine.register("post_error", lambda ctx: seen.append(ctx.metadata), name="later")
    result = fire(engine, "post_error", metadata=given)
    assert seen == [{"given": 0, "causal_chain_id": "c1"}]
    assert result.context is not None
    assert result.context.metadata == seen[0]
    assert given == {"given": 0}


@rows("event", [name for name in CLASSES if name.startswith("pre_")])
def test_a_hook_before_something_can_refuse_it(event: str, fire: Fire, engine: Engine) -> None:
    """The result's `refused` is true, and `ended_by` is the hook's name."""
    engine.register(event, answers(Verdict.block("not now")), name="guard", replace=True)
    result = fire(engine, event, session_id="s1")
    assert (result.refused, result.go_on, result.message, result.ended_by) == (True, False, "not now", "guard")


def test_a_search_query_is_rewritten(fire: Fire, engine: Engine) -> None:
    """Of `pre_search_query` the arguments can be changed, as those of a tool."""

    @engine.on(PreSearchQuery)
    def clearer(ctx: PreSearchQuery) -> Verdict | None:
        return Verdict.patch({"query": f"{ctx.query} in this repository"}) if "it" in ctx.query.split() else None

    result = fire(engine, "pre_search_query", {"tool_args": {"query": "where is it", "limit": 5}})
    assert result.modified_args == {"query": "where is it in this repository", "limit": 5}


def test_hooks_can_be_listed(engine: Engine) -> None:
    """All or those of an event, in running order, with name, priority, metadata and whether they are on."""
    engine.register("stop", answers(None), name="late", priority=900, metadata={"team": "tools"})
    engine.register("stop", answers(None), name="early", priority=10, enabled=False)
    engine.register("session_start", answers(None), name="other")
    listed = [(hook.name, hook.priority, engine.enabled(hook.name), hook.metadata) for hook in engine.hooks("stop")]
    assert listed == [("early", 10, False, None), ("late", 900, True, {"team": "tools"})]
    assert len(engine.hooks()) == 3


def test_the_priority_is_from_0_to_1000(engine: Engine) -> None:
    """Lower is earlier; beyond that it is refused."""
    engine.register("stop", answers(None), name="last", priority=1000)
    engine.register("stop", answers(None), name="first", priority=0)
    assert [hook.name for hook in engine.hooks()] == ["first", "last"]
    with pytest.raises(RegistrationError, match="from 0 to 1000"):
        engine.register("stop", answers(None), priority=1001)


def test_the_default_hooks_of_session_buddy_stand_in_its_order(tmp_path: Path, engine: Engine) -> None:
    """The same five purposes, each at the priority that it had there."""
    store = ObserverDatabase(tmp_path / "observe.db")
    for bundle in (FormatOnEdit(), QualityGate(60), PatternLearning(store), CauseChains(store), WorkflowMetrics(store)):
        engine.use(bundle)
    found = {(hook.name, hook.priority) for hook in engine.hooks()}
    assert found >= {
        ("format-on-edit-file_changed", 100),
        ("quality-gate", 50),
        ("pattern-learning", 200),
        ("cause-chains-error", 10),
        ("workflow-metrics-checkpoint", 300),
    }


def test_one_hook_of_several_events_knows_which_it_is(fire: Fire, engine: Engine) -> None:
    """An object with a method is a handler as well as a function is."""

    class Watch:
        def __init__(self) -> None:
            self.seen: list[str] = []

        async def execute(self, ctx: Context) -> None:
            self.seen.append(ctx.event)

    watch = Watch()
    engine.register(["BeforeRequest", "AfterRequest"], watch.execute, name="watch")
    fire(engine, "BeforeRequest", session_id="s1")
    fire(engine, "AfterRequest", session_id="s1")
    assert watch.seen == ["before_request", "after_request"]


def test_an_abort_has_the_name_of_its_hook_unless_it_brings_one(fire: Fire, engine: Engine) -> None:
    """`ok` raises it, in the words that it had."""
    for abort, who in ((Abort("no credit"), "billing"), (Abort("no credit", name="bank"), "bank")):
        for handler in (answers(abort), raises(abort)):
            engine.register("before_request", handler, name="billing")
            with pytest.raises(Abort) as refusal:
                fire(engine, "before_request", session_id="s1").ok()
            assert str(refusal.value) == f"[{who}:hook_abort] no credit"
            assert (refusal.value.name, refusal.value.reason) == (who, "no credit")


def test_a_skip_ends_the_chain_and_is_no_error(fire: Fire, engine: Engine) -> None:
    """Later hooks are not called; `ok` returns the result."""
    called: list[Any] = []
    engine.register("tool_call_requested", answers(Skip("done already")), name="once", priority=1)
    engine.register("tool_call_requested", called.append, name="later", priority=2)
    result = fire(engine, "tool_call_requested", tool_name="bash")
    assert (result.ok().action, result.ended_by, called) == ("skip", "once", [])


def test_the_error_of_one_hook_does_not_end_the_chain(fire: Fire, engine: Engine) -> None:
    """The hooks after it run, and one of them may still refuse."""
    engine.register("before_request", raises(ConnectionError("database")), name="first", priority=1)
    engine.register("before_request", answers(Abort("no")), name="second", priority=2)
    result = fire(engine, "before_request", session_id="s1")
    assert (result.action, result.ended_by, order(result)) == ("block", "second", ["first", "second"])
    assert result.runs[0].failure is not None
    assert result.runs[0].failure.detail == "it raised ConnectionError: database"


def test_each_fire_has_a_request_id_that_its_hooks_share(fire: Fire, engine: Engine) -> None:
    """And another fire has another."""
    seen: list[Any] = []
    for name in "ab":
        engine.register("stop", lambda ctx: seen.append(ctx.request_id), name=name)
    first, second = fire(engine, "stop", session_id="s1"), fire(engine, "stop", session_id="s1")
    assert seen == [first.request_id] * 2 + [second.request_id] * 2
    assert first.request_id != second.request_id


def test_a_program_that_seeds_its_random_numbers_repeats_no_request_id(engine: Engine) -> None:
    """Its processes would share them: what ends one's hooks by their marker would end the other's."""
    engine.register("stop", lambda _: None, name="any")
    ids = set()
    for _ in range(2):
        random.seed(42)
        ids.add(engine.fire_sync("stop").request_id)
    assert len(ids) == 2


def test_the_state_is_the_programs_object_for_every_hook(fire: Fire, engine: Engine) -> None:
    """What one hook puts there, ids of sessions and checkpoints too, the next hook and the program find."""
    state: dict[str, object] = {"session_id": None, "new_checkpoint_id": None}

    def begin(ctx: Context) -> None:
        ctx.state.update(session_id="s9", new_checkpoint_id="c9")

    seen: list[object] = []
    engine.register("before_request", begin, name="begin", priority=1)
    engine.register("before_request", lambda ctx: seen.append(dict(ctx.state)), name="later", priority=2)
    fire(engine, "before_request", session_id="s1", state=state)
    assert seen == [{"session_id": "s9", "new_checkpoint_id": "c9"}]
    assert state == seen[0]


def test_a_context_is_made_with_its_state(fire: Fire, engine: Engine) -> None:
    """It is used when the context is fired, as the event or beside it, and by a clone; `state=` takes precedence."""
    seen: list[object] = []
    engine.register("before_request", lambda ctx: seen.append(ctx.state))
    context = hookrun.BeforeRequest(session_id="s1")
    context.state = {"n": 1}
    fire(engine, context)
    fire(engine, context, {"session_id": "s2"})
    fire(engine, "before_request", context)
    fire(engine, context.clone())
    fire(engine, context, state={"n": 2})
    assert seen == [{"n": 1}] * 4 + [{"n": 2}]
    assert seen[0] is context.state is not seen[3]


def test_a_field_that_hookrun_does_not_know_is_handed_on(fire: Fire, engine: Engine) -> None:
    """Such as a checkpoint's id, or a tool's output as the original value."""
    seen: list[Any] = []
    engine.register("post_tool_use", seen.append)
    fire(engine, "post_tool_use", tool_name="read", new_checkpoint_id="c1", tool_output={"content": ["a"]})
    assert (seen[0]["new_checkpoint_id"], seen[0]["tool_output"]) == ("c1", {"content": ["a"]})


def test_a_guard_that_is_late_can_refuse(fire: Fire, engine: Engine) -> None:
    """With `on_failure="block"` a guard that did not answer has not let anything pass."""

    async def hang(ctx: Context) -> None:
        await asyncio.Event().wait()

    engine.register("pre_tool_use", hang, name="guard", timeout=0.05, on_failure="block")
    result = fire(engine)
    assert (result.action, result.ended_by) == ("block", "guard")


@rows(
    "matcher, tool, matches",
    [
        (None, "anything", True),
        ("*", "anything", True),
        ("write_*", "write_file", True),
        ("write_*", "read_file", False),
        ("*_file", "read_file", True),
        ("*_file", "my_file_file", True),
        ("a*b*c", "axbxbxc", True),
        ("exact", "exact", True),
        ("exact", "not_exact", False),
        ("read|write", "write", True),
        (["read", "write"], "write", True),
        ("read_file?", "read_files", True),
        ("[rw]*", "write", True),
    ],
)
def test_a_matcher_is_a_glob_on_the_whole_name(
    matcher: Any, tool: str, matches: bool, fire: Fire, engine: Engine
) -> None:
    """`*` any characters, even if the text after it occurs twice; `?` one, `[...]` one of a set, `|` either."""
    called: list[Any] = []
    engine.register("pre_tool_use", called.append, matcher=matcher)
    fire(engine, tool_name=tool)
    assert bool(called) is matches


def test_a_matcher_without_a_tool_never_matches(fire: Fire, engine: Engine) -> None:
    """On an event that has no tool it keeps its hook from running, and is not passed over."""
    called: list[Any] = []
    engine.register("notification", called.append, matcher="*")
    fire(engine, "notification", message="done")
    assert called == []


def test_an_answer_may_be_the_object_that_a_command_prints(fire: Fire, engine: Engine) -> None:
    """A dict means the same as the JSON of a declared hook, `from_dict` included; a wrong one is a bad verdict."""
    engine.register("pre_tool_use", answers({"action": "modify", "modified_args": {"n": 2}}), name="dict", priority=1)
    engine.register("pre_tool_use", answers({"action": "deny"}), name="wrong", priority=2)
    result = fire(engine)
    assert (result.action, result.modified_args) == ("modify", {"n": 2})
    assert [run.failure.kind if run.failure else None for run in result.runs] == [None, "bad_verdict"]


def test_the_words_of_the_first_engine_are_what_they_were() -> None:
    """Its events are texts as well; its results have short forms."""
    assert str.__eq__(HookEvent.PRE_TOOL_USE, "pre_tool_use")
    assert HookEvent("file_changed") is HookEvent.FILE_CHANGED
    assert {event.value for event in HookEvent} == {*EVENTS["oats"].split()}
    assert HookResult.continue_result() == HookResult() == HookResult.from_dict({})
    assert HookResult.block_result("no") == HookResult.from_dict({"action": "block", "message": "no"})
    assert HookContext("s1", HookEvent.SESSION_START).to_dict()["event"] == "session_start"


def test_the_hooks_of_an_agent_go_to_claude_as_one_object(tmp_path: Path) -> None:
    """Validation and log, put together by the agent's type, are what `ClaudeAgentOptions(hooks=...)` takes."""
    sdk = pytest.importorskip("claude_agent_sdk", reason="it needs the package claude-agent-sdk")
    from hookrun.integrations.claude_agent_sdk import hooks_for

    log = AgentLog.for_document(tmp_path / "logs" / "extraction", "quickstart")
    hooks = hooks_for(Engine().use(AgentHooks.create("extraction", log, tmp_path / "out")))
    assert {"PreToolUse", "PostToolUse"} <= set(hooks)
    sdk.ClaudeAgentOptions(allowed_tools=["Read", "Write"], permission_mode="acceptEdits", hooks=hooks)


def test_the_logs_of_a_run_lie_as_theirs_did(tmp_path: Path) -> None:
    """Two files for each document in the directory of its stage, and a summary beside them; directories are made."""
    stage = tmp_path / "run_1" / "logs" / "extraction"
    for document in ("quickstart", "api_reference"):
        log = AgentLog.for_document(stage, document)
        log.before(PreToolUse(tool_name="read"))
        log.log_message("done")
        log.write_summary(stage / "summary.json")
    assert sorted(path.name for path in stage.iterdir()) == [
        "api_reference_agent.log",
        "api_reference_tools.jsonl",
        "quickstart_agent.log",
        "quickstart_tools.jsonl",
        "summary.json",
    ]


def test_a_handler_can_be_called_without_an_engine() -> None:
    """It is a function of a context: a unit test needs nothing else."""
    context = hookrun.PreCheckpoint(checkpoint_data={"quality_score": 10})
    assert asyncio.run(QualityGate(60).check(context)).action == "block"
