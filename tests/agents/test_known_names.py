"""Agents' names of tools, in matchers and in a program's contexts: each means the tool everywhere."""

from __future__ import annotations

import json
from typing import Any

from hookrun import Engine, Verdict
from hookrun.agents.known_tools import ARGUMENTS
from hookrun.claude.matcher import matches
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.events import TOOLS
from tests.cli.command import hookrun
from tests.conftest import Project
from tests.rows import rows

CONTEXTS: list[tuple[dict[str, Any], str, bool]] = [
    ({"tool_name": "Bash", "tool_args": {"command": "rm"}}, "bash", True),
    ({"tool_name": "Shell", "tool_args": {"command": "rm"}}, "run_shell_command", True),
    ({"tool_name": "run_shell_command"}, "Bash", True),
    ({"tool_name": "bash"}, "Bash", True),
    ({"tool_name": "Write", "tool_args": {"file_path": "a"}}, "write", True),
    ({"tool_name": "write_file", "tool_args": {"path": "a"}}, "Write|Edit", True),
    ({"tool_name": "create", "tool_args": {"title": "a ticket"}}, "write", False),  # a program's own
    ({"tool_name": "create", "tool_args": {"title": "a ticket"}}, "create", True),
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
