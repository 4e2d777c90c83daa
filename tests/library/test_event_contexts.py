"""The contexts of handlers: typed, a mapping of every field, private copies, clones."""

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import pytest

from hookrun import Context, Engine, Verdict
from hookrun.core.events import ALIASES
from hookrun.events import CLASSES, PostToolUse, PreSearchQuery, PreToolUse, Stop
from tests.library.firing import CALL, Fire, answers
from tests.rows import rows


def test_every_event_has_a_class_of_its_own(engine: Engine, fire: Fire) -> None:
    """A handler of an event is given its class; no event is without."""
    assert CLASSES.keys() == ALIASES.keys()
    seen: list[Context] = []
    engine.register(list(ALIASES), seen.append)  # type: ignore[arg-type]
    for event, cls in CLASSES.items():
        fire(engine, event, session_id="s")
        assert (type(seen[-1]), seen[-1].event, seen[-1]["event"]) == (cls, event, event)
        fire(engine, cls(session_id="s"))
        assert (type(seen[-1]), seen[-1].session_id) == (cls, "s")


def test_all_ways_to_give_a_context(engine: Engine, fire: Fire) -> None:
    """Fields by name, a mapping, a context, a class; those by name count more; unknown fields are kept."""
    seen: list[Context] = []
    engine.register("pre_tool_use", seen.append)
    fire(engine, "PreToolUse", tool_name="bash", mine=[1])
    fire(engine, "pre_tool_use", {"tool_name": "edit", "mine": [1]}, tool_name="bash")
    fire(engine, PreToolUse(tool_name="bash", mine=[1]))  # type: ignore[call-arg]
    fire(engine, PreToolUse(tool_name="edit"), {"tool_name": "write", "mine": [1]}, tool_name="bash")
    fire(engine, PreToolUse, tool_name="bash", mine=[1])
    fire(engine, Context("BeforeTool", tool_name="bash", mine=[1]))
    fire(engine, seen[0])
    assert [(type(ctx), ctx.tool_name, ctx["mine"], ctx.event) for ctx in seen] == [
        (PreToolUse, "bash", [1], "pre_tool_use")
    ] * 7
    assert len({ctx.request_id for ctx in seen}) == 6
    assert seen[-1].request_id == seen[0].request_id  # it is given, in the context


def test_it_reads_like_the_json_object(engine: Engine, fire: Fire) -> None:
    """Every promised field is there, null where unknown; the hook's own name too; it cannot be set."""
    seen: list[Context] = []
    engine.register("stop", seen.append, name="h")
    fire(engine, "stop", mine=1)
    (ctx,) = seen
    assert ctx["hook"] == "h"
    assert (ctx["tool_name"], ctx.get("none", 5), "mine" in ctx, "none" in ctx) == (None, 5, True, False)
    assert {**ctx} == ctx.to_dict() == dict(ctx)
    assert len(ctx) == len(list(ctx)) == len(ctx.to_dict())
    assert repr(ctx).startswith("Stop({")
    assert ctx.timestamp.endswith("Z")
    with pytest.raises(KeyError):
        ctx["none"]
    with pytest.raises(AttributeError, match="return a Verdict that changes it"):
        ctx.tool_args = {}
    with pytest.raises(TypeError):
        ctx["tool_args"] = {}  # type: ignore[index]


def test_fields_of_the_wrong_type_are_the_default() -> None:
    """An attribute has its type whatever the program put there; the value itself is in the mapping."""
    ctx = Stop(stop_hook_active="yes", tool_use_id=5, metadata=[1])  # type: ignore[arg-type]
    assert (ctx.stop_hook_active, ctx.tool_use_id, ctx.metadata) == (False, None, {})
    assert (ctx["stop_hook_active"], ctx["tool_use_id"]) == ("yes", 5)
    assert (PreToolUse().tool_name, Stop().tool_name, PreToolUse().tool_args) == ("", None, {})  # type: ignore[call-arg]
    assert PreSearchQuery(tool_args={"query": "q"}).query == "q"
    assert PreSearchQuery(tool_args={"query": 1}).query == ""


@pytest.mark.parametrize("matcher", [None, "bash"])
@rows("field", ["tool_name", "tool_args", "session_id", "metadata", "agent", "working_dir"])
def test_a_context_that_is_wrong_is_refused(engine: Engine, fire: Fire, field: str, matcher: str | None) -> None:
    """ValueError, also when no hook would have run: a guard is not passed by with a tool's name in bytes."""
    engine.register("pre_tool_use", answers(Verdict.block()), matcher=matcher)
    for value in (b"bash", True, ["bash"]):
        with pytest.raises(ValueError, match=f"fire pre_tool_use: {field} is"):
            fire(engine, "pre_tool_use", **{field: value})


@rows("event", ["pre_tool_usee", "", None, 5, [], {}])
def test_an_event_that_nobody_knows_is_refused(engine: Engine, fire: Fire, event: Any) -> None:
    """ValueError that names it."""
    with pytest.raises(ValueError, match="fire: unknown event"):
        fire(engine, event)


def test_a_class_is_for_its_event_alone() -> None:
    """Another event for a typed class, or none for the general one, is a mistake."""
    assert PreToolUse("BeforeTool").event == "pre_tool_use"  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="PreToolUse: the event must be 'pre_tool_use', not 'stop'"):
        PreToolUse("stop")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="must be the name of an event"):
        Context()


def test_the_context_of_one_event_made_of_anothers() -> None:
    """`PostToolUse(**before, ...)`: the class determines the event, whatever the fields are."""
    before = PreToolUse(session_id="s", tool_name="bash")
    assert PostToolUse(**before, tool_result_output="x").event == "post_tool_use"  # type: ignore[arg-type]


@rows(
    "field, value, found",
    [
        ("tool_args", MappingProxyType({}), "of type mappingproxy, not a dict or None"),
        ("working_dir", {"/w"}, "of type set, not a str or None"),
        ("tool_args", 5, "a number, not an object or null"),
        ("tool_args", [1], "a list, not an object or null"),
    ],
)
def test_a_field_of_the_wrong_type_is_called_what_it_is(
    engine: Engine, fire: Fire, field: str, value: object, found: str
) -> None:
    """By JSON's name for the type where there is one, else by the Python type."""
    with pytest.raises(ValueError, match=f"^fire pre_tool_use: {field} is {found}$"):
        fire(engine, "pre_tool_use", tool_name="bash", **{field: value})


@pytest.mark.parametrize("field", ["tool_args", "metadata"])
def test_a_change_in_place_has_no_effect_and_is_noted(engine: Engine, fire: Fire, field: str) -> None:
    """The attribute is a copy for this handler; a note explains what to do; the next handler sees the original."""
    seen: list[Any] = []

    def changes(ctx: Context) -> None:
        getattr(ctx, field)["command"] = "rm"
        getattr(ctx, field)["deep"]["x"].append(2)

    args = {"command": "ls", "deep": {"x": [1]}}
    engine.register("pre_tool_use", changes)
    engine.register("pre_tool_use", lambda ctx: seen.append(getattr(ctx, field)), name="next")
    result = fire(engine, "pre_tool_use", **{field: args})
    assert seen == [args] == [{"command": "ls", "deep": {"x": [1]}}]
    note = f"it changed ctx.{field} in place, which has no effect: return a Verdict that changes it"
    assert [run.notes for run in result.runs] == [[note], []]


@pytest.mark.parametrize("field", ["tool_args", "metadata", "mine"])
def test_an_object_read_by_its_name_is_the_same_copy(engine: Engine, fire: Fire, field: str) -> None:
    """`ctx["tool_args"]` is as safe to change as `ctx.tool_args`: the caller's object is unchanged."""
    args = {"command": "ls", "deep": {"x": [1]}}
    same: list[bool] = []

    def changes(ctx: Context) -> None:
        ctx[field]["command"] = "rm"  # type: ignore[index]
        ctx[field]["deep"]["x"].append(2)  # type: ignore[index]
        same.append(ctx[field] is getattr(ctx, field, ctx[field]))

    engine.register("pre_tool_use", changes)
    result = fire(engine, "pre_tool_use", **{field: args})
    assert (args, same) == ({"command": "ls", "deep": {"x": [1]}}, [True])
    note = f"it changed ctx.{field} in place, which has no effect: return a Verdict that changes it"
    assert result.runs[0].notes == [note]


@rows(
    "answer, noted",
    [
        (Verdict.patch({"timeout": 5}), ["tool_args", "metadata"]),
        (Verdict.patch({"command": "pwd"}), ["metadata"]),
        (Verdict.modify({"n": 1}), ["metadata"]),
        (Verdict.with_metadata(score=1), ["tool_args"]),
        (Verdict.with_metadata(other=1), ["tool_args", "metadata"]),
        (Verdict("modify", args_patch={"command": "pwd"}, modified_context={"score": 1}), []),
    ],
)
def test_a_change_in_place_beside_one_that_counts_is_noted(
    engine: Engine, fire: Fire, answer: Verdict, noted: list[str]
) -> None:
    """Changes that are not in the answer are lost, with a note."""

    def changes(ctx: Context) -> Verdict:
        ctx.tool_args["command"] = "pwd"
        ctx.metadata["score"] = 1
        return answer

    engine.register("pre_tool_use", changes, name="changes")
    notes = fire(engine).runs[0].notes
    assert [note.split(" ")[2] for note in notes] == [f"ctx.{field}" for field in noted]


def test_arguments_that_are_no_plain_dict_are_copied_too(engine: Engine, fire: Fire) -> None:
    """An OrderedDict of the program's is not the handler's to change either."""
    args = OrderedDict(command="ls", deep=OrderedDict(x=1))

    def changes(ctx: Context) -> None:
        ctx.tool_args["command"] = "rm"
        ctx.tool_args["deep"]["x"] = 2

    engine.register("pre_tool_use", changes)
    result = fire(engine, "pre_tool_use", tool_args=args)
    assert args == {"command": "ls", "deep": {"x": 1}}
    assert len(result.runs[0].notes) == 1


def test_a_copy_that_was_changed_may_be_returned(engine: Engine, fire: Fire) -> None:
    """`ctx.tool_args` changed and given to `modify` is the change, without a note."""

    def changes(ctx: Context) -> Verdict:
        ctx.tool_args["command"] = "pwd"
        return Verdict.modify(ctx.tool_args)

    engine.register("pre_tool_use", changes)
    result = fire(engine)
    assert (result.modified_args, result.runs[0].notes) == ({"command": "pwd", "n": 1}, [])


@pytest.mark.parametrize("cls", [dict, OrderedDict])
def test_what_a_handler_returned_is_its_own_no_more(engine: Engine, fire: Fire, cls: type) -> None:
    """Objects that it keeps and changes later do not reach the chain."""
    mine = {"command": "pwd", "deep": cls(x=1)}

    def later(ctx: Context) -> None:
        mine["command"] = "rm"
        mine["deep"]["x"] = 2

    engine.register("pre_tool_use", answers(Verdict.modify(mine)), name="a")
    engine.register("pre_tool_use", later)
    engine.register("pre_tool_use", answers(cls(action="continue", modified_context={"k": mine["deep"]})), name="c")
    engine.register("pre_tool_use", later, name="last")
    result = fire(engine)
    mine["deep"]["x"] = 3
    assert result.modified_args == {"command": "pwd", "deep": {"x": 1}}
    assert result.modified_context == {"k": {"x": 2}}


def test_a_clone_is_independent() -> None:
    """Fields and state are copied deeply, or by the state's own `clone`; background work is not copied."""

    class State:
        def __init__(self, n: int) -> None:
            self.n = n

        def clone(self) -> State:
            return State(self.n + 1)

    ctx = PreToolUse(**CALL)
    ctx.state = {"list": [1]}
    clone = ctx.clone()
    clone.state["list"].append(2)
    clone["tool_args"]["x"] = 1  # type: ignore[index]
    assert (ctx.state, ctx["tool_args"], type(clone)) == ({"list": [1]}, CALL["tool_args"], PreToolUse)
    ctx.state = State(1)
    assert ctx.clone().state.n == 2
    with pytest.raises(RuntimeError, match="background work can be started only in a handler"):
        clone.background(print)
