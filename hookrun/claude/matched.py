"""What the matcher of each of Claude Code's events is tested on, as tables."""

from __future__ import annotations

from hookrun.claude import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
    "SessionStart": "source",
    "SessionEnd": "reason",
    "PreCompact": "trigger",
    "PostCompact": "trigger",
    "Notification": "notification_type",
    "SubagentStart": "agent_type",
    "SubagentStop": "agent_type",
    "StopFailure": "error",
}
"""An event -> the field, of what its hooks read, that its matcher is tested on."""

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


def value(event: str, context: Mapping[str, object]) -> str:
    """Return what the matcher of an event is tested on in a context; empty where there is no such thing."""
    if event in TOOL_EVENTS:
        return names.tool(context) or ""
    if event == WATCHED:
        path = context.get("file_path")
        return path.rpartition("/")[2] if isinstance(path, str) else ""
    if event not in VALUES:
        return ""
    from hookrun.claude import payload

    canonical = next(ours for ours, theirs in names.EVENTS.items() if theirs == event)
    found = payload.of(canonical, context).get(VALUES[event])
    return found if isinstance(found, str) else ""
