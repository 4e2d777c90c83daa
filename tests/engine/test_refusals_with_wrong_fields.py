"""A refusal stays one, whatever is wrong beside it, on every way by which a verdict arrives and by any `on_failure`."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun import Abort, Context, Engine, Result, Skip, Verdict
from hookrun.core.literals import Action, EventName, Policy
from tests.engine.programs import guards
from tests.fire.agents import Agent
from tests.process.test_url_hooks import answering, serving
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Fired, Project

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
each_policy = pytest.mark.parametrize("on_failure", ["continue", "block"])


def printing(project: Project, stdout: str, name: str = "output") -> dict[str, object]:
    """Return a hook that prints this."""
    (project.root / name).write_bytes(stdout.encode("utf-8", "surrogateescape"))
    return {"name": name, "args": ["/bin/cat", str(project.root / name)]}


def assert_refused(fired: Fired) -> None:
    """Check what each hook, which has the name of a refusal, has said: none failed, and none changes arguments."""
    found = {name: fired.record(name) for name in REFUSALS}
    said = {name: (record["action"], record.get("failure"), "changed" in record) for name, record in found.items()}
    assert said == {name: (action, None, False) for name, (_, action, _) in REFUSALS.items()}
    assert [name for name in found if REFUSALS[name][2] not in str(found[name].get("message", ""))] == []
    assert [name for name, record in found.items() if "wrong_field" not in str(record.get("notes"))] == []
    assert [name for name in found if f"hook {name}: wrong_field: " not in fired.stderr] == []
    assert (fired.status, fired.action, "modified_args" in fired.verdict) == (2, "stop", False)


@each_policy
def test_what_a_command_prints(project: Project, on_failure: str) -> None:
    """The action counts, it is no failure, and the audit and stderr name the wrong field."""
    more: dict[str, object] = {"on_failure": on_failure, "always": True}
    project.hooks(*({**printing(project, stdout, name), **more} for name, (stdout, _, _) in REFUSALS.items()))
    assert_refused(project.fire())


def test_what_a_server_answers(project: Project) -> None:
    """The body of a URL hook's response is read in the same way."""
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(serving(answering(stdout.encode("utf-8", "surrogateescape"))))
            for name, (stdout, _, _) in REFUSALS.items()
        }
        project.hooks(*({"name": name, "url": server.url, "always": True} for name, server in servers.items()))
        assert_refused(project.fire())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("agent", ["claude", "gemini", "codex", "copilot"])
def test_an_agent_does_not_run_the_tool_and_the_user_is_notified(project: Project, agent: str) -> None:
    """The agent gets a refusal in its own form, and the user the note once in a session."""
    project.user_hooks(printing(project, '{"action": "block", "message": ["no way"], "modified_context": 1}'))
    asked = Agent(agent, project)
    told = asked.fire(asked.shell())
    assert "no way" in str(told.reason)
    assert "modified_context" in told.person


def test_what_is_not_one_object_or_refuses_nothing_is_a_bad_verdict(project: Project) -> None:
    """Noise around an object, or a list, is no verdict; nothing is guessed about an answer that lets a call pass."""
    outputs = {
        "text after it": '{"action": "continue"}\ndone',
        "text before it": 'checking\n{"action": "continue"}',
        "a list": '[{"action":"continue"}]',
        **{
            action: json.dumps({"action": action, "message": 5, "modified_args": {}})
            for action in ("continue", "allow", "modify")
        },
    }
    project.hooks(*(printing(project, text, name) for name, text in outputs.items()))
    fired = project.fire()
    assert {name: fired.hook(name)["failure"] for name in outputs} == dict.fromkeys(outputs, "bad_verdict")


# --- functions

GUARDS = Path(__file__).parent / "programs" / "guards.py"
FUNCTIONS = {
    "exception_as_message": "block", "number_as_message": "block", "enum_as_message": "skip",
    "path_as_message": "stop", "mute_message": "block", "list_as_args": "block", "set_as_context": "block",
    "circular_context": "block", "odd_keys": "block", "nan": "stop", "ask_with_set": "block",
    "unknown_action": "block", "unknown_method": "block", "unknown_keyword": "block", "raised_from": "block",
    "aborts": "block", "skips": "skip", "later": "block",
}  # fmt: skip
"""Function -> the action of the verdict."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("more", [{}, {"interpreter": sys.executable}], ids=["forked", "interpreter"])
@each_policy
def test_what_a_python_hook_returns_or_raises(project: Project, more: dict[str, object], on_failure: str) -> None:
    """Its fields become JSON as far as they can, and an answer that could not be made refuses."""
    shutil.copy(GUARDS, project.root)
    more = {"on_failure": on_failure, "always": True, **more}
    project.hooks(*({"name": name, "python": f"guards:{name}", **more} for name in FUNCTIONS))
    fired = project.fire()
    found = {name: fired.hook(name) for name in FUNCTIONS}
    assert {name: (hook["action"], hook["failure"]) for name, hook in found.items()} == {
        name: (action, None) for name, action in FUNCTIONS.items()
    }
    assert fired.status == 2


@each_policy
@rows(
    "how, function",
    [
        *[({}, name) for name in FUNCTIONS if "set" not in name],
        *[({"parallel": True}, name) for name in FUNCTIONS if "set" not in name],
        *[({"thread": True}, name) for name in FUNCTIONS if "set" not in name and name != "later"],
    ],
)
def test_what_a_handler_returns_or_raises(function: str, how: dict[str, Any], on_failure: Policy) -> None:
    """A program's own function refuses by the same rules, wherever it runs; a set is no error in a program."""
    with Engine() as engine:
        engine.register("pre_tool_use", getattr(guards, function), name="guard", on_failure=on_failure, **how)
        engine.register("pre_tool_use", lambda _: None, name="other", parallel=bool(how.get("parallel")))
        result = engine.fire_sync("pre_tool_use", **CALL)
    assert (result.action, result.runs[0].failure) == (FUNCTIONS[function], None)
    assert isinstance(result.message, str)
    json.dumps(result.to_dict())


@rows("make", [lambda: Abort(ValueError("no way")), lambda: Skip(5), lambda: Abort("x", name=5)])  # type: ignore[arg-type]
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
        Verdict("blok")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected one of"):
        Verdict(5)  # type: ignore[arg-type]


@rows("event", ["stop", "post_tool_use", "notification"])
def test_a_broken_verdict_refuses_nothing_where_nothing_can_be_refused(event: str) -> None:
    """There it is an exception like any other."""
    assert _fired(event).runs[0].failure is not None  # type: ignore[arg-type]


@rows("event", ["pre_tool_use", "permission_request", "user_prompt_submit", "pre_checkpoint", "own"])
def test_a_broken_verdict_refuses_where_that_is_possible(event: str) -> None:
    """A program's own event included."""
    result = _fired(event)  # type: ignore[arg-type]
    assert (result.action, "blok" in str(result.message)) == ("block", True)


def _fired(event: EventName) -> Result:
    with Engine(events=["own"]) as engine:
        engine.register(event, lambda _: Verdict("blok"))  # type: ignore[arg-type]
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


@rows("action, becomes", [("block", "block"), ("stop", "stop"), ("ask", "block")])
def test_a_refusal_whose_change_cannot_be_applied(action: Action, becomes: str) -> None:
    """Text that cannot be passed to other hooks is dropped, and the refusal stays; an ask becomes a block."""
    with Engine() as engine:
        answer = Verdict(action, "no way", modified_args={"x": Uncomparable()}, modified_context={"x": Uncomparable()})
        engine.register("pre_tool_use", lambda _: Verdict.with_metadata(x=1), parallel=True)
        engine.register("pre_tool_use", lambda _: answer, parallel=True)
        result = engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"x": Uncomparable()})
    assert (result.action, result.message, result.modified_args) == (becomes, "no way", None)
    assert [run.failure for run in result.runs] == [None, None]


@pytest.mark.parametrize("dialect", ["hookrun", "claude"])
def test_a_refusal_at_the_beginning_of_a_too_long_output(project: Project, dialect: str) -> None:
    """What comes after it is not even read."""
    output = '{"action": "block", "message": "no"}\n' + "x" * 5000
    project.hooks({**printing(project, output), "dialect": dialect, "max_output": 1000})
    fired = project.fire()
    assert (fired.status, fired.verdict["message"], fired.record("output").get("failure")) == (2, "no", None)


@pytest.mark.parametrize("dialect", ["hookrun", "claude"])
def test_a_refusal_in_one_word(project: Project, dialect: str) -> None:
    """Alone, and quoted as JSON or not."""
    for output in ('"BLOCK"\n', "deny"):
        project.hooks({**printing(project, output), "dialect": dialect})
        assert project.fire().action == "block"
    project.hooks({**printing(project, "no block here"), "dialect": dialect})
    assert project.fire().action == "continue"


@pytest.mark.parametrize("dialect", ["hookrun", "claude"])
def test_other_words_alone_are_no_refusal(project: Project, dialect: str) -> None:
    """They are what scripts print: `skip`, `stop`, `ask`."""
    for output in ("skip", "stop\n", '"ask"'):
        project.hooks({**printing(project, output), "dialect": dialect})
        assert project.fire().action == "continue"
