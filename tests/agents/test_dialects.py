"""Hook files of other agents, in the shapes of public repositories, decide in hookrun as in their own agents.

Each case of `dialects/AGENT.json` has a file's `settings`, the `scripts` beside it, and `calls`: an event, its context,
the decision of the file's own agent, and a part of what the model gets.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun import Engine
from hookrun.config.discovery import find
from hookrun.config.load import load_config
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.conftest import Project

CASES = Path(__file__).parent / "dialects"
FILES = {
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "copilot": ".github/hooks/policy.json",
    "cursor": ".cursor/hooks.json",
    "windsurf": ".windsurf/hooks.json",
}
NUMBERS = [(agent, n) for agent in FILES for n in range(len(json.loads((CASES / f"{agent}.json").read_text())))]


def included(project: Project, agent: str, settings: object, scripts: dict[str, str] | None = None) -> None:
    """Write an agent's file, and scripts beside it, and include it."""
    path = project.root / FILES[agent]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings))
    for name, text in (scripts or {}).items():
        (path.parent / name).write_text(text)
    subprocess.run(["git", "init", "--quiet", project.root], check=True)
    project.hooks(include=[FILES[agent]])


@pytest.mark.sampled(20)
@pytest.mark.parametrize(("agent", "number"), NUMBERS)
def test_a_file_decides_as_in_its_own_agent(project: Project, agent: str, number: int) -> None:
    """Whatever agent the call is from, with hooks that read the agent's own messages."""
    case: dict[str, Any] = json.loads((CASES / f"{agent}.json").read_text())[number]
    included(project, agent, case["settings"], case["scripts"])
    with Engine.load(project.root, home=project.home, trust_project=True) as engine:
        for event, context, action, text in case["calls"]:
            result = engine.fire_sync(event, {"session_id": "s1", "working_dir": str(project.root), **context})
            said = " ".join(filter(None, (result.message, result.additional_context)))
            assert (result.action, text in said) == (action, True), (event, context, said, result.runs)


@rows("agent", FILES)
def test_a_file_is_without_errors_by_its_own_agent_s_rules(project: Project, agent: str) -> None:
    """Nothing in them is wrong, and every event and tool is known."""
    for case in json.loads((CASES / f"{agent}.json").read_text()):
        included(project, agent, case["settings"], case["scripts"])
        examined = load_config(find(str(project.root), str(project.home)), warns=True)
        assert [str(problem) for problem in examined.problems] == []
        assert all(hook.dialect == agent and hook.error is None for hook in examined.declarations.hooks)


def fired(
    project: Project, agent: str, groups: object, context: Mapping[str, object], event: str = "pre_tool_use"
) -> Any:
    """Return what a hook of the agent's file reads; it writes that to `read.json`."""
    included(project, agent, {"hooks": groups})
    with Engine.load(project.root, home=project.home, trust_project=True) as engine:
        engine.fire_sync(event, {"session_id": "s1", **context})  # type: ignore[arg-type]  # any event of theirs
    return json.loads((project.root / "read.json").read_text())


EDIT: dict[str, Any] = {
    "tool_name": "edit",
    "tool_args": {"file_path": "a.py", "old_string": "x\ny", "new_string": "z"},
}
KEEP = "cat > read.json"
GROUP = [{"hooks": [{"type": "command", "command": KEEP}]}]


KILLED = {
    "copilot": {"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "kill -KILL $$"}]}},
    "gemini": {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "kill -KILL $$"}]}]}},
}


@rows("agent, settings", KILLED.items())
def test_a_killed_hook_refuses_where_its_status_would(project: Project, agent: str, settings: object) -> None:
    """A shell gives it a status of 128 and more, which both agents take for a refusal before a tool."""
    included(project, agent, settings)
    with Engine.load(project.root, home=project.home, trust_project=True) as engine:
        result = engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": "ls"})
    assert (result.action, "signal 9" in (result.message or "")) == ("block", True), result


def test_a_hook_of_codex_reads_a_patch(project: Project) -> None:
    """Codex has no other tool for files; paths are as the model writes them."""
    read = fired(project, "codex", {"PreToolUse": GROUP}, EDIT)
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n-y\n+z\n*** End Patch"
    assert (read["tool_name"], read["tool_input"]) == ("apply_patch", {"command": patch})
    assert read["transcript_path"] is None
    assert {"session_id", "turn_id", "cwd", "hook_event_name", "model", "permission_mode"} <= read.keys()


def test_a_hook_of_gemini_reads_its_names(project: Project) -> None:
    """Of the event, the tool, and the parts of a response."""
    read = fired(project, "gemini", {"AfterTool": GROUP}, {**EDIT, "tool_result_output": "done"}, "post_tool_use")
    assert (read["hook_event_name"], read["tool_name"]) == ("AfterTool", "replace")
    assert read["tool_response"] == {"llmContent": "done", "returnDisplay": "done"}
    read = fired(project, "gemini", {"AfterAgent": GROUP}, {"assistant_response": "bye"}, "stop")
    assert (read["prompt"], read["prompt_response"]) == ("", "bye")


def test_the_name_of_copilots_event_selects_what_a_hook_reads(project: Project) -> None:
    """In camelCase without the event's name; the arguments are Copilot's in both."""
    handlers = [{"type": "command", "bash": KEEP}]
    read = fired(project, "copilot", {"preToolUse": handlers}, EDIT)
    args = {"path": str(project.root / "a.py"), "old_str": "x\ny", "new_str": "z"}
    assert (read["toolName"], read["toolArgs"], read["sessionId"]) == ("edit", args, "s1")
    assert "hook_event_name" not in read
    read = fired(project, "copilot", {"PreToolUse": handlers}, EDIT)
    assert (read["tool_name"], read["tool_input"], read["hook_event_name"]) == ("Edit", args, "PreToolUse")


def test_a_hook_of_cursor_reads_the_fields_of_its_event(project: Project) -> None:
    """One for shell commands has the command, one for edits the changes."""
    read = fired(project, "cursor", {"beforeShellExecution": [{"command": KEEP}]}, CALL)
    assert (read["command"], read["cwd"], read["conversation_id"]) == ("ls", str(project.root), "s1")
    read = fired(project, "cursor", {"afterFileEdit": [{"command": KEEP}]}, EDIT, "post_tool_use")
    assert read["edits"] == [{"old_string": "x\ny", "new_string": "z"}]
    assert read["file_path"] == str(project.root / "a.py")


def test_a_hook_of_windsurf_reads_the_action(project: Project) -> None:
    """Its name, and what is in `tool_info`."""
    read = fired(project, "windsurf", {"pre_run_command": [{"command": KEEP}]}, CALL)
    assert (read["agent_action_name"], read["tool_info"]["command_line"]) == ("pre_run_command", "ls")
    query = {"tool_name": "mcp__db__query", "tool_args": {"sql": "x"}}
    read = fired(project, "windsurf", {"pre_mcp_tool_use": [{"command": KEEP}]}, query)
    assert read["tool_info"] == {"mcp_server_name": "db", "mcp_tool_name": "query", "mcp_tool_arguments": {"sql": "x"}}


CALL = {"tool_name": "bash", "tool_args": {"command": "ls"}}


@rows(
    "agent, event, variable",
    [("gemini", "BeforeTool", "GEMINI_PROJECT_DIR"), ("qwen", "PreToolUse", "QWEN_PROJECT_DIR")],
)
def test_a_hook_has_the_variables_of_its_agent(project: Project, agent: str, event: str, variable: str) -> None:
    """With the project's root, whichever agent calls."""
    command = f'printf \'"%s"\' "${variable}" > read.json'
    groups = {event: [{"hooks": [{"type": "command", "command": command}]}]}
    assert fired(project, agent, groups, CALL) == str(project.root)


def test_an_agent_runs_its_own_file_itself(project: Project) -> None:
    """Every other runs it through hookrun, and nothing runs twice."""
    deny = {"PreToolUse": [{"hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}]}
    included(project, "codex", {"hooks": deny})
    with Engine.load(project.root, home=project.home, trust_project=True) as engine:
        for agent, action in (("codex", "continue"), ("claude", "block")):
            context = {"session_id": "s1", "working_dir": str(project.root), "agent": agent, **CALL}
            assert engine.fire_sync("pre_tool_use", context).action == action


def test_a_changed_patch_becomes_the_change_of_the_tool(project: Project) -> None:
    """One that is about another file or more files blocks the call: no other tool can do it."""
    for text, expected in (("+w", {"new_string": "w"}), ("*** Delete File: b", None)):
        patch = f"*** Begin Patch\n*** Update File: a.py\n@@\n-x\n-y\n{text}\n*** End Patch"
        own = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": patch}}
        (project.root / "answer.json").write_text(json.dumps({"hookSpecificOutput": own}))
        handler = {"type": "command", "command": "cat > read.json; cat answer.json"}
        included(project, "codex", {"hooks": {"PreToolUse": [{"matcher": "apply_patch", "hooks": [handler]}]}})
        with Engine.load(project.root, home=project.home, trust_project=True) as engine:
            result = engine.fire_sync("pre_tool_use", {"session_id": "s1", **EDIT})
        wanted = None if expected is None else {**EDIT["tool_args"], **expected}
        assert (result.action, result.modified_args) == ("modify" if wanted else "block", wanted)


def problems(project: Project, agent: str, hooks: object, **more: object) -> list[str]:
    """Return the problems of an agent's file."""
    included(project, agent, {"hooks": hooks, **more})
    examined = load_config(find(str(project.root), str(project.home)), warns=True)
    return [problem.message for problem in examined.problems]


HANDLER = {"type": "command", "command": "true"}


@rows(
    "agent, hooks, message",
    [
        ("codex", {"PreToolUse": [{"matcher": "Shel", "hooks": [HANDLER]}]}, 'Codex CLI has no tool "Shel": it never'),
        ("gemini", {"PreToolUse": [{"hooks": [HANDLER]}]}, 'Gemini CLI has no event "PreToolUse"'),
        ("gemini", {"BeforeTool": [{"matcher": "bash", "hooks": [HANDLER]}]}, 'Gemini CLI has no tool "bash"'),
        ("cursor", {"beforeTabFileRead": [{"command": "x"}]}, 'Cursor has no event "beforeTabFileRead"'),
        ("copilot", {"preToolUse": [{"bash": "true", "matcher": "*"}]}, "invalid regular expression"),
        ("codex", {"PreToolUse": [{"hooks": [{"type": "prompt"}]}]}, "only Codex CLI can run handlers of type"),
        ("codex", {"PreToolUse": [{"hooks": [{"type": "command"}]}]}, 'a handler of type "command" needs `command`'),
    ],
)
def test_validate_judges_a_file_by_its_own_agent(project: Project, agent: str, hooks: object, message: str) -> None:
    """By its events, tools and matchers, and names it."""
    assert message in " ".join(problems(project, agent, hooks))


def test_what_its_agent_would_not_read(project: Project) -> None:
    """Codex ignores a file with another key; settings can switch hooks off."""
    assert "Codex CLI ignores the whole file" in problems(project, "codex", {}, version=1)[0]
    included(project, "qwen", {"disableAllHooks": True, "hooks": {"PreToolUse": GROUP}})
    (hook,) = load_config(find(str(project.root), str(project.home))).declarations.hooks
    assert hook.mode == "off"


@rows("path", [".opencode/plugin/guard.ts", ".codex/config.toml", ".clinerules/hooks/PreToolUse"])
def test_a_file_that_hookrun_cannot_run_is_named(project: Project, path: str) -> None:
    """The error says whose it is; it is not silence."""
    (project.root / path).parent.mkdir(parents=True, exist_ok=True)
    (project.root / path).write_text("x")
    project.hooks(include=[path])
    examined = load_config(find(str(project.root), str(project.home)), warns=True)
    assert ["hookrun cannot run hooks in this file of" in str(each) for each in examined.problems] == [True]


def test_an_entry_of_our_own_can_be_in_another_agent_s_dialect(project: Project) -> None:
    """Its matcher is hookrun's, what it reads and answers the agent's."""
    answer = json.dumps({"decision": "deny", "reason": "as Gemini says it"})
    project.hooks(
        {"event": "pre_tool_use", "matcher": "bash", "dialect": "gemini", "command": f"cat>r; echo '{answer}'"}
    )
    with Engine.load(project.root, home=project.home, trust_project=True) as engine:
        result = engine.fire_sync("pre_tool_use", {"session_id": "s1", **CALL})
    assert (result.action, result.message) == ("block", "as Gemini says it")
    assert json.loads((project.root / "r").read_text())["tool_name"] == "run_shell_command"
