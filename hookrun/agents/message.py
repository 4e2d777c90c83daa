"""What an agent's message says: the calls it is about, by hookrun's names, and what its answer has to be made of."""

from __future__ import annotations

from hookrun.events import canonical
from hookrun.fastjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrun.agents.agent import Agent
    from hookrun.agents.names import Names

    Arguments = dict[str, object]
    Own = Callable[[list[Arguments | None]], Arguments | None]

CHANGES_FILES = frozenset({"write", "edit", "delete"})
"""The tools after whose success `file_changed` is fired where the agent has no such event."""

OURS = frozenset(
    {"version", "event", "hook", "request_id", "metadata", "payload", "agent", "agent_event", "agent_tool_name"}
)
"""The fields of a context that are hookrun's word and not to be taken from a message."""

TEXTS = ("session_id", "root_session_id", "user_prompt", "assistant_response", "tool_result_output",
         "tool_result_error", "file_path", "working_dir", "timestamp", "tool_use_id")  # fmt: skip
"""The fields of a context that are texts: a message that has something else there is taken to have nothing."""


class UnreadableError(ValueError):
    """A message is not what its agent sends; the message of the error says what was found and what was expected."""


class Call:
    """One event as hooks see it: `event` by hookrun's name, None where it has none, and the `fields` of its context.

    `made` tells that the agent itself has no such event.
    """

    __slots__ = ("event", "fields", "made")

    def __init__(self, event: str | None, fields: dict[str, object], *, made: bool = False) -> None:
        self.event = event
        self.fields = fields
        self.made = made


class Message:
    """One message of an agent.

    `native` is its event by its own name; `calls` are what it is about, in the order in which they are fired; `roots`
    are the directories where it says that the project is, best first. `tool` is the tool by the agent's name, and
    `own(wanted)` makes the agent's arguments of those that the calls are to have (None: as they are), in the calls'
    order; None where that cannot be said. `dialect` is which of an agent's ways of speaking this is, if it has several.
    """

    __slots__ = ("calls", "dialect", "native", "own", "roots", "tool")

    def __init__(
        self,
        native: str,
        calls: list[Call],
        *,
        roots: Sequence[object] = (),
        tool: str | None = None,
        own: Own | None = None,
        dialect: str = "",
    ) -> None:
        self.native = native
        self.calls = calls
        self.roots = [root for root in roots if isinstance(root, str)]
        self.tool = tool
        self.own: Own = own or cannot
        self.dialect = dialect

    @property
    def event(self) -> str:
        """The event by hookrun's name, the agent's where hookrun has none."""
        return (self.calls[0].event if self.calls else None) or self.native

    @property
    def session_id(self) -> str | None:
        """The session that it is of."""
        given = self.calls[0].fields.get("session_id") if self.calls else None
        return given if isinstance(given, str) else None


def native_of(agent: Agent, given: str) -> str:
    """Return the agent's name of the event that its wiring names by any name; as given where it has none such."""
    if given in agent.EVENTS:
        return given
    event = canonical(given)
    return next((native for native, name in agent.EVENTS.items() if name == event), given)


def unread(agent: Agent, native: str) -> Message:
    """Return what stands for a message that cannot be read: one of the event in the wiring, else of a tool call."""
    native = native or agent.GUARDED
    return Message(native, [Call(agent.EVENTS.get(native), {})])


def message_from_context(agent: Agent, event: str, context: Mapping[str, object]) -> Message:
    """Return the message with which an agent would have fired `event` on a context that is in hookrun's names.

    Tool and arguments go through the agent's own names and back, as they would on their way through the agent; they may
    be given by either names.
    """
    native = next((each for each, name in agent.EVENTS.items() if name == event), event)
    native = agent.MADE_FROM[event][0] if native == event and event in agent.MADE_FROM else native
    fields: dict[str, object] = {**context, "agent": agent.NAME, "agent_event": native}
    tool, own_tool = fields.get("tool_name"), fields.get("agent_tool_name")
    if isinstance(tool, str) and not isinstance(own_tool, str):
        own_tool = next((own for own, name in agent.TOOLS.items() if tool in (own, name)), tool)
        fields.update(agent_tool_name=own_tool, tool_name=agent.NAMES.tool(own_tool))
    if not isinstance(own_tool, str):
        return Message(native, [Call(event, fields)])
    args = fields.get("tool_args")
    own_args: Arguments = {}
    if isinstance(args, dict):
        own_args = agent.NAMES.own_arguments(own_tool, agent.NAMES.arguments(own_tool, args))
        fields["tool_args"] = agent.NAMES.arguments(own_tool, own_args)
    return Message(native, [Call(event, fields)], tool=own_tool, own=one(agent.NAMES, own_tool, own_args))


def cannot(_wanted: list[Arguments | None]) -> Arguments | None:
    """The arguments of such a message cannot be changed."""
    return None


def one(names: Names, tool: str, args: Arguments) -> Own:
    """Return what makes the agent's arguments of a message with a single call."""

    def own(wanted: list[Arguments | None]) -> Arguments | None:
        return names.own_arguments(tool, wanted[0] if wanted and wanted[0] is not None else args)

    return own


def fields_of(
    payload: Mapping[str, object], renamed: Mapping[str, str], translated: frozenset[str], *, agent: str, event: str
) -> dict[str, object]:
    """Return the fields of a context that a message gives: renamed, or under their own names, but for `translated`."""
    fields: dict[str, object] = {}
    for key, value in payload.items():
        name = renamed.get(key, key)
        if key not in translated and name not in OURS:
            fields[name] = value
    for name in TEXTS:
        if name in fields and not isinstance(fields[name], str):
            fields[name] = None
    fields["agent"], fields["agent_event"], fields["payload"] = agent, event, payload
    return fields


def tool_fields(names: Names, tool: str, args: object) -> dict[str, object]:
    """Return the fields of a context that tell of a tool call, by hookrun's names."""
    return {
        "agent_tool_name": tool,
        "tool_name": names.tool(tool),
        "tool_args": names.arguments(tool, args) if isinstance(args, dict) else None,
    }


def with_changes(calls: list[Call]) -> list[Call]:
    """Return the calls, and after those of tools that have changed a file a `file_changed` each."""
    return [*calls, *(Call("file_changed", call.fields, made=True) for call in calls if _changed_a_file(call))]


def _changed_a_file(call: Call) -> bool:
    args = call.fields.get("tool_args")
    return (
        call.event == "post_tool_use"
        and call.fields.get("tool_name") in CHANGES_FILES
        and isinstance(args, dict)
        and isinstance(args.get("file_path"), str)
    )


def text_of(value: object) -> str:
    """Return what a tool gave as text: strings as they are, the texts of content blocks, anything else as JSON."""
    text = blocks(value)
    return text if text is not None else dumps(value)


def blocks(value: object) -> str | None:
    """Return a string, or the text of a list of content blocks, as MCP tools give; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, dict) and isinstance(each.get("text"), str) for each in value):
        return "\n".join(each["text"] for each in value)
    return None
