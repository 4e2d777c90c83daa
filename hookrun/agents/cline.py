"""Cline CLI: its names, its messages, and what it obeys, which is little: its only refusal ends the whole run.

A call of one of its own tools is refused by arguments that the tool's schema does not take: it fails before it does
anything, the run goes on, and the model reads why. Its hooks are files, named after the event.

Sources: what the CLI (3.0.65) sent and did with each answer, measured against a scripted model; the schemas of its
tools and how it runs them, read in the JavaScript of the same version.
"""

from __future__ import annotations

from hookrun.agents import patch
from hookrun.agents.forms import Form
from hookrun.agents.message import Call, Message, UnreadableError, fields_of, one, text_of, tool_fields, with_changes
from hookrun.agents.names import Names
from hookrun.agents.said import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.forms import Answer
    from hookrun.agents.message import Arguments, Own
    from hookrun.agents.said import Said
    from hookrun.agents.wiring import Wiring

NAME = "cline"
TITLE = "Cline CLI"
MEASURED = "3.0.65, headless"

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

MADE_FROM = {"post_tool_failure": ("PostToolUse",), "file_changed": ("PostToolUse",)}
GUARDED = "PreToolUse"

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
    EDITOR: {"path": "file_path", "old_text": "old_string", "new_text": "new_string"},
    AS_WRITE: {"path": "file_path", "new_text": "content"},
}
NAMES = Names({**TOOLS, AS_WRITE: "write"}, ARGUMENTS)

STRICT = frozenset({COMMANDS, EDITOR, PATCH, "read_files", "search_codebase", "fetch_web_content"})
"""Its own tools that cannot run without an argument that has to be there."""

FAILING: Arguments = {"refused_by_a_hook": True}
"""Arguments that none of STRICT takes."""

VARIABLES: tuple[str, ...] = ()
LIMITS = {"": 120.0}
MOST = {"": 120.0}
ALWAYS_ZERO = False

NOTES = (
    "`run_commands` is fired as one `bash` for each command, and each can be changed on its own.",
    "`editor` is a `write` where it has neither a text to replace nor a line to insert at: it makes the file.",
    "`stop` before or after a tool ends the run; nobody is shown why.",
    "`UserPromptSubmit` and `PreCompact` did not come in any run.",
)

FIELDS = {"taskId": "session_id"}
TRANSLATED = frozenset({"hookName", "sessionContext", "workspaceRoots", "workspaceInfo", "tool_call", "tool_result",
                        "preToolUse", "postToolUse", "userPromptSubmit", "turn", "error", "timestamp"})  # fmt: skip


def read(payload: dict[str, object], event: str) -> Message:
    """Return what a message says: of several commands, a call for each. Raises UnreadableError without an event."""
    given = payload.get("hookName", event)
    if not isinstance(given, str) or not given:
        raise UnreadableError(f"hookName is {given!r}, expected the name of an event of {TITLE}")
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
    call = Call(EVENTS.get(native), fields)
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
    """Return the message with the tool call in it: as it is, by command, or by file of a patch."""
    call, tool, args = message.calls[0], str(message.tool), about.get("input")
    call.fields.update(tool_fields(NAMES, tool, args))
    commands = _commands(args) if tool == COMMANDS else None
    if commands is not None:
        return _by_command(message, about, commands)
    _take_result(call, about.get("output"), about.get("error"))
    text = args if isinstance(args, str) else _text_in(args, "input")
    if tool == PATCH and text is not None:
        return patch.in_files(message, text)
    if tool == EDITOR and isinstance(args, dict) and args.get("old_text") is None and args.get("insert_line") is None:
        tool = AS_WRITE
        call.fields.update(tool_name="write", tool_args=NAMES.arguments(tool, args))
    message.calls = with_changes([call])
    message.own = one(NAMES, tool, args) if isinstance(args, dict) else message.own
    return message


def _commands(args: object) -> list[object] | None:
    """Return the commands, which the model may give in several shapes."""
    if isinstance(args, dict):
        args = args.get("commands", args.get("command", args.get("cmd")))
    if isinstance(args, str):
        args = [args]
    return args if isinstance(args, list) and args else None


def _line(command: object) -> str:
    """Return a command as one line: one that is a program and its arguments is written as a shell would take it."""
    if not isinstance(command, dict):
        return str(command)
    from shlex import join

    args = command.get("args")
    return join([str(command.get("command")), *map(str, args if isinstance(args, list) else ())])


def _by_command(message: Message, about: dict[str, object], commands: list[object]) -> Message:
    """Return a message with a call for each command, with what it gave."""
    first = message.calls[0]
    outputs = about.get("output")
    calls = []
    for number, command in enumerate(commands):
        call = Call(first.event, {**first.fields, "tool_args": {"command": _line(command)}})
        output = outputs[number] if isinstance(outputs, list) and number < len(outputs) else None
        _take_result(call, [output] if output is not None else None, about.get("error"))
        calls.append(call)
    return Message(message.native, calls, roots=message.roots, tool=message.tool, own=_with_commands(commands))


def _with_commands(commands: list[object]) -> Own:
    """Return what puts changed commands in the places of the old ones."""

    def own(wanted: list[Arguments | None]) -> Arguments | None:
        changed = [
            args.get("command", command) if args else command for args, command in zip(wanted, commands, strict=False)
        ]
        return {"commands": [*changed, *commands[len(changed) :]]}

    return own


def _take_result(call: Call, output: object, error: object) -> None:
    """Put what a tool gave into the context of a call, and make it a failure where it was one."""
    if call.event != "post_tool_use":
        return
    parts = output if isinstance(output, list) and all(isinstance(part, dict) for part in output) else None
    failed = error is not None or any(part.get("success") is False for part in parts or ())
    text = text_of(output) if parts is None else "\n".join(text_of(part.get("result", part)) for part in parts)
    if not failed:
        call.fields["tool_result_output"] = text
        return
    call.event = "post_tool_failure"
    said = [text_of(part["error"]) for part in parts or () if part.get("error") is not None]
    call.fields["tool_result_error"] = "\n".join(said) or (text_of(error) if error is not None else text)


def _before_tool(said: Said, message: Message) -> Answer:
    if said.action == "stop" or (said.action == "block" and message.tool not in STRICT):
        return {"cancel": True, "errorMessage": said.text}
    if said.action == "block":
        return {"overrideInput": FAILING, "context": said.text}
    answer: Answer = {"overrideInput": said.args} if said.args is not None else {}
    if said.context:
        answer["context"] = said.context
    return answer


def _cost(said: Said, message: Message) -> list[str]:
    if said.action != "block":
        return []
    return ["block -> failing call" if message.tool in STRICT else "block -> end of run"]


def _after_tool(said: Said, _message: Message) -> Answer:
    if said.action == "stop":
        return {"cancel": True, "errorMessage": lines(said.reason, said.context)}
    return {"context": said.context} if said.context else {}


FORMS = {
    "PreToolUse": Form("modify, block, stop, context", _before_tool, _cost),
    "PostToolUse": Form("stop, context", _after_tool),
}

WIRING: Wiring = {
    "program": "cline",
    "directory": ".cline",
    "user": "hooks/{event}",
    "project": ".cline/hooks/{event}",
    "form": "script",
    "elsewhere": ("~/Documents/Cline/Hooks/{event}", ".clinerules/hooks/{event}"),
}
