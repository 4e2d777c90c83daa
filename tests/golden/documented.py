"""Messages of agents without a module, made after the examples in their vendors' documentation of October and November
2026. Those of Hermes 0.19.0, deepagents-code 0.1.88 and OpenHands' SDK 1.58.2 are what these programs sent.

- Amp: ampcode.com/manual/plugin-api. Its plugins get a call; a plugin passes it on under these names.
- Auggie: docs.augmentcode.com/cli/hooks.
- Crush: github.com/charmbracelet/crush, docs/hooks.
- Cursor: cursor.com/docs/hooks, and cursor.com/docs/reference/third-party-hooks.
- Devin: docs.devin.ai/cli/extensibility/hooks.
- Droid: docs.factory.ai/harness/hooks, and the older docs.factory.ai/reference/hooks-reference.
- Goose: github.com/block/goose, documentation/docs/guides/context-engineering/hooks.md.
- Kimi Code: github.com/MoonshotAI/kimi-code, docs/en/customization/hooks.md and docs/en/reference/tools.md.
- Kiro: kiro.dev/docs/cli/hooks.
- VS Code: code.visualstudio.com/docs/agents/reference/hooks-reference.
- Windsurf: docs.windsurf.com/windsurf/cascade/hooks.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

ROOT = "/home/dev/shop"
COMMAND = "npm test"
FILE = f"{ROOT}/a.txt"


def _both(about: Json, shell: tuple[str, Json], write: tuple[str, Json]) -> tuple[Json, Json]:
    named = ({"tool_name": name, "tool_input": args} for name, args in (shell, write))
    first, second = named
    return {**about, **first}, {**about, **second}


def _windsurf(event: str, info: Json) -> Json:
    about = {"agent_action_name": event, "trajectory_id": "s1", "execution_id": "e1", "timestamp": "2026-10-01T10:00Z"}
    return {**about, "tool_info": info}


MESSAGES: dict[str, tuple[Json, Json]] = {
    "amp": _both({"cwd": ROOT}, ("Bash", {"cmd": COMMAND}), ("create_file", {"path": FILE, "content": "x"})),
    "auggie": _both(
        {"hook_event_name": "PreToolUse", "conversation_id": "s1", "workspace_roots": [ROOT]},
        ("launch-process", {"command": COMMAND, "wait": True, "max_wait_seconds": 60, "cwd": ROOT}),
        ("save-file", {"path": FILE, "file_content": "x"}),
    ),
    "crush": _both(
        {"event": "PreToolUse", "session_id": "s1", "cwd": ROOT},
        ("bash", {"command": COMMAND}),
        ("write", {"file_path": FILE, "content": "x"}),
    ),
    "droid": _both(
        {
            "session_id": "s1",
            "transcript_path": "/home/dev/.factory/projects/shop/s1.jsonl",
            "cwd": ROOT,
            "permission_mode": "off",
            "hook_event_name": "PreToolUse",
        },
        ("Execute", {"command": COMMAND}),
        ("Create", {"file_path": FILE, "content": "x"}),
    ),
    "goose": _both(
        {"event": "PreToolUse", "session_id": "s1", "working_dir": ROOT, "tool_call_id": "t1"},
        ("developer__shell", {"command": COMMAND}),
        ("developer__write", {"path": FILE, "content": "x"}),
    ),
    "kimi": _both(
        {"hook_event_name": "PreToolUse", "session_id": "s1", "client_type": "kimi_code_cli", "cwd": ROOT},
        ("Bash", {"command": COMMAND}),
        ("Write", {"path": FILE, "content": "x"}),
    ),
    "kiro": _both(
        {"hook_event_name": "preToolUse", "cwd": ROOT, "session_id": "s1"},
        ("execute_bash", {"command": COMMAND}),
        ("fs_write", {"command": "create", "path": FILE, "file_text": "x"}),
    ),
    "hermes": _both(
        {"hook_event_name": "pre_tool_call", "session_id": "s1", "cwd": ROOT, "extra": {"tool_call_id": "call_1_0"}},
        ("terminal", {"command": COMMAND}),
        ("write_file", {"path": FILE, "content": "x"}),
    ),
    "deepagents": _both(
        {
            "session_id": "s1",
            "transcript_path": "/home/dev/.deepagents/transcripts/s1.jsonl",
            "cwd": ROOT,
            "hook_event_name": "PreToolUse",
            "permission_mode": "bypassPermissions",
            "tool_use_id": "call_1_0",
        },
        ("Bash", {"command": COMMAND}),
        ("Write", {"file_path": FILE, "content": "x"}),
    ),
    "openhands": _both(
        {
            "event_type": "PreToolUse",
            "tool_response": None,
            "message": None,
            "session_id": "s1",
            "working_dir": ROOT,
            "metadata": {},
        },
        ("terminal", {"command": COMMAND, "is_input": False, "timeout": None, "reset": False}),
        ("file_editor", {"command": "create", "path": FILE, "file_text": "x", "old_str": None, "new_str": None}),
    ),
    "windsurf": (
        _windsurf("pre_run_command", {"command_line": COMMAND, "cwd": ROOT}),
        _windsurf("pre_write_code", {"file_path": FILE, "edits": [{"old_string": "", "new_string": "x"}]}),
    ),
    "cursor": _both(
        {
            "hook_event_name": "preToolUse",
            "conversation_id": "s1",
            "generation_id": "g1",
            "tool_use_id": "t1",
            "cursor_version": "1.7.2",
            "workspace_roots": [ROOT],
            "cwd": ROOT,
        },
        ("Shell", {"command": COMMAND, "working_directory": ROOT}),
        ("Write", {"file_path": FILE, "content": "x"}),
    ),
    "devin": _both({"cwd": ROOT}, ("exec", {"command": COMMAND}), ("write", {"file_path": FILE, "content": "x"})),
    "vscode": _both(
        {
            "timestamp": "2026-02-09T10:30:00.000Z",
            "cwd": ROOT,
            "sessionId": "s1",
            "hookEventName": "PreToolUse",
            "transcript_path": "/home/dev/transcript.json",
            "tool_use_id": "tool-123",
        },
        ("runTerminalCommand", {"command": COMMAND}),
        ("createFile", {"filePath": FILE, "content": "x"}),
    ),
}
"""An agent's name on the command line -> its message before a shell command, and before a file is made."""
