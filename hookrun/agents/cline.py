"""Cline CLI: its names, its messages, and the few responses it obeys; its only block ends the whole run.

A call of its own tools is blocked by arguments that the tool's schema rejects: the call fails at once, the run
continues, and the model reads the reason. Its hooks are files named after the event.

Source: what the CLI (3.0.65) sent and did with each answer, measured against a scripted model, including failing calls
of six of its tools; the schema of `apply_patch`, and the other shapes of arguments, read in its JavaScript.
"""

from __future__ import annotations

from hookrun.agents import base, patch
from hookrun.agents.formats import ResponseFormat, parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.base import Arguments, ToNativeArgs
    from hookrun.agents.formats import Json, Reply
    from hookrun.agents.types import InstallSpec

NAME = "cline"
DISPLAY_NAME = "Cline CLI"

EVENTS = {
    "TaskStart": "session_start",
    "TaskResume": "session_start",
    "TaskComplete": "stop",
    "TaskError": "error",
    "SessionShutdown": "session_end",
    "UserPromptSubmit": "user_prompt_submit",
    "PreToolUse": "pre_tool_use",
    "PostToolUse": "post_tool_use",
    "PreCompact": "pre_compact",
}
# An event's name in a message -> the hook's file name.
HOOK_NAMES = {
    "agent_start": "TaskStart",
    "agent_resume": "TaskResume",
    "agent_abort": "TaskCancel",
    "agent_end": "TaskComplete",
    "agent_error": "TaskError",
    "session_shutdown": "SessionShutdown",
    "prompt_submit": "UserPromptSubmit",
    "tool_call": "PreToolUse",
    "tool_result": "PostToolUse",
}

# A subagent's event, identified by its parent -> hookrun's name.
SUBAGENTS = {"TaskStart": "subagent_start", "TaskComplete": "subagent_stop"}

SYNTHESIZED_FROM = {
    "post_tool_failure": ("PostToolUse",),
    "file_changed": ("PostToolUse",),
    **{event: (native,) for native, event in SUBAGENTS.items()},
}

COMMANDS, EDITOR, PATCH = "run_commands", "editor", patch.TOOL
TOOLS = {
    COMMANDS: "bash",
    EDITOR: "edit",
    "read_files": "read",
    "search_codebase": "grep",
    "fetch_web_content": "web_fetch",
    "spawn_agent": "task",
}
AS_WRITE = "editor, making a file"
ARGUMENTS = {
    "spawn_agent": {"task": "prompt"},
    EDITOR: {"path": "file_path", "old_text": "old_string", "new_text": "new_string"},
    AS_WRITE: {"path": "file_path", "new_text": "content"},
}
NAMES = base.NameMap({**TOOLS, AS_WRITE: "write"}, ARGUMENTS)

# Its tools that take a list -> the arguments that may hold it, the usual one first; hookrun's name of an item's
# argument; its key in an item that is an object.
LISTS = {
    COMMANDS: (("commands", "command", "cmd"), "command", ""),
    "read_files": (("files", "file_paths", "paths"), "file_path", "path"),
    "search_codebase": (("queries",), "pattern", ""),
    "fetch_web_content": (("requests",), "url", "url"),
}

# Its tools with a required argument: a call without it fails.
STRICT = frozenset({COMMANDS, EDITOR, PATCH, "read_files", "search_codebase", "fetch_web_content", "spawn_agent"})

# Arguments that all of STRICT reject.
FAILING: Arguments = {"refused_by_a_hook": True}

PROJECT_ENV_VARS: tuple[str, ...] = ()
ENV_MARKERS = ("CLINE_CONNECTOR_CLI_LAUNCH", "CLINE_ACTIVE")
DEFAULT_TIMEOUTS = {"": 120.0}
MAX_TIMEOUTS = {"": 120.0}

NOTES = (
    "Each command, file, pattern or address of a call becomes a separate call and can be changed separately.",
    "A call that is made to fail counts as a mistake of the model: the third in a row (`--retries`) ends the run.",
    "`editor` is a `write` if it has neither a text to replace nor a line to insert at: it creates the file.",
    "`stop`, and a block of an MCP server's tool, ends the run without its reason.",
    "That `apply_patch` fails on such arguments follows its schema; it was not measured.",
    "`UserPromptSubmit`, `SessionShutdown` and `PreCompact` never came: hooks for them do not run.",
    "It reports no usage, neither in its transcript nor by an event: `cost-tracker` counts nothing.",
)

FIELDS = {"taskId": "session_id"}
TRANSLATED = frozenset({"hookName", "sessionContext", "workspaceRoots", "workspaceInfo", "tool_call", "tool_result",
                        "preToolUse", "postToolUse", "userPromptSubmit", "turn", "error", "timestamp"})  # fmt: skip


def read(payload: dict[str, object], event: str) -> base.Message:
    """Return a message, with a call for each command. Raises UnreadableMessageError without an event."""
    name = payload.get("hookName", event)
    if not isinstance(name, str) or not name:
        raise base.UnreadableMessageError(f"hookName is {name!r}, not the name of an event of {DISPLAY_NAME}")
    sent = HOOK_NAMES.get(name, name)
    native = base.sent_event(EVENTS, sent, event)
    fields = base.fields_of(payload, FIELDS, TRANSLATED, agent=NAME, event=sent)
    listed = payload.get("workspaceRoots")
    roots = [base.string_in(payload.get("workspaceInfo"), "rootPath"), *(listed if isinstance(listed, list) else ())]
    if payload.get("parent_agent_id") is None:
        fields["agent_id"] = None  # in a context, the agent is a subagent
    fields["root_session_id"] = base.string_in(payload.get("sessionContext"), "rootSessionId")
    fields["working_dir"] = next((root for root in roots if isinstance(root, str)), None)
    fields["user_prompt"] = base.string_in(payload.get("userPromptSubmit"), "prompt")
    fields["assistant_response"] = base.string_in(payload.get("turn"), "outputText")
    if payload.get("error") is not None:
        fields["error_info"] = {"error_message": base.text_of(payload["error"])}
    of_subagent = SUBAGENTS.get(native) if fields["agent_id"] is not None else None
    call = base.CanonicalCall(of_subagent or EVENTS.get(native), fields)
    about = payload.get("tool_call") or payload.get("tool_result")
    if not isinstance(about, dict) or not isinstance(about.get("name"), str):
        return base.Message(native, [call], roots=roots)
    fields["tool_use_id"] = about.get("id")
    message = base.tool_message(native, call, NAMES, about["name"], about.get("input"), roots=roots)
    take_tool(message, about)
    return message


def take_tool(message: base.Message, about: dict[str, object]) -> None:
    """Give a message its tool call with the result, or one for each item of a list or file of a patch."""
    call, tool, args = message.calls[0], str(message.tool), about.get("input")
    items = _items(tool, args)
    if items:
        _split_by_item(message, about, items)
        return
    _take_result(call, about.get("output"), about.get("error"))
    if tool == EDITOR and isinstance(args, dict) and args.get("old_text") is None and args.get("insert_line") is None:
        call.fields.update(tool_name="write", tool_args=NAMES.arguments(AS_WRITE, args))
        message.to_native_args = base.native_args_of_single_call(NAMES, AS_WRITE, args)
    message.calls = base.add_file_changed([call])
    if tool == PATCH:
        patch.split_by_file(message, args if isinstance(args, str) else base.string_in(args, "input"))


def _items(tool: str, args: object) -> list[object]:
    """Return a call's items, which the model may pass in several shapes, if the tool is in LISTS."""
    if tool not in LISTS:
        return []
    if isinstance(args, dict):
        args = next((args[key] for key in LISTS[tool][0] if key in args), None)
    if isinstance(args, (str, dict)):
        args = [args]
    return args if isinstance(args, list) else []


def _arguments(tool: str, item: object) -> Arguments:
    """Return a list's item as the arguments of a separate call, under hookrun's names."""
    _, ours, theirs = LISTS[tool]
    if not isinstance(item, dict):
        return {ours: str(item)}
    if tool == COMMANDS:
        from shlex import join  # rarely needed

        words = item.get("args")
        return {ours: join([str(item.get("command")), *map(str, words if isinstance(words, list) else ())])}
    return {ours if key == theirs else key: value for key, value in item.items()}


def _split_by_item(message: base.Message, about: dict[str, object], items: list[object]) -> None:
    """Give a message a call, with its result, for each item."""
    first, tool = message.calls.pop(), str(message.tool)
    first.fields.pop("arguments_cut_off", None)
    outputs = about.get("output")
    for number, item in enumerate(items):
        call = base.CanonicalCall(first.event, {**first.fields, "tool_args": _arguments(tool, item)})
        output = outputs[number] if isinstance(outputs, list) and number < len(outputs) else None
        _take_result(call, [output] if output is not None else None, about.get("error"))
        message.calls.append(call)
    message.to_native_args = _replace_items(tool, items)


def _replace_items(tool: str, items: list[object]) -> ToNativeArgs:
    (usual, *_), ours, theirs = LISTS[tool]

    def changed(item: object, args: Arguments | None) -> object:
        if args is None:
            return item
        if theirs and isinstance(item, dict):
            return {theirs if key == ours else key: value for key, value in args.items()}
        return args.get(ours)

    def own(wanted: list[Arguments | None]) -> Arguments | None:
        padded = [*wanted, *[None] * (len(items) - len(wanted))]
        return {usual: [changed(item, args) for item, args in zip(items, padded, strict=False)]}

    return own


def _take_result(call: base.CanonicalCall, output: object, error: object) -> None:
    """Add a tool's result to a call's context, and make the event a failure if it is one."""
    if call.event != "post_tool_use":
        return
    if isinstance(output, dict):
        output = [output]
    parts = output if isinstance(output, list) and all(isinstance(part, dict) for part in output) else None
    failed = error is not None or any(part.get("success") is False for part in parts or ())
    texts = [base.text_of(output)] if parts is None else [base.text_of(part.get("result", part)) for part in parts]
    text = "\n".join(texts)
    if not failed:
        call.fields["tool_result_output"] = text
        return
    call.event = "post_tool_failure"
    errors = [base.text_of(part["error"]) for part in parts or () if part.get("error") is not None]
    call.fields["tool_result_error"] = "\n".join(errors) or (base.text_of(error) if error is not None else text)


def _answer(reply: Reply, message: base.Message) -> Json:
    if reply.action == "stop" or (reply.action == "block" and message.tool not in STRICT):
        return {"cancel": True, "errorMessage": reply.text}
    if reply.action == "block":
        return {"overrideInput": FAILING, "context": reply.text}
    return parts(reply, args="overrideInput", context="context")


def _block_caveats(reply: Reply, message: base.Message) -> list[str]:
    if reply.action != "block":
        return []
    return ["block -> failing call" if message.tool in STRICT else "block -> end of run"]


RESPONSE_FORMATS = {
    "PreToolUse": ResponseFormat("modify, block, stop, context", _answer, _block_caveats),
    "PostToolUse": ResponseFormat("stop, context", _answer),
}

INSTALL: InstallSpec = {
    "program": "cline",
    "processes": ("/@cline/cli",),
    "directory": ".cline",
    "user": "hooks/{event}",
    "project": ".cline/hooks/{event}",
    "project_root": '"${0%/*}"/../../',
    "form": "script",
    "mcp": {
        "joins": ("__",),
        "unsafe": "_",
        "servers": (("{home}/.cline/data/settings/cline_mcp_settings.json", "mcpServers"),),
    },
    "unsent": ("UserPromptSubmit", "SessionShutdown", "PreCompact"),
    "elsewhere": ("~/Documents/Cline/Hooks/{event}", ".clinerules/hooks/{event}"),
}
