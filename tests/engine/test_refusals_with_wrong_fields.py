"""A refusal stays one, whatever is wrong beside it, on every way by which a verdict arrives and by any `on_failure`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun import Abort, Context, Engine, Result, Skip, Verdict
from tests.fire.agents import Agent
from tests.process.test_url_hooks import answering, serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Project

CALL: dict[str, Any] = {"tool_name": "bash", "tool_args": {"command": "ls"}}

REFUSALS: dict[str, tuple[str, str, str]] = {
    "a number as message": ('{"action": "block", "message": 5}', "block", "5"),
    "a list as message": ('{"action": "block", "message": ["no", "way"]}', "block", "no"),
    "an object as message": ('{"action": "skip", "message": {"why": "no"}}', "skip", "no"),
    "false as message": ('{"action": "stop", "message": false}', "stop", "false"),
    "a stop with a wrong context": ('{"action": "stop", "message": "no", "modified_context": []}', "stop", "no"),
    "a stop with wrong texts": ('{"action": "stop", "system_message": 1, "additional_context": [2]}', "stop", ""),
    "a block with arguments that are a list": ('{"action": "block", "modified_args": []}', "block", ""),
    "a block with a patch that is text": ('{"action": "block", "args_patch": "x", "message": "no"}', "block", "no"),
    "an ask with a wrong message": ('{"action": "ask", "message": 7}', "ask", "7"),
    "an ask with a wrong context": ('{"action": "ask", "modified_context": 7}', "ask", ""),
    "an ask with arguments that are a list": ('{"action": "ask", "modified_args": [1]}', "block", ""),
    "an ask with a patch that is text": ('{"action": "ask", "args_patch": "x", "message": "no"}', "block", "no"),
    "an ask with both": ('{"action": "ask", "modified_args": {"a": 1}, "args_patch": {"b": 1}}', "block", ""),
    "an ask with NaN": ('{"action": "ask", "modified_args": {"a": NaN}}', "block", ""),
    "NaN in a context": ('{"action": "block", "message": "no", "modified_context": {"a": NaN}}', "block", "no"),
    "a number out of range": ('{"action": "block", "message": "no", "modified_context": {"a": 1e999}}', "block", "no"),
    "nested too deeply": ('{"action": "skip", "message": "no", "x": ' + "[" * 9999 + "]" * 9999 + "}", "skip", "no"),
    "a line end in a text": ('{"action": "block", "message": "first\nsecond"}', "block", "first\nsecond"),
    "a quote in a text": ('{"action": "block", "message": "not \\"x\\" and "y" here"}', "block", 'not "x" and '),
    "what is not UTF-8": ('{"action": "block", "message": "caf\udce9 is no"}', "block", "is no"),
    "a message twice": ('{"action": "block", "message": "no", "message": "yes"}', "block", "no"),
    "a weaker action after it": ('{"action": "block", "message": "no", "action": "continue"}', "block", "no"),
    "a weaker action before it": ('{"action": "allow", "message": "no", "action": "skip"}', "skip", "no"),
    "a comma too many": ('{"action": "stop", "message": "no",}', "stop", "no"),
    "without an end": ('{"action": "block", "message": "no"', "block", "no"),
}
each_refusal = pytest.mark.parametrize(("stdout", "action", "part"), REFUSALS.values(), ids=REFUSALS)
each_policy = pytest.mark.parametrize("on_failure", ["continue", "block"])


def printing(project: Project, stdout: str) -> str:
    """Return a shell line that prints this."""
    (project.root / "output").write_bytes(stdout.encode("utf-8", "surrogateescape"))
    return "cat output"


@pytest.mark.sampled(6)
@each_policy
@each_refusal
def test_what_a_command_prints(project: Project, stdout: str, action: str, part: str, on_failure: str) -> None:
    """The action counts, it is no failure, and the audit and stderr name the wrong field."""
    project.hooks({"command": printing(project, stdout), "on_failure": on_failure})
    fired = project.fire()
    assert (fired.status, fired.action, fired.hook("hook")["failure"]) == (2, action, None), fired.stderr
    assert part in str(fired.verdict["message"])
    assert "modified_args" not in fired.verdict
    assert any(str(note).startswith("wrong_field") for note in fired.record("hook")["notes"])  # type: ignore[attr-defined]
    assert "hook hook: wrong_field: " in fired.stderr


@pytest.mark.sampled(5)
@each_refusal
def test_what_a_server_answers(project: Project, stdout: str, action: str, part: str) -> None:
    """The body of a URL hook's response is read in the same way."""
    with serving(answering(stdout.encode("utf-8", "surrogateescape"))) as server:
        project.hooks({"url": server.url})
        fired = project.fire()
    assert (fired.status, fired.action, fired.hook("hook")["failure"]) == (2, action, None), fired.stderr
    assert part in str(fired.verdict["message"])


@pytest.mark.parametrize("agent", ["claude", "gemini", "codex", "copilot"])
def test_an_agent_does_not_run_the_tool_and_the_user_is_notified(project: Project, agent: str) -> None:
    """The agent gets a refusal in its own form, and the user the note once in a session."""
    printing(project, '{"action": "block", "message": ["no way"], "modified_context": 1}')
    project.user_hooks({"args": ["/bin/cat", str(project.root / "output")]})
    asked = Agent(agent, project)
    told = asked.fire(asked.shell())
    assert "no way" in str(told.reason)
    assert "modified_context" in told.person


@pytest.mark.parametrize(
    "stdout", ['{"action": "block"}\ndone', 'checking\n{"action": "block"}', '[{"action":"block"}]']
)
def test_what_is_not_one_object_is_a_bad_verdict(project: Project, stdout: str) -> None:
    """Noise around an object, or a list, is no verdict: a failure that the policy decides about."""
    project.hooks({"command": printing(project, stdout)})
    assert project.fire().hook("hook")["failure"] == "bad_verdict"


@pytest.mark.parametrize("action", ["continue", "allow", "modify"])
def test_a_wrong_field_of_what_refuses_nothing_is_a_bad_verdict(project: Project, action: str) -> None:
    """Nothing is guessed about an answer that lets the call pass."""
    project.hooks({"command": printing(project, json.dumps({"action": action, "message": 5, "modified_args": {}}))})
    assert project.fire().hook("hook")["failure"] == "bad_verdict"


# --- functions

GUARDS = """
import enum
from pathlib import Path
from hookrun import Abort, Skip, Verdict

class Reason(enum.Enum):
    NO = "no way"

class Mute:
    def __str__(self):
        raise ZeroDivisionError

circle = {}
circle["circle"] = circle

def exception_as_message(ctx): return Verdict.block(ValueError("no way"))
def number_as_message(ctx): return {"action": "block", "message": 5}
def enum_as_message(ctx): return {"action": "skip", "message": Reason.NO}
def path_as_message(ctx): return Verdict.stop(Path("/no way"))
def mute_message(ctx): return Verdict.block(Mute())
def list_as_args(ctx): return {"action": "block", "message": "no way", "modified_args": []}
def set_as_context(ctx): return Verdict("block", "no way", modified_context={"a": {1, 2}})
def circular_context(ctx): return {"action": "block", "message": "no way", "modified_context": circle}
def odd_keys(ctx): return {"action": "block", "message": "no way", "modified_context": {(1, 2): 3}}
def nan(ctx): return {"action": "stop", "message": "no way", "modified_context": {"a": float("nan")}}
def ask_with_set(ctx): return Verdict("ask", "no way", modified_args={"a": {1}})
def unknown_action(ctx): return Verdict("blok", "no way")
def unknown_method(ctx): return Verdict.blck("no way")
def unknown_keyword(ctx): return Verdict.block(mesage="no way")
def raised_from(ctx):
    try:
        return Verdict("blok")
    except ValueError as error:
        raise RuntimeError("no way") from error
def aborts(ctx): raise Abort("no way")
def skips(ctx): raise Skip("no way")
async def later(ctx): return Verdict("deny", "no way")
"""
FUNCTIONS = {
    "exception_as_message": "block", "number_as_message": "block", "enum_as_message": "skip",
    "path_as_message": "stop", "mute_message": "block", "list_as_args": "block", "set_as_context": "block",
    "circular_context": "block", "odd_keys": "block", "nan": "stop", "ask_with_set": "block",
    "unknown_action": "block", "unknown_method": "block", "unknown_keyword": "block", "raised_from": "block",
    "aborts": "block", "skips": "skip", "later": "block",
}  # fmt: skip
"""Function -> the action of the verdict."""


@pytest.mark.sampled(8)
@each_policy
@pytest.mark.parametrize("interpreter", [None, sys.executable], ids=["forked", "interpreter"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_a_python_hook_returns_or_raises(
    project: Project, function: str, interpreter: str | None, on_failure: str
) -> None:
    """Its fields become JSON as far as they can, and an answer that could not be made refuses."""
    (project.root / "guards.py").write_text(GUARDS)
    declared: dict[str, object] = {"python": f"guards:{function}", "on_failure": on_failure}
    project.hooks({**declared, **({"interpreter": interpreter} if interpreter else {})})
    fired = project.fire()
    assert (fired.status, fired.action) == (2, FUNCTIONS[function]), fired.stderr
    assert fired.hook("hook")["failure"] is None


@pytest.fixture
def guards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[Context], Any]]:
    """Return the functions of GUARDS."""
    found: dict[str, Any] = {}
    exec(compile(GUARDS, "guards.py", "exec"), found)  # noqa: S102  # our own text, which a hook runs too
    return found


@each_policy
@pytest.mark.parametrize("how", [{}, {"thread": True}, {"parallel": True}], ids=["inline", "thread", "parallel"])
@pytest.mark.parametrize("function", [name for name in FUNCTIONS if "set" not in name])
def test_what_a_handler_returns_or_raises(
    guards: dict[str, Callable[[Context], Any]], function: str, how: dict[str, Any], on_failure: str
) -> None:
    """A program's own function refuses by the same rules, wherever it runs; a set is no error in a program."""
    if function == "later" and how.get("thread"):
        pytest.skip("an async handler has no thread")
    with Engine() as engine:
        engine.register("pre_tool_use", guards[function], name="guard", on_failure=on_failure, **how)
        engine.register("pre_tool_use", lambda _: None, name="other", parallel=bool(how.get("parallel")))
        result = engine.fire_sync("pre_tool_use", **CALL)
    assert (result.action, result.runs[0].failure) == (FUNCTIONS[function], None)
    assert isinstance(result.message, str)
    json.dumps(result.to_dict())


@pytest.mark.parametrize("make", [lambda: Abort(ValueError("no way")), lambda: Skip(5), lambda: Abort("x", name=5)])  # type: ignore[arg-type]
def test_skip_and_abort_take_any_reason(make: Callable[[], Exception]) -> None:
    """Returned or raised they refuse, whatever they are given."""

    def raising(ctx: Context) -> None:
        raise make()

    def returning(ctx: Context) -> Any:
        return make()

    for function in (raising, returning):
        with Engine() as engine:
            engine.register("pre_tool_use", function)
            assert engine.fire_sync("pre_tool_use", **CALL).refused


def test_an_unknown_action_raises_where_it_is_written() -> None:
    """With the nearest action; the same for other types than strings."""
    with pytest.raises(ValueError, match="'blok': did you mean \"block\""):
        Verdict("blok")
    with pytest.raises(ValueError, match="expected one of"):
        Verdict(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("event", ["stop", "post_tool_use", "notification"])
def test_a_broken_verdict_refuses_nothing_where_nothing_can_be_refused(event: str) -> None:
    """There it is an exception like any other."""
    assert _fired(event).runs[0].failure is not None


@pytest.mark.parametrize("event", ["pre_tool_use", "permission_request", "user_prompt_submit", "pre_checkpoint", "own"])
def test_a_broken_verdict_refuses_where_that_is_possible(event: str) -> None:
    """A program's own event included."""
    result = _fired(event)
    assert (result.action, "blok" in str(result.message)) == ("block", True)


def _fired(event: str) -> Result:
    with Engine(events=["own"]) as engine:
        engine.register(event, lambda _: Verdict("blok"))
        return engine.fire_sync(event)


def test_another_exception_is_still_a_failure() -> None:
    """A handler that raises while it looks at the call has made no refusal: `on_failure` decides."""
    with Engine() as engine:
        engine.register("pre_tool_use", lambda ctx: ctx["nothing of that"], name="guard")
        result = engine.fire_sync("pre_tool_use", **CALL)
    assert (result.action, result.runs[0].failure and result.runs[0].failure.kind) == ("continue", "exception")


class Uncomparable:
    """What raises when it is compared."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError


@pytest.mark.parametrize(("action", "becomes"), [("block", "block"), ("stop", "stop"), ("ask", "block")])
def test_a_refusal_whose_change_cannot_be_applied(action: str, becomes: str) -> None:
    """Text that cannot be passed to other hooks is dropped, and the refusal stays; an ask becomes a block."""
    with Engine() as engine:
        answer = Verdict(action, "no way", modified_args={"x": Uncomparable()}, modified_context={"x": Uncomparable()})
        engine.register("pre_tool_use", lambda _: Verdict.with_metadata(x=1), parallel=True)
        engine.register("pre_tool_use", lambda _: answer, parallel=True)
        result = engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"x": Uncomparable()})
    assert (result.action, result.message, result.modified_args) == (becomes, "no way", None)
    assert [run.failure for run in result.runs] == [None, None]
