"""Claude Code's hook protocol: events, tools and arguments, the rules of each event, and what hooks read."""

from __future__ import annotations

from hookrun.core.events import CLAUDE_EVENTS, CLAUDE_TOOLS, REPLACEABLE
from hookrun.core.fastjson import dumps
from hookrun.core.model import as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Holds = str | tuple[str, ...]
    FieldTypes = Mapping[str, Holds]
    Context = Mapping[str, object]
    Payload = dict[str, object]


# hookrun's event -> Claude's. Other events keep their name.
EVENTS = {event: native for native, event in CLAUDE_EVENTS.items()}

# Claude's tool -> hookrun's argument -> Claude's, where they differ.
ARGUMENTS = {"NotebookEdit": {"file_path": "notebook_path", "new_string": "new_source"}}

# Tools whose `file_path` is always absolute in Claude's messages.
ABSOLUTE = frozenset({"read", "write", "edit", "delete"})


# All events of Claude Code.
NATIVE_EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification", "UserPromptSubmit"),
    *("UserPromptExpansion", "SessionStart", "SessionEnd", "Stop", "StopFailure", "SubagentStart", "SubagentStop"),
    *("PreCompact", "PostCompact", "PreModelSwitch", "PostModelSwitch", "PermissionRequest", "PermissionDenied"),
    *("Setup", "TeammateIdle", "TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult", "ConfigChange"),
    *("WorktreeCreate", "WorktreeRemove", "InstructionsLoaded", "CwdChanged", "FileChanged", "DirectoryAdded"),
    *("MessageDisplay", "PreSkillShellCommand"),
)

# Type of handler -> the field with what it runs.
HANDLER_TARGETS = {"command": "command", "http": "url"}

# Types of handlers that only Claude Code can run.
UNSUPPORTED_HANDLERS = ("prompt", "agent", "mcp_tool")


def native_event(name: str) -> str:
    """Return Claude's name of hookrun's event."""
    return EVENTS.get(name, name)


def native_tool(context: Mapping[str, object]) -> str | None:
    """Return Claude's name of the context's tool, or None."""
    name, own = context.get("tool_name"), context.get("agent_tool_name")
    if context.get("agent") == "claude" and isinstance(own, str):
        return own
    return CLAUDE_TOOLS.get(name, name) if isinstance(name, str) else None


def native_tools(context: Mapping[str, object]) -> list[str]:
    """Return every name Claude Code may have for the context's tool."""
    possible = context.get("possible_tool_names")
    names = [native_tool(context), *(possible if isinstance(possible, list) else ())]
    return [name for name in names if isinstance(name, str)]


def native_arguments(context: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments of the context's tool by Claude's names, with an absolute path."""
    args = as_object(context.get("tool_args"))
    if _path_is_absolute(context):
        args = {**args, "file_path": context["file_path"]}
    table = ARGUMENTS.get(native_tool(context) or "", {})
    return {table.get(str(key), str(key)): value for key, value in args.items()}


def canonical_arguments(context: Mapping[str, object], native: Mapping[str, object]) -> dict[str, object]:
    """Return arguments by hookrun's names: the inverse of `native_arguments`."""
    table = {theirs: ours for ours, theirs in ARGUMENTS.get(native_tool(context) or "", {}).items()}
    args = {table.get(key, key): value for key, value in native.items()}
    if _path_is_absolute(context) and args.get("file_path") == context["file_path"]:
        args["file_path"] = as_object(context["tool_args"])["file_path"]
    return args


def _path_is_absolute(context: Mapping[str, object]) -> bool:
    named = isinstance(as_object(context.get("tool_args")).get("file_path"), str)
    return named and context.get("tool_name") in ABSOLUTE and isinstance(context.get("file_path"), str)


# Types of fields. A tuple means one of its strings.
TEXT, FLAG, OBJECT, TEXTS, ANYTHING = "a string", "true or false", "an object", "a list of strings", "anything"

# Fields of an answer at any event -> their types.
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

CONTEXT: FieldTypes = {"additionalContext": TEXT}
# Effects of exit status 2: a block, a message to the user, or nothing.
BLOCK, PERSON, NOTHING = "block", "person", "nothing"


class Rules:
    """What has an effect at an event.

    `exit_2` is the effect of exit status 2. `obeys` are the effective fields of TOP, `fields` those of
    `hookSpecificOutput` with their types, None without that object. `lost` are fields that only Claude Code supports.
    With `plain`, plain stdout goes to the model.
    """

    def __init__(
        self, exit_2: str, obeys: str = "", fields: FieldTypes | None = None, *, lost: str = "", plain: bool = False
    ) -> None:
        self.exit_2 = exit_2
        self.obeys = frozenset(obeys.split())
        self.fields = fields
        self.lost = frozenset(lost.split())
        self.plain = plain


# Older versions' tool names, which matchers may use -> current names.
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

# Events of a tool call: matchers match the tool's name, and `if` is evaluated.
TOOL_EVENTS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"})

# Matchers that match every value.
MATCHES_ALL = ("", "*")

EVERYTHING = "decision continue systemMessage"
# The rules of events unknown to Claude Code.
OTHER = Rules(BLOCK, EVERYTHING, CONTEXT)

# Claude's event -> its rules.
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
        lost="classifierContext",
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

# Events at which a block (or text for the model) continues the turn; `onFailure` has no effect.
CONTINUES_TURN = frozenset({"Stop", "SubagentStop"})


def rules(event: str) -> Rules:
    """Return the rules of one of Claude's events."""
    return RULES.get(event, OTHER)


# --- what a hook reads: the message Claude Code would send for a context

# Claude's field, always present -> hookrun's; "" if unknown.
COMMON = {"session_id": "session_id", "transcript_path": "transcript_path", "cwd": "working_dir"}

# Optional fields of any event.
ANYWHERE = {"prompt_id": "prompt_id", "agent_id": "agent_id", "agent_type": "agent_name", "effort": "effort"}

TOOL = {"tool_use_id": "tool_use_id", "duration_ms": "duration_ms", "mcp_server": "mcp_server"}
STOP = {
    "last_assistant_message": "assistant_response",
    "background_tasks": "background_tasks",
    "session_crons": "session_crons",
    "agent_transcript_path": "agent_transcript_path",
}
# Claude's event -> its field -> hookrun's. Unknown values are left out.
FIELDS: Mapping[str, Mapping[str, str]] = {
    "SessionStart": {"model": "model", "session_title": "session_title"},
    "UserPromptSubmit": {"prompt": "user_prompt", "source": "source", "session_title": "session_title"},
    "PreToolUse": TOOL,
    "PermissionRequest": {"permission_suggestions": "permission_suggestions", "mcp_server": "mcp_server"},
    "PermissionDenied": {**TOOL, "reason": "tool_result_error"},
    "PostToolUse": TOOL,
    "PostToolUseFailure": {**TOOL, "error": "tool_result_error", "is_interrupt": "is_interrupt"},
    "Stop": STOP,
    "SubagentStop": STOP,
    "StopFailure": {"last_assistant_message": "assistant_response"},
    "Notification": {"message": "message", "title": "title", "notification_type": "notification_type"},
    "PostCompact": {"compact_summary": "compact_summary"},
    "FileChanged": {"file_path": "file_path"},
    "MessageDisplay": {
        "delta": "assistant_response",
        "turn_id": "turn_id",
        "message_id": "message_id",
        "index": "index",
        "final": "final",
    },
}

# Fields of a context that a hook may have replaced.
REPLACED = {field for _, field in REPLACEABLE.values()}

# Events with the permission mode.
WITH_MODE = TOOL_EVENTS | CONTINUES_TURN | {"UserPromptSubmit"}

# Permission mode of any agent -> Claude's. Others are left out.
MODES = {
    **{mode: mode for mode in ("default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions")},
    "yolo": "bypassPermissions",
    "auto-edit": "acceptEdits",
    "auto_edit": "acceptEdits",
}

# Claude's event -> a field always present, its default for unknown values, and the known values.
WORDS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "SessionStart": ("source", "startup", ("startup", "resume", "clear", "compact", "fork")),
    "SessionEnd": ("reason", "other", ("clear", "resume", "logout", "prompt_input_exit", "other")),
    "PreCompact": ("trigger", "auto", ("manual", "auto")),
    "PostCompact": ("trigger", "auto", ("manual", "auto")),
}

# Events with which other agents resume a session.
RESUMES = frozenset({"TaskResume"})


def build_payload(event: str, context: Context, *, replaced: bool = False) -> Payload:
    """Return a hook's input: Claude Code's own message if it is the agent, else one built from the context.

    `event` is hookrun's name. The arguments include the changes of earlier hooks; `replaced` are output and prompt.
    """
    native = native_event(event)
    original = context.get("payload")
    if context.get("agent") == "claude" and isinstance(original, dict) and original.get("hook_event_name") == native:
        changed: Payload = (
            {"tool_input": native_arguments(context)} if isinstance(context.get("tool_args"), dict) else {}
        )
        if replaced:
            changed |= {name: context.get(field) for name, field in FIELDS[native].items() if field in REPLACED}
            changed |= {"tool_response": response(context)} if native == "PostToolUse" else {}
        return {**original, **changed}
    payload: Payload = {name: _text(context.get(field)) for name, field in COMMON.items()}
    payload |= {name: context[field] for name, field in ANYWHERE.items() if context.get(field) is not None}
    if native in WITH_MODE and (mode := MODES.get(_text(context.get("permission_mode")))) is not None:
        payload["permission_mode"] = mode
    payload["hook_event_name"] = native
    if (event not in EVENTS or native in TOOL_EVENTS) and (tool := native_tool(context)) is not None:
        payload |= {"tool_name": tool, "tool_input": native_arguments(context)}
    payload |= {name: context[field] for name, field in _fields(event) if context.get(field) is not None}
    if native in WORDS:
        name, otherwise, known = WORDS[native]
        if context.get("agent_event") in RESUMES:
            otherwise = "resume"
        payload[name] = word if (word := _text(context.get(name))) in known else otherwise
    more = MORE[native](context) if native in MORE else {}
    return {**payload, **{name: value for name, value in more.items() if name not in payload}}


def _fields(event: str) -> list[tuple[str, str]]:
    """Return Claude's and hookrun's names of an event's fields, all possible ones if Claude lacks the event."""
    native = native_event(event)
    if event in EVENTS:
        return list(FIELDS.get(native, {}).items())
    return [*TOOL.items(), ("prompt", "user_prompt"), ("last_assistant_message", "assistant_response"),
            ("error", "tool_result_error"), ("file_path", "file_path")]  # fmt: skip


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# --- what is more than renamed


def _stop_failed(context: Context) -> Payload:
    text = as_object(context.get("error_info")).get("error_message")
    return {"error": "unknown", "error_details": text} if isinstance(text, str) else {"error": "unknown"}


# Claude's event -> its fields that are always present, with their values where the context has none.
MORE: Mapping[str, Callable[[Context], Payload]] = {
    "UserPromptSubmit": lambda _context: {"prompt": ""},
    "PostToolUse": lambda context: {"tool_response": response(context)},
    "PostToolUseFailure": lambda context: {"error": _text(context.get("tool_result_output"))},
    "Stop": lambda context: {"stop_hook_active": context.get("stop_hook_active") is True},
    "SubagentStop": lambda context: {**MORE["Stop"](context), "agent_type": ""},
    "Notification": lambda _context: {"message": "", "notification_type": ""},
    "PreCompact": lambda context: {"custom_instructions": context.get("custom_instructions")},
    "StopFailure": _stop_failed,
    "FileChanged": lambda context: {"event": "unlink" if context.get("tool_name") == "delete" else "change"},
}


def response(context: Context) -> object:
    """Return a tool's output in the form of Claude's tool, as text if unknown."""
    output = _text(context.get("tool_result_output"))
    args = native_arguments(context)
    path = args.get("file_path")
    match context.get("tool_name"):
        case "bash":
            return {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        case "write":
            return {"filePath": path, "content": args.get("content")}
        case "edit":
            texts = {"oldString": args.get("old_string"), "newString": args.get("new_string")}
            return {"filePath": path, **texts, "replaceAll": args.get("replace_all") is True}
        case "read":
            return {"type": "text", "file": {"filePath": path, "content": output}}
        case str(name) if name.startswith("mcp__"):
            return [{"type": "text", "text": output}]
    return output


def output_text(updated: object) -> str:
    """Return the text of a tool's output in the form of Claude's tool: the inverse of `response`."""
    if isinstance(updated, dict):
        file = updated.get("file")
        found = [file.get("content")] if isinstance(file, dict) else [updated.get("stdout"), updated.get("stderr")]
    else:
        found = (
            [each.get("text") for each in updated if isinstance(each, dict)] if isinstance(updated, list) else [updated]
        )
    texts = [text for text in found if isinstance(text, str)]
    return "\n".join(filter(None, texts)) if texts else dumps(updated)
