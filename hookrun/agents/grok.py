"""Grok Build: Claude Code's form of hooks, messages and answers. It runs those in Claude Code's settings, too.

Sources: Grok Build 1.0.41, live against a scripted model, and the guide to hooks in its program.
"""

from __future__ import annotations

from hookrun.agents.callers import Caller
from hookrun.agents.formats import all_in_reason, claude_formats, render_pre_tool
from hookrun.core.events import CLAUDE_EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.base import Message

NO_EVENTS = ("MessageDisplay", "PermissionRequest", "FileChanged")
EVENTS = {name: event for name, event in CLAUDE_EVENTS.items() if name not in NO_EVENTS}


class Grok(Caller):
    """Its constants, as in the modules of other agents."""

    EVENTS = EVENTS
    ENV_MARKERS = ("GROK_AGENT",)
    UNMEASURED = (*Caller.UNMEASURED, "ask the user")
    NOTES = (
        "With `--always-approve` it asks nobody, so there an `ask` is a block.",
        "It passes the first 128 KiB of arguments; a longer call is blocked if a hook matches the tool.",
        "It runs the hooks in Claude Code's settings too: where hookrun is in both, its own files answer.",
        "If a config includes hooks of Claude Code, set `hooks = false` in `[compat.claude]`, or each runs twice.",
    )

    def read(self, payload: dict[str, object], event: str) -> Message:
        """Return a message, without calls for the Stop after the session's end. Raises UnreadableMessageError."""
        message = super().read(payload, event)
        if payload.get("permissionMode") == "bypassPermissions":
            message.cannot = frozenset({"ask"})
        if message.native == "Stop" and payload.get("reason") in ("shutdown", "channel_closed"):
            message.calls = []
        return message


# Files of its settings, the user's and the administrator's, in which it may leave Claude Code's hooks alone.
CONFIGS = ("config", "managed_config", "requirements")

AGENT = Grok(
    "grok",
    claude_formats(
        {
            "PreToolUse": "ask, modify, block, context",
            "PostToolUse": "block, context",
            "PostToolUseFailure": "context",
            "UserPromptSubmit": "block, context later",
            "SessionStart": "context later",
            **dict.fromkeys(("Stop", "SubagentStop"), "block, stop"),
        },
        PreToolUse=all_in_reason(render_pre_tool),
    ),
    install={
        "program": "grok",
        "processes": ("/@xai-official/grok",),
        "directory": ".grok",
        "variable": "GROK_HOME",
        "user": "hooks/hookrun.json",
        "project": ".grok/hooks/hookrun.json",
        "project_root": '"${GROK_WORKSPACE_ROOT:-.}"/',
        "form": "json",
        "hooks_off": ".grok/disabled-hooks",
        "reads_user_settings": True,
        "may_ignore": (
            "GROK_CLAUDE_HOOKS_ENABLED",
            "compat",
            *(f"{where}/{name}.toml" for where in (".grok", "/etc/grok") for name in CONFIGS),
        ),
        "folder_trust": {
            "file": "trusted_folders.toml",
            "levels": {"True": "folder", "False": "none"},
            "under": ("folders", "trusted"),
            "cause": "Grok Build silently skips a project's hooks there",
            "remedy": "run `/hooks-trust` in it, or start it once with `grok --trust`",
        },
        "mcp": {
            "joins": ("__",),
            "unsafe": "_",
            "servers": (("{home}/.claude.json", "mcpServers"), ("{project}/.mcp.json", "mcpServers")),
        },
    },
)
