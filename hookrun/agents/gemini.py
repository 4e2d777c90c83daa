"""Gemini CLI: its names, its messages, and the responses it obeys.

Source: what the CLI (0.61.0) sent and did with each answer, measured against a scripted model.
"""

from __future__ import annotations

from hookrun.agents import formats
from hookrun.agents.base import FIELDS, NameMap, administrators, content_text, read_claude_style, text_of
from hookrun.agents.formats import Reply, ResponseFormat, all_in_reason, join_paragraphs, output_as_reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.agents.base import CanonicalCall, Message
    from hookrun.agents.formats import Json
    from hookrun.agents.types import HookForm, InstallSpec

NAME = "gemini"
DISPLAY_NAME = "Gemini CLI"

# An event -> hookrun's, and what the response can express, if there is one.
SENT = {
    "SessionStart": ("session_start", "context, user_message"),
    "SessionEnd": ("session_end", "user_message"),
    "BeforeAgent": ("user_prompt_submit", "block, stop, context, user_message"),
    "AfterAgent": ("stop", "block, stop, user_message"),
    "BeforeModel": ("before_inference", ""),
    "AfterModel": ("after_inference", ""),
    "BeforeTool": ("pre_tool_use", "modify, block, stop, context later, user_message"),
    "AfterTool": ("post_tool_use", "block, stop, output, context, user_message"),
    "PreCompress": ("pre_compact", "user_message"),
    "Notification": ("notification", "user_message"),
}
EVENTS = {native: event for native, (event, _) in SENT.items()}
SYNTHESIZED_FROM = {"post_tool_failure": ("AfterTool",), "file_changed": ("AfterTool",)}

TOOLS = {
    "run_shell_command": "bash",
    "read_file": "read",
    "write_file": "write",
    "replace": "edit",
    "glob": "glob",
    "grep_search": "grep",
    "search_file_content": "grep",
    "web_fetch": "web_fetch",
    "google_web_search": "web_search",
    "invoke_agent": "task",
}


NAMES = NameMap(TOOLS, joins="_")

PROJECT_ENV_VARS = ("GEMINI_PROJECT_DIR",)
ENV_MARKERS = ("GEMINI_CLI",)
DEFAULT_TIMEOUTS = {"": 60.0}
MAX_TIMEOUTS: dict[str, float] = {}

NOTES = (
    "Shell lines of `.gemini/commands/*.toml` (`!{...}`) run without an event: `hookrun doctor` names them.",
    "Its timeouts are in milliseconds.",
    "`ask` would hang a run without a terminal forever, and messages do not show the kind of run: it blocks the call.",
    "A failed shell command is known by the exit status that Gemini CLI writes below its output.",
    "hookrun does not answer at `BeforeModel` and `AfterModel`: the effect of an answer was not measured.",
    "`PreCompress` is sent before every request; nothing in it says which one compacts.",
    "Text for the model before a tool reaches it after the tool.",
    "`web_fetch` has its address within `prompt`: there is no `url`.",
)


EXIT_STATUS = "Exit Code: "
# What begins the lines below the output of a shell command, from the end (0.61.0). A command that writes such a line
# last is read as one that failed.
BELOW_OUTPUT = ("Process Group PGID: ", "Background PIDs: ", "Signal: ", EXIT_STATUS, "Error: ")


def read(payload: dict[str, object], event: str) -> Message:
    """Return a message of Gemini CLI; a tool response with an `error` is a failure. Raises UnreadableMessageError."""
    fields = {**FIELDS, "prompt_response": "assistant_response"}
    message = read_claude_style(payload, event, NAME, events=EVENTS, names=NAMES, fields=fields, output=content_text)
    call = message.calls[0]
    server = payload.get("mcp_context")
    if isinstance(server, dict) and message.tool is not None:
        named = server.get("server_name"), server.get("tool_name")
        if all(isinstance(name, str) for name in named):
            call.fields["tool_name"] = f"mcp__{named[0]}__{named[1]}"
    response = payload.get("tool_response")
    if call.event == "post_tool_use" and isinstance(response, dict) and response.get("error") is not None:
        error = response["error"]
        call.fields["tool_result_error"] = text_of(error.get("message") if isinstance(error, dict) else error)
        call.event = "post_tool_failure"
        del message.calls[1:]
    elif call.event == "post_tool_use" and call.fields.get("tool_name") == "bash":
        _read_shell_result(call)
    elif call.fields.get("notification_type") == "ToolPermission":
        call.fields["notification_type"] = "permission_prompt"
    return message


def _read_shell_result(call: CanonicalCall) -> None:
    """Give hooks the output of a shell command alone; one with another exit status than 0 has failed."""
    text = str(call.fields.get("tool_result_output") or "").strip()
    text = text.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>")
    output, status = text.removeprefix("Output: "), "0"
    if output == text:
        return
    for name in BELOW_OUTPUT:
        above, found, value = output.rpartition(f"\n{name}")
        if found and "\n" not in value:
            output, status = above, value if name == EXIT_STATUS else status
    output = call.fields["tool_result_output"] = "" if output == "(empty)" else output
    if status != "0":
        call.fields["tool_result_error"] = f"Exit code {status}\n{output}".rstrip()
        call.event = "post_tool_failure"


def _answer(reply: Reply, message: Message) -> Json:
    if reply.action == "block" and message.native == "BeforeTool":  # there its terminal does not show the reason
        reply = Reply("block", reply.reason, user_message=join_paragraphs(reply.reason, reply.user_message))
    top: Json = {}
    if reply.action == "block":
        top = {"decision": "deny", "reason": reply.reason}
    elif reply.action == "stop":
        top = formats.end_of_turn(reply)
    fields = formats.parts(reply, args="tool_input", context="additionalContext")
    return formats.with_system_message(reply, {**top, **formats.hook_specific_output(message, fields)})


RESPONSE_FORMATS = {native: ResponseFormat(able, _answer) for native, (_, able) in SENT.items() if able}
RESPONSE_FORMATS["AfterTool"] = ResponseFormat(SENT["AfterTool"][1], *output_as_reason(all_in_reason(_answer)))


def _own_message(message: Json, context: Mapping[str, object]) -> Json:
    output = context.get("tool_result_output") or ""
    changed: Json = {"timestamp": context.get("timestamp") or ""}
    if "tool_response" in message:
        changed["tool_response"] = {"llmContent": output, "returnDisplay": output}
    if message["hook_event_name"] == "AfterAgent":
        changed |= {"prompt": context.get("user_prompt") or ""}
        changed |= {"prompt_response": message.pop("last_assistant_message", "")}
    return {**message, **changed}


HOOKS: HookForm = {
    "without_effect": ("name", "description"),
    "milliseconds_from": 0,
    "matches": "search",
    "mcp": "mcp_{0}_{1}",
    "message": _own_message,
    "answer": {
        "reason": ("reason", "stopReason"),
        "args": ("hookSpecificOutput.tool_input",),
        "context": ("hookSpecificOutput.additionalContext",),
        "user": ("systemMessage",),
    },
    "grants": False,
    "veto_from": {"": 2},
    "answers_on_stderr": True,
    "plain": "user",
}

INSTALL: InstallSpec = {
    "program": "gemini",
    "processes": ("/@google/gemini-cli",),
    "directory": ".gemini",
    "user": "settings.json",
    "project": ".gemini/settings.json",
    "form": "jsonc",
    "handler": {"name": "hookrun", "type": "command", "command": "{command}", "timeout": "{limit}"},
    "per_second": 1000,
    "elsewhere": ("/etc/gemini-cli/settings.json",),
    "on_demand": {
        "BeforeModel": "before each request to the model",
        "AfterModel": "for each part of the model's answer",
        "PreCompress": "before each request to the model",
    },
    "shell_lines": {".gemini/commands/**/*.toml": r"!\{([^}]+)\}"},
    "settings": ("/etc/gemini-cli/settings.json", ".gemini/settings.json", "{directory}/settings.json"),
    "off": {"hooksConfig.enabled": False, "hooksConfig.disabled": "hookrun"},
    "managed_hooks": f"{administrators('gemini-cli', 'GeminiCli')}/settings.json",
    "folder_trust": {
        "file": "trustedFolders.json",
        "levels": {"TRUST_FOLDER": "folder", "TRUST_PARENT": "parent", "DO_NOT_TRUST": "none"},
        "switch": ("security.folderTrust.enabled", True),
        "project_hooks_only": False,
        "cause": "without a terminal Gemini CLI does not start there, and it skips a project's hooks",
        "remedy": "start gemini in it once and trust the folder",
    },
}
