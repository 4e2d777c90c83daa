"""Copilot CLI: its names, its messages in two dialects, and the responses it obeys. It blocks on any exit status but 0.

The installed name of an event selects the dialect, `preToolUse` or `PreToolUse`; messages show it.

Source: what the CLI (1.0.102) sent and did with each answer, measured against a scripted model.
"""

from __future__ import annotations

from hookrun.agents import base, patch
from hookrun.agents.formats import Reply, ResponseFormat, all_in_reason, join_paragraphs, parts
from hookrun.core.events import CLAUDE_EVENTS, CLAUDE_TOOLS
from hookrun.core.fastjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.agents.formats import Json
    from hookrun.agents.types import HookForm, InstallSpec

NAME = "copilot"
DISPLAY_NAME = "Copilot CLI"
UNMEASURED = ("PermissionRequest",)

# Its events with Claude Code's names.
SHARED_EVENTS = (
    "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
    "PermissionRequest", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "Notification",
)  # fmt: skip
EVENTS = {**{native: CLAUDE_EVENTS[native] for native in SHARED_EVENTS}, "ErrorOccurred": "error"}
IRREGULAR = {"UserPromptSubmit": "userPromptSubmitted", "Stop": "agentStop"}
# An event's name in the camelCase dialect -> in the other.
CAMEL = {IRREGULAR.get(name, name[0].lower() + name[1:]): name for name in EVENTS}

# An event also sent for a subagent, besides its own -> hookrun's name of that.
SUBAGENTS = {"UserPromptSubmit": "subagent_start", "Stop": "subagent_stop"}

SYNTHESIZED_FROM = {"file_changed": ("PostToolUse",)}

PATH = {"path": "file_path"}
WRITE = {**PATH, "file_text": "content"}
EDIT = {**PATH, "old_str": "old_string", "new_str": "new_string"}
# A tool -> hookrun's name. The second dialect has Claude's names for tools, not for arguments.
TOOLS = {
    "bash": "bash",
    "Bash": "bash",
    "powershell": "bash",
    "view": "read",
    "Read": "read",
    "create": "write",
    "Write": "write",
    "edit": "edit",
    "Edit": "edit",
    "glob": "glob",
    "Glob": "glob",
    "grep": "grep",
    "Grep": "grep",
    "web_fetch": "web_fetch",
    "WebFetch": "web_fetch",
    "task": "task",
    "Task": "task",
    "Agent": "task",
}
ARGUMENTS = {"view": PATH, "Read": PATH, "create": WRITE, "Write": WRITE, "edit": EDIT, "Edit": EDIT}
NAMES = base.NameMap(TOOLS, ARGUMENTS)

PROJECT_ENV_VARS = ("COPILOT_PROJECT_DIR",)
ENV_MARKERS = ("COPILOT_CLI",)
DEFAULT_TIMEOUTS = {"": 30.0}
MAX_TIMEOUTS: dict[str, float] = {}

NOTES = (
    "GPT models get `apply_patch` only: it is fired as one `write`, `edit` or `delete` per file.",
    "`PostToolUse` is also sent for a failed shell command; its exit status is in the text.",
    "In `copilot -p` an `ask` blocks the call with its reason.",
    (
        "For a subagent it also sends `UserPromptSubmit` and `Stop`; `subagent_start` and `subagent_stop` are still "
        "fired only once. Blocking its `Stop` has no effect, blocking its `SubagentStop` has."
    ),
    "It runs a trusted project's `.claude/settings.json` too: hookrun distinguishes its messages from Claude's.",
    "It reports no usage, neither in its transcript nor by an event: `cost-tracker` counts nothing.",
)

FIELDS = {
    "sessionId": "session_id",
    "cwd": "working_dir",
    "prompt": "user_prompt",
    "transcriptPath": "transcript_path",
    "stopReason": "stop_reason",
    "initialPrompt": "initial_prompt",
    "agentName": "agent_name",
    "agentId": "agent_id",
    "parentAgentId": "parent_agent_id",
}
TRANSLATED = frozenset(
    {"hook_event_name", "hookName", "tool_name", "toolName", "tool_input", "toolInput", "toolArgs", "tool_result",
     "toolResult", "error", "timestamp"}
)  # fmt: skip


def read(payload: dict[str, object], event: str) -> base.Message:
    """Return a message in either dialect. Raises UnreadableMessageError without an event."""
    name = payload.get("hook_event_name", payload.get("hookName", event))
    if not isinstance(name, str) or not name:
        raise base.UnreadableMessageError(f"no event in the message or after --agent {NAME} (found {name!r})")
    native = base.sent_event(EVENTS, CAMEL.get(name, name), event)
    fields = base.fields_of(payload, FIELDS, TRANSLATED, agent=NAME, event=name)
    of_subagent = SUBAGENTS.get(native) if fields.get("agent_id") else None
    call = base.CanonicalCall(of_subagent or EVENTS.get(native), fields, synthesized=of_subagent is not None)
    roots = [payload.get("cwd")]
    if payload.get("error") is not None:
        error = payload["error"]
        text = base.text_of(error.get("message") if isinstance(error, dict) else error)
        if call.event == "post_tool_failure":
            fields["tool_result_error"] = text
        else:
            fields["error_info"] = {"error_message": text}
    tool = payload.get("tool_name", payload.get("toolName"))
    message = base.Message(native, [call], roots=roots)
    if isinstance(tool, str):
        args = _arguments(payload)
        message = base.tool_message(native, call, NAMES, tool, args, roots=roots)
        succeeded = _take_result(call, payload)
        message.calls = base.add_file_changed([call])
        patch.split_by_file(message, args)
        message.calls = [each for each in message.calls if succeeded or not each.synthesized]
    message.dialect = "" if "hook_event_name" in payload else "camel"
    return message


def _arguments(payload: dict[str, object]) -> object:
    """Return a tool's arguments: an object (in older versions as a JSON string), or a patch's text."""
    args = next((payload[name] for name in ("tool_input", "toolArgs", "toolInput") if name in payload), None)
    if isinstance(args, str):
        try:
            return loads(args)
        except ValueError:
            return args or None
    return args


def _take_result(call: base.CanonicalCall, payload: dict[str, object]) -> bool:
    """Add a tool's result to the context; return whether it succeeded."""
    result = payload.get("tool_result", payload.get("toolResult"))
    if not isinstance(result, dict):
        return False
    text = result.get("text_result_for_llm", result.get("textResultForLlm"))
    call.fields["tool_result_output"] = text if isinstance(text, str) else base.text_of(result)
    return result.get("result_type", result.get("resultType")) == "success"


def _before_tool(reply: Reply, _message: base.Message) -> Json:
    decision = {"allow": "allow", "ask": "ask", "block": "deny"}.get(reply.action)
    decided: Json = {} if decision is None else {"permissionDecision": decision}
    more = parts(reply, reason="permissionDecisionReason", args="modifiedArgs", context="additionalContext")
    return {**decided, **more}


def _permission(reply: Reply, _message: base.Message) -> Json:
    if reply.action == "allow":
        return {"behavior": "allow"}
    return {"behavior": "deny", "message": reply.reason} if reply.action == "block" else {}


def _stop_caveats(reply: Reply, message: base.Message) -> list[str]:
    return ["block -> nothing"] if reply.action == "block" and message.event == SUBAGENTS["Stop"] else []


def _answer(reply: Reply, _message: base.Message) -> Json:
    blocked: Json = {"decision": "block", "reason": reply.reason} if reply.action == "block" else {}
    return {**blocked, **parts(reply, context="additionalContext", prompt="modifiedPrompt")}


def _after_tool(reply: Reply, message: base.Message) -> Json:
    if reply.output is None:
        return _answer(reply, message)
    if reply.action == "block":  # then it shows the reason in place of any result
        return _answer(Reply("block", join_paragraphs(str(reply.output), reply.reason), reply.context), message)
    return {"modifiedResult": {"textResultForLlm": reply.output, "resultType": "success"}, **_answer(reply, message)}


RESPONSE_FORMATS = {
    "SessionStart": ResponseFormat("context", _answer),
    "UserPromptSubmit": ResponseFormat("block, prompt, context", _answer),
    "PreToolUse": ResponseFormat(
        "allow, allow with arguments, ask, modify, block, context",  # it asks about and runs the old arguments
        _before_tool,
    ),
    "PermissionRequest": ResponseFormat("allow, ask, block", _permission),
    "PostToolUse": ResponseFormat("block, output, context", all_in_reason(_after_tool)),
    "Stop": ResponseFormat("block", _answer, _stop_caveats),
    "SubagentStart": ResponseFormat("context", _answer),
    "SubagentStop": ResponseFormat("block", _answer),
}


def _own_message(message: Json, context: Mapping[str, object]) -> Json:
    """Name the fields as in the dialect that the event's name selects."""
    native = str(message["hook_event_name"])
    if "tool_response" in message:
        text = message.pop("tool_response")
        message["tool_result"] = {"result_type": "success", "text_result_for_llm": text}
    message["timestamp"] = context.get("timestamp") or ""
    if native not in CAMEL:
        tool = message.get("tool_name")
        return {**message, "tool_name": CLAUDE_TOOLS.get(NAMES.tool(str(tool)), tool)} if tool else message
    if isinstance(result := message.get("tool_result"), dict):
        message["tool_result"] = {"resultType": "success", "textResultForLlm": result["text_result_for_llm"]}
    del message["hook_event_name"]
    return {IN_CAMEL.get(name, name): value for name, value in message.items()}


# A field of a message -> its name in the camelCase dialect.
IN_CAMEL = {
    **{ours: theirs for theirs, ours in FIELDS.items() if theirs not in ("cwd", "prompt")},
    "tool_name": "toolName",
    "tool_input": "toolArgs",
    "tool_result": "toolResult",
}

HOOKS: HookForm = {
    "flat": True,
    "keys": {"bash": "command", "timeoutSec": "timeout"},
    "without_effect": ("powershell", "comment", "description", "name"),
    "matches": "whole",
    "star": False,
    "tools": {"apply_patch": ("edit", "write", "delete"), "create": ("write",), "str_replace_editor": ("edit",)},
    "mcp": "{0}-{1}",
    "narrow": {native: (EVENTS[name], "") for native, name in CAMEL.items()},
    "message": _own_message,
    "answer": {
        "decision": ("permissionDecision", "hookSpecificOutput.permissionDecision", "behavior", "decision"),
        "reason": ("permissionDecisionReason", "hookSpecificOutput.permissionDecisionReason", "reason", "message"),
        "args": ("modifiedArgs", "hookSpecificOutput.updatedInput"),
        "context": ("additionalContext",),
    },
    "veto_from": {"PreToolUse": 1, "": 256},
    "plain": "nobody",
}

INSTALL: InstallSpec = {
    "program": "copilot",
    "processes": ("/@github/copilot",),
    "directory": ".copilot",
    "user": "hooks/hookrun.json",
    "project": ".github/hooks/hookrun.json",
    "project_root": '"${COPILOT_PROJECT_DIR:-.}"/',
    "form": "json",
    "nested": False,
    "first": {"version": 1},
    "handler": {"type": "command", "bash": "{command}", "timeoutSec": "{limit}"},
    "elsewhere": (
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".github/copilot/settings.json",
        ".github/copilot/settings.local.json",
        "{directory}/settings.json",
    ),
    "settings": (
        ".github/copilot/settings.local.json",
        ".github/copilot/settings.json",
        "{directory}/settings.json",
        "{directory}/hooks/hookrun.json",
    ),
    "off": {"disableAllHooks": True},
    "mcp": {
        "joins": ("-", "/"),
        "unsafe": "-",
        "servers": (("{home}/.copilot/mcp-config.json", "mcpServers"), ("{project}/.mcp.json", "mcpServers")),
    },
    "exit_zero_only": True,
    "folder_trust": {
        "file": "config.json",
        "lists": ("trusted_folders", "trustedFolders"),
        "cause": "Copilot CLI silently skips a project's hooks there",
        "remedy": "trust the folder in Copilot, or start it with --trust-folder",
    },
}
