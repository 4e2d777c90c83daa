"""Build the input of a hook in Claude's dialect: the message that Claude Code would send for a context."""

from __future__ import annotations

from hookrun.claude import tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Context = Mapping[str, object]
    Payload = dict[str, object]

COMMON = {"session_id": "session_id", "transcript_path": "transcript_path", "cwd": "working_dir"}
"""Claude's field that is always present -> hookrun's; an empty string if unknown."""

ANYWHERE = {"prompt_id": "prompt_id", "agent_id": "agent_id", "agent_type": "agent_name", "effort": "effort"}
"""Optional fields of any event."""

TOOL = {"tool_use_id": "tool_use_id", "duration_ms": "duration_ms", "mcp_server": "mcp_server"}
STOP = {
    "last_assistant_message": "assistant_response",
    "background_tasks": "background_tasks",
    "session_crons": "session_crons",
    "agent_transcript_path": "agent_transcript_path",
}
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
"""Claude's event -> its field -> hookrun's. Unknown values are left out."""

WITH_MODE = frozenset(
    {"UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied",
     "Stop", "SubagentStop"}
)  # fmt: skip
"""Events with the permission mode."""

MODES = {
    **{mode: mode for mode in ("default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions")},
    "yolo": "bypassPermissions",
    "auto-edit": "acceptEdits",
    "auto_edit": "acceptEdits",
}
"""Permission mode of any agent -> Claude's. Others are left out."""

WORDS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "SessionStart": ("source", "startup", ("startup", "resume", "clear", "compact", "fork")),
    "SessionEnd": ("reason", "other", ("clear", "resume", "logout", "prompt_input_exit", "other")),
    "PreCompact": ("trigger", "auto", ("manual", "auto")),
    "PostCompact": ("trigger", "auto", ("manual", "auto")),
}
"""Claude's event -> a field that is always present, its default for unknown values, and the known values."""

RESUMES = frozenset({"TaskResume"})
"""Events with which other agents resume a session."""


def build_payload(event: str, context: Context) -> Payload:
    """Return the input of a hook: Claude Code's own message if it is the agent, else one built from the context.

    `event` is hookrun's name. The arguments include the changes of earlier hooks.
    """
    native = tables.native_event(event)
    given = context.get("payload")
    if context.get("agent") == "claude" and isinstance(given, dict) and given.get("hook_event_name") == native:
        changed = {"tool_input": tables.native_arguments(context)} if isinstance(context.get("tool_args"), dict) else {}
        return {**given, **changed}
    payload: Payload = {name: _text(context.get(field)) for name, field in COMMON.items()}
    payload |= {name: context[field] for name, field in ANYWHERE.items() if context.get(field) is not None}
    if native in WITH_MODE and (mode := MODES.get(_text(context.get("permission_mode")))) is not None:
        payload["permission_mode"] = mode
    payload["hook_event_name"] = native
    if event not in tables.EVENTS or native in tables.TOOL_EVENTS:
        _tool(payload, context)
    payload |= {name: context[field] for name, field in _fields(event) if context.get(field) is not None}
    if native in WORDS:
        name, otherwise, known = WORDS[native]
        payload[name] = word if (word := _text(context.get(name))) in known else _otherwise(otherwise, context)
    if native in MORE:
        payload |= MORE[native](context)
    for name, value in DEFAULTS[native](context).items() if native in DEFAULTS else ():
        payload.setdefault(name, value)
    return payload


def _fields(event: str) -> list[tuple[str, str]]:
    """Return Claude's and hookrun's names of an event's fields; all possible ones if Claude has no such event."""
    native = tables.native_event(event)
    if event in tables.EVENTS:
        return list(FIELDS.get(native, {}).items())
    return [*TOOL.items(), ("prompt", "user_prompt"), ("last_assistant_message", "assistant_response"),
            ("error", "tool_result_error"), ("file_path", "file_path")]  # fmt: skip


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _otherwise(word: str, context: Context) -> str:
    return "resume" if context.get("agent_event") in RESUMES else word


# --- what is more than renamed


def _tool(payload: Payload, context: Context) -> None:
    name = tables.native_tool(context)
    if name is not None:
        payload["tool_name"] = name
        payload["tool_input"] = tables.native_arguments(context)


def _stop(context: Context) -> Payload:
    return {"stop_hook_active": context.get("stop_hook_active") is True}


def _stop_failed(context: Context) -> Payload:
    info = context.get("error_info")
    text = info.get("error_message") if isinstance(info, dict) else None
    return {"error": "unknown", "error_details": text} if isinstance(text, str) else {"error": "unknown"}


MORE: Mapping[str, Callable[[Context], Payload]] = {
    "PostToolUse": lambda context: {"tool_response": response(context)},
    "Stop": _stop,
    "SubagentStop": _stop,
    "PreCompact": lambda context: {"custom_instructions": context.get("custom_instructions")},
    "StopFailure": _stop_failed,
    "FileChanged": lambda context: {"event": "unlink" if context.get("tool_name") == "delete" else "change"},
}
"""Claude's event -> its fields that no field of the context has."""

DEFAULTS: Mapping[str, Callable[[Context], Payload]] = {
    "UserPromptSubmit": lambda _context: {"prompt": ""},
    "PostToolUseFailure": lambda context: {"error": _text(context.get("tool_result_output"))},
    "SubagentStop": lambda _context: {"agent_type": ""},
    "Notification": lambda _context: {"message": "", "notification_type": ""},
}
"""Claude's event -> the values of fields that are always present, for a context without them."""


def response(context: Context) -> object:
    """Return a tool's output in the form of Claude's tool; as text if that is unknown."""
    output = _text(context.get("tool_result_output"))
    args = tables.native_arguments(context)
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
