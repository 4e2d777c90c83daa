"""Declared hooks, real files and real processes, in one order with a program's handlers: layers, trust, audit."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookrun import Context, DeclarationError, Engine, Verdict
from hookrun.config import discovery as find_module
from tests.conftest import Project
from tests.library.conftest import Load
from tests.library.firing import CALL, Fire, answers, failure, kinds, order, says, sees
from tests.library.running import running
from tests.rows import rows

TRUSTED = {"trust_project": True}


def notes(name: str) -> str:
    """Return a shell line that keeps what it reads in a file."""
    return f"cat > $HOOKRUN_PROJECT_DIR/{name}"


def test_layers_then_priority_then_declared_before_registered(
    project: Project, load: Load, fire: Fire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Managed, user and handlers, project: a project's hook precedes none of the layers above."""
    managed = tmp_path / "managed"
    managed.mkdir()
    declared = {"name": "m", "event": "pre_tool_use", "priority": 900, "command": "true"}
    (managed / "hooks.json").write_text(json.dumps({"hooks": [declared]}))
    monkeypatch.setattr(find_module, "find", functools.partial(find_module.find, managed=str(managed)))
    project.user_hooks({"name": "u", "command": "true"}, {"name": "v", "priority": 3, "command": "true"})
    project.hooks({"name": "p", "priority": 0, "command": "true"})
    engine = load(**TRUSTED)
    engine.register("pre_tool_use", answers(None), name="h")
    engine.register("pre_tool_use", answers(None), name="early", priority=1)
    expected = ["m", "early", "v", "u", "h", "p"]
    assert [hook.name for hook in engine.hooks()] == expected == order(fire(engine))
    with pytest.raises(PermissionError, match="hook m is managed"):
        engine.disable("m")
    engine.disable("u")
    engine.disable("p")
    assert order(fire(engine)) == ["m", "early", "v", "h"]


def test_a_change_goes_both_ways(project: Project, load: Load, fire: Fire) -> None:
    """A declared hook reads what a handler changed, and a handler what a declared hook did."""
    seen: list[Any] = []
    project.user_hooks(
        {"name": "d", "priority": 2, "command": f"{notes('seen')}; {says(action='modify', args_patch={'d': 1})}"}
    )
    engine = load()
    engine.register("pre_tool_use", answers(Verdict.patch({"h": {"x": [1]}})), name="h", priority=1)
    engine.register("pre_tool_use", sees(seen), priority=3)
    result = fire(engine, state="s")
    read = json.loads((project.root / "seen").read_text())
    assert read["tool_args"] == {**CALL["tool_args"], "h": {"x": [1]}}
    assert (read["hook"], read["request_id"], read["session_id"]) == ("d", result.request_id, "s1")
    assert seen == [result.modified_args] == [{**CALL["tool_args"], "h": {"x": [1]}, "d": 1}]


@pytest.mark.parametrize("on_failure", ["continue", "block"])
def test_a_projects_hooks_are_a_strangers(project: Project, load: Load, fire: Fire, on_failure: str) -> None:
    """Unless the program vouches for them they fail as untrusted, run nothing, and show what to do."""
    project.hooks({"name": "p", "command": "touch ran; exit 2", "on_failure": on_failure})
    result = fire(load())
    assert (result.action, kinds(result)) == (on_failure, {"p": "untrusted"})
    assert f"hookrun trust {project.root}" in str(result.message or result.system_message)
    assert not (project.root / "ran").exists()
    assert fire(load(**TRUSTED)).action == "block"


def test_the_programs_guards_see_what_a_project_changed(project: Project, load: Load, fire: Fire) -> None:
    """A handler runs once more on the changed arguments, and may refuse them; one that fails then refuses too."""
    project.hooks({"name": "p", "command": says(action="modify", args_patch={"command": "rm"})})
    engine = load(**TRUSTED)
    engine.register("pre_tool_use", lambda c: Verdict.block("rm") if c.tool_args["command"] == "rm" else None, name="h")
    result = fire(engine)
    assert [(run.name, run.recheck) for run in result.runs] == [("h", False), ("p", False), ("h", True)]
    assert (result.action, result.message, result.ended_by) == ("block", "rm", "h")

    def fails(ctx: Context) -> None:
        if ctx.tool_args["command"] == "rm":
            raise ValueError("x")

    engine.register("pre_tool_use", fails, name="h")
    assert fire(engine).action == "block"
    engine.register("pre_tool_use", fails, name="h", mode="advise")
    assert fire(engine).action == "modify"


def test_a_handler_beside_a_declared_hook(project: Project, load: Load, fire: Fire) -> None:
    """Side by side, each reads the same, and both changes are made; an `always` one runs after a block."""
    project.user_hooks(
        {"name": "d", "parallel": True, "command": says(action="modify", args_patch={"d": 1})},
        {"name": "last", "priority": 999, "always": True, "command": notes("last")},
    )
    engine = load()

    async def handler(ctx: Context) -> Verdict:
        return Verdict.patch({"h": 1})

    engine.register("pre_tool_use", handler, parallel=True)
    engine.register("pre_tool_use", answers(None), name="thread", parallel=True, thread=True)
    assert fire(engine).modified_args == {**CALL["tool_args"], "d": 1, "h": 1}
    engine.register("pre_tool_use", answers(Verdict.block("no")), name="b", priority=600)
    result = fire(engine)
    assert (order(result)[-1], result.action, result.ended_by) == ("last", "block", "b")


@rows(
    "value, action, kind, message",
    [
        *[(value, "block", "spawn", "the context cannot be passed to it") for value in (object(), b"x")],
        *[(value, "continue", None, "None") for value in ({1, 2}, Path("/x"), float("nan"), 1 << 70)],
    ],
)
def test_objects_that_json_may_not_know(  # noqa: PLR0917  # a table of cases
    project: Project, load: Load, fire: Fire, value: object, action: str, kind: str | None, message: str
) -> None:
    """Handlers get the objects themselves; a declared hook gets them as JSON if possible, else it fails by name."""
    seen: list[Any] = []
    project.user_hooks({"name": "d", "command": notes("seen"), "on_failure": "block"}, audit={"details": "full"})
    engine = load()
    engine.register("pre_tool_use", lambda ctx: seen.append(ctx["mine"]), name="h", priority=1)
    result = fire(engine, mine=value)
    assert seen[0] is value
    assert (result.action, kinds(result)["d"]) == (action, kind)
    assert message in str(result.message)


def test_the_audit_is_the_users(project: Project, load: Load, fire: Fire) -> None:
    """A loaded engine records its fires there, handlers included; `Engine()` writes nothing."""
    engine = load()
    engine.register("pre_tool_use", answers(Verdict.block("m")), name="h")
    result = fire(engine)
    records = project.audit()
    assert [(r["kind"], r.get("hook"), r["action"]) for r in records] == [
        ("hook", "h", "block"),
        ("fire", None, "block"),
    ]
    assert {r["request_id"] for r in records} == {result.request_id}
    assert (records[0]["layer"], records[0]["message"]) == ("user", "m")
    project.audit_path.unlink()
    with Engine() as other:
        other.register("pre_tool_use", answers(None), name="h")
        fire(other)
    assert not project.audit_path.exists()


def test_an_audit_that_cannot_keep_a_context_changes_nothing(project: Project, load: Load, fire: Fire) -> None:
    """`audit.details: full` and an object that JSON does not know: the refusal is not lost with it."""
    project.user_hooks(audit={"details": "full"})
    engine = load()
    engine.register("pre_tool_use", answers(Verdict.block("m")), name="h")
    assert fire(engine, mine=object()).action == "block"


def test_a_file_that_cannot_be_read(project: Project, load: Load, fire: Fire) -> None:
    """DeclarationError that names it; without `strict` every result reports it, even if no hook runs."""
    (project.root / "coder.json").write_text("{nope")
    with pytest.raises(DeclarationError, match=r"coder.json:1:2: unexpected"):
        load()
    engine = load(strict=False)
    engine.register("stop", answers(None), name="h")
    for event in ("stop", "pre_tool_use"):
        problems = fire(engine, event).problems
        assert len(problems) == 1
        assert "coder.json:1:2: unexpected" in problems[0]


def test_reload_takes_the_new_or_keeps_the_old(project: Project, load: Load, fire: Fire) -> None:
    """A new declaration is in force; one that cannot be read is an error, and the old ones stay; handlers stay."""
    project.user_hooks({"name": "d", "command": "exit 2"})
    engine = load()
    engine.register("pre_tool_use", answers(None), name="h", priority=1)
    path = project.home / ".config" / "hookrun" / "hooks.json"
    path.write_text("{nope")
    with pytest.raises(DeclarationError):
        engine.reload()
    assert (fire(engine).action, order(fire(engine))) == ("block", ["h", "d"])
    project.user_hooks({"name": "e", "command": "true"}, events=["mine"])
    engine.reload()
    assert order(fire(engine)) == ["h", "e"]
    engine.register("mine", answers(Verdict.block()), name="m")  # type: ignore[arg-type]
    assert fire(engine, "mine").action == "block"
    with Engine() as other, pytest.raises(RuntimeError, match="reads no config files"):
        other.reload()


def test_a_declaration_that_is_wrong_is_a_failure(project: Project, load: Load, fire: Fire) -> None:
    """It stays in its place and fails by name."""
    project.user_hooks({"name": "d", "command": "true", "timeout": -1, "on_failure": "block"})
    result = fire(load())
    assert (result.action, failure(result).kind) == ("block", "declaration")


def test_another_file_in_the_projects_place(project: Project, load: Load, fire: Fire) -> None:
    """`config` names it, relative to the directory; the user's hooks stay."""
    project.user_hooks({"name": "u", "command": "true"})
    project.hooks({"name": "p", "command": "exit 2"})
    other = {"hooks": [{"name": "o", "event": "pre_tool_use", "command": "true"}]}
    (project.root / "other.json").write_text(json.dumps(other))
    assert order(fire(load(config="other.json", **TRUSTED))) == ["u", "o"]
    assert order(fire(load(config=project.root / "other.json"))) == ["u", "o"]


@pytest.mark.parametrize(
    ("parallel", "command", "wait"),
    [(False, "true", lambda _: None), (True, ": > $HOOKRUN_PROJECT_DIR/begun; sleep 60", Path.read_bytes)],
    ids=["after it", "beside it"],
)
def test_ctrl_c_in_a_handler_beside_a_process(  # noqa: PLR0917  # a table of cases
    project: Project, load: Load, fire: Fire, parallel: bool, command: str, wait: Callable[[Path], object]
) -> None:
    """It is raised to the caller, and the declared hook beside it is ended."""
    os.mkfifo(project.root / "begun")
    project.user_hooks({"name": "d", "parallel": parallel, "command": command})
    engine = load()

    def stops(ctx: Context) -> None:
        wait(project.root / "begun")
        raise KeyboardInterrupt

    engine.register("pre_tool_use", stops, parallel=True)
    with pytest.raises(KeyboardInterrupt):
        fire(engine)
    assert not running(engine)
