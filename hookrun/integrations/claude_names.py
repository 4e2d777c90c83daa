"""Claude Code's names and hookrun's: tools, arguments, fields of a hook's input, and a tool's response as text.

Source: the types of claude-agent-sdk 0.2.186 and what the CLI in it (2.1.329) sent to hooks. Needs neither, and imports
nothing that `fire` does not.
"""

from __future__ import annotations

from hookrun.events import canonical
from hookrun.fastjson import dumps
from hookrun.integrations.names import Names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

AGENT = "claude"

TOOLS = {
    "Bash": "bash",
    "PowerShell": "bash",
    "Read": "read",
    "Write": "write",
    "Edit": "edit",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "Glob": "glob",
    "Grep": "grep",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "Agent": "task",
    "Task": "task",
}
"""Claude's name of a tool -> hookrun's. MCP tools are `mcp__<server>__<tool>` to both; all others keep their name."""

ARGUMENTS = {"NotebookEdit": {"notebook_path": "file_path", "new_source": "new_string"}}
"""Claude's name of a tool -> its name of an argument -> hookrun's, where the two differ."""

NAMES = Names(TOOLS, ARGUMENTS)

FIELDS = {
    "cwd": "working_dir",
    "prompt": "user_prompt",
    "last_assistant_message": "assistant_response",
    "error": "tool_result_error",
    "agent_type": "agent_name",
}
"""Claude's name of a field of a hook's input -> hookrun's. Every other field goes through under its own name."""

TRANSLATED = frozenset({"hook_event_name", "tool_name", "tool_input", "tool_response"})
"""The fields that are more than renamed."""

RESPONSES = {
    "Bash": ("stdout", "stderr"),
    "PowerShell": ("stdout", "stderr"),
    "Read": ("file.content",),
    "Grep": ("content",),
    "WebFetch": ("result",),
    "Agent": ("content",),
    "Task": ("content",),
}
"""Claude's name of a tool -> where in its response the text lies; of all other tools it is the whole response."""


def context_of(payload: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of hookrun's context for what Claude gives to a hook, `event` among them.

    Raises ValueError for an event that hookrun has no name for.
    """
    agent_event = payload.get("hook_event_name")
    event = canonical(agent_event) if isinstance(agent_event, str) else None
    if event is None:
        raise ValueError(f"hook_event_name: {agent_event!r} is no event that hookrun knows")
    context = {FIELDS.get(key, key): value for key, value in payload.items() if key not in TRANSLATED}
    context.update(event=event, agent=AGENT, agent_event=agent_event, payload=payload)
    name = payload.get("tool_name")
    if isinstance(name, str):
        given = payload.get("tool_input")
        context["agent_tool_name"] = name
        context["tool_name"] = NAMES.tool(name)
        context["tool_args"] = NAMES.arguments(name, given) if isinstance(given, dict) else None
        if "tool_response" in payload:
            context["tool_result_output"] = response_text(name, payload["tool_response"])
    return context


def response_text(name: str, response: object) -> str:
    """Return what Claude's tool `name` gave back as text: what RESPONSES points to, else all of it, as JSON."""
    if isinstance(response, dict):
        found = [text for path in RESPONSES.get(name, ()) if (text := _blocks(_at(response, path))) is not None]
        if found:
            return "\n".join(text for text in found if text)
    text = _blocks(response)
    return text if text is not None else dumps(response)


def _at(value: object, path: str) -> object:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _blocks(value: object) -> str | None:
    """Return a string, or the text of a list of content blocks, as MCP tools give; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, dict) and isinstance(each.get("text"), str) for each in value):
        return "\n".join(each["text"] for each in value)
    return None
