"""OpenCode, through hookrun's plugin: its names, and the JSON that the plugin sends and obeys.

The plugin sends `hook` (OpenCode's name), the hook's `input` and `output` or its `event`, and `directory`, `worktree`
and `parent`, the session whose subagent this is; plugin.py says what it obeys.

Source: what OpenCode (1.18.33, 1.18.34) passed to plugins and did with results, with a scripted model.
"""

from __future__ import annotations

from hookrun.agents import base, patch
from hookrun.agents.formats import ResponseFormat
from hookrun.agents.plugin import Plugin, answer
from hookrun.core.model import as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.formats import Json
    from hookrun.agents.types import InstallSpec

NAME = "opencode"
DISPLAY_NAME = "OpenCode"

# An event of plugins -> hookrun's, and what the response can express, if there is one.
SENT = {
    "session.created": ("session_start", "context, user_message"),
    "session.deleted": ("session_end", ""),
    "session.idle": ("stop", "block, user_message"),
    "session.error": ("error", "user_message"),
    "session.compacted": ("post_compact", "user_message"),
    "experimental.session.compacting": ("pre_compact", "context, user_message"),
    "experimental.text.complete": ("assistant_response", "user_message"),
    "chat.message": ("user_prompt_submit", "block, prompt, context, user_message"),
    "tool.execute.before": ("pre_tool_use", "modify, block, context, user_message"),
    "tool.execute.after": ("post_tool_use", "output, context, user_message"),
    "permission.asked": ("permission_request", "user_message"),
    "file.edited": ("file_changed", ""),
}
EVENTS = {native: event for native, (event, _) in SENT.items()}
RESPONSE_FORMATS = {native: ResponseFormat(able, answer) for native, (_, able) in SENT.items() if able}
OF_A_SUBAGENT = {"session.created": "subagent_start", "session.idle": "subagent_stop"}
SYNTHESIZED_FROM = {
    "file_changed": ("tool.execute.after",),
    "post_tool_failure": ("tool.execute.after",),
    "subagent_start": ("session.created",),
    "subagent_stop": ("session.idle",),
}

PATH = {"filePath": "file_path"}
TOOLS = {
    "bash": "bash",
    "read": "read",
    "write": "write",
    "edit": "edit",
    "glob": "glob",
    "grep": "grep",
    "webfetch": "web_fetch",
    "websearch": "web_search",
    "task": "task",
}
ARGUMENTS = {
    "read": PATH,
    "write": PATH,
    "edit": {**PATH, "oldString": "old_string", "newString": "new_string"},
}
NAMES = base.NameMap(TOOLS, ARGUMENTS)
# Its tools that take a patch -> the patch's argument.
PATCHES = {"patch": "patchText", "apply_patch": "patchText"}

PROJECT_ENV_VARS: tuple[str, ...] = ()
ENV_MARKERS = ("OPENCODE", "OPENCODE_PID")  # it sets AGENT too, a name that other programs use
DEFAULT_TIMEOUTS = {"": 60.0}
MAX_TIMEOUTS = {"": 60.0}

NOTES = (
    "Shell lines of commands (``!`...` ``), in `opencode.json` too, run without an event: `hookrun doctor` names them.",
    "It has plugins instead of hooks: `hookrun install` writes one, which calls hookrun.",
    "It has no timeout for plugins: the 60 seconds are hookrun's.",
    "Text for the model at `tool.execute.before` reaches it with the tool's result.",
    "Text for the model at `session.created` reaches it with the first prompt.",
    "`session.deleted` was never sent: hooks for the end of a session do not run.",
    'A prompt can only be blocked by an error: the run ends with "Unexpected server error".',
    "In `opencode run`, and of a subagent, a stop is detected at the end of each text.",
    "A shell command's exit status other than 0 is a failure.",
    "It reports no usage, neither in its transcript nor by an event: `cost-tracker` counts nothing.",
)


def read(payload: dict[str, object], event: str, agent: str = NAME, names: base.NameMap = NAMES) -> base.Message:
    """Return a message of the plugin. Raises UnreadableMessageError if it is not hookrun's plugin."""
    happened = payload.get("event")
    sent = happened.get("type") if isinstance(happened, dict) else payload.get("hook", event)
    if not isinstance(sent, str) or not sent:
        raise base.UnreadableMessageError(
            f"hook is {sent!r}, not the name of a hook of {agent}: is this hookrun's plugin?"
        )
    native = base.sent_event(EVENTS, sent, event)
    data = as_object(payload.get("input"))
    output = as_object(payload.get("output"))
    properties = as_object(as_object(happened).get("properties"))
    fields = base.fields_of({}, {}, frozenset(), agent=agent, event=sent)
    fields["payload"] = payload
    _take_session(fields, payload, data, properties)
    name = OF_A_SUBAGENT.get(native) if payload.get("parent") else None
    call = base.CanonicalCall(name or EVENTS.get(native), fields)
    roots = [payload.get("directory"), payload.get("worktree")]
    _take_texts(call, payload, output, properties, names)
    tool = data.get("tool")
    if not isinstance(tool, str):
        return base.Message(native, [call], roots=roots)
    args = data.get("args", output.get("args"))
    message = base.tool_message(native, call, names, tool, args, roots=roots)
    fields["tool_use_id"] = data.get("callID")
    if call.event == "post_tool_use":
        fields["tool_result_output"] = base.text_of(output.get("output", ""))
        error, status = payload.get("error"), as_object(output.get("metadata")).get("exit")
        if isinstance(error, str):
            message.cannot = frozenset({"output", "context"})  # the model has the result already
        elif status not in (None, 0):
            error = f"Exit code {status}\n{fields['tool_result_output']}".rstrip()
        if isinstance(error, str):
            call.event, fields["tool_result_error"] = "post_tool_failure", error
    message.calls = base.add_file_changed([call])
    patch.split_by_file(message, base.string_in(args, PATCHES.get(tool, "")))
    return message


def _take_session(fields: Json, payload: Json, data: Json, properties: Json) -> None:
    info = as_object(properties.get("info"))
    session = data.get("sessionID") or properties.get("sessionID") or info.get("id")
    parent = base.string_in(payload, "parent")
    fields["session_id"] = session if isinstance(session, str) else None
    fields["root_session_id"] = fields["session_id"] if parent is None else parent
    if parent is not None:
        fields["agent_id"] = session
    fields["working_dir"] = base.string_in(payload, "directory")


def _take_texts(call: base.CanonicalCall, payload: Json, output: Json, properties: Json, names: base.NameMap) -> None:
    """Add the fields of events without a tool."""
    fields, event = call.fields, call.event
    if event == "user_prompt_submit":
        parts = output.get("parts")
        texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        fields["user_prompt"] = "\n".join(text for text in texts if isinstance(text, str))
    elif event == "assistant_response":
        fields["assistant_response"] = base.text_of(output.get("text"))
    elif event in ("stop", "subagent_stop"):
        fields["assistant_response"] = base.string_in(payload, "text")
    elif event == "error":
        fields["error_info"] = {"error_message": base.text_of(properties.get("error"))}
    elif event == "file_changed":
        fields["file_path"] = base.text_of(properties.get("file"))
    elif event == "permission_request":
        tool = str(properties.get("permission"))
        base.tool_message(event, call, names, tool, as_object(properties.get("metadata")))
        fields["tool_use_id"] = as_object(properties.get("tool")).get("callID")


INSTALL: InstallSpec = {
    "program": "opencode",
    "processes": ("/opencode-ai/",),
    "directory": ".config/opencode",
    "user": "plugin/hookrun.js",
    "project": ".opencode/plugin/hookrun.js",
    "form": "plugin",
    "plugin": Plugin(NAME, "opencode_plugin.js", "tool.execute.before"),
    "mcp": {
        "joins": ("_",),
        "unsafe": "_",
        "servers": (("{home}/.config/opencode/opencode.json", "mcp"), ("{project}/opencode.json", "mcp")),
    },
    "on_demand": {"experimental.text.complete": "for each text of the model"},
    "shell_lines": dict.fromkeys((".opencode/command*/**/*.md", "opencode.json*", ".opencode/*.json*"), r"!`([^`]+)`"),
    "unsent": ("session.deleted",),
    "elsewhere": ("{directory}/plugins/hookrun.js", ".opencode/plugins/hookrun.js"),
}
