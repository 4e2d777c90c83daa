"""The hooks of agents that hookrun runs elsewhere, but is not connected to: Cursor, Windsurf.

Sources: their documentation of October 2026 (Cursor: hooks; Windsurf: Cascade hooks). No program of theirs was run.
"""

from __future__ import annotations

from hookrun.agents.base import NO_FILES, NameMap, string_in
from hookrun.agents.known_tools import OTHER_CALLERS
from hookrun.core.fastjson import dumps
from hookrun.core.model import as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.agents.formats import Json
    from hookrun.agents.types import HookForm


class Documented:
    """What `dialects` needs of an agent, as in its module (see types.Agent)."""

    NAMES = NameMap()
    INSTALL = NO_FILES

    def __init__(self, title: str, events: dict[str, str], tools: dict[str, str], hooks: HookForm, *roots: str) -> None:
        self.DISPLAY_NAME, self.EVENTS, self.TOOLS, self.HOOKS = title, events, tools, hooks
        self.DEFAULT_TIMEOUTS = {"": 60.0}
        self.MAX_TIMEOUTS: dict[str, float] = {}
        self.PROJECT_ENV_VARS = roots


def _edited(args: Json) -> Json:
    """Return the fields about a changed file."""
    old = string_in(args, "old_string") or ""
    new = string_in(args, "new_string") or string_in(args, "content") or ""
    return {"file_path": args.get("file_path", ""), "edits": [{"old_string": old, "new_string": new}]}


# --- Cursor

# An event of some tools alone -> its part of a message, and of one after the call.
SHELL, MCP, FILE = "ShellExecution", "MCPExecution", "File"


def _cursors(message: Json, context: Mapping[str, object]) -> Json:
    native, args = str(message["hook_event_name"]), as_object(message.get("tool_input"))
    cwd, output = message.pop("cwd", ""), context.get("tool_result_output") or ""
    base: Json = {"conversation_id": message["session_id"], "generation_id": "", "model": context.get("model") or ""}
    base |= {"cursor_version": "", "workspace_roots": [cwd], "user_email": None}
    if native.endswith(SHELL):
        more: Json = {"command": args.get("command", ""), "cwd": cwd, "sandbox": False}
        more |= {"output": output, "duration": 0} if native[0] == "a" else {}
    elif native.endswith(MCP):
        more = {"tool_name": str(message["tool_name"]).removeprefix("MCP:"), "tool_input": dumps(args)}
        more |= {"result_json": output, "duration": 0} if native[0] == "a" else {}
    elif native == "beforeReadFile":
        more = {"file_path": args.get("file_path", ""), "content": "", "attachments": []}
    elif native == "afterFileEdit":
        more = _edited(args)
    else:
        more = {name: value for name, value in message.items() if name not in ("tool_response", "error")}
        more |= {"cwd": cwd} if "tool_name" in message else {}
        more |= {"tool_output": dumps(output), "duration": 0} if "tool_response" in message else {}
        more |= {"error_message": message["error"], "failure_type": "error"} if "error" in message else {}
        more |= {"attachments": []} if "prompt" in message else {}
        if native == "stop":
            more |= {"status": "completed", "loop_count": int(message.get("stop_hook_active") is True)}
        more |= {"text": message["delta"]} if "delta" in message else {}
    kept = {name: message[name] for name in ("session_id", "hook_event_name", "transcript_path")}
    return {**base, **kept, **more}


CURSOR = Documented(
    "Cursor",
    {
        "sessionStart": "session_start",
        "sessionEnd": "session_end",
        "beforeSubmitPrompt": "user_prompt_submit",
        "preToolUse": "pre_tool_use",
        "postToolUse": "post_tool_use",
        "postToolUseFailure": "post_tool_failure",
        "subagentStart": "subagent_start",
        "subagentStop": "subagent_stop",
        "preCompact": "pre_compact",
        "afterAgentResponse": "assistant_response",
        "stop": "stop",
    },
    OTHER_CALLERS["cursor"][1],
    {
        "flat": True,
        "keys": {"failClosed": "onFailure"},
        "without_effect": ("loop_limit", "name", "description"),
        "matches": "search",
        "mcp": "MCP:{1}",
        "narrow": {
            "beforeShellExecution": ("pre_tool_use", "bash"),
            "afterShellExecution": ("post_tool_use", "bash"),
            "beforeMCPExecution": ("pre_tool_use", "mcp__"),
            "afterMCPExecution": ("post_tool_use", "mcp__"),
            "beforeReadFile": ("pre_tool_use", "read"),
            "afterFileEdit": ("post_tool_use", "edit|write"),
        },
        "message": _cursors,
        "answer": {
            "reason": ("agent_message", "agentMessage", "user_message", "userMessage"),
            "args": ("updated_input",),
            "context": ("additional_context",),
            "user": ("user_message", "userMessage"),
            "next": ("followup_message",),
        },
        "grants": False,
        "plain": "nobody",
    },
    "CURSOR_PROJECT_DIR",
)


# --- Windsurf


def _windsurfs(message: Json, context: Mapping[str, object]) -> Json:
    native, args = str(message["hook_event_name"]), as_object(message.get("tool_input"))
    info: Json = {}
    if native.endswith("run_command"):
        info = {"command_line": args.get("command", ""), "cwd": message["cwd"]}
    elif native.endswith("write_code"):
        info = _edited(args)
    elif native.endswith("read_code"):
        info = {"file_path": args.get("file_path", "")}
    elif native.endswith("mcp_tool_use"):
        _, server, tool = f"{message['tool_name']}____".split("__")[:3]
        info = {"mcp_server_name": server, "mcp_tool_name": tool, "mcp_tool_arguments": args}
        info |= {"mcp_result": context.get("tool_result_output") or ""} if native[:2] == "po" else {}
    elif native == "pre_user_prompt":
        info = {"user_prompt": message.get("prompt", "")}
    elif native == "post_cascade_response":
        info = {"response": message.get("last_assistant_message", "")}
    common = {"agent_action_name": native, "trajectory_id": message["session_id"], "execution_id": ""}
    return {**common, "timestamp": context.get("timestamp") or "", "tool_info": info}


WINDSURF = Documented(
    "Windsurf",
    {"pre_user_prompt": "user_prompt_submit", "post_cascade_response": "stop"},
    {},
    {
        "flat": True,
        "keys": {"working_directory": "cwd"},
        "without_effect": ("show_output", "powershell"),
        "narrow": {
            f"{when}_{what}": (f"{when}_tool_use", tools)
            for when in ("pre", "post")
            for what, tools in {
                "read_code": "read",
                "write_code": "edit|write|delete",
                "run_command": "bash",
                "mcp_tool_use": "mcp__",
            }.items()
        },
        "message": _windsurfs,
        "answer": {},
        "grants": False,
        "plain": "nobody",
    },
)

AGENTS = {"cursor": CURSOR, "windsurf": WINDSURF}
