"""Matchers and conditions that can never hold are warned about, and nothing that can hold is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookrun.agents import AGENTS
from hookrun.agents.known_tools import ARGUMENTS, native_tools
from hookrun.config.lint import can_be_mcp
from hookrun.recipes import catalog
from tests.config.declared import errors, examined, warnings
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "contexts"


def doubts(path: Path, fields: dict[str, object]) -> list[str]:
    """Return the warnings about a hook of `pre_tool_use` with these fields, which is no error."""
    entry = {"event": "pre_tool_use", "command": "x", **fields}
    result = examined(path / "coder.json", {"hooks": [entry]})
    assert errors(result) == []
    return [str(each) for each in warnings(result)]


@rows(
    "matcher, says",
    [
        ("Bahs", 'did you mean "bash"?'),
        ("Bahs*", 'did you mean "bash"?'),
        ("BASH", 'did you mean "bash"?'),
        ("bash|wirte", 'did you mean "write"?'),
        ("run_shel_command", 'did you mean "run_shell_command"?'),
        ("deploy", "hookrun's names are bash, read, write, edit, delete, glob, grep"),
        ("Shel*", "matches only in Cursor\nhint: write `bash`"),
        (".*", 'write "*", or remove the matcher'),
        ("^Bash$", 'write "Bash"'),
        ("(Edit|Write)", 'write "Edit"'),
        ("mcp__.*", 'write "mcp__*"'),
        ("mcp__memory__.*", 'write "mcp__memory__*"'),
        ("mcp__memory", 'write "mcp__memory__*"'),
        ("mcp__memory__", 'write "mcp__memory__*"'),
        ("Bash(rm:*)", 'write "matcher": "bash", and "when": {"tool_args.command": "rm*"}'),
        ("Bash(git push *)", 'write "matcher": "bash", and "when": {"tool_args.command": "git push *"}'),
        ("Edit(*.ts)", 'write "matcher": "edit"'),
    ],
)
def test_a_matcher_that_no_tool_has(tmp_path: Path, matcher: str, says: str) -> None:
    """The warning names what would match."""
    assert any(says in each for each in doubts(tmp_path, {"matcher": matcher}))


@rows(
    "fields, says",
    [
        ({"when": {"tool_args.comand": "*rm*"}}, 'bash has no argument "comand": the condition never matches'),
        ({"unless": {"tool_args.comand": "*rm*"}}, 'did you mean "command"?'),
        ({"matcher": "Bash", "when": {"tool_args.comand": "*rm*"}}, 'did you mean "command"?'),
        ({"matcher": "run_shell_command", "when": {"tool_args.cmd": "x"}}, 'bash has no argument "cmd"'),
        ({"matcher": "write|edit", "when": {"tool_args.path": "x"}}, 'edit or write has no argument "path"'),
        ({"when": {"tool_args.file_path": "*.env"}}, 'bash has no argument "file_path"'),
        ({"when": {"tool_args": "*rm*"}}, 'write "tool_args.NAME"'),
        ({"when": {"command": "*rm*"}}, 'write "tool_args.command"'),
        ({"when": {"tool_input.command": "*rm*"}}, 'write "tool_args"'),
        ({"when": {"tool": "bash"}}, 'write "tool_name"'),
        ({"when": {"tool_name": "Bash"}}, "hint: write `bash` to match the tool in every agent"),
        ({"when": {"tool_name": ["bash", "Bahs"]}}, 'did you mean "bash"?'),
        ({"when": {"agent": "claud"}}, 'did you mean "claude"?'),
        ({"when": {"event": "PreToolUse"}}, 'did you mean "pre_tool_use"?'),
        ({"matcher": "Bas*", "agents": "gemini"}, "hint: write `bash` to match the tool in every agent"),
    ],
)
def test_a_condition_that_cannot_hold(tmp_path: Path, fields: dict[str, object], says: str) -> None:
    """The warning names a condition that would match."""
    (found,) = doubts(tmp_path, {"matcher": "bash", **fields})
    assert says in found


def test_a_misspelt_argument_without_a_matcher(tmp_path: Path) -> None:
    """The hook runs for tools that hookrun does not know, too: only what is like a known argument is doubted."""
    (found,) = doubts(tmp_path, {"when": {"tool_args.comand": "x"}})
    assert 'no known tool has the argument "comand"\nhint: did you mean "command"?' in found


@rows(
    "fields",
    [
        {"matcher": "*"},
        {"matcher": "web_*"},
        {"matcher": "[Bb]ash"},
        {"matcher": "?ash"},
        {"matcher": "mcp*"},
        {"matcher": "mcp__*__write*"},
        {"matcher": "mcp__github__create_issue"},
        {"matcher": "github_create_issue"},
        {"matcher": "github/create-issue"},
        {"matcher": "Shell", "agents": ["cursor"]},
        {"matcher": "mail_*"},
        {"matcher": "bash", "when": {"tool_args.description": "x"}},
        {"when": {"tool_args.recipient": "x"}},
        {"matcher": "mcp__mail__send", "when": {"tool_args.comand": "x"}},
        {"matcher": "bash|mcp__*", "when": {"tool_args.comand": "x"}},
        {"matcher": "bash", "when": {"tool_name": "bash", "agent_tool_name": "run_shell_command", "agent": "cl*"}},
        {"matcher": "bash", "when": {"permission_mode": "plan", "source": "x", "payload.command": "x"}},
    ],
)
def test_what_can_hold_is_not_doubted(tmp_path: Path, fields: dict[str, object]) -> None:
    """A glob that some tool has, an argument that a tool may have, and fields that agents add."""
    assert doubts(tmp_path, fields) == []


def test_the_tools_of_a_program_are_its_own(tmp_path: Path) -> None:
    """The tools and fields of a program that fires its own events are unknown."""
    hook = {"event": "my_event", "matcher": "deploy", "when": {"command": "x"}, "command": "x"}
    assert warnings(examined(tmp_path / "coder.json", {"hookrun": {"events": ["my_event"]}, "hooks": [hook]})) == []


def recorded() -> Iterator[tuple[str, str, list[str]]]:
    """Yield canonical and own name and the arguments of every tool in the recorded contexts."""
    objects: list[Any] = []

    def keep(found: object) -> object:
        objects.append(found)
        return found

    for path in sorted(GOLDEN.glob("*.json")):
        json.loads(path.read_text(), object_hook=keep)
    for value in objects:
        if isinstance(value.get("tool_name"), str):
            args = value.get("tool_args")
            own = str(value.get("agent_tool_name") or value["tool_name"])
            yield value["tool_name"], own, list(args) if isinstance(args, dict) else []


def test_what_agents_were_seen_to_send_is_not_doubted(tmp_path: Path) -> None:
    """Each recorded tool, by both of its names, and each of its arguments."""
    seen = {(canonical, own, argument) for canonical, own, args in recorded() for argument in args or ["x"]}
    assert len(seen) > 30
    for canonical, own, argument in seen:
        fields: dict[str, object] = {"when": {f"tool_args.{argument}": "x"}} if canonical in ARGUMENTS else {}
        assert doubts(tmp_path, {"matcher": canonical, **fields}) == []
        assert doubts(tmp_path, {"matcher": own}) == []


def test_every_name_of_every_agent_is_known(tmp_path: Path) -> None:
    """Tool names in an agent's table get no warning, and each is a plain word."""
    names = sorted({name for agent in AGENTS for name in native_tools(agent)} | set(ARGUMENTS))
    assert doubts(tmp_path, {"matcher": names}) == []
    assert {ours for agent in AGENTS for ours in native_tools(agent).values()} >= set(ARGUMENTS) - {"delete"}


def test_no_recipe_is_doubted(tmp_path: Path) -> None:
    """The recipes follow hookrun's own advice."""
    hooks = [json.loads(json.dumps(dict(hook))) for name in catalog.names() for hook in catalog.find(name).hooks]
    assert [str(each) for each in warnings(examined(tmp_path / "coder.json", {"hooks": hooks}))] == []


@rows(
    "pattern, can",
    [
        ("mcp__s__t", True),
        ("mcp__a_b__c.d", True),
        ("m*", True),
        ("*", True),
        ("mcp__*", True),
        ("mcp??s__t", True),
        ("mcp__[a-z]*__x", True),
        ("*__write*", True),
        ("mcp__s", False),
        ("mcp__.*", False),
        ("mcp__s__", False),
        ("mcp_s_t", False),
        ("Mcp__s__t", False),
        ("", False),
        ("*.*.*", True),
        ("* *", False),
    ],
)
def test_globs_that_a_tool_of_an_mcp_server_can_have(pattern: str, *, can: bool) -> None:
    """Decided exactly, whatever server and tool are called."""
    assert can_be_mcp(pattern) is can
