"""Codex CLI: its names, its messages, and what it obeys. One key that it does not know voids a whole answer.

Sources: what the CLI (0.169.0) sent and did with each answer, measured against a scripted model; the schemas in its
program, which tests/golden has.
"""

from __future__ import annotations

from hookrun.agents import patch
from hookrun.agents.forms import Form, after, before_tool, ending, permission, telling, with_person
from hookrun.agents.hook_message import Shape
from hookrun.agents.names import Names
from hookrun.agents.said import Said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.forms import Answer
    from hookrun.agents.message import Message
    from hookrun.agents.wiring import Wiring

NAME = "codex"
TITLE = "Codex CLI"
MEASURED = "0.169.0, `codex exec`"

EVENTS = {
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "UserPromptSubmit": "user_prompt_submit",
    "PreModelRequest": "before_inference",
    "PostModelRequest": "after_inference",
    "PreToolUse": "pre_tool_use",
    "PermissionRequest": "permission_request",
    "PostToolUse": "post_tool_use",
    "PreCompact": "pre_compact",
    "PostCompact": "post_compact",
    "SubagentStart": "subagent_start",
    "SubagentStop": "subagent_stop",
    "Stop": "stop",
}
MADE_FROM = {"file_changed": ("PostToolUse",)}
GUARDED = "PreToolUse"

TOOLS = {"Bash": "bash"}
NAMES = Names(TOOLS)
PATCH = "apply_patch"

VARIABLES: tuple[str, ...] = ()
LIMITS = {"": 600.0, "SessionEnd": 1.0, "Interrupt": 1.0}
MOST = {"SessionEnd": 3.0, "Interrupt": 3.0}
ALWAYS_ZERO = False

NOTES = (
    "`apply_patch` is fired as one `write`, `edit` or `delete` for each file of the patch.",
    "`PostToolUse` comes for a shell command that fails too, without its exit status.",
    "`PostToolUse` does not come for a patch that cannot be applied.",
    "Hooks that nobody has trusted are skipped in silence.",
    "The person is not shown why a prompt was refused.",
    "What is said at subagent and compaction events is by its schemas, not measured.",
)

_read = Shape(NAME, events=EVENTS, names=NAMES).read


def read(payload: dict[str, object], event: str) -> Message:
    """Return what a message says: of a patch, a call for each file that it touches. Raises UnreadableError."""
    message = _read(payload, event)
    text = _patch_of(message)
    return message if text is None else patch.in_files(message, text)


def _patch_of(message: Message) -> str | None:
    args = message.calls[0].fields.get("tool_args")
    text = args.get("command") if message.tool == PATCH and isinstance(args, dict) else None
    return text if isinstance(text, str) else None


def _person(said: Said, _message: Message) -> Answer:
    return with_person(said, {})


def _before_tool(said: Said, message: Message) -> Answer:
    """PreToolUse: new arguments count only beside an `allow`, which grants nothing here; no `allow` without them."""
    told = said if said.args is None else Said("allow", None, said.context, said.person, said.args)
    return before_tool(told, message)


FORMS = {
    "SessionStart": Form("context, person", telling),
    "UserPromptSubmit": Form("block, context, person", after),
    "PreToolUse": Form("modify, block, context, person", _before_tool),
    "PermissionRequest": Form("allow, ask, block, person", permission),
    "PostToolUse": Form("block, context, person", after),
    "SubagentStart": Form("context, person", telling),
    "SubagentStop": Form("block, person", ending),
    "Stop": Form("block, person", ending),
    "PreCompact": Form("person", _person),
    "PostCompact": Form("person", _person),
}

WIRING: Wiring = {
    "program": "codex",
    "directory": ".codex",
    "variable": "CODEX_HOME",
    "user": "hooks.json",
    "project": ".codex/hooks.json",
    "form": "json",
    "handler": {"type": "command", "command": "{command}", "timeout": "{limit}"},
    "elsewhere": ("{directory}/config.toml", ".codex/config.toml"),
    "settings": (".codex/config.toml", "{directory}/config.toml"),
    "off": {"features.hooks": False, "features.codex_hooks": False},
    "drops": "codex",
    "trust": "codex",
    "shell": "login",
}
