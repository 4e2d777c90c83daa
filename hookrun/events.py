"""The contexts of the 27 events: what a handler of each gets, and what a program creates to fire it.

    @engine.on(PreToolUse)
    def guard(ctx: PreToolUse) -> Verdict | None: ...

Each has the fields of `Context` and those specific to it; other fields are kept and accessible by name. The fields
beyond hookrun's first version are those of earlier engines (synwire_core::agents::hooks, session_buddy's HookContext)
and those that agents send.
"""

from __future__ import annotations

from hookrun.library.event_contexts import (
    Context,
    Count,
    Flag,
    ObjectField,
    Text,
    Word,
    count,
    flag,
    mapping,
    required,
    text,
    word,
)  # fmt: skip

__all__ = [
    "AfterInference", "AfterRequest", "AssistantResponse", "BeforeInference", "BeforeRequest", "ErrorOccurred",
    "FileChanged", "Notification", "PermissionRequest", "PostCheckpoint", "PostCompact", "PostToolFailure",
    "PostToolUse", "PreCheckpoint", "PreCompact", "PreReflectionStore", "PreSearchQuery", "PreSessionEnd",
    "PreToolUse", "SessionEnd", "SessionStart", "Stop", "SubagentStart", "SubagentStop", "ToolCallAborted",
    "ToolCallRequested", "UserPromptSubmit",
]  # fmt: skip


class SessionStart(Context, event="session_start"):
    """A session begins."""

    source: Text = text("How it began: startup, resume, clear, compact.")
    resumed: Flag = flag("Whether it continues an earlier one.")


class SessionEnd(Context, event="session_end"):
    """A session has ended."""

    reason: Text = text("Why it ended.")


class PreSessionEnd(Context, event="pre_session_end"):
    """A session is about to end."""

    reason: Text = text("Why it ends.")


class UserPromptSubmit(Context, event="user_prompt_submit"):
    """The user has sent a prompt that the model has not seen yet."""

    user_prompt: Word = required("The user's prompt.")


class AssistantResponse(Context, event="assistant_response"):
    """The model has answered."""


class _OfTool(Context):
    tool_name: Word = required("The tool, by its canonical name.")


class PreToolUse(_OfTool, event="pre_tool_use"):
    """A tool is about to run."""


class PostToolUse(_OfTool, event="post_tool_use"):
    """A tool has run and returned a result."""

    tool_result_output: Word = word("The tool's result.")


class PostToolFailure(_OfTool, event="post_tool_failure"):
    """A tool has run and failed."""

    tool_result_error: Word = word("Why the tool failed.")


class ToolCallRequested(_OfTool, event="tool_call_requested"):
    """The model requests a tool."""


class ToolCallAborted(_OfTool, event="tool_call_aborted"):
    """A requested tool will not run."""

    reason: Text = text("Why it does not run.")


class PermissionRequest(_OfTool, event="permission_request"):
    """The user is about to be asked whether a tool may run."""


class FileChanged(Context, event="file_changed"):
    """A file was written, edited or deleted."""

    file_path: Word = required("The file, absolute and normalised.")


class Stop(Context, event="stop"):
    """The agent is about to end its turn."""

    stop_hook_active: Flag = flag("Whether it already continues because of a hook.")


class SubagentStart(Context, event="subagent_start"):
    """A subagent begins."""

    agent_name: Text = text("The kind of subagent.")
    initial_message: Text = text("Its task.")


class SubagentStop(Context, event="subagent_stop"):
    """A subagent is about to end."""

    agent_name: Text = text("The kind of subagent.")
    reason: Text = text("Why it ends.")
    stop_hook_active: Flag = flag("Whether it already continues because of a hook.")


class PreCompact(Context, event="pre_compact"):
    """The conversation is about to be shortened."""

    trigger: Text = text("The trigger: manual or auto.")
    message_count: Count = count("The number of messages.")
    token_count: Count = count("The estimated number of tokens.")


class PostCompact(Context, event="post_compact"):
    """The conversation was shortened."""

    trigger: Text = text("The trigger: manual or auto.")
    message_count: Count = count("The number of messages left.")
    token_count: Count = count("The estimated number of tokens.")


class Notification(Context, event="notification"):
    """The agent notifies the user."""

    message: Word = required("The text of the notification.")
    level: Text = text("Its severity: info, warning, error.")


class ErrorOccurred(Context, event="error"):
    """An error occurred in the agent."""

    error_info: ObjectField = mapping("The error: `error_message`, `context` and other details.")


class BeforeRequest(Context, event="before_request"):
    """The agent is about to process a request."""


class AfterRequest(Context, event="after_request"):
    """The agent has processed a request."""


class BeforeInference(Context, event="before_inference"):
    """The model is about to be called."""

    model: Text = text("The model's name.")


class AfterInference(Context, event="after_inference"):
    """The model has answered, or failed to."""

    model: Text = text("The model's name.")
    usage: ObjectField = mapping("The tokens used: `input_tokens`, `output_tokens` and other details.")


class PreCheckpoint(Context, event="pre_checkpoint"):
    """A checkpoint is about to be made."""

    checkpoint_data: ObjectField = mapping("The checkpoint: `quality_score` and other details.")


class PostCheckpoint(Context, event="post_checkpoint"):
    """A checkpoint was made."""

    checkpoint_data: ObjectField = mapping("The checkpoint: `quality_score` and other details.")


class PreReflectionStore(Context, event="pre_reflection_store"):
    """Something learned is about to be stored."""

    reflection: Text = text("The text to store.")


class PreSearchQuery(Context, event="pre_search_query"):
    """A search is about to run; its query is among the arguments and may be changed."""

    @property
    def query(self) -> str:
        """The query: `tool_args.query`, or "" if that is not a string.

        >>> PreSearchQuery(tool_args={"query": "python 3.13"}).query
        'python 3.13'
        """
        found = self.tool_args.get("query")
        return found if isinstance(found, str) else ""


# Canonical event -> its class; custom events have the general one.
CLASSES: dict[str, type[Context]] = {each.event_name: each for each in map(globals().__getitem__, __all__)}
