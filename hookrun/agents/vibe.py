"""Mistral Vibe: its names, its messages, and the responses it obeys.

Source: what Vibe 3.0.2 sent and did with each answer and exit status, measured against a scripted model; for texts in
its terminal its documentation (the skill `vibe` of the package).
"""

from __future__ import annotations

from hookrun.agents.base import FIELDS, NameMap, read_claude_style, string_in, text_of
from hookrun.agents.formats import Reply, ResponseFormat, output_as_reason, parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.base import Message
    from hookrun.agents.formats import Json
    from hookrun.agents.types import InstallSpec

NAME = "vibe"
DISPLAY_NAME = "Mistral Vibe"
UNMEASURED = ("subagent_stop",)
# Its model can call these in a script only, which hears that a call was blocked, and not why.
WEAKER = dict.fromkeys(("block an MCP tool", "block a subagent"), "best effort")

EVENTS = {"pre_tool": "pre_tool_use", "post_tool": "post_tool_use", "post_agent": "stop"}
SYNTHESIZED_FROM = {
    "post_tool_failure": ("post_tool",),
    "file_changed": ("post_tool",),
    "subagent_stop": ("post_agent",),
}

TOOLS = {
    "file_system.bash": "bash",
    "process.start": "bash",
    "file_system.read_file": "read",
    "file_system.write_file": "write",
    "file_system.search_replace": "edit",
    "agents.spawn": "task",
}


NAMES = NameMap(TOOLS, {"agents.spawn": {"message": "prompt"}}, joins=".")

PROJECT_ENV_VARS: tuple[str, ...] = ()
ENV_MARKERS = ("VIBE_APP_SERVER_BIN",)
DEFAULT_TIMEOUTS = {"": 60.0}
MAX_TIMEOUTS: dict[str, float] = {}

NOTES = (
    "`hookrun install` writes `strict = true` for `pre_tool`: then a failure, a kill or a timeout of hookrun blocks.",
    "It shows text for the user in its terminal, not in `vibe -p`.",
    "`run_typescript` and `search_tool_functions` run without an event; each tool that the script calls has its own.",
    "`process.write` types into a program that `process.start` has started.",
    "A block at `post_tool` replaces the result with the reason.",
    "It ends a turn itself after 3 blocks of `post_agent` in a row.",
    "It runs a project's hooks if it is started in the project's root and trusts that folder.",
    "A trusted project's hook with the name of one of the user's replaces that: look at the file before you trust it.",
)


def read(payload: dict[str, object], event: str) -> Message:
    """Return a message of Mistral Vibe; a result with an error is a failure. Raises UnreadableMessageError."""
    fields = {**FIELDS, "tool_call_id": "tool_use_id"}
    known = {key: value for key, value in payload.items() if key not in ("tool_output", "tool_output_text")}
    if payload.get("tool_error") is None and "tool_output_text" in payload:
        output = payload.get("tool_output")
        shell = [text for key in ("stdout", "stderr") if (text := string_in(output, key))]
        known["tool_response"] = (
            "\n".join(shell) if string_in(output, "stdout") is not None else payload["tool_output_text"]
        )
    message = read_claude_style(known, event, NAME, events=EVENTS, names=NAMES, fields=fields)
    call = message.calls[0]
    call.fields["payload"] = payload
    if call.event == "post_tool_use" and payload.get("tool_status") == "failure":
        call.event = "post_tool_failure"
        call.fields["tool_result_error"] = text_of(payload.get("tool_error"))
        del message.calls[1:]
    if call.event == "stop" and payload.get("parent_session_id") is not None:
        call.event = "subagent_stop"
    return message


def _answer(reply: Reply, _message: Message) -> Json:
    refusal: Json = {"decision": "deny", "reason": reply.reason} if reply.action == "block" else {}
    own = parts(reply, args="tool_input", context="additional_context")
    return {**refusal, **({"hook_specific_output": own} if own else {}), **parts(reply, user_message="system_message")}


RESPONSE_FORMATS = {
    "pre_tool": ResponseFormat("modify, block, context later, user_message", _answer),
    "post_tool": ResponseFormat("block, output, context, user_message", *output_as_reason(_answer)),
    "post_agent": ResponseFormat("block, user_message", _answer),
}

INSTALL: InstallSpec = {
    "program": "vibe",
    "processes": ("vibe-app-server", "/vibe/_bin/vibe-rs", "vibe-acp"),
    "directory": ".vibe",
    "variable": "VIBE_HOME",
    "user": "hooks.toml",
    "project": ".vibe/hooks.toml",
    "form": "toml",
    "handler": {"name": "{name}", "type": "{event}", "command": "{command}", "timeout": "{limit}"},
    "more": {"pre_tool": {"strict": True}},
    "exit_zero_only": True,
    "folder_trust": {
        "file": "trusted_folders.toml",
        "lists": ("trusted",),
        "cause": "Mistral Vibe skips a project's hooks there",
        "remedy": "start vibe in it once and trust the folder, or run `vibe --trust -p`",
    },
}
