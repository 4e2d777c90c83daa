"""Canonical event names, the aliases that agents and older engines use, and what each event supports."""

from __future__ import annotations

from hookrun.core.text import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Characters of an unknown name in a message.
MAX_SHOWN = 60

# Canonical event -> names of agents and older engines that spell it otherwise than ALIASES does.
OTHER_NAMES = {
    "session_start": "agentSpawn TaskStart session.created",
    "session_end": "session.deleted",
    "user_prompt_submit": (
        "userPromptSubmitted BeforeAgent beforeSubmitPrompt PromptSubmit pre_user_prompt chat.message"
    ),
    "assistant_response": "afterAgentResponse post_cascade_response",
    "pre_tool_use": (
        "BeforeTool beforeTool pre_tool_execution BeforeToolExecution before_tool_execution tool.execute.before "
        "tool.call"
    ),
    "post_tool_use": (
        "AfterTool afterTool post_tool_execution AfterToolExecution after_tool_execution tool.execute.after tool.result"
    ),
    "post_tool_failure": "PostToolUseFailure postToolUseFailure post_tool_use_failure",
    "tool_call_requested": "",
    "tool_call_aborted": "",
    "permission_request": "permission.asked",
    "file_changed": "post_file_edit PostFileEdit afterFileEdit file.edited",
    "stop": "AfterAgent agentStop TurnEnd session.idle agent.end",
    "subagent_start": "",
    "subagent_stop": "",
    "pre_compact": "PreCompress",
    "post_compact": "PostCompaction session.compacted",
    "notification": "notify",
    "error": "post_error PostError errorOccurred ErrorOccurred session.error",
    "before_request": "",
    "after_request": "",
    "before_inference": "BeforeModel PreModelRequest",
    "after_inference": "AfterModel PostModelRequest",
    "pre_checkpoint": "",
    "post_checkpoint": "",
    "pre_reflection_store": "",
    "pre_search_query": "",
    "pre_session_end": "",
}

# Canonical event -> its other names: `PreToolUse` and `preToolUse` for `pre_tool_use`, then OTHER_NAMES.
ALIASES: dict[str, tuple[str, ...]] = {
    event: (*(name for name in (pascal, pascal[0].lower() + pascal[1:]) if name != event), *others.split())
    for event, others in OTHER_NAMES.items()
    for pascal in (event.title().replace("_", ""),)
}

# Every name of an event -> its canonical name.
EVENTS: dict[str, str] = {alias: event for event, aliases in ALIASES.items() for alias in (event, *aliases)}

# Claude Code's name of an event, used by other agents too -> its canonical name.
CLAUDE_EVENTS = {
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "UserPromptSubmit": "user_prompt_submit",
    "MessageDisplay": "assistant_response",
    "PreToolUse": "pre_tool_use",
    "PostToolUse": "post_tool_use",
    "PostToolUseFailure": "post_tool_failure",
    "PermissionRequest": "permission_request",
    "PermissionDenied": "tool_call_aborted",
    "FileChanged": "file_changed",
    "Stop": "stop",
    "StopFailure": "error",
    "SubagentStart": "subagent_start",
    "SubagentStop": "subagent_stop",
    "PreCompact": "pre_compact",
    "PostCompact": "post_compact",
    "Notification": "notification",
}

# hookrun's tool -> Claude Code's. MCP servers' tools and `delete` keep their name.
CLAUDE_TOOLS = {
    "bash": "Bash",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "glob": "Glob",
    "grep": "Grep",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "task": "Agent",
}

# hookrun's names of tools; agents.known_tools has their arguments.
TOOLS = frozenset({*CLAUDE_TOOLS, "delete"})

# Events that can have a tool: on others a `matcher` never matches.
WITH_TOOL = frozenset(
    {
        "pre_tool_use",
        "post_tool_use",
        "post_tool_failure",
        "tool_call_requested",
        "tool_call_aborted",
        "permission_request",
        "file_changed",
        "error",
    }
)

# Events whose arguments a hook may change.
WITH_ARGUMENTS = frozenset({"pre_tool_use", "tool_call_requested", "permission_request", "pre_search_query"})

# Events at which a hook may replace a text: the verdict's field for it, and the context's. Where neither text nor
# arguments can be changed, `modify` is a bad verdict.
REPLACEABLE = {
    "post_tool_use": ("modified_output", "tool_result_output"),
    "post_tool_failure": ("modified_output", "tool_result_error"),
    "user_prompt_submit": ("modified_prompt", "user_prompt"),
}

# Events at which a block prevents something.
REFUSABLE = frozenset(
    {
        *("pre_tool_use", "permission_request", "user_prompt_submit", "tool_call_requested", "pre_compact"),
        *("before_request", "before_inference", "pre_checkpoint", "pre_reflection_store", "pre_search_query"),
    }
)


# Events after a tool: its output is withheld if a hook with `on_failure: block` fails.
WITH_OUTPUT = frozenset({"post_tool_use", "post_tool_failure"})

# Events of agents whose answer can refuse the call or the prompt.
GATES = frozenset({"pre_tool_use", "permission_request", "user_prompt_submit"})


class UnknownEventError(UserError, LookupError):
    """No event has this name. `closest` is the canonical name probably meant, None if none is close."""

    def __init__(self, name: str, known: Mapping[str, str]) -> None:
        """Make the message, safe to print; `known` maps every name to its canonical one."""
        import json

        from hookrun.core.text import closest, suggest  # only for an error

        near = closest(name, known)
        self.closest = known[near] if near else None
        hint = suggest(self.closest, "`hookrun help events` lists the events")
        super().__init__(f"unknown event {json.dumps(name[:MAX_SHOWN])}\nhint: {hint}")


def canonical(name: str) -> str | None:
    """Return an event's canonical name, given any of its names; None if unknown."""
    return EVENTS.get(name)


def resolve_event(name: str, own: Iterable[str] = (), native: Mapping[str, str] | None = None) -> str:
    """Return the canonical name of an event.

    `own` are a program's events, with one name each; `native` maps an agent's names to canonical ones and takes
    precedence. Raises UnknownEventError.

    >>> resolve_event("PreToolUse")
    'pre_tool_use'
    """
    event = (native or {}).get(name) or EVENTS.get(name) or (name if name in own else None)
    if event is None:
        raise UnknownEventError(name, {**EVENTS, **{each: each for each in own}, **(native or {})})
    return event


def can_refuse(event: str) -> bool:
    """Return whether this event's hooks can prevent something; a program's own event may."""
    return event in REFUSABLE or event not in ALIASES


def changed_by(event: str, tool_args: dict[str, object] | None) -> str:
    """Return the verdict's field with which this event's hooks may change something, "" if they cannot.

    A host program's own event (not in the table) has arguments if its context has some.
    """
    if event in REPLACEABLE:
        return REPLACEABLE[event][0]
    return "modified_args" if event in WITH_ARGUMENTS or (event not in ALIASES and tool_args is not None) else ""


def what_changes(event: str) -> str:
    """Return the word for what hooks can change at an event."""
    return REPLACEABLE[event][0].removeprefix("modified_") if event in REPLACEABLE else "arguments"
