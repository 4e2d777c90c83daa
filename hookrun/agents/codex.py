"""Codex CLI: its names, its messages, and the responses it obeys. An unknown key voids the whole response.

Sources: what the CLI (0.171.0) sent and did with each answer, measured against a scripted model; its program's schemas
(in tests/golden).
"""

from __future__ import annotations

from hookrun.agents import patch
from hookrun.agents.base import NameMap, read_claude_style, string_in
from hookrun.agents.formats import (
    Reply,
    ResponseFormat,
    claude_formats,
    output_as_reason,
    render_post_tool,
    render_pre_tool,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.agents.base import Arguments, Message
    from hookrun.agents.formats import Json
    from hookrun.agents.types import HookForm, InstallSpec

NAME = "codex"
DISPLAY_NAME = "Codex CLI"
UNMEASURED = ("SubagentStart", "SubagentStop", "PreCompact", "PostCompact")

# An event -> hookrun's, and what the response can express, if there is one.
SENT = {
    "SessionStart": ("session_start", "context, user_message"),
    "SessionEnd": ("session_end", ""),
    "UserPromptSubmit": ("user_prompt_submit", "block, context, user_message"),
    "PreModelRequest": ("before_inference", ""),
    "PostModelRequest": ("after_inference", ""),
    "PreToolUse": ("pre_tool_use", "modify, block, context, user_message"),
    "PermissionRequest": ("permission_request", "allow, ask, block, user_message"),
    "PostToolUse": ("post_tool_use", "block, output, context, user_message"),
    "PreCompact": ("pre_compact", "user_message"),
    "PostCompact": ("post_compact", "user_message"),
    "SubagentStart": ("subagent_start", "context, user_message"),
    "SubagentStop": ("subagent_stop", "block, user_message"),
    "Stop": ("stop", "block, user_message"),
}
EVENTS = {native: event for native, (event, _) in SENT.items()}
SYNTHESIZED_FROM = {"file_changed": ("PostToolUse",)}

# It reports every shell as `Bash`; `exec_command` is the model's name of it.
TOOLS = {"Bash": "bash", "exec_command": "bash", "spawn_agent": "task"}
NAMES = NameMap(TOOLS, {"exec_command": {"cmd": "command"}, "spawn_agent": {"message": "prompt"}})

PROJECT_ENV_VARS: tuple[str, ...] = ()
ENV_MARKERS = ("CODEX_CI", "CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID", "CODEX_SANDBOX")
DEFAULT_TIMEOUTS = {"": 600.0, "SessionEnd": 1.0, "Interrupt": 1.0}
MAX_TIMEOUTS = {"SessionEnd": 3.0, "Interrupt": 3.0}

NOTES = (
    "`write_stdin` fires no hook: what the model types into a running shell or interpreter is not seen.",
    "block-destructive-commands and no-force-push block starting one, unless their option `interactive` allows it.",
    "`apply_patch` is fired as one `write`, `edit` or `delete` per file; only a patch of one hunk can be changed.",
    "`PostToolUse` is also sent for a failed shell command, without its exit status.",
    "`PostToolUse` is not sent for a patch that cannot be applied.",
    "With `features.multi_agent_v2`, no `PreToolUse` is sent for its tools about agents: `task` never matches.",
    "It skips untrusted hooks silently.",
    "The user is not shown why a prompt was blocked.",
    "A message's `cwd` is that of the call (`workdir`), which is `working_dir`; the project is that of the session.",
)


def read(payload: dict[str, object], event: str) -> Message:
    """Return a message of Codex, with a call for each file of a patch. Raises UnreadableMessageError."""
    message = read_claude_style(payload, event, NAME, events=EVENTS, names=NAMES)
    message.roots = []  # its `cwd` is the call's, chosen by the model; hooks start in the session's directory
    if message.tool == patch.TOOL:
        text = string_in(message.calls[0].fields["tool_args"], "command") or ""
        patch.split_by_file(message, text)

        def to_native_args(wanted: list[Arguments | None]) -> Arguments | None:
            args = wanted[0] if wanted else None
            changed = patch.rebuilt(text, args, payload.get("cwd")) if args is not None else None
            return {"command": changed} if changed is not None else None

        message.to_native_args = to_native_args
    return message


def _render_pre_tool(reply: Reply, message: Message) -> Json:
    # New arguments need an `allow`, which approves nothing here; an `allow` without them is an error.
    if reply.args is not None:
        reply = Reply("allow", None, reply.context, reply.user_message, reply.args)
    return render_pre_tool(reply, message)


ABLE = {native: able for native, (_, able) in SENT.items() if able}
RESPONSE_FORMATS = claude_formats(ABLE, PreToolUse=_render_pre_tool)
RESPONSE_FORMATS["PostToolUse"] = ResponseFormat(ABLE["PostToolUse"], *output_as_reason(render_post_tool))


def _dropped_if(data: object, has_bom: bool) -> Iterable[tuple[tuple[str | int, ...], str]]:  # noqa: FBT001  # see InstallSpec
    """An unknown key at the top (0.169.0, measured), a byte-order mark (reported by others)."""
    if has_bom:
        yield (), "no byte-order mark before it"
    for key in data if isinstance(data, dict) else ():
        if key not in {"hooks", "description"}:
            yield (key,), "no other key than hooks and description"


# Whatever a patch does to a file, it is one tool of Codex's; hooks may still name its older tools.
PATCHED = ("edit", "write", "delete")


def _own_message(message: Json, context: Mapping[str, object]) -> Json:
    """Add what its messages always have."""
    known: Json = {"turn_id": "", "model": "", "permission_mode": "default"}
    known |= {name: context[name] for name in known if context.get(name) is not None}
    return {**known, **message, "transcript_path": message["transcript_path"] or None}


HOOKS: HookForm = {
    "without_effect": ("commandWindows", "description", "additionalContextLimit"),
    "tools": {
        **dict.fromkeys((patch.TOOL, "Edit", "Write"), PATCHED),
        **dict.fromkeys(("shell", "local_shell", "shell_command"), ("bash",)),
        "update_plan": (),
    },
    "message": _own_message,
    "grants": False,
}

INSTALL: InstallSpec = {
    "program": "codex",
    "processes": ("codex-linux-sandbox", "/@openai/codex"),
    "directory": ".codex",
    "variable": "CODEX_HOME",
    "user": "hooks.json",
    "project": ".codex/hooks.json",
    "project_root": '"$(git rev-parse --show-toplevel)"/',
    "form": "json",
    "handler": {"type": "command", "command": "{command}", "timeout": "{limit}", "statusMessage": "hookrun"},
    "shows_missing_command": True,
    "elsewhere": ("{directory}/config.toml", ".codex/config.toml"),
    "on_demand": {
        "PreModelRequest": "before each request to the model",
        "PostModelRequest": "after each request to the model",
    },
    "settings": ("/etc/codex/requirements.toml", ".codex/config.toml", "{directory}/config.toml"),
    "off": {"features.hooks": False, "features.codex_hooks": False},
    "managed_hooks": "/etc/codex/hooks.json",
    "dropped_if": _dropped_if,
    "hook_trust": "hookrun.agents.codex_trust",
}
