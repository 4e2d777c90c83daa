"""Qwen Code: its names, its messages, and what it obeys.

Source: what the CLI (0.24.4, and 0.15.10 for Node before 22) sent and did with each answer, measured against a scripted
model; the one interactive run of 0.24.4 there was.
"""

from __future__ import annotations

from hookrun.agents.forms import (
    Form,
    after,
    before_tool,
    end_of_turn,
    ending,
    permission,
    specific,
    telling,
    with_person,
)
from hookrun.agents.hook_message import FIELDS, Shape, content_text
from hookrun.agents.names import Names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.forms import Answer
    from hookrun.agents.message import Message
    from hookrun.agents.said import Said
    from hookrun.agents.wiring import Wiring

NAME = "qwen"
TITLE = "Qwen Code"
MEASURED = "0.24.4 and 0.15.10, `qwen -p`"

EVENTS = {
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "UserPromptSubmit": "user_prompt_submit",
    "MessageDisplay": "assistant_response",
    "PreToolUse": "pre_tool_use",
    "PostToolUse": "post_tool_use",
    "PostToolUseFailure": "post_tool_failure",
    "PermissionRequest": "permission_request",
    "PermissionDenied": "tool_call_aborted",
    "Stop": "stop",
    "StopFailure": "error",
    "SubagentStart": "subagent_start",
    "SubagentStop": "subagent_stop",
    "PreCompact": "pre_compact",
    "PostCompact": "post_compact",
    "Notification": "notification",
}
MADE_FROM = {"file_changed": ("PostToolUse",)}
GUARDED = "PreToolUse"

TOOLS = {
    "run_shell_command": "bash",
    "read_file": "read",
    "write_file": "write",
    "edit": "edit",
    "notebook_edit": "edit",
    "glob": "glob",
    "grep_search": "grep",
    "web_fetch": "web_fetch",
    "web_search": "web_search",
    "task": "task",
    "agent": "task",
}
ARGUMENTS = {"notebook_edit": {"notebook_path": "file_path", "new_source": "new_string"}}
NAMES = Names(TOOLS, ARGUMENTS)

VARIABLES = ("QWEN_PROJECT_DIR",)
LIMITS = {"": 60.0}
MOST: dict[str, float] = {}
ALWAYS_ZERO = False

NOTES = (
    "A `timeout` of 1000 or more in its settings is taken for milliseconds.",
    "`UserPromptSubmit` comes again after each tool call, with an empty prompt: those are not fired.",
    "`SessionEnd` does not come in `qwen -p`.",
    "No call is granted in `qwen -p`, whatever a hook says.",
    "The person is not shown why a prompt was refused.",
    "What is said at `PostToolUseFailure`, `SubagentStop` and `Notification` is by its documentation, not measured.",
    "In `qwen -p` an `ask` is a refusal with its reason.",
    "0.15.10 takes no text for the model at `SessionStart`.",
    "It ends a turn itself after 7 blocks of `Stop` in a row.",
)

_read = Shape(
    NAME,
    events=EVENTS,
    names=NAMES,
    fields={**FIELDS, "displayed_text": "assistant_response"},
    output=content_text,
).read


def read(payload: dict[str, object], event: str) -> Message:
    """Return what a message says; of a prompt that nobody wrote, nothing. Raises UnreadableError."""
    message = _read(payload, event)
    if message.native == "UserPromptSubmit" and not payload.get("prompt") and not payload.get("submitted_prompt"):
        message.calls.clear()
    return message


def _after_tool(said: Said, message: Message) -> Answer:
    """PostToolUse: text for the model is added, the turn can be ended; nothing else is obeyed."""
    fields: Answer = {"additionalContext": said.text} if said.text else {}
    top = end_of_turn(said) if said.action == "stop" else {}
    return with_person(said, {**top, **specific(message, fields)})


FORMS = {
    "SessionStart": Form("context, person", telling),
    "UserPromptSubmit": Form("block, context, person", after),
    "PreToolUse": Form("ask, block, person", before_tool),
    "PermissionRequest": Form("allow, allow with arguments, ask, block, person", permission),
    "PostToolUse": Form("stop, context, person", _after_tool),
    "PostToolUseFailure": Form("context, person", telling),
    "Stop": Form("block, person", ending),
    "SubagentStop": Form("block, person", ending),
    "Notification": Form("person", telling),
}

WIRING: Wiring = {
    "program": "qwen",
    "directory": ".qwen",
    "user": "settings.json",
    "project": ".qwen/settings.json",
    "form": "jsonc",
    "handler": {"type": "command", "command": "{command}", "timeout": "{limit}"},
    "settings": (".qwen/settings.json", "{directory}/settings.json"),
    "off": {"disableAllHooks": True},
    "trust": "folders if asked",
}
