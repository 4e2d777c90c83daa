"""The result of a fire: the combined verdict, each hook's part, `ok`, nested fires, and a closed engine."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import gc
import json
import pickle
import weakref
from typing import Any

import pytest

from hookrun import Abort, ClosedError, Context, Engine, NestedError, Result, Skip, Verdict
from hookrun.core.literals import Action
from hookrun.events import PreToolUse
from tests.library.firing import KINDS, Fire, after_a_turn, answers, failure, kinds, order, raises, sees, within
from tests.rows import rows
from tests.waiting import hang_async

VARIABLE = contextvars.ContextVar("variable", default="unset")


def test_a_result_says_everything(engine: Engine, fire: Fire) -> None:
    """The JSON object of `hookrun fire`, each run with its time in milliseconds, the context after the chain."""
    seen: list[Any] = []
    engine.register("pre_tool_use", answers(Verdict.patch({"n": 2})), name="a")
    engine.register("pre_tool_use", raises(ValueError("x")), name="b")
    engine.register("pre_tool_use", sees(seen, "request_id"), name="c")
    result = fire(engine)
    data = result.to_dict()
    assert list(data) == ["action", "system_message", "modified_args", "request_id", "hooks"]
    assert [(h["name"], h["action"], h["failure"]) for h in data["hooks"]] == [  # type: ignore[attr-defined]
        ("a", "modify", None),
        ("b", "continue", "exception"),
        ("c", "continue", None),
    ]
    assert seen == [result.request_id]
    assert result.ms >= sum(run.ms for run in result.runs) >= 0
    assert all(run.ms > 0 for run in result.runs)
    assert isinstance(result.context, PreToolUse)
    assert result.context.request_id == result.request_id != ""
    assert (result.go_on, result.refused, result.ok()) == (True, False, result)
    assert repr(result).startswith("Result({'action': 'modify'")


def test_without_hooks_there_is_no_objection(engine: Engine, fire: Fire) -> None:
    """Nothing ran: continue, and no context."""
    result = fire(engine)
    assert (result.action, result.runs, result.go_on, result.context) == ("continue", (), True, None)


@pytest.mark.parametrize(
    ("answer", "name"),
    [(Verdict.block("why"), "b"), (Verdict.stop("why"), "b"), (Abort("why"), "b"), (Abort("why", name="c"), "c")],
)
def test_ok_raises_for_a_refusal(engine: Engine, fire: Fire, answer: Any, name: str) -> None:
    """Abort with its reason and the hook's name, unless it brings one."""
    engine.register("stop", answers(None), name="a")
    engine.register("stop", answers(answer), name="b")
    with pytest.raises(Abort) as caught:
        fire(engine, "stop").ok()
    assert (str(caught.value), caught.value.name, caught.value.reason) == (f"[{name}:hook_abort] why", name, "why")


def test_ok_lets_a_skip_pass(engine: Engine, fire: Fire) -> None:
    """A skip is not a failure, though it ends the chain."""
    engine.register("stop", raises(Skip("s")), name="a")
    engine.register("stop", raises(AssertionError), name="b")
    result = fire(engine, "stop").ok()
    assert (result.action, result.ended_by, order(result)) == ("skip", "a", ["a"])


@pytest.mark.parametrize("parallel", [True, False])
@rows("first, second", [("skip", "block"), ("skip", "stop"), ("block", "stop")])
def test_ok_names_the_hook_whose_reason_it_gives(
    engine: Engine, fire: Fire, parallel: bool, first: Action, second: Action
) -> None:
    """Of two that refuse the stronger one's reason is given, and its name with it."""
    engine.register("stop", answers(Verdict(first, "weak")), name="a", parallel=parallel)
    engine.register("stop", answers(Verdict(second, "strong")), name="b", parallel=parallel, always=True)
    with pytest.raises(Abort) as caught:
        fire(engine, "stop").ok()
    assert (caught.value.name, caught.value.reason) == ("b", "strong")


def test_the_result_of_another_fire_is_an_answer(engine: Engine, fire: Fire) -> None:
    """A handler may return the result of another fire."""

    async def hands_on(ctx: Context) -> Result:
        return await engine.fire("permission_request", tool_name="x", tool_args={"y": 1})

    engine.register("pre_tool_use", hands_on)  # type: ignore[arg-type]
    engine.register("permission_request", answers(Verdict.patch({"z": 2})), name="p")
    assert fire(engine).modified_args == {"y": 1, "z": 2}
    engine.register("permission_request", answers(Verdict.block("no")), name="p")
    assert fire(engine).message == "no"


@pytest.mark.parametrize("how", ["await", "sync", "thread", "to_thread"])
def test_a_handler_that_fires_its_own_event(engine: Engine, fire: Fire, how: str) -> None:
    """It stops at a depth of three, as a failure of the innermost handler that is seen; nothing hangs."""
    calls: list[str] = []

    async def again(ctx: Context) -> Any:
        calls.append("x")
        return await engine.fire("stop")

    async def again_in_a_thread(ctx: Context) -> Any:
        calls.append("x")
        return await asyncio.to_thread(engine.fire_sync, "stop")

    def again_sync(ctx: Context) -> Any:
        calls.append("x")
        return engine.fire_sync("stop")

    ways = {"await": again, "to_thread": again_in_a_thread, "sync": again_sync, "thread": again_sync}
    engine.register("stop", ways[how], name="h", thread=how == "thread", on_failure="block")
    result = within(lambda: fire(engine, "stop"))
    assert len(calls) == 3
    assert result.action == "block"
    assert "NestedError: stop is fired inside hooks 3 levels deep" in str(result.message)
    assert issubclass(NestedError, RecursionError)
    assert fire(engine, "notification").action == "continue"


@pytest.mark.slow
def test_fire_sync_in_an_async_handler_of_fire_sync(engine: Engine, recwarn: pytest.WarningsRecorder) -> None:
    """It would wait for itself: a RuntimeError that names the alternative, and no coroutine is left over."""
    found: list[str] = []

    async def inner(ctx: Context) -> None:
        """Do nothing."""

    async def outer(ctx: Context) -> None:
        engine.fire_sync("notification")

    engine.register("stop", outer)
    engine.register("notification", inner)
    found.append(failure(within(lambda: engine.fire_sync("stop"))).detail)
    assert "use `await engine.fire(...)`" in found[0]
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


def test_no_part_of_a_fire_waits_for_the_garbage_collector(engine: Engine, fire: Fire) -> None:
    """A program that fires often would trigger the collector often; the context after the chain still exists."""
    engine.register("pre_tool_use", answers(Verdict.patch({"n": 2})), name="a")
    engine.register("pre_tool_use", answers(Verdict.block("no")), name="b")
    gc.collect()
    gc.disable()
    try:
        result = fire(engine)
        runs = [weakref.ref(run) for run in result.runs]
        assert result.context is not None
        assert result.context.tool_args["n"] == 2
        del result
        assert [run() for run in runs] == [None, None]
    finally:
        gc.enable()


async def nothing(ctx: Context) -> None:
    """Do nothing."""


def test_fire_sync_never_waits_for_its_own_loop(engine: Engine) -> None:
    """Nor where functions that are not async return coroutines side by side."""

    async def outer(ctx: Context) -> None:
        engine.fire_sync("notification")

    engine.register("stop", outer, timeout=None)
    for name in "ab":
        engine.register("notification", lambda ctx: nothing(ctx), name=name, parallel=True)  # noqa: PLW0108  # not async itself
    assert "use `await engine.fire(...)`" in failure(within(lambda: engine.fire_sync("stop"))).detail


def test_fire_sync_never_waits_for_its_own_loop_through_another_engine(engine: Engine) -> None:
    """The innermost fire is the failure of the other engine's handler."""
    results: list[Result] = []
    with Engine() as other:

        async def outer(ctx: Context) -> None:
            results.append(other.fire_sync("notification"))

        async def back(ctx: Context) -> None:
            engine.fire_sync("error")

        engine.register("stop", outer, timeout=None)
        engine.register("error", nothing)
        other.register("notification", back, timeout=None)
        results.append(within(lambda: engine.fire_sync("stop")))
        (failed,) = [run.failure.detail for result in results for run in result.runs if run.failure]
        assert "use `await engine.fire(...)`" in failed


def test_fire_sync_within_a_running_loop(engine: Engine) -> None:
    """It blocks that loop, as its name suggests, and async handlers run elsewhere."""

    async def handler(ctx: Context) -> Verdict:
        await asyncio.sleep(0)
        return Verdict.block("async")

    async def main() -> str | None:
        return engine.fire_sync("stop").message

    engine.register("stop", handler)
    assert within(lambda: asyncio.run(main())) == "async"


@rows("make, options", KINDS.values(), ids=KINDS)
def test_context_variables_are_seen(engine: Engine, fire: Fire, make: Any, options: dict[str, Any]) -> None:
    """The caller's variables, wherever the handler runs."""
    seen: list[str] = []

    def reads(ctx: Context) -> None:
        seen.append(VARIABLE.get())

    engine.register("stop", make(reads), name="a", **options)
    engine.register("stop", after_a_turn(reads), name="b", **{**options, "thread": False})
    token = VARIABLE.set("set")
    try:
        fire(engine, "stop")
    finally:
        VARIABLE.reset(token)
    assert seen == ["set", "set"]


def test_a_closed_engine_fires_no_more(fire: Fire) -> None:
    """ClosedError; closing twice does nothing."""
    engine = Engine()
    engine.register("stop", answers(Verdict.block()), name="h")
    engine.close_sync()
    asyncio.run(engine.close())
    with pytest.raises(ClosedError, match="the engine is closed"):
        fire(engine, "stop")


def test_closing_while_a_fire_waits_is_told(engine: Engine) -> None:
    """A thread that waits in `fire_sync` when another closes the engine gets our exception, not one of asyncio."""
    closed: list[BaseException] = []

    async def closes(ctx: Context) -> None:
        asyncio.get_running_loop().run_in_executor(None, engine.close_sync)
        await hang_async()

    engine.register("stop", closes)
    try:
        within(lambda: engine.fire_sync("stop"))
    except BaseException as error:
        closed.append(error)
    assert [type(error) for error in closed] == [ClosedError]


def test_it_is_closed_at_the_end_of_a_block() -> None:
    """`with` and `async with` close it."""

    async def main() -> Engine:
        async with Engine() as engine:
            engine.register("stop", answers(None), name="h")
            assert order(await engine.fire("stop")) == ["h"]
        return engine

    closed = asyncio.run(main())
    with Engine() as other:
        other.register("stop", answers(None), name="h")
        assert kinds(other.fire_sync("stop")) == {"h": None}
    for engine in (closed, other):
        with pytest.raises(ClosedError):
            engine.fire_sync("stop")


@rows(
    "verdict", [Verdict.block("no"), Verdict.skip(), Verdict.stop(), Verdict.ask("sure?"), Verdict.allow(), Verdict()]
)
def test_a_result_is_no_verdict(engine: Engine, fire: Fire, verdict: Verdict) -> None:
    """It is true only where the action may run, and has no constructors, which would always be true."""
    engine.register("pre_tool_use", answers(verdict), name="h", replace=True)
    result = fire(engine)
    assert not isinstance(result, Verdict)
    assert bool(result) is result.go_on is (verdict.action in {"continue", "allow"})
    for name in ("allow", "block", "ask", "skip", "stop", "modify"):
        assert not hasattr(result, name)


def test_a_result_can_be_pickled_and_printed(engine: Engine, fire: Fire) -> None:
    """Without what may be anything: the functions, their exceptions, and the context after the chain."""
    engine.register("pre_tool_use", answers(Verdict.patch({"n": 2}, "two")), name="a")
    engine.register("pre_tool_use", raises(ValueError(asyncio.Lock())), name="b", metadata={"x": 1})
    engine.register("pre_tool_use", answers(Verdict.block("no")), name="c")
    result = fire(engine, session_id="s1", tool_name="bash", tool_args={"n": 1})
    copied = pickle.loads(pickle.dumps(result))  # noqa: S301  # our own
    assert copied.to_dict() == result.to_dict() == json.loads(result.to_json())
    assert [(run.name, run.verdict, str(run.failure)) for run in copied.runs] == [
        (run.name, run.verdict, str(run.failure)) for run in result.runs
    ]
    assert (copied.ended_by, copied.ms, copied.context) == ("c", result.ms, None)
    assert result.context is not None
    assert repr(result).startswith("Result({'action': 'block', 'message': 'no'")


def test_verdicts_are_compared_by_value() -> None:
    """All fields count, and equal ones have the same hash."""
    one, same = Verdict.patch({"a": [1]}, "x"), Verdict("modify", "x", args_patch={"a": [1]})
    assert one == same
    assert hash(one) == hash(same)
    assert {Verdict.block("x"), Verdict.block("x")} == {Verdict("block", "x")}
    for other in (Verdict.patch({"a": [2]}, "x"), Verdict.modify({"a": [1]}, "x"), Verdict("modify", "x"), "modify"):
        assert one != other


FULL = Verdict(
    "ask",
    "sure?",
    modified_args={"a": [1]},
    args_patch={"b": 2},
    additional_context="for the model",
    system_message="for the user",
    modified_context={"c": 3},
)


@rows("name, error", [*((name, rf"verdict\.replace\({name}=\.\.\.\)") for name in FULL.to_dict()), ("other", "other")])
def test_a_verdict_cannot_be_changed(name: str, error: str) -> None:
    """Whoever holds one can rely on it; the error names what to write instead."""
    verdict = FULL.replace()
    with pytest.raises(AttributeError, match=error):
        setattr(verdict, name, "block")
    with pytest.raises(AttributeError, match=name):
        delattr(verdict, name)
    assert verdict == FULL
    assert verdict is not FULL


def test_replace_makes_another_one() -> None:
    """With the given fields, and the others as they were; a wrong one raises as for a new verdict."""
    assert FULL.replace(action="block", modified_args=None) == Verdict(
        **{**FULL.to_dict(), "action": "block", "modified_args": None}  # type: ignore[arg-type]  # as in JSON
    )
    assert FULL.action == "ask"
    assert Verdict().replace(message="x") == Verdict("continue", "x")
    with pytest.raises(ValueError, match="unknown action 'deny'"):
        FULL.replace(action="deny")
    with pytest.raises(TypeError, match="mesage"):
        FULL.replace(mesage="x")


class Reviewed(Verdict):
    """A program's own kind of verdict, with an attribute more."""

    def __init__(self, by: str) -> None:
        super().__init__("block", f"{by} says no")
        self.by = by


@rows("verdict", [FULL, Verdict(), Reviewed("Ada")])
def test_a_verdict_can_be_copied_and_pickled(verdict: Verdict) -> None:
    """The copy is equal, has the same type and hash, and cannot be changed either; a deep one shares no arguments."""
    pickled = [pickle.dumps(verdict, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in (copy.copy(verdict), copy.deepcopy(verdict), *map(pickle.loads, pickled)):
        assert other == verdict
        assert (type(other), hash(other), repr(other)) == (type(verdict), hash(verdict), repr(verdict))
        assert getattr(other, "by", None) == getattr(verdict, "by", None)
        with pytest.raises(AttributeError):
            other.message = "other"
    assert FULL.modified_args is not copy.deepcopy(FULL).modified_args


def test_a_named_refusal_keeps_its_name_when_pickled(engine: Engine, fire: Fire) -> None:
    """`ok` raises with it."""
    engine.register("pre_tool_use", raises(Abort("not now", name="calendar")), name="h")
    result = pickle.loads(pickle.dumps(fire(engine)))  # noqa: S301  # our own
    with pytest.raises(Abort, match=r"\[calendar:hook_abort\] not now"):
        result.ok()


def test_a_handler_that_changes_a_verdict_refuses(engine: Engine, fire: Fire) -> None:
    """It may have meant to block: at a gate it does, as for every verdict that could not be built."""

    def change(_: Context) -> Verdict:
        verdict = Verdict()
        verdict.action = "block"
        return verdict

    engine.register("pre_tool_use", change, name="h")
    result = fire(engine)
    assert result.action == "block"
    assert "verdict.replace(action=...)" in str(result.message)


def test_no_run_changes_a_verdict_that_a_program_holds(engine: Engine, fire: Fire) -> None:
    """Neither of a handler that always returns the same, nor of an earlier result."""
    allow, patch = Verdict.allow(), Verdict.patch({"n": 2})
    engine.register("pre_tool_use", lambda _: allow, name="a")
    engine.register("pre_tool_use", lambda ctx: patch if ctx.tool_args["n"] == 1 else None, name="b")
    first = fire(engine, tool_name="bash", tool_args={"n": 1})
    held = [run.verdict for run in first.runs]
    assert fire(engine, tool_name="bash", tool_args={"n": 3}).action == "allow"
    assert [each.action for each in held] == ["continue", "modify"]
    assert (allow, patch) == (Verdict.allow(), Verdict.patch({"n": 2}))
