"""An agent's own names for tools and arguments, and hookrun's: tables that are read both ways. No imports."""

from __future__ import annotations

from hookrun.events import canonical
from hookrun.fastjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrun.agents.types import Agent

    Arguments = dict[str, object]
    ToNativeArgs = Callable[[list[Arguments | None]], Arguments | None]
    from collections.abc import Callable


class NameMap:
    """What an agent calls the tools and their arguments. What is in no table keeps its name.

    `tools`: its name of a tool -> hookrun's. `arguments`: its name of a tool -> its name of an argument -> hookrun's.

        Names({"run_shell": "bash", "put": "write"}, {"run_shell": {"cmd": "command"}, "put": {"path": "file_path"}})
    """

    __slots__ = ("_arguments", "_tools")

    def __init__(
        self, tools: Mapping[str, str] | None = None, arguments: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self._tools = tools or {}
        self._arguments = arguments or {}

    def tool(self, name: str) -> str:
        """Return hookrun's name of the agent's tool `name`."""
        return self._tools.get(name, name)

    def arguments(self, name: str, args: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments of the agent's tool `name` by hookrun's names.

        Where an argument that the tool does not know has the very name that one of its own gets, the tool's own counts.
        """
        return _renamed(args, self._arguments.get(name))

    def to_native(self, name: str, args: Mapping[str, object]) -> dict[str, object]:
        """Return arguments with hookrun's names as the agent's tool `name` takes them."""
        table = self._arguments.get(name)
        return _renamed(args, {ours: theirs for theirs, ours in table.items()} if table else None)


def _renamed(args: Mapping[str, object], table: Mapping[str, str] | None) -> dict[str, object]:
    if not table:
        return dict(args)
    renamed = {key: value for key, value in args.items() if key not in table}
    renamed.update({table[key]: value for key, value in args.items() if key in table})
    return renamed


CHANGES_FILES = frozenset({"write", "edit", "delete"})
"""The tools after whose success `file_changed` is fired where the agent has no such event."""

RESERVED_FIELDS = frozenset(
    {"version", "event", "hook", "request_id", "metadata", "payload", "agent", "agent_event", "agent_tool_name"}
)
"""The fields of a context that are hookrun's word and not to be taken from a message."""

TEXT_FIELDS = ("session_id", "root_session_id", "user_prompt", "assistant_response", "tool_result_output",
         "tool_result_error", "file_path", "working_dir", "timestamp", "tool_use_id")  # fmt: skip
"""The fields of a context that are texts: a message that has something else there is taken to have nothing."""


class UnreadableMessageError(ValueError):
    """A message is not what its agent sends; the message of the error says what was found and what was expected."""


class CanonicalCall:
    """One event as hooks see it: `event` by hookrun's name, None where it has none, and the `fields` of its context.

    `made` tells that the agent itself has no such event.
    """

    __slots__ = ("event", "fields", "synthesized")

    def __init__(self, event: str | None, fields: dict[str, object], *, synthesized: bool = False) -> None:
        self.event = event
        self.fields = fields
        self.synthesized = synthesized


class Message:
    """One message of an agent.

    `native` is its event by its own name; `calls` are what it is about, in the order in which they are fired; `roots`
    are the directories where it says that the project is, best first. `tool` is the tool by the agent's name, and
    `own(wanted)` makes the agent's arguments of those that the calls are to have (None: as they are), in the calls'
    order; None where that cannot be said. `dialect` is which of an agent's ways of speaking this is, if it has several.
    """

    __slots__ = ("calls", "dialect", "native", "roots", "to_native_args", "tool")

    def __init__(
        self,
        native: str,
        calls: list[CanonicalCall],
        *,
        roots: Sequence[object] = (),
        tool: str | None = None,
        own: ToNativeArgs | None = None,
        dialect: str = "",
    ) -> None:
        self.native = native
        self.calls = calls
        self.roots = [root for root in roots if isinstance(root, str)]
        self.tool = tool
        self.to_native_args: ToNativeArgs = own or no_native_args
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


def native_event(agent: Agent, given: str) -> str:
    """Return the agent's name of the event that its wiring names by any name; as given where it has none such."""
    if given in agent.EVENTS:
        return given
    event = canonical(given)
    return next((native for native, name in agent.EVENTS.items() if name == event), given)


def placeholder_message(agent: Agent, native: str) -> Message:
    """Return what stands for a message that cannot be read: one of the event in the wiring, else of a tool call."""
    native = native or agent.PRE_TOOL_EVENT
    return Message(native, [CanonicalCall(agent.EVENTS.get(native), {})])


def detect_agent(agent: Agent, payload: dict[str, object]) -> str:
    """Return the name of the agent that sent a message through the hooks of this one; mostly it is the same one."""
    others = agent.INSTALL.get("read_by", {})
    return next((name for name, is_theirs in others.items() if is_theirs(payload)), agent.NAME)


def message_from_context(agent: Agent, event: str, context: Mapping[str, object]) -> Message:
    """Return the message with which an agent would have fired `event` on a context that is in hookrun's names.

    Tool and arguments go through the agent's own names and back, as they would on their way through the agent; they may
    be given by either names.
    """
    native = next((each for each, name in agent.EVENTS.items() if name == event), event)
    native = agent.SYNTHESIZED_FROM[event][0] if native == event and event in agent.SYNTHESIZED_FROM else native
    fields: dict[str, object] = {**context, "agent": agent.NAME, "agent_event": native}
    tool, own_tool = fields.get("tool_name"), fields.get("agent_tool_name")
    if isinstance(tool, str) and not isinstance(own_tool, str):
        own_tool = next((own for own, name in agent.TOOLS.items() if tool in (own, name)), tool)
        fields.update(agent_tool_name=own_tool, tool_name=agent.NAMES.tool(own_tool))
    if not isinstance(own_tool, str):
        return Message(native, [CanonicalCall(event, fields)])
    args = fields.get("tool_args")
    own_args: Arguments = {}
    if isinstance(args, dict):
        own_args = agent.NAMES.to_native(own_tool, agent.NAMES.arguments(own_tool, args))
        fields["tool_args"] = agent.NAMES.arguments(own_tool, own_args)
    return Message(
        native,
        [CanonicalCall(event, fields)],
        tool=own_tool,
        own=native_args_of_single_call(agent.NAMES, own_tool, own_args),
    )


def no_native_args(_wanted: list[Arguments | None]) -> Arguments | None:
    """Return None: the arguments of such a message cannot be changed."""
    return None


def native_args_of_single_call(names: NameMap, tool: str, args: object) -> ToNativeArgs:
    """Return the function that makes the agent's arguments of a message with one call; `args` are those that it has."""
    if not isinstance(args, dict):
        return no_native_args
    given: Arguments = args

    def to_native_args(wanted: list[Arguments | None]) -> Arguments | None:
        return names.to_native(tool, wanted[0] if wanted and wanted[0] is not None else given)

    return to_native_args


def fields_of(
    payload: Mapping[str, object], renamed: Mapping[str, str], translated: frozenset[str], *, agent: str, event: str
) -> dict[str, object]:
    """Return the fields of a context that a message gives: renamed, or under their own names, but for `translated`."""
    fields: dict[str, object] = {}
    for key, value in payload.items():
        name = renamed.get(key, key)
        if key not in translated and name not in RESERVED_FIELDS:
            fields[name] = value
    for name in TEXT_FIELDS:
        if name in fields and not isinstance(fields[name], str):
            fields[name] = None
    fields["agent"], fields["agent_event"], fields["payload"] = agent, event, payload
    return fields


def tool_fields(names: NameMap, tool: str, args: object) -> dict[str, object]:
    """Return the fields of a context that tell of a tool call, by hookrun's names."""
    return {
        "agent_tool_name": tool,
        "tool_name": names.tool(tool),
        "tool_args": names.arguments(tool, args) if isinstance(args, dict) else None,
    }


def add_file_changed(calls: list[CanonicalCall]) -> list[CanonicalCall]:
    """Return the calls, and after those of tools that have changed a file a `file_changed` each."""
    return [
        *calls,
        *(CanonicalCall("file_changed", call.fields, synthesized=True) for call in calls if _changed_a_file(call)),
    ]


def _changed_a_file(call: CanonicalCall) -> bool:
    args = call.fields.get("tool_args")
    return (
        call.event == "post_tool_use"
        and call.fields.get("tool_name") in CHANGES_FILES
        and isinstance(args, dict)
        and isinstance(args.get("file_path"), str)
    )


def text_of(value: object) -> str:
    """Return what a tool gave as text: strings as they are, the texts of content blocks, anything else as JSON."""
    text = text_of_blocks(value)
    return text if text is not None else dumps(value)


def text_of_blocks(value: object) -> str | None:
    """Return a string, or the text of a list of content blocks, as MCP tools give; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, dict) and isinstance(each.get("text"), str) for each in value):
        return "\n".join(each["text"] for each in value)
    return None


TRANSLATED = frozenset({"hook_event_name", "tool_name", "tool_input", "tool_response", "error"})
"""The fields that are more than renamed."""

FIELDS = {
    "cwd": "working_dir",
    "prompt": "user_prompt",
    "last_assistant_message": "assistant_response",
    "agent_type": "agent_name",
}
"""The name of a field -> hookrun's. Every other field goes through under its own name."""


class ClaudeStyleReader:
    """What is an agent's own about messages of this shape: its names, and how a tool's response becomes text."""

    __slots__ = ("agent", "events", "fields", "names", "output")

    def __init__(
        self,
        agent: str,
        *,
        events: Mapping[str, str],
        names: NameMap,
        fields: Mapping[str, str] = FIELDS,
        output: Callable[[str, object], str] = lambda _tool, response: text_of(response),
    ) -> None:
        self.agent = agent
        self.events = events
        self.names = names
        self.fields = fields
        self.output = output

    def read(self, payload: dict[str, object], event: str) -> Message:
        """Return what a message says; `event` is the one in the wiring. Raises UnreadableError where none is named."""
        native = payload.get("hook_event_name", event)
        if not isinstance(native, str) or not native:
            raise UnreadableMessageError(
                f"hook_event_name is {native!r}, expected the name of an event of {self.agent}"
            )
        fields = fields_of(payload, self.fields, TRANSLATED, agent=self.agent, event=native)
        call = CanonicalCall(self.events.get(native), fields)
        if payload.get("error") is not None:
            self._take_error(call, payload)
        tool, args, roots = payload.get("tool_name"), payload.get("tool_input"), [payload.get("cwd")]
        if not isinstance(tool, str):
            return Message(native, [call], roots=roots)
        fields.update(tool_fields(self.names, tool, args))
        if "tool_response" in payload:
            fields["tool_result_output"] = self.output(tool, payload["tool_response"])
        own = native_args_of_single_call(self.names, tool, args) if isinstance(args, dict) else None
        return Message(native, add_file_changed([call]), roots=roots, tool=tool, own=own)

    @staticmethod
    def _take_error(call: CanonicalCall, payload: dict[str, object]) -> None:
        error = text_of(payload["error"])
        if call.event in ("post_tool_failure", "tool_call_aborted"):
            call.fields["tool_result_error"] = error
        else:
            call.fields["error_info"] = {"error_message": error, "details": payload.get("error_details")}


def content_text(_tool: str, response: object) -> str:
    """Return the text of a response as Gemini CLI and its relatives give it: its `llmContent`, else all of it."""
    text = text_of_blocks(response.get("llmContent")) if isinstance(response, dict) else None
    return text if text is not None else text_of(response)
