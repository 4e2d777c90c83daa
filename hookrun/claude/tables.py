"""Tables of Claude Code: names of events, tools and arguments, and the rules of each event."""

from __future__ import annotations

from hookrun.events import CLAUDE_EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Holds = str | tuple[str, ...]
    FieldTypes = Mapping[str, Holds]

EVENTS = {event: native for native, event in CLAUDE_EVENTS.items()}
"""hookrun's event -> Claude's. Other events keep their name."""

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
"""hookrun's tool -> Claude's. Other tools keep their name: those of MCP servers, and `delete`."""

ARGUMENTS = {"NotebookEdit": {"file_path": "notebook_path", "new_string": "new_source"}}
"""Claude's tool -> hookrun's argument -> Claude's, where they differ."""

ABSOLUTE = frozenset({"read", "write", "edit", "delete"})
"""Tools whose `file_path` is always absolute in Claude's messages."""


NATIVE_EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification", "UserPromptSubmit"),
    *("UserPromptExpansion", "SessionStart", "SessionEnd", "Stop", "StopFailure", "SubagentStart", "SubagentStop"),
    *("PreCompact", "PostCompact", "PreModelSwitch", "PostModelSwitch", "PermissionRequest", "PermissionDenied"),
    *("Setup", "TeammateIdle", "TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult", "ConfigChange"),
    *("WorktreeCreate", "WorktreeRemove", "InstructionsLoaded", "CwdChanged", "FileChanged", "DirectoryAdded"),
    "MessageDisplay",
)
"""All events of Claude Code."""

HANDLER_TARGETS = {"command": "command", "http": "url"}
"""Type of handler -> the field that names what it runs."""

UNSUPPORTED_HANDLERS = ("prompt", "agent", "mcp_tool")
"""Types of handlers that only Claude Code can run."""


def native_event(name: str) -> str:
    """Return Claude's name of hookrun's event."""
    return EVENTS.get(name, name)


def native_tool(context: Mapping[str, object]) -> str | None:
    """Return Claude's name of the context's tool, or None."""
    name, own = context.get("tool_name"), context.get("agent_tool_name")
    if context.get("agent") == "claude" and isinstance(own, str):
        return own
    return TOOLS.get(name, name) if isinstance(name, str) else None


def native_tools(context: Mapping[str, object]) -> list[str]:
    """Return every name that Claude Code may have for the context's tool."""
    possible = context.get("possible_tool_names")
    names = [native_tool(context), *(possible if isinstance(possible, list) else ())]
    return [name for name in names if isinstance(name, str)]


def native_arguments(context: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments of the context's tool by Claude's names, with an absolute path."""
    args = context.get("tool_args")
    if not isinstance(args, dict):
        return {}
    if _path_is_absolute(context):
        args = {**args, "file_path": context["file_path"]}
    table = ARGUMENTS.get(native_tool(context) or "", {})
    return {table.get(str(key), str(key)): value for key, value in args.items()}


def canonical_arguments(context: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Return arguments by hookrun's names: the inverse of `native_arguments`."""
    table = {theirs: ours for ours, theirs in ARGUMENTS.get(native_tool(context) or "", {}).items()}
    args = {table.get(key, key): value for key, value in given.items()}
    before = context.get("tool_args")
    if isinstance(before, dict) and _path_is_absolute(context) and args.get("file_path") == context["file_path"]:
        args["file_path"] = before["file_path"]
    return args


def _path_is_absolute(context: Mapping[str, object]) -> bool:
    args = context.get("tool_args")
    named = isinstance(args, dict) and isinstance(args.get("file_path"), str)
    return named and context.get("tool_name") in ABSOLUTE and isinstance(context.get("file_path"), str)


TEXT, FLAG, OBJECT, TEXTS, ANYTHING = "a string", "true or false", "an object", "a list of strings", "anything"
"""Types of fields. A tuple means one of its strings."""

TOP: FieldTypes = {
    "continue": FLAG,
    "stopReason": TEXT,
    "suppressOutput": FLAG,
    "systemMessage": TEXT,
    "terminalSequence": TEXT,
    "decision": ("approve", "block"),
    "reason": TEXT,
    "hookSpecificOutput": OBJECT,
}
"""Fields of an answer at any event -> their types."""

CONTEXT: FieldTypes = {"additionalContext": TEXT}
BLOCK, PERSON, NOTHING = "block", "person", "nothing"
"""Effects of exit status 2: a block, a message to the user, or nothing."""


class Rules:
    """What has an effect at an event.

    `exit_2` is the effect of exit status 2. `obeys` are the effective fields of TOP, `fields` those of
    `hookSpecificOutput` with their types, None if there is no such object. `lost` are fields that only Claude Code
    supports. With `plain`, plain text on stdout goes to the model.
    """

    __slots__ = ("exit_2", "fields", "lost", "obeys", "plain")

    def __init__(
        self, exit_2: str, obeys: str = "", fields: FieldTypes | None = None, *, lost: str = "", plain: bool = False
    ) -> None:
        self.exit_2 = exit_2
        self.obeys = frozenset(obeys.split())
        self.fields = fields
        self.lost = frozenset(lost.split())
        self.plain = plain


LEGACY_TOOLS = {
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
"""Tool names of older versions, which matchers may still use -> the current names."""

TOOL_EVENTS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"})
"""Events of a tool call: matchers are compared with the tool's name, and `if` is evaluated."""

MATCHES_ALL = ("", "*")
"""Matchers that match every value."""

EVERYTHING = "decision continue systemMessage"
OTHER = Rules(BLOCK, EVERYTHING, CONTEXT)
"""The rules of events that Claude Code does not have."""

RULES = {
    "PreToolUse": Rules(
        BLOCK,
        EVERYTHING,
        {
            "permissionDecision": ("allow", "deny", "ask", "defer"),
            "permissionDecisionReason": TEXT,
            "updatedInput": OBJECT,
            **CONTEXT,
        },
    ),
    "PermissionRequest": Rules(NOTHING, "continue systemMessage", {"decision": OBJECT}),
    "PermissionDenied": Rules(NOTHING, "", {"retry": FLAG}, lost="retry"),
    "PostToolUse": Rules(
        BLOCK,
        EVERYTHING,
        {**CONTEXT, "classifierContext": TEXT, "updatedToolOutput": ANYTHING, "updatedMCPToolOutput": ANYTHING},
        lost="classifierContext updatedToolOutput updatedMCPToolOutput",
    ),
    "PostToolUseFailure": Rules(BLOCK, EVERYTHING, CONTEXT),
    "UserPromptSubmit": Rules(
        BLOCK,
        EVERYTHING,
        {**CONTEXT, "sessionTitle": TEXT, "suppressOriginalPrompt": FLAG},
        lost="sessionTitle suppressOriginalPrompt",
        plain=True,
    ),
    "SessionStart": Rules(
        PERSON,
        "systemMessage",
        {**CONTEXT, "initialUserMessage": TEXT, "sessionTitle": TEXT, "watchPaths": TEXTS, "reloadSkills": FLAG},
        lost="initialUserMessage sessionTitle watchPaths reloadSkills",
        plain=True,
    ),
    "SessionEnd": Rules(PERSON),
    "Stop": Rules(BLOCK, EVERYTHING, CONTEXT),
    "SubagentStop": Rules(BLOCK, EVERYTHING, CONTEXT),
    "SubagentStart": Rules(PERSON, "continue systemMessage", CONTEXT),
    "StopFailure": Rules(NOTHING),
    "Notification": Rules(NOTHING, "", CONTEXT, lost="additionalContext"),
    "PreCompact": Rules(BLOCK, "decision"),
    "PostCompact": Rules(PERSON),
    "FileChanged": Rules(NOTHING, "systemMessage", {"watchPaths": TEXTS}, lost="watchPaths"),
    "MessageDisplay": Rules(NOTHING, "", {"displayContent": TEXT}, lost="displayContent"),
}
"""Claude's event -> its rules."""

GOES_ON = frozenset({"Stop", "SubagentStop"})
"""Events at which a block (or text for the model) continues the turn, and `onFailure` has no effect."""


def rules(event: str) -> Rules:
    """Return the rules of one of Claude's events."""
    return RULES.get(event, OTHER)


def failure_blocks(event: str) -> bool:
    """Return whether `onFailure: block` has an effect at an event: it acts like exit status 2."""
    return rules(event).exit_2 == BLOCK and event not in GOES_ON
