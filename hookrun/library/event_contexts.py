"""The context of each event, with the fields that this event has; what is not listed is kept and read by its name.

The fields beyond the first engine's are those that the engines before this one passed to their handlers
(synwire_core::agents::hooks, session_buddy's HookContext) and those that the agents themselves send.
"""

from __future__ import annotations

from hookrun.library.handler_context import Context, ObjectField, count, flag, text, word


class SessionStart(Context):
    """A session begins."""

    event_name = "session_start"
    source = text("How it began: startup, resume, clear, compact.")
    resumed = flag("Whether it goes on from an earlier one.")


class SessionEnd(Context):
    """A session has ended."""

    event_name = "session_end"
    reason = text("Why it ended.")


class PreSessionEnd(Context):
    """A session is about to end."""

    event_name = "pre_session_end"
    reason = text("Why it ends.")


class UserPromptSubmit(Context):
    """The person has said something that the model has not seen yet."""

    event_name = "user_prompt_submit"
    user_prompt = word("What the person said.")


class AssistantResponse(Context):
    """The model has answered."""

    event_name = "assistant_response"


class PreToolUse(Context):
    """A tool is about to run."""

    event_name = "pre_tool_use"
    tool_name = word("The tool, by its canonical name.")


class PostToolUse(Context):
    """A tool has run and gave back a result."""

    event_name = "post_tool_use"
    tool_name = word("The tool, by its canonical name.")
    tool_result_output = word("What the tool gave back.")


class PostToolFailure(Context):
    """A tool has run and failed."""

    event_name = "post_tool_failure"
    tool_name = word("The tool, by its canonical name.")
    tool_result_error = word("Why the tool failed.")


class ToolCallRequested(Context):
    """The model asks for a tool."""

    event_name = "tool_call_requested"
    tool_name = word("The tool, by its canonical name.")


class ToolCallAborted(Context):
    """A tool that was asked for will not run."""

    event_name = "tool_call_aborted"
    tool_name = word("The tool, by its canonical name.")
    reason = text("Why it does not run.")


class PermissionRequest(Context):
    """The person is about to be asked whether a tool may run."""

    event_name = "permission_request"
    tool_name = word("The tool, by its canonical name.")


class FileChanged(Context):
    """A file was written, edited or deleted."""

    event_name = "file_changed"
    file_path = word("The file, absolute and normalised.")


class Stop(Context):
    """The agent is about to end its turn."""

    event_name = "stop"
    stop_hook_active = flag("Whether it goes on already because a hook said so.")


class SubagentStart(Context):
    """A subagent begins."""

    event_name = "subagent_start"
    agent_name = text("What kind of subagent it is.")
    initial_message = text("What it was asked to do.")


class SubagentStop(Context):
    """A subagent is about to end."""

    event_name = "subagent_stop"
    agent_name = text("What kind of subagent it is.")
    reason = text("Why it ends.")
    stop_hook_active = flag("Whether it goes on already because a hook said so.")


class PreCompact(Context):
    """The conversation is about to be shortened."""

    event_name = "pre_compact"
    trigger = text("Who wants it: manual or auto.")
    message_count = count("How many messages there are.")
    token_count = count("How many tokens they are, estimated.")


class PostCompact(Context):
    """The conversation was shortened."""

    event_name = "post_compact"
    trigger = text("Who wanted it: manual or auto.")
    message_count = count("How many messages are left.")
    token_count = count("How many tokens they are, estimated.")


class Notification(Context):
    """The agent has something to tell the person."""

    event_name = "notification"
    message = word("What it tells.")
    level = text("How serious it is: info, warning, error.")


class ErrorOccurred(Context):
    """Something went wrong in the agent."""

    event_name = "error"
    error_info = ObjectField("What went wrong: `error_message`, `context` and whatever else is known.")


class BeforeRequest(Context):
    """The agent is about to work on a request."""

    event_name = "before_request"


class AfterRequest(Context):
    """The agent has worked on a request."""

    event_name = "after_request"


class BeforeInference(Context):
    """The model is about to be asked."""

    event_name = "before_inference"
    model = text("Which model.")


class AfterInference(Context):
    """The model has answered, or failed to."""

    event_name = "after_inference"
    model = text("Which model.")
    usage = ObjectField("The tokens used: `input_tokens`, `output_tokens` and whatever else is known.")


class PreCheckpoint(Context):
    """A checkpoint is about to be made."""

    event_name = "pre_checkpoint"
    checkpoint_data = ObjectField("What is known of it: `quality_score` and whatever else.")


class PostCheckpoint(Context):
    """A checkpoint was made."""

    event_name = "post_checkpoint"
    checkpoint_data = ObjectField("What is known of it: `quality_score` and whatever else.")


class PreReflectionStore(Context):
    """Something learned is about to be stored."""

    event_name = "pre_reflection_store"
    reflection = text("What is to be stored.")


class PreSearchQuery(Context):
    """A search is about to be made; its query is among the arguments and may be changed."""

    event_name = "pre_search_query"

    @property
    def query(self) -> str:
        """What is searched for: `tool_args.query`, empty where that is no text.

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
"""Canonical event -> its class; an event of the program's own has the general one."""
