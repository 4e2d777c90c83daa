"""Tools under an agent's names, in a program: configured hooks read hookrun's names, handlers the program's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hookrun import Context, Engine, Verdict
from hookrun.integrations.tool_loop import run_tool_sync
from tests.conftest import Project
from tests.library.conftest import Load
from tests.library.firing import Fire, says, sees
from tests.rows import rows

PUSH: list[tuple[str, dict[str, Any]]] = [
    ("exec_command", {"cmd": "git push --force"}),
    ("run_shell_command", {"command": "git push --force"}),
    ("Bash", {"command": "git push --force"}),
    ("run_commands", {"commands": ["git push --force"]}),
    ("run_typescript", {"code": "git push --force"}),
]
RECIPE = {"matcher": "bash", "python": "hookrun.recipes.no_force_push:check"}
GUARDS: list[dict[str, object]] = [
    {**RECIPE, "when": {"tool_args.command": "*push*"}},
    {"when": {"tool_args.command": "git push*"}, "command": "exit 2"},
    {"command": 'grep -q \'"command":"git push --force"\' && exit 2; exit 0'},
    {"dialect": "claude", "matcher": "Bash", "command": 'grep -q \'"command":"git push --force"\' && exit 2; exit 0'},
]


@rows("tool, args", PUSH)
@rows("guard", GUARDS)
def test_a_guard_is_asked_about_the_arguments_under_hookruns_names(
    project: Project, load: Load, tool: str, args: dict[str, Any], guard: dict[str, object]
) -> None:
    """In its conditions and in what it reads; by `fire` and around a tool."""
    project.user_hooks({"name": "guard", "on_failure": "block", **guard})
    engine = load()
    assert engine.fire_sync("pre_tool_use", tool_name=tool, tool_args=args).refused
    assert not run_tool_sync(engine, tool, args, lambda **_: "ran").ran
    harmless = {name: ["ls"] if isinstance(value, list) else "ls" for name, value in args.items()}
    assert run_tool_sync(engine, tool, harmless, lambda **_: "ran").ran


def test_langchain_s_middleware(project: Project, load: Load) -> None:
    """It asks the guard, too."""
    pytest.importorskip("langchain.agents", reason="its package is not installed")
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.messages import ToolMessage

    from hookrun.integrations.langchain import HookrunMiddleware

    project.user_hooks({"name": "guard", **GUARDS[1]})
    call: Any = {"name": "exec_command", "args": {"cmd": "git push"}, "id": "1", "type": "tool_call"}
    request = ToolCallRequest(tool_call=call, tool=None, state={}, runtime=None)  # type: ignore[arg-type]  # not used
    answer = HookrunMiddleware(load()).wrap_tool_call(request, lambda _: ToolMessage("ran", tool_call_id="1"))
    assert isinstance(answer, ToolMessage)
    assert answer.status == "error"


CHANGES: list[dict[str, object]] = [
    {"command": says(action="modify", modified_args={"command": "ls", "timeout": 5})},
    {"command": says(action="modify", args_patch={"command": "ls", "timeout": 5})},
    {
        "dialect": "claude",
        "command": says(
            hookSpecificOutput={
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "updatedInput": {"command": "ls", "timeout": 5},
            }
        ),
    },
]


@rows("change", CHANGES)
def test_a_change_comes_back_under_the_names_that_were_given(
    project: Project, load: Load, fire: Fire, change: dict[str, object]
) -> None:
    """Handlers after it read it so; the next configured hook reads hookrun's names again."""
    seen: list[Any] = []
    project.user_hooks(
        {"name": "change", "priority": 1, **change},
        {"name": "reads", "priority": 900, "command": "cat > $HOOKRUN_PROJECT_DIR/seen"},
    )
    engine = load()
    engine.register("pre_tool_use", sees(seen), name="sees")
    engine.register("pre_tool_use", lambda _: Verdict.patch({"cmd": "ls -l"}), name="changes", priority=600)
    result = fire(engine, tool_name="exec_command", tool_args={"cmd": "rm"})
    assert seen == [{"cmd": "ls", "timeout": 5}]
    assert result.modified_args == {"cmd": "ls -l", "timeout": 5}
    assert json.loads((project.root / "seen").read_text())["tool_args"] == {"command": "ls -l", "timeout": 5}
    assert result.context is not None
    assert result.context.tool_args == result.modified_args


def test_a_change_that_cannot_be_given_back_blocks(project: Project, load: Load) -> None:
    """The call would run as it was."""
    project.user_hooks({"name": "change", "command": says(action="modify", args_patch={"command": "ls"})})
    result = load().fire_sync("pre_tool_use", tool_name="run_commands", tool_args={"commands": ["rm"]})
    assert (result.action, "does not take the arguments" in str(result.message)) == ("block", True)


def test_the_file_is_that_of_the_arguments(project: Project, load: Load) -> None:
    """In what a hook reads, its conditions and the log."""
    project.user_hooks({"name": "guard", "when": {"file_path": "*/a.env"}, "command": "exit 2"})
    assert load().fire_sync("pre_tool_use", tool_name="write_file", tool_args={"path": "a.env"}).refused
    (record,) = [each for each in project.audit() if each["kind"] == "fire"]
    assert record["file"] == str(project.root / "a.env")


def test_a_handler_reads_and_selects_by_the_names_that_the_program_gave(engine: Engine) -> None:
    """It knows its own tools."""
    engine.register("pre_tool_use", lambda _: Verdict.block("no"), matcher="bash", when={"tool_args.cmd": "rm*"})
    assert engine.fire_sync("pre_tool_use", tool_name="exec_command", tool_args={"cmd": "rm x"}).refused
    assert engine.fire_sync("pre_tool_use", tool_name="exec_command", tool_args={"command": "rm x"}).go_on


SEVERAL = {"tool_name": "run_commands", "tool_args": {"commands": ["safe", "rm x"]}}


@rows(
    "guard, refused",
    [
        ({"matcher": "bash", "command": "grep -q safe"}, True),
        ({"when": {"tool_args.command": "rm*"}, "command": "exit 2"}, True),
        ({"when": {"tool_name": "read"}, "command": "exit 2"}, False),
        ({"matcher": "read", "command": "exit 2"}, False),
        ({"command": "true", "mode": "advise"}, False),
    ],
)
def test_a_call_that_is_several_is_refused_where_a_configured_hook_may_guard_one(
    project: Project, load: Load, guard: dict[str, object], *, refused: bool
) -> None:
    """It reads the first of them only; a handler reads all."""
    project.user_hooks({"name": "guard", **guard})
    result = load().fire_sync("pre_tool_use", SEVERAL)
    said = result.message == "hooks (guard) cannot read all of this: run_commands does 2 things here"
    assert (result.refused, said) == (refused, refused)


def test_a_call_that_is_several_and_who_decides_otherwise(project: Project, load: Load, engine: Engine) -> None:
    """An unapproved hook that does not block guards nothing, nor does a disabled one; `on_error` overrides it."""
    engine.register("pre_tool_use", lambda _: None, matcher="bash", on_failure="block")
    assert engine.fire_sync("pre_tool_use", SEVERAL).go_on
    project.hooks({"name": "guard", "command": "true"})
    assert load().fire_sync("pre_tool_use", SEVERAL).go_on
    assert load(trust_project=True).fire_sync("pre_tool_use", SEVERAL).refused
    off = load(trust_project=True)
    off.disable("guard")
    assert off.fire_sync("pre_tool_use", SEVERAL).go_on
    project.user_hooks(on_error="continue")
    assert load(trust_project=True).fire_sync("pre_tool_use", SEVERAL).go_on


def test_after_an_internal_error_the_guard_counts(
    project: Project, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found by hookrun's name of the tool."""
    project.user_hooks({"name": "guard", "matcher": "bash", "command": "true", "on_failure": "block"})
    engine = load()

    def broken(*_: object, **__: object) -> Context:
        raise RuntimeError("x")

    monkeypatch.setattr(engine, "_begin", broken)
    assert not run_tool_sync(engine, "exec_command", {"cmd": "ls"}, lambda **_: "ran").ran
    assert run_tool_sync(engine, "read_file", {"file_path": "a"}, lambda **_: "ran").ran
