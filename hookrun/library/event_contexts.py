"""The context class of each event with the fields specific to it; other fields are kept and accessible by name.

The fields beyond hookrun's first version are those of earlier engines (synwire_core::agents::hooks, session_buddy's
HookContext) and those that agents send.
"""

from __future__ import annotations

from hookrun.library.handler_context import Context, ObjectField, count, flag, text, word


class SessionStart(Context):
    """A session begins."""

    event_name = "session_start"
    source = text("How it began: startup, resume, clear, compact.")
    resumed = flag("Whether it continues an earlier one.")


class SessionEnd(Context):
    """A session has ended."""

    event_name = "session_end"
    reason = text("Why it ended.")


class PreSessionEnd(Context):
    """A session is about to end."""

    event_name = "pre_session_end"
    reason = text("Why it ends.")


class UserPromptSubmit(Context):
    """The user has sent a prompt that the model has not seen yet."""

    event_name = "user_prompt_submit"
    user_prompt = word("The user's prompt.")


class AssistantResponse(Context):
    """The model has answered."""

    event_name = "assistant_response"


class PreToolUse(Context):
    """A tool is about to run."""

    event_name = "pre_tool_use"
    tool_name = word("The tool, by its canonical name.")


class PostToolUse(Context):
    """A tool has run and returned a result."""

    event_name = "post_tool_use"
    tool_name = word("The tool, by its canonical name.")
    tool_result_output = word("The tool's result.")


class PostToolFailure(Context):
    """A tool has run and failed."""

    event_name = "post_tool_failure"
    tool_name = word("The tool, by its canonical name.")
    tool_result_error = word("Why the tool failed.")


class ToolCallRequested(Context):
    """The model requests a tool."""

    event_name = "tool_call_requested"
    tool_name = word("The tool, by its canonical name.")


class ToolCallAborted(Context):
    """A requested tool will not run."""

    event_name = "tool_call_aborted"
    tool_name = word("The tool, by its canonical name.")
    reason = text("Why it does not run.")


class PermissionRequest(Context):
    """The user is about to be asked whether a tool may run."""

    event_name = "permission_request"
    tool_name = word("The tool, by its canonical name.")


class FileChanged(Context):
    """A file was written, edited or deleted."""

    event_name = "file_changed"
    file_path = word("The file, absolute and normalised.")


class Stop(Context):
    """The agent is about to end its turn."""

    event_name = "stop"
    stop_hook_active = flag("Whether it already continues because of a hook.")


class SubagentStart(Context):
    """A subagent begins."""

    event_name = "subagent_start"
    agent_name = text("The kind of subagent.")
    initial_message = text("Its task.")


class SubagentStop(Context):
    """A subagent is about to end."""

    event_name = "subagent_stop"
    agent_name = text("The kind of subagent.")
    reason = text("Why it ends.")
    stop_hook_active = flag("Whether it already continues because of a hook.")


class PreCompact(Context):
    """The conversation is about to be shortened."""

    event_name = "pre_compact"
    trigger = text("The trigger: manual or auto.")
    message_count = count("The number of messages.")
    token_count = count("The estimated number of tokens.")


class PostCompact(Context):
    """The conversation was shortened."""

    event_name = "post_compact"
    trigger = text("The trigger: manual or auto.")
    message_count = count("The number of messages left.")
    token_count = count("The estimated number of tokens.")


class Notification(Context):
    """The agent notifies the user."""

    event_name = "notification"
    message = word("The text of the notification.")
    level = text("Its severity: info, warning, error.")


class ErrorOccurred(Context):
    """An error occurred in the agent."""

    event_name = "error"
    error_info = ObjectField("The error: `error_message`, `context` and other details.")


class BeforeRequest(Context):
    """The agent is about to process a request."""

    event_name = "before_request"


class AfterRequest(Context):
    """The agent has processed a request."""

    event_name = "after_request"


class BeforeInference(Context):
    """The model is about to be called."""

    event_name = "before_inference"
    model = text("The model's name.")


class AfterInference(Context):
    """The model has answered, or failed to."""

    event_name = "after_inference"
    model = text("The model's name.")
    usage = ObjectField("The tokens used: `input_tokens`, `output_tokens` and other details.")


class PreCheckpoint(Context):
    """A checkpoint is about to be made."""

    event_name = "pre_checkpoint"
    checkpoint_data = ObjectField("The checkpoint: `quality_score` and other details.")


class PostCheckpoint(Context):
    """A checkpoint was made."""

    event_name = "post_checkpoint"
    checkpoint_data = ObjectField("The checkpoint: `quality_score` and other details.")


class PreReflectionStore(Context):
    """Something learned is about to be stored."""

    event_name = "pre_reflection_store"
    reflection = text("The text to store.")


class PreSearchQuery(Context):
    """A search is about to run; its query is among the arguments and may be changed."""

    event_name = "pre_search_query"

    @property
    def query(self) -> str:
        """The query: `tool_args.query`, or "" if that is not a string.

        >>> PreSearchQuery(tool_args={"query": "python 3.13"}).query
        'python 3.13'
        """
        found = self.tool_args.get("query")
        return found if isinstance(found, str) else ""


CLASSES: dict[str, type[Context]] = {
    each.event_name: each
    for each in (
        SessionStart,
        SessionEnd,
        PreSessionEnd,
        UserPromptSubmit,
        AssistantResponse,
        PreToolUse,
        PostToolUse,
        PostToolFailure,
        ToolCallRequested,
        ToolCallAborted,
        PermissionRequest,
        FileChanged,
        Stop,
        SubagentStart,
        SubagentStop,
        PreCompact,
        PostCompact,
        Notification,
        ErrorOccurred,
        BeforeRequest,
        AfterRequest,
        BeforeInference,
        AfterInference,
        PreCheckpoint,
        PostCheckpoint,
        PreReflectionStore,
        PreSearchQuery,
    )
}
"""Canonical event -> its class; custom events have the general one."""
