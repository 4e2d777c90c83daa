"""Agents that run Claude Code's hooks: Cursor, Devin, VS Code, unknown ones, and Grok Build (see grok.py).

They have other tools and arguments, and obey other parts of an answer. Grok Build was measured, the others follow their
documentation; in doubt an answer has every form that the agent could obey.

Sources: Grok Build 1.0.41, live against a scripted model; the documentation of Cursor (hooks, third-party hooks), Devin
CLI (lifecycle hooks) and VS Code (agent hooks) of October 2026. For agents wired by hand, see others.BY_HAND.
"""

from __future__ import annotations

from hookrun.agents import base, claude, known_tools
from hookrun.agents.formats import ResponseFormat, claude_formats, parts, render_post_tool, render_pre_tool, render_stop
from hookrun.agents.known_tools import MORE_TOOLS, OTHER_CALLERS
from hookrun.claude.hook_protocol import LEGACY_TOOLS
from hookrun.core.events import CLAUDE_EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.agents.base import Arguments, Message, ToNativeArgs
    from hookrun.agents.formats import Json, Reply
    from hookrun.agents.types import InstallSpec

# A message's field -> Claude Code's name, which takes precedence.
RENAMED = {
    "hookEventName": "hook_event_name",
    "sessionId": "session_id",
    "conversation_id": "session_id",
    "toolName": "tool_name",
    "toolInput": "tool_input",
    "toolUseId": "tool_use_id",
    "toolResponse": "tool_response",
    "toolResult": "tool_response",
    "tool_output": "tool_response",
    "transcriptPath": "transcript_path",
    "permissionMode": "permission_mode",
    "stopHookActive": "stop_hook_active",
    "lastAssistantMessage": "last_assistant_message",
    "subagentId": "agent_id",
    "subagentType": "agent_type",
    "error_message": "error",
    "event": "hook_event_name",
    "event_type": "hook_event_name",
    "agent_action_name": "hook_event_name",
    "trajectory_id": "session_id",
    "working_dir": "cwd",
    "tool_call_id": "tool_use_id",
}

# Keys of the text in a tool's response, at its top or one level below.
OUTPUTS = ("output_for_prompt", "tool_output_for_prompt", "raw_output", "content", "output")

READS_USER_SETTINGS: InstallSpec = {**base.NO_FILES, "reads_user_settings": True}
# The installation of an agent without hook files of its own.
REFUSED_BY_STATUS: InstallSpec = {**base.NO_FILES, "refused_by_status": True}


class Caller:
    """An agent that runs Claude Code's hooks, as a module of hookrun.agents (see types.Agent).

    `formats` lists what it obeys. Its tools are in known_tools.OTHER_CALLERS.
    """

    EVENTS = CLAUDE_EVENTS
    SYNTHESIZED_FROM: Mapping[str, tuple[str, ...]] = claude.SYNTHESIZED_FROM
    UNMEASURED: tuple[str, ...] = ("PostToolUseFailure", "SubagentStop")
    ENV_MARKERS: tuple[str, ...] = ()
    DEFAULT_TIMEOUTS = claude.DEFAULT_TIMEOUTS
    MAX_TIMEOUTS = claude.MAX_TIMEOUTS
    NOTES: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        formats: dict[str, ResponseFormat],
        *,
        project: tuple[str, ...] = claude.PROJECT_ENV_VARS,
        install: InstallSpec,
    ) -> None:
        self.NAME = name
        self.DISPLAY_NAME, self.TOOLS = OTHER_CALLERS.get(name, ("an unknown agent", claude.TOOLS))
        self.NAMES = base.NameMap(self.TOOLS)
        self.RESPONSE_FORMATS = formats
        self.PROJECT_ENV_VARS = project
        self.INSTALL: InstallSpec = {**install, "program": name}

    def read(self, payload: dict[str, object], event: str) -> Message:
        """Return a message with Claude Code's field names. Raises UnreadableMessageError."""
        fields = _named(payload, event)
        listed = payload.get("workspace_roots")
        roots = [payload.get("workspaceRoot"), *(listed if isinstance(listed, list) else ())]
        outer = fields.get("tool_input")
        is_cut_off = payload.get("toolInputTruncated") is True and isinstance(outer, str)
        if is_cut_off:
            outer = fields["tool_input"] = known_tools.beginning(str(outer))
        wraps = isinstance(outer, dict) and outer.get("tool_name") == fields.get("tool_name") is not None
        if wraps and isinstance(outer, dict):  # Grok Build calls MCP servers' tools through one of its own
            fields["tool_input"] = outer.get("tool_input")
        fields.setdefault("cwd", next((root for root in roots if isinstance(root, str)), None))
        message = base.read_claude_style(fields, event, self.NAME, events=self.EVENTS, names=self.NAMES, output=_output)
        message.roots = [root for root in (*roots, *message.roots) if isinstance(root, str)]
        if message.tool in self.TOOLS or self is not UNKNOWN:  # for any other, see take_unknown_tool
            known_tools.name_tool(message, self.TOOLS)
        if wraps and isinstance(outer, dict):
            message.to_native_args = _wrapping(message.to_native_args, outer)
        for call in message.calls:
            call.fields["payload"] = payload
            if is_cut_off:
                call.fields["arguments_cut_off"] = base.CUT_OFF
                message.to_native_args = base.no_native_args
        return message


def _named(payload: Json, event: str) -> Json:
    """Return a message's fields by Claude Code's names. Raises UnreadableMessageError without an event."""
    fields = {name: value for key, value in payload.items() if (name := RENAMED.get(key, key)) == key}
    fields |= {RENAMED[key]: value for key, value in payload.items() if RENAMED.get(key, key) not in fields}
    native = fields.get("hook_event_name", event)
    if "tool_name" in fields and native == "":  # by its documentation, Devin's messages do not name the event
        native = "PostToolUse" if "tool_response" in fields else "PreToolUse"
    if not isinstance(native, str) or not native:
        raise base.UnreadableMessageError(f"hook_event_name is {native!r}, not the name of an event")
    fields["hook_event_name"] = native
    if native == "UserPromptSubmit":
        fields.setdefault("prompt", payload.get("message"))
    info = payload.get("tool_info")
    return {**fields, **_from_windsurf(native, info)} if isinstance(info, dict) else fields


def _from_windsurf(native: str, info: Arguments) -> Json:
    """Return the fields of a message of Windsurf's with this `tool_info`: its events name the tool."""
    if "user_prompt" in info:
        return {"hook_event_name": "UserPromptSubmit", "prompt": info["user_prompt"]}
    event = {"hook_event_name": "PostToolUse" if native.startswith("post_") else "PreToolUse"}
    if "mcp_tool_name" in info:
        name = f"mcp__{info.get('mcp_server_name')}__{info['mcp_tool_name']}"
        return {**event, "tool_name": name, "tool_input": info.get("mcp_tool_arguments")}
    return {**event, "tool_name": native, "tool_input": info, "cwd": info.get("cwd")}


def _wrapping(own: ToNativeArgs, outer: Arguments) -> ToNativeArgs:
    """Return a `to_native_args` that puts the arguments into an outer tool's."""

    def to_native_args(wanted: list[Arguments | None]) -> Arguments | None:
        args = own(wanted)
        return None if args is None else {**outer, "tool_input": args}

    return to_native_args


def _output(_tool: str, response: object) -> str:
    inside = response.values() if isinstance(response, dict) else ()
    for each in (response, *inside):
        for key in OUTPUTS if isinstance(each, dict) else ():
            if (text := base.string_in(each, key)) is not None:
                return text
    return base.text_of_blocks(response) or base.text_of(response)


def _before_tool(reply: Reply, message: Message) -> Json:
    """Render PreToolUse in Claude's format, and a block also in each other form in use."""
    answer = render_pre_tool(reply, message)
    if not reply.allows and reply.action != "ask":
        answer |= {"decision": "block", "reason": reply.reason, "permission": "deny"}
        answer |= {"user_message": reply.reason, "agent_message": reply.reason}
    return answer


def _before_tool_in_cursor(reply: Reply, message: Message) -> Json:
    answer = _before_tool(reply, message)
    return {**answer, "permission": "allow", "updated_input": reply.args} if reply.args is not None else answer


def _prompt(reply: Reply, message: Message) -> Json:
    """Block a prompt: Cursor and VS Code expect `continue` to be false, and a text for the user."""
    answer = render_post_tool(reply, message)
    if reply.action == "block":
        answer |= {"continue": False, "stopReason": reply.reason, "user_message": reply.reason}
    return answer


def _context(reply: Reply, message: Message) -> Json:
    """Add text for the model, also in Cursor's form."""
    return {**render_post_tool(reply, message), **parts(reply, context="additional_context")}


def _stop(reply: Reply, message: Message) -> Json:
    """Continue the turn: Cursor by a `followup_message`, VS Code by `hookSpecificOutput`."""
    answer = render_stop(reply, message)
    if reply.action == "block":
        own = {"hookEventName": message.native, "decision": "block", "reason": reply.reason}
        answer |= {"followup_message": reply.reason, "hookSpecificOutput": own}
    return answer


# An agent with other tools than Claude Code's: only a block is surely obeyed.
UNKNOWN = Caller(
    "unknown",
    {
        **claude.RESPONSE_FORMATS,
        "PreToolUse": ResponseFormat("block, context, user_message", _before_tool),
        **claude_formats({"PermissionRequest": "block"}),
    },
    install={
        **REFUSED_BY_STATUS,
        "mcp": {"prefix": "mcp_", "joins": ("__", "_"), "unsafe": "_", "servers": ()},
        "read_by": lambda _payload: None,
    },
)


def by_hand(name: str) -> Caller:
    """Return an agent with a line of `fire` in its own hooks, with the least limit of any; UNKNOWN for other names."""
    from hookrun.agents.others import wired_by_hand  # rarely needed

    if (known := wired_by_hand(name)) is None:
        return UNKNOWN
    install: InstallSpec = {**REFUSED_BY_STATUS, "mcp": UNKNOWN.INSTALL["mcp"]}
    found = Caller(known[0], UNKNOWN.RESPONSE_FORMATS, install=install)
    found.DISPLAY_NAME = known[1]
    found.DEFAULT_TIMEOUTS = found.MAX_TIMEOUTS = {**claude.DEFAULT_TIMEOUTS, "": 30.0}
    return found


# Every agent identified by its messages (INSTALL["read_by"] of hookrun.agents.claude), by name.
CALLERS = {
    caller.NAME: caller
    for caller in (
        Caller(
            "cursor",
            {
                "PreToolUse": ResponseFormat("modify, block, context later", _before_tool_in_cursor),
                "PostToolUse": ResponseFormat("context", _context),
                "UserPromptSubmit": ResponseFormat("block, context later", _prompt),
                "SessionStart": ResponseFormat("context", _context),
                "Stop": ResponseFormat("block", _stop),
                "SubagentStop": ResponseFormat("block", _stop),
            },
            project=("CURSOR_PROJECT_DIR", *claude.PROJECT_ENV_VARS),
            install=READS_USER_SETTINGS,
        ),
        Caller(
            "devin",
            {
                "PreToolUse": ResponseFormat("modify, block, context later", _before_tool),
                "PermissionRequest": ResponseFormat("block", _before_tool),
                **claude_formats({"PostToolUse": "block, context", "UserPromptSubmit": "block, context"}),
                **claude_formats({"SessionStart": "context", "Stop": "block"}),
            },
            project=("DEVIN_PROJECT_DIR", *claude.PROJECT_ENV_VARS),
            install=REFUSED_BY_STATUS,
        ),
        Caller(
            "vscode",
            {
                **claude.RESPONSE_FORMATS,
                "UserPromptSubmit": ResponseFormat("block, stop, user_message", _prompt),
                **dict.fromkeys(("Stop", "SubagentStop"), ResponseFormat("block, stop, user_message", _stop)),
            },
            project=(),
            install={**READS_USER_SETTINGS, "mcp": {"prefix": "mcp_", "joins": ("_",), "unsafe": "_", "servers": ()}},
        ),
    )
}


def take_unknown_tool(message: Message, payload: Mapping[str, object]) -> tuple[Caller | None, str | None]:
    """Name, for hooks, a message's tool that hookrun does not know as one of Claude Code's.

    Return the caller, or None for a newer Claude Code, and a notice for the user, if any.
    """
    tool, text = str(message.tool), None
    if tool in MORE_TOOLS["claude"] or tool in LEGACY_TOOLS:
        return None, None
    if not known_tools.is_mcp(tool):
        if (ours := known_tools.name_tool(message, {})) is None:
            return None, None
        is_claude = "/.claude/" in str(payload.get("transcript_path"))
        who = "Claude Code has" if is_claude else "an agent runs the hooks in Claude Code's settings, with"
        text = f"{who} a tool that hookrun does not know: judging by its arguments, `{tool}` is treated as `{ours}`"
        if is_claude:
            return None, text
    for call in message.calls:
        call.fields["agent"] = UNKNOWN.NAME
    return UNKNOWN, text
