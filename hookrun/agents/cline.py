"""Cline CLI: its names, its messages, and what it obeys, which is little: its only refusal ends the whole run.

A call of one of its own tools is refused by arguments that the tool's schema does not take: it fails before it does
anything, the run goes on, and the model reads why. Its hooks are files, named after the event.

Source: what the CLI (3.0.65) sent and did with each answer, measured against a scripted model, failing calls of five of
its tools included; the schema of `apply_patch`, and the other shapes of arguments, read in its JavaScript.
"""

from __future__ import annotations

from hookrun.agents import patch
from hookrun.agents.base import (
    CanonicalCall,
    Message,
    NameMap,
    UnreadableMessageError,
    add_file_changed,
    fields_of,
    native_args_of_single_call,
    text_of,
    tool_fields,
)
from hookrun.agents.formats import ResponseFormat, join_paragraphs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.base import Arguments, ToNativeArgs
    from hookrun.agents.formats import Json, Reply
    from hookrun.agents.types import InstallSpec

NAME = "cline"
DISPLAY_NAME = "Cline CLI"
TESTED_VERSIONS = "3.0.65, headless"

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
"""What a message calls its event -> the name of the file that is the hook."""

SYNTHESIZED_FROM = {"post_tool_failure": ("PostToolUse",), "file_changed": ("PostToolUse",)}
PRE_TOOL_EVENT = "PreToolUse"

COMMANDS, EDITOR, PATCH = "run_commands", "editor", "apply_patch"
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
NAMES = NameMap({**TOOLS, AS_WRITE: "write"}, ARGUMENTS)

LISTS = {
    COMMANDS: (("commands", "command", "cmd"), "command", ""),
    "read_files": (("files", "file_paths", "paths"), "file_path", "path"),
    "search_codebase": (("queries",), "pattern", ""),
    "fetch_web_content": (("requests",), "url", "url"),
}
"""Its tools that do several things in one call -> the arguments, one of which lists them, the usual one first;
what a thing is in hookrun's words; and where it is in a thing that is an object."""

STRICT = frozenset({COMMANDS, EDITOR, PATCH, "read_files", "search_codebase", "fetch_web_content"})
"""Its own tools that cannot run without an argument that has to be there."""

FAILING: Arguments = {"refused_by_a_hook": True}
"""Arguments that none of STRICT takes."""

PROJECT_ENV_VARS: tuple[str, ...] = ()
ENV_MARKERS = ("CLINE_ACTIVE",)
SETTINGS_GLOBS = (".cline/hooks/*", ".clinerules/hooks/*", "Documents/Cline/Hooks/*")
DEFAULT_TIMEOUTS = {"": 120.0}
MAX_TIMEOUTS = {"": 120.0}
EXIT_ZERO_ONLY = False

NOTES = (
    "Each command, file, pattern or address of one call is fired as a call of its own, and can be changed on its own.",
    "A call that is made to fail counts as a mistake of the model: after six in a row (`--retries`) the run ends.",
    "`editor` is a `write` where it has neither a text to replace nor a line to insert at: it makes the file.",
    "`stop` before or after a tool ends the run; nobody is shown why.",
    "That `apply_patch` fails on such arguments is by its schema, not measured.",
    "`UserPromptSubmit` and `PreCompact` did not come in any run.",
    "It reports no usage, neither in its transcript nor by an event: `cost-tracker` counts nothing.",
)

FIELDS = {"taskId": "session_id"}
TRANSLATED = frozenset({"hookName", "sessionContext", "workspaceRoots", "workspaceInfo", "tool_call", "tool_result",
                        "preToolUse", "postToolUse", "userPromptSubmit", "turn", "error", "timestamp"})  # fmt: skip


def read(payload: dict[str, object], event: str) -> Message:
    """Return what a message says: of several commands, a call for each. Raises UnreadableError without an event."""
    given = payload.get("hookName", event)
    if not isinstance(given, str) or not given:
        raise UnreadableMessageError(f"hookName is {given!r}, expected the name of an event of {DISPLAY_NAME}")
    native = HOOK_NAMES.get(given, given)
    fields = fields_of(payload, FIELDS, TRANSLATED, agent=NAME, event=native)
    roots = _roots(payload)
    if payload.get("parent_agent_id") is None:
        fields["agent_id"] = None  # in a context, the agent is a subagent
    fields["root_session_id"] = _text_in(payload.get("sessionContext"), "rootSessionId")
    fields["working_dir"] = next((root for root in roots if isinstance(root, str)), None)
    fields["user_prompt"] = _text_in(payload.get("userPromptSubmit"), "prompt")
    fields["assistant_response"] = _text_in(payload.get("turn"), "outputText")
    if payload.get("error") is not None:
        fields["error_info"] = {"error_message": text_of(payload["error"])}
    call = CanonicalCall(EVENTS.get(native), fields)
    about = payload.get("tool_call") or payload.get("tool_result")
    if not isinstance(about, dict) or not isinstance(about.get("name"), str):
        return Message(native, [call], roots=roots)
    fields["tool_use_id"] = about.get("id")
    return _about_tool(Message(native, [call], roots=roots, tool=about["name"]), about)


def _roots(payload: dict[str, object]) -> list[object]:
    listed = payload.get("workspaceRoots")
    return [_text_in(payload.get("workspaceInfo"), "rootPath"), *(listed if isinstance(listed, list) else ())]


def _text_in(value: object, key: str) -> str | None:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _about_tool(message: Message, about: dict[str, object]) -> Message:
    """Return the message with the tool call in it: as it is, thing by thing, or by file of a patch."""
    call, tool, args = message.calls[0], str(message.tool), about.get("input")
    call.fields.update(tool_fields(NAMES, tool, args))
    things = _things(tool, args)
    if things:
        return _one_by_one(message, about, things)
    _take_result(call, about.get("output"), about.get("error"))
    text = args if isinstance(args, str) else _text_in(args, "input")
    if tool == PATCH and text is not None:
        return patch.split_by_file(message, text)
    if tool == EDITOR and isinstance(args, dict) and args.get("old_text") is None and args.get("insert_line") is None:
        tool = AS_WRITE
        call.fields.update(tool_name="write", tool_args=NAMES.arguments(tool, args))
    message.calls = add_file_changed([call])
    message.to_native_args = native_args_of_single_call(NAMES, tool, args)
    return message


def _things(tool: str, args: object) -> list[object]:
    """Return what a tool of LISTS is to do, which the model may list in several shapes; of other tools nothing."""
    if tool not in LISTS:
        return []
    if isinstance(args, dict):
        args = next((args[key] for key in LISTS[tool][0] if key in args), None)
    if isinstance(args, (str, dict)):
        args = [args]
    return args if isinstance(args, list) else []


def _arguments(tool: str, thing: object) -> Arguments:
    """Return one thing that a tool does as the arguments of a call of its own, by hookrun's names."""
    _, ours, theirs = LISTS[tool]
    if not isinstance(thing, dict):
        return {ours: str(thing)}
    if tool == COMMANDS:
        return {ours: _line(thing)}
    return {ours if key == theirs else key: value for key, value in thing.items()}


def _line(command: dict[str, object]) -> str:
    """Return a command that is a program and its arguments as the line that a shell would take it from."""
    from shlex import join

    args = command.get("args")
    return join([str(command.get("command")), *map(str, args if isinstance(args, list) else ())])


def _one_by_one(message: Message, about: dict[str, object], things: list[object]) -> Message:
    """Return a message with a call for each thing, with what it gave."""
    first, tool = message.calls[0], str(message.tool)
    outputs = about.get("output")
    calls = []
    for number, thing in enumerate(things):
        call = CanonicalCall(first.event, {**first.fields, "tool_args": _arguments(tool, thing)})
        output = outputs[number] if isinstance(outputs, list) and number < len(outputs) else None
        _take_result(call, [output] if output is not None else None, about.get("error"))
        calls.append(call)
    return Message(message.native, calls, roots=message.roots, tool=tool, own=_with_things(tool, things))


def _with_things(tool: str, things: list[object]) -> ToNativeArgs:
    """Return what puts changed things in the places of the old ones."""
    (usual, *_), ours, theirs = LISTS[tool]

    def changed(thing: object, args: Arguments | None) -> object:
        if args is None:
            return thing
        if theirs and isinstance(thing, dict):
            return {theirs if key == ours else key: value for key, value in args.items()}
        return args.get(ours)

    def own(wanted: list[Arguments | None]) -> Arguments | None:
        padded = [*wanted, *[None] * (len(things) - len(wanted))]
        return {usual: [changed(thing, args) for thing, args in zip(things, padded, strict=False)]}

    return own


def _take_result(call: CanonicalCall, output: object, error: object) -> None:
    """Put what a tool gave into the context of a call, and make it a failure where it was one."""
    if call.event != "post_tool_use":
        return
    if isinstance(output, dict):
        output = [output]
    parts = output if isinstance(output, list) and all(isinstance(part, dict) for part in output) else None
    failed = error is not None or any(part.get("success") is False for part in parts or ())
    text = text_of(output) if parts is None else "\n".join(text_of(part.get("result", part)) for part in parts)
    if not failed:
        call.fields["tool_result_output"] = text
        return
    call.event = "post_tool_failure"
    said = [text_of(part["error"]) for part in parts or () if part.get("error") is not None]
    call.fields["tool_result_error"] = "\n".join(said) or (text_of(error) if error is not None else text)


def _before_tool(reply: Reply, message: Message) -> Json:
    if reply.action == "stop" or (reply.action == "block" and message.tool not in STRICT):
        return {"cancel": True, "errorMessage": reply.text}
    if reply.action == "block":
        return {"overrideInput": FAILING, "context": reply.text}
    answer: Json = {"overrideInput": reply.args} if reply.args is not None else {}
    if reply.context:
        answer["context"] = reply.context
    return answer


def _cost(reply: Reply, message: Message) -> list[str]:
    if reply.action != "block":
        return []
    return ["block -> failing call" if message.tool in STRICT else "block -> end of run"]


def _after_tool(reply: Reply, _message: Message) -> Json:
    if reply.action == "stop":
        return {"cancel": True, "errorMessage": join_paragraphs(reply.reason, reply.context)}
    return {"context": reply.context} if reply.context else {}


RESPONSE_FORMATS = {
    "PreToolUse": ResponseFormat("modify, block, stop, context", _before_tool, _cost),
    "PostToolUse": ResponseFormat("stop, context", _after_tool),
}

INSTALL: InstallSpec = {
    "program": "cline",
    "directory": ".cline",
    "user": "hooks/{event}",
    "project": ".cline/hooks/{event}",
    "form": "script",
    "elsewhere": ("~/Documents/Cline/Hooks/{event}", ".clinerules/hooks/{event}"),
}
