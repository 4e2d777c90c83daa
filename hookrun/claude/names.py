"""What Claude Code calls the events, tools and arguments that hookrun knows by other names. No imports."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

EVENTS = {
    "session_start": "SessionStart",
    "session_end": "SessionEnd",
    "user_prompt_submit": "UserPromptSubmit",
    "assistant_response": "MessageDisplay",
    "pre_tool_use": "PreToolUse",
    "post_tool_use": "PostToolUse",
    "post_tool_failure": "PostToolUseFailure",
    "permission_request": "PermissionRequest",
    "tool_call_aborted": "PermissionDenied",
    "file_changed": "FileChanged",
    "stop": "Stop",
    "error": "StopFailure",
    "subagent_start": "SubagentStart",
    "subagent_stop": "SubagentStop",
    "pre_compact": "PreCompact",
    "post_compact": "PostCompact",
    "notification": "Notification",
}
"""hookrun's event -> Claude's. Events that are not here have no counterpart and keep their name."""

TOOLS = {
    "bash": "Bash",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "glob": "Glob",
    "grep": "Grep",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "task": "Agent",
}
"""hookrun's tool -> Claude's. Tools that are not here keep their name: those of MCP servers, and `delete`."""

ARGUMENTS = {"NotebookEdit": {"file_path": "notebook_path", "new_string": "new_source"}}
"""Claude's tool -> hookrun's name of an argument -> Claude's, as far as they differ."""

ABSOLUTE = frozenset({"read", "write", "edit", "delete"})
"""The tools whose `file_path` is absolute in Claude's messages, whatever the agent has."""


def event(name: str) -> str:
    """Return Claude's name of hookrun's event."""
    return EVENTS.get(name, name)


def tool(context: Mapping[str, object]) -> str | None:
    """Return Claude's name of the tool of a context, None where it has none."""
    name, own = context.get("tool_name"), context.get("agent_tool_name")
    if context.get("agent") == "claude" and isinstance(own, str):
        return own
    return TOOLS.get(name, name) if isinstance(name, str) else None


def arguments(context: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments of a context's tool as Claude has them: its names, a file's path absolute."""
    args = context.get("tool_args")
    if not isinstance(args, dict):
        return {}
    if _path_is_absolute(context):
        args = {**args, "file_path": context["file_path"]}
    table = ARGUMENTS.get(tool(context) or "", {})
    return {table.get(str(key), str(key)): value for key, value in args.items()}


def canonical_arguments(context: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Return arguments as Claude has them by hookrun's names: the way back from `arguments`."""
    table = {theirs: ours for ours, theirs in ARGUMENTS.get(tool(context) or "", {}).items()}
    args = {table.get(key, key): value for key, value in given.items()}
    before = context.get("tool_args")
    if isinstance(before, dict) and _path_is_absolute(context) and args.get("file_path") == context["file_path"]:
        args["file_path"] = before["file_path"]
    return args


def _path_is_absolute(context: Mapping[str, object]) -> bool:
    args = context.get("tool_args")
    named = isinstance(args, dict) and isinstance(args.get("file_path"), str)
    return named and context.get("tool_name") in ABSOLUTE and isinstance(context.get("file_path"), str)
