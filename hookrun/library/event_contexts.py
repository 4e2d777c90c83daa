"""The context class of each event with the fields specific to it, and the check for misspelled ones.

Other fields are kept and accessible by name; a misspelled one every matcher and condition would silently miss.

The fields beyond hookrun's first version are those of earlier engines (synwire_core::agents::hooks, session_buddy's
HookContext) and those that agents send.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hookrun.config.schema import CONTEXT_FIELDS
from hookrun.context import FIELDS, MISNAMED, ContextError
from hookrun.events import ALIASES, WITH_TOOL
from hookrun.library.handler_context import Context, ContextField, ObjectField, count, flag, text, word


class SessionStart(Context, event="session_start"):
    """A session begins."""

    source = text("How it began: startup, resume, clear, compact.")
    resumed = flag("Whether it continues an earlier one.")


class SessionEnd(Context, event="session_end"):
    """A session has ended."""

    reason = text("Why it ended.")


class PreSessionEnd(Context, event="pre_session_end"):
    """A session is about to end."""

    reason = text("Why it ends.")


class UserPromptSubmit(Context, event="user_prompt_submit"):
    """The user has sent a prompt that the model has not seen yet."""

    user_prompt = word("The user's prompt.")


class AssistantResponse(Context, event="assistant_response"):
    """The model has answered."""


class PreToolUse(Context, event="pre_tool_use"):
    """A tool is about to run."""

    tool_name = word("The tool, by its canonical name.")


class PostToolUse(Context, event="post_tool_use"):
    """A tool has run and returned a result."""

    tool_name = word("The tool, by its canonical name.")
    tool_result_output = word("The tool's result.")


class PostToolFailure(Context, event="post_tool_failure"):
    """A tool has run and failed."""

    tool_name = word("The tool, by its canonical name.")
    tool_result_error = word("Why the tool failed.")


class ToolCallRequested(Context, event="tool_call_requested"):
    """The model requests a tool."""

    tool_name = word("The tool, by its canonical name.")


class ToolCallAborted(Context, event="tool_call_aborted"):
    """A requested tool will not run."""

    tool_name = word("The tool, by its canonical name.")
    reason = text("Why it does not run.")


class PermissionRequest(Context, event="permission_request"):
    """The user is about to be asked whether a tool may run."""

    tool_name = word("The tool, by its canonical name.")


class FileChanged(Context, event="file_changed"):
    """A file was written, edited or deleted."""

    file_path = word("The file, absolute and normalised.")


class Stop(Context, event="stop"):
    """The agent is about to end its turn."""

    stop_hook_active = flag("Whether it already continues because of a hook.")


class SubagentStart(Context, event="subagent_start"):
    """A subagent begins."""

    agent_name = text("The kind of subagent.")
    initial_message = text("Its task.")


class SubagentStop(Context, event="subagent_stop"):
    """A subagent is about to end."""

    agent_name = text("The kind of subagent.")
    reason = text("Why it ends.")
    stop_hook_active = flag("Whether it already continues because of a hook.")


class PreCompact(Context, event="pre_compact"):
    """The conversation is about to be shortened."""

    trigger = text("The trigger: manual or auto.")
    message_count = count("The number of messages.")
    token_count = count("The estimated number of tokens.")


class PostCompact(Context, event="post_compact"):
    """The conversation was shortened."""

    trigger = text("The trigger: manual or auto.")
    message_count = count("The number of messages left.")
    token_count = count("The estimated number of tokens.")


class Notification(Context, event="notification"):
    """The agent notifies the user."""

    message = word("The text of the notification.")
    level = text("Its severity: info, warning, error.")


class ErrorOccurred(Context, event="error"):
    """An error occurred in the agent."""

    error_info = ObjectField("The error: `error_message`, `context` and other details.")


class BeforeRequest(Context, event="before_request"):
    """The agent is about to process a request."""


class AfterRequest(Context, event="after_request"):
    """The agent has processed a request."""


class BeforeInference(Context, event="before_inference"):
    """The model is about to be called."""

    model = text("The model's name.")


class AfterInference(Context, event="after_inference"):
    """The model has answered, or failed to."""

    model = text("The model's name.")
    usage = ObjectField("The tokens used: `input_tokens`, `output_tokens` and other details.")


class PreCheckpoint(Context, event="pre_checkpoint"):
    """A checkpoint is about to be made."""

    checkpoint_data = ObjectField("The checkpoint: `quality_score` and other details.")


class PostCheckpoint(Context, event="post_checkpoint"):
    """A checkpoint was made."""

    checkpoint_data = ObjectField("The checkpoint: `quality_score` and other details.")


class PreReflectionStore(Context, event="pre_reflection_store"):
    """Something learned is about to be stored."""

    reflection = text("The text to store.")


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


CLASSES: dict[str, type[Context]] = {
    each.event_name: each
    for each in list(vars().values())
    if isinstance(each, type) and issubclass(each, Context) and each is not Context
}
"""Canonical event -> its class; custom events have the general one."""

ARGUMENTS_OF_FIRE = {"deadline": float}
SIMILAR = 0.8501
"""Similarity from which a name counts as a misspelling of another: more than 0.85, one letter in six may differ."""
UNAMBIGUOUS = 6
"""Minimum letters of a name that may be a misspelling: `mode` is not `model`."""
MAX_REMEMBERED = 1024
"""Names whose meaning is cached; they may come from outside."""


def _fields(cls: type[Context]) -> dict[str, type]:
    """Return the fields that the class has as attributes, with the type of their values."""
    own = {name: each for base in cls.__mro__ for name, each in vars(base).items() if isinstance(each, ContextField)}
    return {name: each.kind for name, each in own.items()}


KNOWN = {event: {*CONTEXT_FIELDS, *FIELDS, "possible_tool_names", *_fields(cls)} for event, cls in CLASSES.items()}
"""Canonical event -> the known fields of its context."""
KNOWN_ANYWHERE = {*CONTEXT_FIELDS, *FIELDS, "possible_tool_names", *_fields(Context)}
_LIKELY: dict[tuple[str, str], str | None] = {}


def check_names(data: Mapping[str, object], event: str) -> None:
    """Raise ContextError for a field that is probably a misspelling or a common other name of a known one.

    A field counts as the program's own if it resembles no known field, if that field is given too (null is enough), or
    if its value would not be valid for that field.

    >>> check_names({"tool_name": "bash", "sandbox": "docker"}, "pre_tool_use")
    >>> try:
    ...     check_names({"tool_nam": "bash"}, "pre_tool_use")
    ... except ContextError as error:
    ...     print(str(error).partition("?")[0])
    fire pre_tool_use: unknown field 'tool_nam': did you mean tool_name
    """
    known = KNOWN.get(event, KNOWN_ANYWHERE)
    for name in data:
        if name in known:
            continue
        likely = _likely_field(name, event)
        if likely is None or (root := likely.partition(".")[0]) in data:
            continue
        if MISNAMED.get(name) == likely or _fits(data[name], root, event):
            raise ContextError(
                f"fire {event}: unknown field {name!r}: did you mean {likely}? "
                f"(to use this name for a field of your own, pass {root} as well, None if it has no value)"
            )


def _likely_field(name: str, event: str) -> str | None:
    """Return the path of the known field that a name probably stands for, or None for a field of the program's own."""
    key = (event, name)
    if key not in _LIKELY:
        if len(_LIKELY) >= MAX_REMEMBERED:
            _LIKELY.clear()
        _LIKELY[key] = next(_candidates(name, event), None)
    return _LIKELY[key]


def _candidates(name: str, event: str) -> Iterator[str]:
    from difflib import get_close_matches

    instead = MISNAMED.get(name, "")
    prefix = instead.partition("_")[0]
    if instead and event in ALIASES:
        if prefix == "tool":
            wanted = event in WITH_TOOL
        else:
            wanted = prefix != "user" or event == "user_prompt_submit"
        if wanted:
            yield instead
    given = _letters(name)
    fields = (*ARGUMENTS_OF_FIRE, *sorted(KNOWN.get(event, KNOWN_ANYWHERE)))
    likely = {_letters(each): each for each in fields if len(given) >= UNAMBIGUOUS or each in FIELDS}
    yield from (likely[near] for near in get_close_matches(given, likely, n=1, cutoff=SIMILAR))


def _letters(name: str) -> str:
    return name[:60].replace("_", "").replace("-", "").lower()


def _fits(value: object, field: str, event: str) -> bool:
    expected = FIELDS.get(field) or _fields(CLASSES.get(event, Context)).get(field) or ARGUMENTS_OF_FIRE.get(field)
    return value is None or expected is None or isinstance(value, (expected, int) if expected is float else expected)
