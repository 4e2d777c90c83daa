"""Calls that wait for a decision: stored and resumed once, by the program's own loop and by LangGraph's `interrupt`."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hookrun import Engine, Verdict
from hookrun.events import PreToolUse
from hookrun.integrations.hooked import HookedCall
from hookrun.integrations.pending import Pending, PendingCalls
from hookrun.integrations.tool_loop import ToolOutcome, run_tool, run_tool_sync
from tests.integrations.conftest import answering, listen
from tests.rows import rows

RAN: list[str] = []
ASK = Verdict("ask", "it leaves the house", additional_context="mind the time")


def send(to: str) -> str:
    """Send it."""
    RAN.append(to)
    return f"sent to {to}"


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    """Every test begins with no call."""
    RAN.clear()


@pytest.fixture(params=["memory", "directory"])
def calls(request: pytest.FixtureRequest, tmp_path: Path) -> PendingCalls:
    """Where calls wait."""
    return PendingCalls(tmp_path / "pending" if request.param == "directory" else None)


def sending(engine: Engine, calls: PendingCalls, decision: Any = None, to: str = "ann", **more: Any) -> ToolOutcome:
    """Make the call."""
    about = {"session_id": "s1", "tool_use_id": "t1", **more}
    return run_tool_sync(engine, "send", {"to": to}, send, pending=calls, decision=decision, **about)


def asked(engine: Engine, calls: PendingCalls, **more: Any) -> Pending:
    """Make a call about which a hook asks; return what waits."""
    answering(engine, "pre_tool_use", ASK)
    outcome = sending(engine, calls, **more)
    assert outcome.pending is not None
    assert not outcome.ran
    assert outcome.action == "ask"
    assert outcome.content == "needs the user's approval: it leaves the house\n\nmind the time"
    return outcome.pending


def test_what_waits_is_data(engine: Engine, calls: PendingCalls) -> None:
    """As JSON and pickled it is the same; the call was not aborted, and nothing ran."""
    heard = listen(engine, "tool_call_aborted", "post_tool_use")
    pending = asked(engine, calls)
    assert (pending.tool, pending.arguments, pending.reason) == ("send", {"to": "ann"}, "it leaves the house")
    assert Pending.from_dict(json.loads(json.dumps(pending.to_dict()))) == pending
    assert pickle.loads(pickle.dumps(pending)) == pending  # noqa: S301  # our own
    assert json.loads(json.dumps(pending.edit({"to": "bob"}))) == pending.edit({"to": "bob"})
    assert [each.id for each in calls] == [pending.id]
    assert (heard, RAN) == ([], [])


def test_an_approved_call_runs_and_its_hooks_do_not_run_again(engine: Engine, calls: PendingCalls) -> None:
    """The hooks before it ran once; those after it, once; their texts are there."""
    pending = asked(engine, calls)
    heard = listen(engine, "pre_tool_use", "post_tool_use")
    outcome = sending(engine, calls, pending.approve())
    assert (outcome.content, RAN) == ("sent to ann\n\nmind the time", ["ann"])
    assert [each.event for each in heard] == ["post_tool_use"]
    assert list(calls) == []


def test_what_hooks_changed_is_what_runs(engine: Engine, calls: PendingCalls) -> None:
    """The user approves the changed arguments, which are shown."""
    answering(engine, "pre_tool_use", Verdict("ask", "changed", modified_args={"to": "outbox"}))
    pending = sending(engine, calls).pending
    assert pending is not None
    assert pending.arguments == {"to": "outbox"}
    sending(engine, calls, pending.approve())
    assert RAN == ["outbox"]


def test_edited_arguments_are_judged(engine: Engine, calls: PendingCalls) -> None:
    """The user is not asked about them again, but a block holds."""
    pending = asked(engine, calls)
    assert sending(engine, calls, pending.edit({"to": "bob"})).ran
    pending = asked(engine, calls)
    engine.register(
        "pre_tool_use", lambda ctx: Verdict.block("not eve") if ctx.tool_args["to"] == "eve" else None, name="no-eve"
    )
    outcome = sending(engine, calls, pending.edit({"to": "eve"}))
    assert (outcome.action, outcome.ran, RAN) == ("block", False, ["bob"])


def test_a_refused_and_an_answered_call_do_not_run(engine: Engine, calls: PendingCalls) -> None:
    """The model gets the reason, or the answer; hooks learn that it was aborted."""
    heard = listen(engine, "tool_call_aborted")
    refused = sending(engine, calls, asked(engine, calls).refuse("ask Ann first"))
    assert refused.content.startswith("needs the user's approval: it leaves the house (it was not given) ask Ann first")
    answered = sending(engine, calls, asked(engine, calls).answer("she knows already"))
    assert (answered.content, answered.action) == ("she knows already\n\nmind the time", "skip")
    assert (len(heard), RAN) == (2, [])


def wrong_id(pending: Pending) -> Any:
    """Return an approval with an ID that nothing has."""
    return {**pending.approve(), "id": "0" * 32}


def a_path(pending: Pending) -> Any:
    """Return one whose ID is a path."""
    return {**pending.approve(), "id": f"/../{pending.call}-{pending.id}"}


@rows(
    "decide, more",
    [
        (wrong_id, {}),
        (a_path, {}),
        (lambda pending: {"id": pending.id, "action": "approve"}, {}),
        (lambda pending: {**pending.approve(), "action": "allow"}, {}),
        (lambda pending: {**pending.approve(), "always": True}, {}),
        (lambda pending: {**pending.approve(), "arguments": None}, {}),
        (lambda _: True, {}),
        (lambda _: "approve", {}),
        (Pending.approve, {"to": "eve"}),
        (Pending.approve, {"session_id": "s2"}),
        (Pending.approve, {"tool_use_id": "t2"}),
        (lambda pending: pending.edit({"to": "bob"}), {"to": "eve"}),
        (lambda pending: pending.answer("yes"), {"to": "eve"}),
    ],
)
def test_a_decision_that_is_not_for_this_call_shuts_the_gate(
    decide: Callable[[Pending], Any], more: dict[str, Any]
) -> None:
    """It does not run, and what waits still waits for the right one."""
    with Engine() as engine:
        calls = PendingCalls()
        pending = asked(engine, calls)
        outcome = sending(engine, calls, decide(pending), **more)
        assert (outcome.ran, outcome.action, RAN) == (False, "ask", [])
        assert outcome.content.startswith("needs the user's approval")
        assert [each.id for each in calls] == [pending.id]


def test_a_decision_about_another_waiting_call_is_none_about_this(engine: Engine, calls: PendingCalls) -> None:
    """Each has its own."""
    ann, eve = asked(engine, calls), asked(engine, calls, to="eve", tool_use_id="t2")
    assert not sending(engine, calls, ann.approve(), to="eve", tool_use_id="t2").ran
    assert sending(engine, calls, eve.approve(), to="eve", tool_use_id="t2").ran
    assert RAN == ["eve"]


def test_a_decision_counts_once(engine: Engine, calls: PendingCalls) -> None:
    """However it is used at the same time; a shown copy that was changed is not what counts."""
    pending = asked(engine, calls)
    pending.arguments["to"] = "eve"
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: sending(engine, calls, pending.approve()), range(8)))
    assert sorted(each.ran for each in outcomes) == [False] * 7 + [True]
    assert RAN == ["ann"]


def test_a_call_that_is_made_again_waits_once(engine: Engine, calls: PendingCalls) -> None:
    """By a program that was restarted: it does not run twice. What hooks say now takes the place of what they said."""
    first = asked(engine, calls)
    assert asked(engine, calls) == first
    answering(engine, "pre_tool_use", Verdict.ask("for another reason"))
    second = sending(engine, calls).pending
    assert second is not None
    assert [*calls] == [second]
    assert [sending(engine, calls, each.approve()).ran for each in (first, second, second)] == [False, True, False]


def test_a_late_decision_shuts_the_gate(engine: Engine, tmp_path: Path) -> None:
    """What has expired is not listed either, and is forgotten with the next call."""
    now = [1000.0]
    calls = PendingCalls(tmp_path, expires_in=60, clock=lambda: now[0])
    late, forgotten = asked(engine, calls), asked(engine, calls, to="bob")
    now[0] += 60
    outcome = sending(engine, calls, late.approve())
    assert (outcome.ran, list(calls)) == (False, [])
    assert outcome.content.startswith("needs the user's approval: no reason given (the decision came too late)")
    asked(engine, calls, to="cec")
    assert not [path for path in tmp_path.iterdir() if forgotten.id in path.name]


def test_a_stored_call_that_was_changed_is_none(engine: Engine, tmp_path: Path) -> None:
    """A torn file, another file's content: nothing runs. The files are private."""
    calls = PendingCalls(tmp_path / "pending")
    ann, bob = asked(engine, calls), asked(engine, calls, to="bob")
    files = {each.name.rpartition("-")[2]: each for each in (tmp_path / "pending").iterdir()}
    assert {file.stat().st_mode & 0o777 for file in files.values()} == {0o600}
    files[ann.id].write_bytes(files[bob.id].read_bytes())
    files[bob.id].write_bytes(files[bob.id].read_bytes()[:20])
    assert not sending(engine, calls, ann.approve()).ran
    assert not sending(engine, calls, bob.approve(), to="bob").ran


def test_a_call_that_cannot_be_stored_is_blocked(
    engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A directory that is none, arguments that are not JSON: blocked, as without `pending`."""
    answering(engine, "pre_tool_use", ASK)
    (tmp_path / "file").write_text("")
    outcome = sending(engine, PendingCalls(tmp_path / "file"))
    assert (outcome.ran, outcome.pending, outcome.action) == (False, None, "ask")
    calls = PendingCalls()
    odd = run_tool_sync(engine, "send", {"to": object()}, send, pending=calls)
    assert (odd.ran, odd.pending, RAN) == (False, None, [])
    assert "send cannot wait for a decision, so it is blocked: TypeError: Object of type object is not" in caplog.text
    assert "FileExistsError: " in caplog.text
    assert [each.exc_info for each in caplog.records] == [None, None]


def test_a_decision_without_its_calls_is_a_mistake(engine: Engine) -> None:
    """It raises, before anything runs."""
    decision = {"id": "1", "action": "approve", "arguments": {}, "text": ""}
    with pytest.raises(ValueError, match="a decision needs `pending`"):
        run_tool_sync(engine, "send", {"to": "ann"}, send, decision=decision)
    assert RAN == []


def test_another_process_resumes_it(engine: Engine, tmp_path: Path) -> None:
    """The program has ended since; the directory is all that both have."""
    pending = asked(engine, PendingCalls(tmp_path))
    program = Path(__file__).parent / "programs" / "resume_twice.py"
    arguments = [sys.executable, str(program), str(tmp_path), json.dumps(pending.approve())]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("sent to ann\n\nmind the time\nneeds the user's approval: ")


def test_halves_and_a_loop_wait_too(engine: Engine, calls: PendingCalls) -> None:
    """`HookedCall` and `run_tool` as `run_tool_sync`."""
    answering(engine, "pre_tool_use", ASK)

    async def both() -> None:
        first = await HookedCall(engine, "send", {"to": "ann"}, pending=calls).before()
        assert first is not None
        assert first.pending is not None
        resumed = HookedCall(engine, "send", {"to": "ann"}, pending=calls, decision=first.pending.approve())
        assert await resumed.before() is None
        second = await run_tool(engine, "send", {"to": "bob"}, send, pending=calls)
        assert second.pending is not None
        decision = second.pending.approve()
        assert (await run_tool(engine, "send", {"to": "bob"}, send, pending=calls, decision=decision)).ran

    asyncio.run(both())


def test_a_guard_after_a_change_is_asked_once(engine: Engine, calls: PendingCalls) -> None:
    """The same call made again without a decision is asked about anew, and waits anew."""
    count: list[str] = []

    @engine.on(PreToolUse)
    def counted(ctx: PreToolUse) -> Verdict:
        count.append(ctx.tool_args["to"])
        return ASK

    pending = sending(engine, calls).pending
    assert pending is not None
    sending(engine, calls, pending.approve())
    assert (count, RAN) == (["ann"], ["ann"])
    assert sending(engine, calls).pending is not None
