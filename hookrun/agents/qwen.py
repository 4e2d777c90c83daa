"""Qwen Code: its names, its messages, and the responses it obeys.

Source: what the CLI (0.24.4, and 0.15.10 for Node before 22) sent and did with each answer, measured against a scripted
model and in an interactive run of 0.24.4.
"""

from __future__ import annotations

from hookrun.agents.base import FIELDS, NameMap, administrators, content_text, read_claude_style
from hookrun.agents.formats import claude_formats, render_notification
from hookrun.core.events import CLAUDE_EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.base import Message
    from hookrun.agents.types import HookForm, InstallSpec

NAME = "qwen"
DISPLAY_NAME = "Qwen Code"
UNMEASURED = ("PostToolUseFailure", "SubagentStop", "Notification")

EVENTS = {native: event for native, event in CLAUDE_EVENTS.items() if native != "FileChanged"}
SYNTHESIZED_FROM = {"file_changed": ("PostToolUse",)}

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
NAMES = NameMap(TOOLS, ARGUMENTS)

PROJECT_ENV_VARS = ("QWEN_PROJECT_DIR",)
ENV_MARKERS = ("QWEN_CODE",)
DEFAULT_TIMEOUTS = {"": 60.0}
MAX_TIMEOUTS: dict[str, float] = {}

NOTES = (
    "Shell lines of `.qwen/commands` (`!{...}`) run without an event: `hookrun doctor` names them.",
    "A `timeout` of 1000 or more in its settings is read as milliseconds.",
    "`UserPromptSubmit` is sent again after each tool call, with an empty prompt: those are not fired.",
    "`SessionEnd` is not sent in `qwen -p`.",
    "It shows text for the user at `Stop` only: other text waits for it, and the model is asked to pass it on.",
    "`qwen -p` approves no call, whatever a hook answers.",
    "The user is not shown why a prompt was blocked.",
    "In `qwen -p` an `ask` blocks the call with its reason.",
    "0.15.10 accepts no text for the model at `SessionStart`.",
    "It ends a turn itself after 7 blocks of `Stop` in a row.",
)


def read(payload: dict[str, object], event: str) -> Message:
    """Return a message of Qwen Code, without calls if the prompt is empty. Raises UnreadableMessageError."""
    fields = {**FIELDS, "displayed_text": "assistant_response"}
    message = read_claude_style(payload, event, NAME, events=EVENTS, names=NAMES, fields=fields, output=content_text)
    if message.native == "UserPromptSubmit" and not payload.get("prompt") and not payload.get("submitted_prompt"):
        message.calls.clear()
    return message


RESPONSE_FORMATS = claude_formats(
    {
        "SessionStart": "context, user_message later",
        "UserPromptSubmit": "block, context, user_message later",
        "PreToolUse": "ask, block, context later, user_message later",
        "PermissionRequest": "allow, allow with arguments, ask, block, user_message later",
        "PostToolUse": "stop, context, user_message later",
        "PostToolUseFailure": "context, user_message later",
        "Stop": "block, user_message",
        "SubagentStop": "block, user_message later",
        "Notification": "user_message later",
    },
    PostToolUse=render_notification,
)

HOOKS: HookForm = {
    "without_effect": ("name", "description"),
    "milliseconds_from": 1000,
    "message": lambda message, context: {**message, "timestamp": context.get("timestamp") or ""},
}

INSTALL: InstallSpec = {
    "program": "qwen",
    "processes": ("/@qwen-code/qwen-code/",),
    "directory": ".qwen",
    "user": "settings.json",
    "project": ".qwen/settings.json",
    "form": "jsonc",
    "on_demand": {"MessageDisplay": "for each part of the answer that is shown"},
    "shell_lines": {f".qwen/commands/**/*.{kind}": r"!\{([^}]+)\}" for kind in ("md", "toml")},
    "settings": ("/etc/qwen-code/settings.json", ".qwen/settings.json", "{directory}/settings.json"),
    "off": {"disableAllHooks": True},
    "managed_hooks": f"{administrators('qwen-code', 'QwenCode')}/settings.json",
    "folder_trust": {
        "file": "trustedFolders.json",
        "levels": {"TRUST_FOLDER": "folder", "TRUST_PARENT": "parent", "DO_NOT_TRUST": "none"},
        "switch": ("security.folderTrust.enabled", False),
        "project_hooks_only": False,
        "cause": "without a terminal Qwen Code does not start there, and it skips a project's hooks",
        "remedy": "start qwen in it once and trust the folder",
    },
}
