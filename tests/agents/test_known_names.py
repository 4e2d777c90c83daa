"""Agents' names of tools, in matchers and in a program's contexts: each means the tool everywhere."""

from __future__ import annotations

import json
from typing import Any

from hookrun import Engine, Verdict
from hookrun.agents.known_tools import ARGUMENTS
from hookrun.claude.matcher import matches
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.events import TOOLS
from hookrun.core.model import Hook
from hookrun.trust.digest import declaration
from tests.cli.command import hookrun
from tests.conftest import Project
from tests.rows import rows

PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch"

CONTEXTS: list[tuple[dict[str, Any], str, bool]] = [
    ({"tool_name": "Bash", "tool_args": {"command": "rm"}}, "bash", True),
    ({"tool_name": "Shell", "tool_args": {"command": "rm"}}, "run_shell_command", True),
    ({"tool_name": "run_shell_command"}, "Bash", True),
    ({"tool_name": "bash"}, "Bash", True),
    ({"tool_name": "Write", "tool_args": {"file_path": "a"}}, "write", True),
    ({"tool_name": "write_file", "tool_args": {"path": "a"}}, "Write|Edit", True),
    ({"tool_name": "create", "tool_args": {"title": "a ticket"}}, "write", False),  # a program's own
    ({"tool_name": "create", "tool_args": {"title": "a ticket"}}, "create", True),
    ({"tool_name": "exec_command", "tool_args": {"cmd": "rm"}}, "bash", True),
    ({"tool_name": "NotebookEdit", "tool_args": {"notebook_path": "a"}}, "edit", True),
    ({"tool_name": "spawn_agent", "tool_args": {"message": "a"}}, "task", True),
    ({"tool_name": "run_typescript", "tool_args": {"code": "a"}}, "bash", True),
    ({"tool_name": "list_directory", "tool_args": {"path": "a"}}, "glob", True),
    ({"tool_name": "read_many_files", "tool_args": {"paths": ["a", "b"]}}, "read", True),
    ({"tool_name": "read_many_files", "tool_args": {"paths": ["a", "b"]}}, "write", False),
    ({"tool_name": "run_commands", "tool_args": {"commands": ["a", "b"]}}, "bash", True),
    ({"tool_name": "apply_patch", "tool_args": {"input": PATCH}}, "delete", True),
    ({"tool_name": "apply_patch", "tool_args": {"input": PATCH}}, "bash", False),
    ({"tool_name": "apply_patch", "tool_args": {"text": "a plaster"}}, "edit", False),
    ({"tool_name": "Read"}, "bash", False),
    ({"tool_name": "mcp__my-files__read"}, "mcp__my_files__*", True),
    ({"tool_name": "mcp__my_files__read"}, "mcp__my-files__read", True),
    ({"tool_name": "mcp__my_files__read"}, "mcp__my-file__read", False),
]


def test_the_names_are_those_with_arguments() -> None:
    """One table has the names for the way of each call, the other what they take."""
    assert ARGUMENTS.keys() == TOOLS


@rows("context, matcher, blocked", CONTEXTS)
def test_a_handler_of_a_program(context: dict[str, Any], matcher: str, *, blocked: bool) -> None:
    """With an agent's name in its matcher, or in the context."""
    with Engine() as engine:
        engine.register("pre_tool_use", lambda _: Verdict.block("no"), matcher=matcher)
        assert engine.fire_sync("pre_tool_use", context).refused is blocked


@rows("context, matcher, blocked", CONTEXTS)
def test_hookrun_fire_and_try(project: Project, context: dict[str, Any], matcher: str, *, blocked: bool) -> None:
    """The same for configured hooks."""
    project.user_hooks({"name": "guard", "matcher": matcher, "command": "echo no >&2; exit 2"})
    path = project.root / "context.json"
    path.write_text(json.dumps(context))
    assert project.fire(context).status == 2 * blocked
    tried = hookrun(project, "try", "--ctx", str(path))
    assert ("block" in tried.stdout) is blocked, tried.stdout


def test_hooks_get_hookrun_s_name_and_the_given_one() -> None:
    """As in a message of an agent."""
    seen: list[object] = []
    with Engine() as engine:
        engine.register("pre_tool_use", lambda ctx: seen.append((ctx.tool_name, ctx.agent_tool_name)))
        engine.fire_sync("pre_tool_use", tool_name="Bash", tool_args={"command": "ls"})
        engine.fire_sync("pre_tool_use", tool_name="terminal", tool_args={"command": "ls"})
    assert seen == [("bash", "Bash"), ("terminal", None)]


@rows(
    "matcher, tool, found",
    [
        ("mcp__my-files__read", "mcp__my_files__read", True),
        ("mcp__my_files__.*", "mcp__my-files__read", True),
        ("mcp__my-other__.*", "mcp__my-files__read", False),
        ("mcp__[a-z]+__read", "mcp__my_files__read", False),  # a class of characters is left as it is
    ],
)
def test_names_of_mcp_servers_in_claude_code_s_form(matcher: str, tool: str, *, found: bool) -> None:
    """`-` and `_` are alike there, too."""
    assert matches(matcher, "PreToolUse", {"tool_name": tool}) is found


@rows(
    "matcher, found", [(["mcp__a-b__*"], True), (["mcp__a_b__c"], True), (["mcp__[a-b]__c"], False), (["a-b"], False)]
)
def test_names_of_mcp_servers_in_a_matcher(matcher: list[str], *, found: bool) -> None:
    """A class of characters keeps its hyphen, and other tools' names theirs."""
    assert ConditionEvaluator({"tool_name": "mcp__a_b__c"}).tool_matches(matcher) is found


def in_claudes_form(matcher: str) -> dict[str, Any]:
    """Return a project's file with a guard in Claude Code's form."""
    handler = {"type": "command", "command": "echo no >&2; exit 2"}
    return {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [handler]}]}}


IN_CLAUDES_FORM: list[tuple[str, dict[str, Any], bool]] = [
    ("run_shell_command", {"tool_name": "bash"}, True),
    ("run_shell_command|apply_patch", {"tool_name": "bash"}, True),
    ("run_shell_command|apply_patch", {"tool_name": "delete", "tool_args": {"file_path": "a"}}, True),
    ("run_shell_command|apply_patch", {"tool_name": "read", "tool_args": {"file_path": "a"}}, False),
    ("Shell, write_file", {"tool_name": "write", "tool_args": {"file_path": "a"}}, True),
    ("exec_command", {"tool_name": "Bash", "tool_args": {"command": "ls"}}, True),
    ("bash", {"tool_name": "run_shell_command"}, True),  # OpenCode's name, and hookrun's
    ("^(run_shell_command|mcp__x__.*)$", {"tool_name": "bash"}, True),
    ("mcp__x__.*|run_shell_command", {"tool_name": "bash"}, True),
    ("run_shell.*", {"tool_name": "bash"}, False),  # an expression
    ("^(?!x|run_shell_command|y)", {"tool_name": "mcp__x__y"}, True),
    ("^(?!Bash|run_shell_command|y)", {"tool_name": "bash"}, False),
    ("Write", {"tool_name": "edit", "tool_args": {"file_path": "a"}}, False),  # Claude Code's names keep their meaning
    ("NotebookEdit", {"tool_name": "edit", "tool_args": {"file_path": "a"}}, False),
]


@rows("matcher, context, blocked", IN_CLAUDES_FORM)
def test_matchers_in_claude_code_s_form(
    project: Project, matcher: str, context: dict[str, Any], *, blocked: bool
) -> None:
    """In a project's own file, and in Claude Code's settings where another agent runs them."""
    (project.root / ".claude").mkdir(exist_ok=True)
    (project.root / ".claude" / "settings.json").write_text("{}")
    (project.root / "coder.json").write_text(json.dumps(in_claudes_form(matcher)))
    assert project.fire(context).status == 2 * blocked
    (project.root / "coder.json").write_text(json.dumps({"hookrun": {"include_claude": True}}))
    settings = project.root / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps(in_claudes_form(matcher)))
    assert project.fire(context).status == 2 * blocked


def test_the_same_handler_under_the_names_of_two_agents_runs_once(project: Project) -> None:
    """As under one name twice."""
    handler = {"type": "command", "command": "echo ran >> ran"}
    groups = [{"matcher": each, "hooks": [handler]} for each in ("run_shell_command", "Bash")]
    (project.root / "coder.json").write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
    project.fire({"tool_name": "bash"})
    assert (project.root / "ran").read_text() == "ran\n"


def test_an_agent_s_name_in_claude_code_s_form_needs_no_other_approval() -> None:
    """Which tools it stands for is a matter of hookrun's version."""
    forms = ({"matcher": "Shell"}, {"matcher": "Shell", "tools": ["bash"]})
    hooks = [Hook.from_dict({"name": "a", "kind": "command", "target": "x", "claude": each}) for each in forms]
    assert len({declaration(hook, "/p", "/h") for hook in hooks}) == 1


ARGUMENTS_OF_AGENTS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("exec_command", {"cmd": "rm x"}, {"tool_args.command": "rm *"}),
    ("run_typescript", {"code": "rm x"}, {"tool_args.command": "rm *"}),
    ("run_commands", {"commands": ["rm x"]}, {"tool_args.command": "rm *"}),
    ("Write", {"path": "a.env", "file_text": "x"}, {"tool_args.file_path": "*.env", "tool_args.content": "x"}),
    ("write_file", {"path": "a.env"}, {"file_path": "*.env"}),
    ("NotebookEdit", {"notebook_path": "a.env"}, {"tool_args.file_path": "*.env"}),
    ("read_files", {"files": [{"path": "a.env"}]}, {"tool_args.file_path": "*.env"}),
    ("apply_patch", {"input": "*** Begin Patch\n*** Add File: a.env\n+x\n*** End Patch"}, {"file_path": "*.env"}),
    ("StrReplace", {"path": "a", "old_string": "x"}, {"tool_args.file_path": "a"}),
    ("Grep", {"pattern": "x", "path": "a"}, {"tool_args.path": "a"}),
]


@rows("tool, args, when", ARGUMENTS_OF_AGENTS)
def test_arguments_of_an_agent_s_tool(project: Project, tool: str, args: dict[str, Any], when: dict[str, str]) -> None:
    """In `fire`, `try`, `test` and a program a configured hook reads them as from that agent."""
    project.user_hooks({"name": "guard", "when": when, "command": "echo no >&2; exit 2"})
    path = project.root / "context.json"
    path.write_text(json.dumps({"tool_name": tool, "tool_args": args}))
    assert project.fire({"tool_name": tool, "tool_args": args}).status == 2
    assert "block" in hookrun(project, "try", "--ctx", str(path)).stdout
    with Engine.load(project.root, home=project.home) as engine:
        assert engine.fire_sync("pre_tool_use", tool_name=tool, tool_args=args).refused
    project.hooks({"name": "g", "when": when, "command": "exit 2"})
    case = {"event": "pre_tool_use", "context": {"tool_name": tool, "tool_args": args}, "expect": {"action": "block"}}
    (project.root / "g.hooktest.json").write_text(json.dumps({"cases": [{"name": "a", **case}]}))
    tested = hookrun(project, "test")
    assert tested.status == 0, tested.stdout + tested.stderr


def test_a_change_has_the_names_that_were_given(project: Project) -> None:
    """The caller runs its own tool with it."""
    answer = json.dumps({"action": "modify", "modified_args": {"command": "ls"}})
    project.user_hooks({"name": "change", "command": f"echo '{answer}'"})
    assert project.fire({"tool_name": "exec_command", "tool_args": {"cmd": "rm"}}).verdict["modified_args"] == {
        "cmd": "ls"
    }
    refused = project.fire({"tool_name": "run_commands", "tool_args": {"commands": ["rm"]}})
    assert (refused.status, "does not take the arguments" in refused.stderr) == (2, True)


def test_a_call_that_is_several_is_refused_where_one_may_be_guarded(project: Project) -> None:
    """The second command is judged by none."""
    project.user_hooks({"name": "guard", "matcher": "bash", "command": "grep -q safe"})
    context = {"tool_name": "run_commands", "tool_args": {"commands": ["safe", "rm x"]}}
    refused = project.fire(context)
    assert (refused.status, "run_commands does 2 things here" in refused.stderr) == (2, True)
    assert project.fire({"tool_name": "read_many_files", "tool_args": {"paths": ["a", "b"]}}).status == 0


def test_a_program_s_handler_reads_the_arguments_that_the_program_gave() -> None:
    """It changes them under the same names."""
    seen: list[object] = []
    with Engine() as engine:
        engine.register("pre_tool_use", lambda ctx: seen.append((ctx.tool_name, ctx.tool_args)))
        engine.fire_sync("pre_tool_use", tool_name="exec_command", tool_args={"cmd": "ls"})
    assert seen == [("bash", {"cmd": "ls"})]
