"""Claude Code: its names, its messages, and the responses it obeys.

Sources: the types of claude-agent-sdk 0.2.186, and what the CLI (2.1.197, 2.1.332) sent and did with each answer,
measured against a scripted model. The Claude Agent SDK's callbacks (hookrun.integrations) exchange the same.
"""

from __future__ import annotations

from sys import platform

from hookrun.agents.base import FIELDS, NameMap, read_claude_style, text_of, text_of_blocks
from hookrun.agents.formats import claude_formats
from hookrun.core.events import CLAUDE_EVENTS, CLAUDE_TOOLS
from hookrun.core.fastjson import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.agents.base import Message
    from hookrun.agents.types import HookForm, InstallSpec

NAME = "claude"
DISPLAY_NAME = "Claude Code"
UNMEASURED = ("SubagentStart", "SubagentStop", "PreCompact", "Notification")

# The shell lines in the text of skills and commands fire no PreToolUse. Versions before 2.1.332 ignore the entry.
EVENTS = {**CLAUDE_EVENTS, "PreSkillShellCommand": "pre_tool_use"}
SYNTHESIZED_FROM = {"file_changed": ("PostToolUse",)}

TOOLS = {
    **{native: ours for ours, native in CLAUDE_TOOLS.items()},
    **dict.fromkeys(("PowerShell", "Monitor"), "bash"),
    **dict.fromkeys(("MultiEdit", "NotebookEdit"), "edit"),
    "Task": "task",
}
ARGUMENTS = {"NotebookEdit": {"notebook_path": "file_path", "new_source": "new_string"}}
NAMES = NameMap(TOOLS, ARGUMENTS)

PROJECT_ENV_VARS = ("CLAUDE_PROJECT_DIR",)
ENV_MARKERS = ("CLAUDECODE",)
DEFAULT_TIMEOUTS = {"": 600.0, "UserPromptSubmit": 30.0, "SessionEnd": 1.5, "MessageDisplay": 10.0}
MAX_TIMEOUTS = {"SessionEnd": 60.0}

NOTES = (
    "`FileChanged` comes only for files on a watch list in its settings: `file_changed` is made from `PostToolUse`.",
    "In `claude -p` an `ask` blocks the call with its reason.",
    (
        "`PreSkillShellCommand`, for the shell lines in skills and commands, is sent since 2.1.332; versions before it "
        "run these lines without asking a hook. An `ask` there blocks the line."
    ),
    "Text for the model beyond 10,000 characters goes into a file of which it sees the beginning.",
)

# A tool -> the paths of the text in its response; for other tools, the whole response is the text.
RESPONSES = {
    "Bash": ("stdout", "stderr"),
    "PowerShell": ("stdout", "stderr"),
    "Read": ("file.content",),
    "Grep": ("content",),
    "WebFetch": ("result",),
    "Agent": ("content",),
    "Task": ("content",),
}


# What names a file with the whole of a long output, or reaches the model instead of the text or beside it.
FULL_OUTPUT = frozenset(
    {"persistedOutputPath", "persistedOutputSize", "rawOutputPath", "structuredContent", "viewedImages"}
)


def _response_text(tool: str, response: object) -> str:
    if isinstance(response, dict):
        found = [text for path in RESPONSES.get(tool, ()) if (text := text_of_blocks(_at(response, path))) is not None]
        if found:
            return "\n".join(text for text in found if text)
    return text_of(response)


def _at(value: object, path: str) -> object:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _native_output(tool: str | None, response: object, text: str) -> object:
    """Return a tool's response with another text, None if it has no place for one: Claude ignores another form."""
    new = loads(dumps(response))
    paths = [path for path in RESPONSES.get(tool or "", ()) if text_of_blocks(_at(new, path)) is not None]
    for number, path in enumerate(paths):
        above, _, name = path.rpartition(".")
        place = _at(new, above) if above else new
        if isinstance(place, dict):
            place[name] = _alike(place[name], "" if number else text)
    if not paths:
        return _alike(response, text)
    return {name: value for name, value in new.items() if name not in FULL_OUTPUT} if isinstance(new, dict) else new


def _alike(before: object, text: str) -> object:
    if text_of_blocks(before) is not None:
        return text if isinstance(before, str) else [{"type": "text", "text": text}]
    try:
        value = loads(text)
    except ValueError:
        value = None
    if type(value) is type(before):
        return value
    blocks = isinstance(before, list) and before and all(isinstance(each, dict) and "type" in each for each in before)
    return [{"type": "text", "text": text}] if blocks else None


def read(payload: dict[str, object], event: str) -> Message:
    """Return a message of Claude Code. Raises UnreadableMessageError."""
    fields = {**FIELDS, "delta": "assistant_response"}
    found = read_claude_style(payload, event, NAME, events=EVENTS, names=NAMES, fields=fields, output=_response_text)
    found.to_native_output = lambda text: _native_output(found.tool, payload.get("tool_response"), text)
    return found


RESPONSE_FORMATS = claude_formats(
    {
        "PreToolUse": "allow, allow with arguments, ask, ask with arguments, modify, block, stop, context, "
        "user_message",
        "PreSkillShellCommand": "block, stop, context later, user_message",
        "PermissionRequest": "allow, allow with arguments, ask, block, stop, user_message",
        "PostToolUse": "block, stop, output, context, user_message",
        "PostToolUseFailure": "block, stop, context, user_message",
        "UserPromptSubmit": "block, stop, context, user_message",
        "SessionStart": "context, user_message",
        "Stop": "block, stop, user_message",
        "SubagentStop": "block, stop, user_message",
        "SubagentStart": "stop, context, user_message",
        "PreCompact": "block",
        "Notification": "stop, context, user_message",
    }
)


def _dropped_if(data: object, has_bom: bool) -> Iterable[tuple[tuple[str | int, ...], str]]:  # noqa: ARG001, FBT001  # see InstallSpec
    """Measured with 2.1.197 and 2.1.329: a matcher that is not a string, a handler without a type, a flat entry."""
    events = data.get("hooks") if isinstance(data, dict) else None
    for event, groups in events.items() if isinstance(events, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            path = ("hooks", event, number)
            if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
                yield path, "an object with a list of hooks"
                continue
            if not isinstance(group.get("matcher", ""), str):
                yield (*path, "matcher"), "a text, or no matcher"
            for each, handler in enumerate(group["hooks"]):
                if not isinstance(handler, dict) or not isinstance(handler.get("type"), str):
                    yield (*path, "hooks", each), "an object with a type"


DEVINS = ("exec", "read", "write", "edit", "apply_patch", "glob", "grep", "webfetch")

# Agents that also run the hooks in Claude Code's settings -> whether a message is theirs; the first match wins.
OTHERS: dict[str, Callable[[dict[str, object]], bool]] = {
    # Grok Build names the workspace, and the event twice.
    "grok": lambda payload: "hookEventName" in payload and "workspaceRoot" in payload,
    "cursor": lambda payload: "cursor_version" in payload,
    # The agent in VS Code's own extension host.
    "vscode": lambda payload: (
        "timestamp" in payload
        and ("hookEventName" in payload or "/GitHub.copilot-chat/" in str(payload.get("transcript_path")))
    ),
    # Unlike Claude Code's, Copilot's messages all have a `timestamp`, and only some a `transcript_path`, in Copilot's
    # own directory.
    "copilot": lambda payload: (
        "timestamp" in payload and "/.copilot/" in str(payload.get("transcript_path", "/.copilot/"))
    ),
    # A tool of Devin's without a transcript, which Claude Code always has.
    "devin": lambda payload: "transcript_path" not in payload and payload.get("tool_name") in DEVINS,
    # A tool's message that does not name the event as Claude Code does.
    "unknown": lambda payload: (
        "hook_event_name" not in payload and not {"hookEventName", "toolName", "tool_name"}.isdisjoint(payload)
    ),
}


HOOKS: HookForm = {}

# The directories of the administrator's settings, on Linux and macOS.
MANAGED = ("/etc/claude-code", "/Library/Application Support/ClaudeCode")

INSTALL: InstallSpec = {
    "program": "claude",
    "processes": ("/@anthropic-ai/claude-", "/claude/versions/", "/claude-code/cli.js"),
    "directory": ".claude",
    "variable": "CLAUDE_CONFIG_DIR",
    "user": "settings.json",
    "project": ".claude/settings.json",
    "project_root": '"${CLAUDE_PROJECT_DIR:-.}"/',
    "form": "json",
    # with `args`, even none, it starts the command without a shell (since 2.1.139)
    "handler": {
        "type": "command",
        "command": "{command}",
        "args": [],
        "timeout": "{limit}",
        "statusMessage": "hookrun",
    },
    "shut": {"onFailure": "block"},  # since 2.1.295; ignored before
    "shows_missing_command": True,
    "elsewhere": (".claude/settings.local.json",),
    "on_demand": {"MessageDisplay": "for each part of the answer that is shown"},
    "settings": (
        "/etc/claude-code/managed-settings.json",
        ".claude/settings.local.json",
        ".claude/settings.json",
        "{directory}/settings.json",
    ),
    "off": {"disableAllHooks": True},
    "managed_hooks": f"{MANAGED[platform == 'darwin']}/managed-settings.json",
    "keeps_managed": True,
    "managed": tuple(
        f"{each}/{name}" for each in MANAGED for name in ("managed-settings.json", "managed-settings.d/*.json")
    ),
    "managed_only": {"allowManagedHooksOnly": (True,), "strictPluginOnlyCustomization": (True, "hooks")},
    "dropped_if": _dropped_if,
    "read_by": lambda payload: next((name for name, is_theirs in OTHERS.items() if is_theirs(payload)), None),
}
