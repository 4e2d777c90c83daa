"""Pi, through hookrun's extension: its names, and the messages that the extension sends.

Source: what Pi 1.6.0 passed to extensions and did with results, with a scripted model; for compaction its documentation
(docs/extensions.md of the package).
"""

from __future__ import annotations

from hookrun.agents.base import NameMap, read_claude_style, text_of
from hookrun.agents.formats import ResponseFormat
from hookrun.agents.plugin import Plugin, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.base import Arguments, Message, ToNativeArgs
    from hookrun.agents.types import InstallSpec

NAME = "pi"
DISPLAY_NAME = "Pi"
UNMEASURED = ("session_before_compact", "session_compact")

# An event of extensions -> hookrun's, and what the response can express.
SENT = {
    "session_start": ("session_start", "context, user_message"),
    "session_shutdown": ("session_end", "user_message"),
    "input": ("user_prompt_submit", "block, prompt, context, user_message"),
    "tool_call": ("pre_tool_use", "modify, block, context, user_message"),
    "tool_result": ("post_tool_use", "output, context, user_message"),
    "agent_before_settle": ("stop", "block, user_message"),
    "session_before_compact": ("pre_compact", "user_message"),
    "session_compact": ("post_compact", "user_message"),
}
EVENTS = {native: event for native, (event, _) in SENT.items()}
RESPONSE_FORMATS = {native: ResponseFormat(able, answer) for native, (_, able) in SENT.items()}
SYNTHESIZED_FROM = {"post_tool_failure": ("tool_result",), "file_changed": ("tool_result",)}

PATH = {"path": "file_path"}
TOOLS = {
    "bash": "bash",
    "powershell": "bash",
    "read": "read",
    "write": "write",
    "edit": "edit",
    "find": "glob",
    "ls": "glob",
    "grep": "grep",
}
NAMES = NameMap(TOOLS, {"read": PATH, "write": PATH, "edit": PATH})

PROJECT_ENV_VARS: tuple[str, ...] = ()
ENV_MARKERS = ("AI_AGENT", "PI_CODING_AGENT")
DEFAULT_TIMEOUTS = {"": 60.0}
MAX_TIMEOUTS = {"": 60.0}

NOTES = (
    "It has extensions instead of hooks: `hookrun install` writes one, which calls hookrun.",
    "It has no timeout for extensions: the 60 seconds are hookrun's.",
    "The replacements of an `edit` are one call: `old_string` and `new_string` have a line for each.",
    "Text for the model at `session_start` and `input` reaches it with the prompt; before a tool, with its result.",
    "The user's own commands (`!`, `!!`) run without an event.",
    "A prompt that is blocked reaches neither the model nor the session.",
)


def read(payload: dict[str, object], event: str) -> Message:
    """Return a message of the extension; a result that is an error is a failure. Raises UnreadableMessageError."""
    message = read_claude_style(payload, event, NAME, events=EVENTS, names=NAMES)
    call = message.calls[0]
    args = call.fields.get("tool_args")
    if message.tool == "edit" and isinstance(args, dict) and isinstance(args.get("edits"), list):
        call.fields["tool_args"] = {**args, **_joined(args["edits"])}
        message.to_native_args = _with_edits(message.to_native_args, args["edits"])
    if call.event == "post_tool_use" and payload.get("is_error") is True:
        call.event = "post_tool_failure"
        call.fields["tool_result_error"] = text_of(payload.get("tool_response"))
        del message.calls[1:]
    return message


STRINGS = {"oldText": "old_string", "newText": "new_string"}


def _joined(edits: list[object]) -> dict[str, object]:
    """Return the texts of all replacements, as one."""
    found = [each for each in edits if isinstance(each, dict)]
    return {ours: "\n".join(str(each.get(theirs, "")) for each in found) for theirs, ours in STRINGS.items()}


def _with_edits(own: ToNativeArgs, edits: list[object]) -> ToNativeArgs:
    """Return a `to_native_args` for an edit: only a single replacement can have changed texts."""
    before = _joined(edits)

    def to_native_args(wanted: list[Arguments | None]) -> Arguments | None:
        args = own(wanted)
        if args is None:
            return None
        texts = {name: args.pop(name, before[name]) for name in before}
        args.setdefault("edits", edits)
        if texts == before:
            return args
        changed: Arguments = {theirs: texts[ours] for theirs, ours in STRINGS.items()}
        return {**args, "edits": [changed]} if len(edits) == 1 and args["edits"] == edits else None

    return to_native_args


INSTALL: InstallSpec = {
    "program": "pi",
    "processes": ("/@earendil-works/pi-coding-agent/",),
    "directory": ".pi/agent",
    "variable": "PI_CODING_AGENT_DIR",
    "user": "extensions/hookrun.js",
    "project": ".pi/extensions/hookrun.js",
    "form": "plugin",
    "plugin": Plugin(NAME, "pi_plugin.js", "tool_call"),
    "folder_trust": {
        "file": "trust.json",
        "levels": {"True": "folder", "False": "none"},
        "cause": "Pi loads no extension of a project there",
        "remedy": "start pi in it once and trust the project",
    },
}
