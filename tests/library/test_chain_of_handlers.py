"""Handlers one after another and side by side: what each action does, who sees a change, when a chain ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hookrun import Abort, Context, Engine, Skip, Verdict
from hookrun.core.literals import Action
from hookrun.events import PreToolUse
from tests.library.firing import CALL, KINDS, Fire, answers, order, raises, sees
from tests.rows import rows


@pytest.mark.parametrize(("make", "options"), KINDS.values(), ids=KINDS)
@rows(
    "answer, expected",
    [
        (None, ("continue", None, None)),
        (Verdict(), ("continue", None, None)),
        (Verdict.block("b"), ("block", "b", "h")),
        (Verdict.block(), ("block", "blocked by h (no reason given)", "h")),
        (Verdict.ask("a"), ("ask", "a", None)),
        (Verdict.ask(), ("ask", "approval required by h (no reason given)", None)),
        (Verdict.allow("y"), ("allow", "y", None)),
        (Verdict.skip("s"), ("skip", "s", "h")),
        (Verdict.stop("e"), ("stop", "e", "h")),
        (Verdict.modify({"x": 1}), ("modify", None, None)),
        (Verdict.patch({"x": 1}), ("modify", None, None)),
        (Skip("s"), ("skip", "s", "h")),
        (Skip(), ("skip", "skipped by h (no reason given)", "h")),
        (Skip, ("skip", "skipped by h (no reason given)", "h")),
        (Abort("why"), ("block", "why", "h")),
        (Abort("why", name="policy"), ("block", "policy: why", "h")),
        ({"action": "block", "message": "d"}, ("block", "d", "h")),
        ({"action": "continue"}, ("continue", None, None)),
    ],
)
def test_every_answer(  # noqa: PLR0917  # a table of cases
    engine: Engine, fire: Fire, make: Any, options: dict[str, Any], answer: Any, expected: tuple[str | None, ...]
) -> None:
    """Each action through each kind of handler; what refuses without a reason is given one with the hook's name."""
    engine.register("pre_tool_use", make(answers(answer)), name="h", **options)
    result = fire(engine)
    assert (result.action, result.message, result.ended_by) == expected
    assert [run.failure for run in result.runs] == [None]


@rows(
    "error, action, message",
    [
        (Skip("s"), "skip", "s"),
        (Skip, "skip", "skipped by h (no reason given)"),
        (Abort("why"), "block", "why"),
        (Abort("why", name="policy"), "block", "policy: why"),
        (Abort(ValueError("why")), "block", "why"),  # type: ignore[arg-type]  # as people do
    ],
)
@pytest.mark.parametrize("thread", [False, True])
def test_skip_and_abort_may_be_raised(  # noqa: PLR0917  # a table of cases
    engine: Engine, fire: Fire, error: Any, action: str, message: str, thread: bool
) -> None:
    """Raising them has the same effect as returning them."""
    engine.register("pre_tool_use", raises(error), name="h", thread=thread)
    result = fire(engine)
    assert (result.action, result.message) == (action, message)


@pytest.mark.parametrize("answer", [Verdict.modify({"x": 1}), {"action": "modify", "modified_args": {"x": 1}}])
def test_a_change_is_seen_by_every_later_handler(engine: Engine, fire: Fire, answer: Any) -> None:
    """Whole arguments, then a patch of those; a later condition is tried on them; the caller's are as they were."""
    seen: list[Any] = []
    engine.register("pre_tool_use", answers(answer), name="a")
    engine.register("pre_tool_use", sees(seen))
    engine.register("pre_tool_use", answers(Verdict.patch({"y": {"z": 2}, "x": None})), name="b")
    engine.register("pre_tool_use", sees(seen), name="c", thread=True)
    engine.register("pre_tool_use", sees(seen), name="d", when={"tool_args.y.z": "2"})
    engine.register("pre_tool_use", sees(seen), name="e", when={"tool_args.command": "ls"})
    args = {"command": "ls"}
    result = fire(engine, tool_name="bash", tool_args=args)
    assert seen == [{"x": 1}, {"y": {"z": 2}}, {"y": {"z": 2}}]
    assert (result.action, result.modified_args, args) == ("modify", {"y": {"z": 2}}, {"command": "ls"})
    assert [run.changed for run in result.runs] == [["command", "x"], [], ["x", "y"], [], []]
    assert result.context is not None
    assert (result.context["tool_args"], type(result.context)) == ({"y": {"z": 2}}, PreToolUse)


def test_what_is_passed_on_is_in_metadata(engine: Engine, fire: Fire) -> None:
    """`pass_on` grows the metadata that later handlers see, on top of what the caller gave."""
    seen: list[Any] = []
    engine.register("stop", answers(Verdict.with_metadata(a=1, b=1)), name="a")
    engine.register("stop", answers(Verdict.with_metadata(b=2)), name="b")
    engine.register("stop", sees(seen, "metadata"))
    given = {"given": True}
    result = fire(engine, "stop", metadata=given)
    assert result.context is not None
    assert seen == [result.context.metadata] == [{"given": True, "a": 1, "b": 2}]
    assert given == {"given": True}
    assert result.modified_context == {"a": 1, "b": 2}


@pytest.mark.parametrize("ending", ["block", "skip", "stop"])
def test_a_refusal_ends_the_chain_but_for_those_that_run_always(engine: Engine, fire: Fire, ending: Action) -> None:
    """Later hooks are not called; an `always` hook is, and cannot weaken it."""
    engine.register("pre_tool_use", answers(Verdict(ending, "m")), name="a")
    engine.register("pre_tool_use", raises(AssertionError), name="b")
    engine.register("pre_tool_use", answers(Verdict.allow("fine")), name="c", always=True)
    result = fire(engine)
    assert (order(result), result.action, result.message, result.ended_by) == (["a", "c"], ending, "m", "a")
    assert (result.go_on, result.refused) == (False, True)


def test_ask_and_allow_do_not_end_the_chain(engine: Engine, fire: Fire) -> None:
    """`allow` never outweighs an `ask`, in any order; messages of the strongest are joined."""
    for name, verdict in {"a": Verdict.allow("a"), "b": Verdict.ask("b"), "c": Verdict.ask("c")}.items():
        engine.register("pre_tool_use", answers(verdict), name=name)
    result = fire(engine)
    assert (order(result), result.action, result.message) == (["a", "b", "c"], "ask", "b\nc")
    assert (result.go_on, result.refused, result.ended_by) == (False, False, None)


def test_side_by_side_all_read_the_same_and_the_later_wins(engine: Engine, fire: Fire) -> None:
    """Neighbours in a group do not see each other's changes; of a conflict the later wins, and it is reported."""
    seen: list[Any] = []
    ready = asyncio.Event()

    async def slow(ctx: Context) -> Verdict:
        seen.append(ctx.tool_args)
        await asyncio.wait_for(ready.wait(), 10)
        return Verdict.patch({"command": "slow", "a": 1})

    async def fast(ctx: Context) -> Verdict:
        seen.append(ctx.tool_args)
        ready.set()
        return Verdict.patch({"command": "fast", "b": 1})

    engine.register("pre_tool_use", slow, parallel=True)
    engine.register("pre_tool_use", fast, parallel=True)
    engine.register("pre_tool_use", sees(seen), name="after")
    result = fire(engine)
    assert seen == [CALL["tool_args"]] * 2 + [{"command": "fast", "n": 1, "a": 1, "b": 1}]
    warning = "hooks slow and fast both changed tool_args.command; fast, the later, wins"
    assert (result.system_message, result.runs[1].notes) == (warning, [warning])


def test_an_allow_is_for_the_arguments_it_saw(engine: Engine, fire: Fire) -> None:
    """After another handler's change it does not count, and a note says so."""
    engine.register("pre_tool_use", answers(Verdict.allow("fine")), name="a")
    engine.register("pre_tool_use", answers(Verdict.patch({"command": "rm"})), name="b")
    result = fire(engine)
    assert result.action == "modify"
    assert any("its allow was ignored" in note for note in result.runs[0].notes)


@pytest.mark.parametrize("value", [{"p": b"bytes"}, {"p": object()}, {"p": {1, 2}}])
def test_advice_about_a_change_that_json_does_not_know(engine: Engine, fire: Fire, value: dict[str, object]) -> None:
    """The arguments are a program's own objects: what it would change is reported all the same."""
    engine.register("pre_tool_use", answers(Verdict.modify(value)), name="a", mode="advise")
    result = fire(engine)
    assert result.action == "continue"
    assert "hook a" in str(result.system_message)
