"""Write docs/schemas: the JSON Schemas of a config file, of a context and of a verdict.

python scripts/document_schemas.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hookrun.config.schema import DIALECT, schema  # noqa: E402  # the package beside this program
from hookrun.core.context import FIELDS, VERSION  # noqa: E402
from hookrun.core.model import PRECEDENCE, VERDICT_OBJECTS, VERDICT_TEXTS  # noqa: E402

DIRECTORY = ROOT / "docs" / "schemas"

CONTEXT = {
    "session_id": "The agent's session.",
    "tool_name": "The tool, by hookrun's name: bash, read, write, edit, mcp__SERVER__TOOL.",
    "tool_args": "The tool's arguments, by hookrun's names.",
    "tool_result_output": "After a tool: its result.",
    "tool_result_error": "After a tool: its error.",
    "user_prompt": "The user's prompt.",
    "assistant_response": "The model's answer.",
    "root_session_id": "The session that this one was started from.",
    "file_path": "The file this is about, absolute and normalised.",
    "working_dir": "The agent's working directory.",
    "agent": "The agent: claude, codex, gemini, qwen, copilot, cline, opencode, kilo, pi, vibe, grok.",
    "agent_event": "The agent's own name of the event.",
    "agent_tool_name": "The agent's own name of the tool.",
    "timestamp": "When the event was fired: UTC, RFC 3339.",
    "metadata": "What earlier hooks left in modified_context, and what the caller gave.",
}

VERDICT = {
    "message": "The reason, for the model.",
    "additional_context": "Text for the model, beside any action.",
    "system_message": "Text for the user, beside any action.",
    "modified_args": "All arguments of the tool, with modify, allow or ask.",
    "modified_output": "The text that the model gets instead of a tool's output or error, after a tool.",
    "modified_prompt": "The prompt that is sent instead of the user's, at user_prompt_submit.",
    "args_patch": "A JSON Merge Patch (RFC 7396) on the arguments, instead of modified_args.",
    "modified_context": "Merged into the metadata of later hooks.",
}


def context_schema() -> dict[str, object]:
    """Return the schema of what a hook reads."""
    types = {str: "string", dict: "object"}
    known: dict[str, object] = {
        name: {"type": [types[kind], "null"], "description": CONTEXT[name]} for name, kind in FIELDS.items()
    }
    properties = {
        "version": {"const": VERSION, "description": "The version of this table."},
        "event": {"type": "string", "description": "The event, by hookrun's name."},
        **known,
        "request_id": {"type": "string", "description": "One for each run, the same for all its hooks."},
        "hook": {"type": "string", "description": "The name of the hook that reads this."},
    }
    return {
        "$schema": DIALECT,
        "title": "hookrun context",
        "description": "What a hook reads on stdin. Further fields of the agent are passed through.",
        "type": "object",
        "properties": {**properties, "payload": {"description": 'The agent\'s whole message, with "payload": true.'}},
        "required": list(properties),
    }


def verdict_schema() -> dict[str, object]:
    """Return the schema of what a hook prints."""
    texts: dict[str, object] = {
        name: {"type": ["string", "null"], "description": VERDICT[name]} for name in VERDICT if name in VERDICT_TEXTS
    }
    objects: dict[str, object] = {
        name: {"type": ["object", "null"], "description": VERDICT[name]} for name in VERDICT if name in VERDICT_OBJECTS
    }
    return {
        "$schema": DIALECT,
        "title": "hookrun verdict",
        "description": "What a hook prints on stdout.",
        "type": "object",
        "properties": {
            "action": {"enum": list(PRECEDENCE), "description": "What happens to the call."},
            **texts,
            **objects,
        },
        "required": ["action"],
    }


def files() -> dict[Path, str]:
    """Return the text of each file."""
    schemas = {"config": schema(), "context": context_schema(), "verdict": verdict_schema()}
    return {DIRECTORY / f"{name}.json": json.dumps(each, indent=2) + "\n" for name, each in schemas.items()}


if __name__ == "__main__":
    DIRECTORY.mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text)
