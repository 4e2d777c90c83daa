"""What Claude Code calls tools and what a matcher is tested on, as tables. No imports of ours."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CLAUDE = "claude"
"""The agent whose own names count as they are."""

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
"""A canonical tool -> what Claude Code calls it. Any other keeps its name: so do the tools of MCP servers."""

LEGACY = {
    "Brief": "SendUserMessage",
    "KillBash": "TaskStop",
    "KillShell": "TaskStop",
    "ListMcpResources": "ListMcpResourcesTool",
    "ListPeers": "ListAgents",
    "ProposeGoal": "SetGoal",
    "ReadMcpResource": "ReadMcpResourceTool",
    "ReadMcpResourceDir": "ReadMcpResourceDirTool",
    "Task": "Agent",
}
"""Names that tools had in older versions, which matchers may still use -> their names now."""

TOOL_EVENTS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"})
"""The events of a tool call: their matchers are tested on the tool's name, and only here is an `if` looked at."""

VALUES = {
    "SessionStart": ("source",),
    "SessionEnd": ("reason",),
    "PreCompact": ("trigger",),
    "PostCompact": ("trigger",),
    "Notification": ("notification_type",),
    "SubagentStart": ("agent_type", "agent_name"),
    "SubagentStop": ("agent_type", "agent_name"),
    "StopFailure": ("error", "error_info"),
}
"""An event -> the fields of a context that hold what its matcher is tested on, the first that is there."""

UNSAID = {"SessionStart": "startup", "SessionEnd": "other", "PreCompact": "auto", "PostCompact": "auto"}
"""What is taken where an agent does not say: the ordinary case."""

SAID_OTHERWISE = {("SessionStart", "new"): "startup"}
"""What another agent says -> what Claude Code would."""

WITHOUT_MATCHER = frozenset(
    {
        "CwdChanged",
        "MessageDisplay",
        "PostToolBatch",
        "Stop",
        "TaskCompleted",
        "TaskCreated",
        "TeammateIdle",
        "UserPromptSubmit",
        "WorktreeCreate",
        "WorktreeRemove",
    }
)
"""The events on which a matcher is ignored."""

WATCHED = "FileChanged"
"""The event whose matcher also lists the files that are watched."""

NARROW = frozenset({WATCHED, "StopFailure"})
"""The events whose matchers are lists only if they are of letters, digits, `_` and `|`."""


def tool(context: Mapping[str, object]) -> str:
    """Return what Claude Code calls the tool of a context; empty where there is none."""
    name = context.get("agent_tool_name") if context.get("agent") == CLAUDE else None
    if not isinstance(name, str):
        name = context.get("tool_name")
    return TOOLS.get(name, name) if isinstance(name, str) else ""


def value(event: str, context: Mapping[str, object]) -> str:
    """Return what the matcher of an event is tested on in a context; empty where the agent does not say."""
    if event in TOOL_EVENTS:
        return tool(context)
    if event == WATCHED:
        path = context.get("file_path")
        return path.rpartition("/")[2] if isinstance(path, str) else ""
    for field in VALUES.get(event, ()):
        found = context.get(field)
        if isinstance(found, dict):
            found = found.get("error_message")
        if isinstance(found, str):
            return SAID_OTHERWISE.get((event, found), found)
    return UNSAID.get(event, "")
