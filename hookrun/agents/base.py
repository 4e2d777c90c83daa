"""Translate agents' messages into the calls that hooks see, and changed arguments back into agents' names."""

from __future__ import annotations

from sys import platform

from hookrun.core.context import FIELDS as CONTEXT_FIELDS
from hookrun.core.events import EVENTS, REPLACEABLE
from hookrun.core.fastjson import dumps
from hookrun.core.text import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrun.agents.types import Agent, InstallSpec
    from hookrun.core.model import AnyVerdict

    Arguments = dict[str, object]
    ToNativeArgs = Callable[[list[Arguments | None]], Arguments | None]
    ToNativeOutput = Callable[[str], object]


class NameMap:
    """An agent's names for tools and their arguments, read both ways. Unknown names are unchanged.

    `tools`: native tool name -> hookrun's. `arguments`: native tool name -> native argument name -> hookrun's. `joins`
    is the text that first follows a server's name in the agent's `mcp_SERVER_TOOL`, if that ends it.

        NameMap({"run_shell": "bash", "put": "write"}, {"run_shell": {"cmd": "command"}, "put": {"path": "file_path"}})
    """

    def __init__(
        self,
        tools: Mapping[str, str] | None = None,
        arguments: Mapping[str, Mapping[str, str]] | None = None,
        joins: str | None = None,
    ) -> None:
        self._tools = tools or {}
        self._arguments = arguments or {}
        self._joins = joins

    def tool(self, name: str) -> str:
        """Return hookrun's name for the agent's tool `name`."""
        if self._joins and name.startswith("mcp_") and not name.startswith("mcp__"):
            server, mark, tool = name[4:].partition(self._joins)
            if mark:
                return f"mcp__{server}__{tool}"
        return self._tools.get(name, name)

    def arguments(self, name: str, args: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments of the agent's tool `name` under hookrun's names.

        If an unknown argument already has the name that a known one is translated to, the known one wins.
        """
        return _renamed(args, self._arguments.get(name, {}))

    def to_native(self, name: str, args: Mapping[str, object]) -> dict[str, object]:
        """Return arguments under hookrun's names as the agent's tool `name` takes them."""
        return _renamed(args, {ours: theirs for theirs, ours in self._arguments.get(name, {}).items()})


def _renamed(args: Mapping[str, object], table: Mapping[str, str]) -> dict[str, object]:
    renamed = {key: value for key, value in args.items() if key not in table}
    renamed.update({table[key]: value for key, value in args.items() if key in table})
    return renamed


# The installation of an agent without hook files that hookrun writes.
NO_FILES: InstallSpec = {"program": "", "directory": "", "user": "", "project": "", "form": ""}

# Tools after whose success `file_changed` is fired if the agent lacks the event.
CHANGES_FILES = frozenset({"write", "edit", "delete"})

# Context fields that hookrun sets and never takes from a message.
RESERVED_FIELDS = frozenset(
    {"version", "event", "hook", "request_id", "metadata", "payload", "agent", "agent_event", "agent_tool_name",
     "possible_tool_names", "fired_through", "arguments_cut_off"}
)  # fmt: skip

# Context fields that are strings; any other value in a message counts as missing.
TEXT_FIELDS = (*(name for name, kind in CONTEXT_FIELDS.items() if kind is str), "tool_use_id")


class UnreadableMessageError(UserError, ValueError):
    """A message does not have its agent's form."""


class CanonicalCall:
    """An event as hooks see it: hookrun's name (None if it has none) and the context's `fields`.

    `synthesized`: the agent lacks the event.
    """

    def __init__(self, event: str | None, fields: dict[str, object], *, synthesized: bool = False) -> None:
        self.event = event
        self.fields = fields
        self.synthesized = synthesized


class Message:
    """A message of an agent.

    `native` is the agent's name for the event, `tool` that for the tool; `calls` are fired in this order; `roots` are
    the project directories in the message, best first. `to_native_args(wanted)` converts the arguments wanted for each
    call (None: unchanged) into the agent's, or returns None if that is impossible; `to_native_output(text)` does so for
    what replaces a tool's output. `dialect` distinguishes an agent's message formats; `cannot` are CAPABILITIES of its
    answer that this message lacks.
    """

    def __init__(
        self,
        native: str,
        calls: list[CanonicalCall],
        *,
        roots: Sequence[object] = (),
        tool: str | None = None,
        own: ToNativeArgs | None = None,
    ) -> None:
        self.native = native
        self.calls = calls
        self.roots = [root for root in roots if isinstance(root, str)]
        self.tool = tool
        self.to_native_args: ToNativeArgs = own or no_native_args
        self.to_native_output: ToNativeOutput = str
        self.dialect = ""
        self.cannot: frozenset[str] = frozenset()

    @property
    def event(self) -> str:
        """Hookrun's name for the event, else the agent's."""
        return (self.calls[0].event if self.calls else None) or self.native

    def pass_on(self, call: CanonicalCall, event: str, verdict: AnyVerdict) -> None:
        """Have the message's other calls, as of its files, and other projects' hooks see what a hook replaced."""
        name, field = REPLACEABLE.get(event, ("action", ""))
        new, old = getattr(verdict, name), call.fields.get(field)
        for each in self.calls if field and new is not None else ():
            if each.fields.get(field) == old:
                each.fields[field] = new

    @property
    def session_id(self) -> str | None:
        """The ID of the session."""
        return string_in(self.calls[0].fields, "session_id") if self.calls else None


# Timeout in seconds that install gives hookrun; hooks' own timeouts or the deadline end them sooner.
MAX_TIMEOUT = 600.0

# An agent's timeout, from so many seconds on -> seconds by which hookrun's deadline is earlier.
MARGINS = ((60.0, 5.0), (10.0, 2.0), (2.0, 1.0), (0.0, 0.5))


def timeout_for(agent: Agent, event: str) -> float:
    """Return install's timeout for an agent's event, in seconds: the agent's maximum, up to MAX_TIMEOUT."""
    return min(MAX_TIMEOUT, agent.MAX_TIMEOUTS.get(event, agent.MAX_TIMEOUTS.get("", MAX_TIMEOUT)))


def deadline_for(seconds: float) -> float:
    """Return the seconds within which hookrun answers and ends its hooks, for an agent's timeout."""
    return seconds - next(margin for least, margin in MARGINS if seconds >= least)


def installed_deadline(agent: Agent, event: str) -> float:
    """Return the deadline in seconds of an event, by any name, as install wrote it into the agent's settings."""
    return deadline_for(timeout_for(agent, native_event(agent, event)))


def knows_tool(agent: Agent, message: Message) -> bool:
    """Return whether a message has no tool, or one whose name alone is canonical.

    Raises UnreadableMessageError for a call that names none before it runs: any guard may be for it.
    """
    tool = message.tool
    named = tool or any(call.fields.get("agent_tool_name") for call in message.calls)
    if not named and message.event in ("pre_tool_use", "permission_request"):
        raise UnreadableMessageError("the message names no tool")
    if tool is None or not message.calls or tool in agent.TOOLS or tool.startswith("mcp__"):
        return True
    return message.calls[0].fields.get("tool_name") != tool


def able_to(agent: Agent, message: Message) -> frozenset[str]:
    """Return the CAPABILITIES of the answer to a message."""
    form = agent.RESPONSE_FORMATS.get(message.native)
    return form.capabilities - message.cannot if form is not None else frozenset()


def native_event(agent: Agent, event_name: str) -> str:
    """Return the agent's name for an event installed under any name, an unknown one unchanged."""
    return sent_event(agent.EVENTS, event_name)


def sent_event(events: Mapping[str, str], sent: str, installed: str = "") -> str:
    """Return the agent's name for the event that a message names; the installed event if that is not the agent's.

    `events` are the agent's EVENTS. Without an installed event, another agent's name is understood.
    """
    if sent in events or installed in events:
        return sent if sent in events else installed
    event = EVENTS.get(sent)
    return next((native for native, name in events.items() if name == event), sent)


def placeholder_message(agent: Agent, native: str) -> Message:
    """Return a stand-in for an unreadable message: of the installed event, else of a tool call."""
    native = native or native_event(agent, "pre_tool_use")
    return Message(native, [CanonicalCall(agent.EVENTS.get(native), {})])


def no_native_args(_wanted: list[Arguments | None]) -> Arguments | None:
    """Return None: this message's arguments cannot be changed."""
    return None


def native_args_of_single_call(names: NameMap, tool: str, args: object) -> ToNativeArgs:
    """Return the `to_native_args` of a message with one call and the arguments `args`."""
    if not isinstance(args, dict):
        return no_native_args
    present: Arguments = args

    def to_native_args(wanted: list[Arguments | None]) -> Arguments | None:
        return names.to_native(tool, wanted[0] if wanted and wanted[0] is not None else present)

    return to_native_args


def fields_of(
    payload: Mapping[str, object], renamed: Mapping[str, str], translated: frozenset[str], *, agent: str, event: str
) -> dict[str, object]:
    """Return a message's context fields, renamed by `renamed`, without `translated`."""
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


def administrators(linux: str, mac: str) -> str:
    """Return the directory of the administrator's settings on this system, for its names on each."""
    return f"/Library/Application Support/{mac}" if platform == "darwin" else f"/etc/{linux}"


# Why hooks do not get the arguments of a call.
CUT_OFF = "the agent does not pass all of its arguments: do it in smaller parts"


def tool_message(
    native: str, call: CanonicalCall, names: NameMap, tool: str, args: object, *, roots: Sequence[object] = ()
) -> Message:
    """Return the message about a tool call; give `call` its tool and arguments under hookrun's names.

    Arguments that are no object reach no hook, so the tool's guards block the call.
    """
    call.fields.update(agent_tool_name=tool, tool_name=names.tool(tool), tool_args=None)
    if isinstance(args, dict):
        call.fields["tool_args"] = names.arguments(tool, args)
    elif args is not None:
        call.fields["arguments_cut_off"] = CUT_OFF
    own = native_args_of_single_call(names, tool, args)
    return Message(native, [call], roots=roots, tool=tool, own=own)


def add_file_changed(calls: list[CanonicalCall]) -> list[CanonicalCall]:
    """Return the calls, then a `file_changed` for each that changed a file."""
    changed = [
        CanonicalCall("file_changed", call.fields, synthesized=True)
        for call in calls
        if call.event == "post_tool_use"
        and call.fields.get("tool_name") in CHANGES_FILES
        and string_in(call.fields.get("tool_args"), "file_path") is not None
    ]
    return [*calls, *changed]


def string_in(value: object, key: str) -> str | None:
    """Return the string under `key` if `value` is an object with one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def text_of(value: object) -> str:
    """Return a tool's result as text: a string, the texts of content blocks, anything else as JSON."""
    text = text_of_blocks(value)
    return text if text is not None else dumps(value)


def text_of_blocks(value: object) -> str | None:
    """Return a string, or the text of content blocks as in MCP results, else None."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, dict) and isinstance(each.get("text"), str) for each in value):
        return "\n".join(each["text"] for each in value)
    return None


# Fields translated in other ways than by renaming.
TRANSLATED = frozenset({"hook_event_name", "tool_name", "tool_input", "tool_response", "error"})

# A field's name -> hookrun's. Others keep their names.
FIELDS = {
    "cwd": "working_dir",
    "prompt": "user_prompt",
    "last_assistant_message": "assistant_response",
    "agent_type": "agent_name",
}


def read_claude_style(
    payload: dict[str, object],
    event: str,
    agent: str,
    *,
    events: Mapping[str, str],
    names: NameMap,
    fields: Mapping[str, str] = FIELDS,
    output: Callable[[str, object], str] = lambda _tool, response: text_of(response),
) -> Message:
    """Return a message in Claude Code's format, shared by several agents.

    `output` makes text of a tool's response. Raises UnreadableMessageError without an event.
    """
    sent = payload.get("hook_event_name", event)
    if not isinstance(sent, str) or not sent:
        raise UnreadableMessageError(f"hook_event_name is {sent!r}, not the name of an event of {agent}")
    native = sent_event(events, sent, event)
    context = fields_of(payload, fields, TRANSLATED, agent=agent, event=sent)
    call = CanonicalCall(events.get(native), context)
    if payload.get("error") is not None:
        error = text_of(payload["error"])
        if call.event in ("post_tool_failure", "tool_call_aborted"):
            context["tool_result_error"] = error
        else:
            context["error_info"] = {"error_message": error, "details": payload.get("error_details")}
    tool, args, roots = payload.get("tool_name"), payload.get("tool_input"), [payload.get("cwd")]
    if not isinstance(tool, str):
        return Message(native, [call], roots=roots)
    message = tool_message(native, call, names, tool, args, roots=roots)
    if "tool_response" in payload:
        context["tool_result_output"] = output(tool, payload["tool_response"])
    message.calls = add_file_changed([call])
    return message


def content_text(_tool: str, response: object) -> str:
    """Return the text of a response of Gemini CLI or a fork: its `llmContent`, else all of it."""
    text = text_of_blocks(response.get("llmContent")) if isinstance(response, dict) else None
    return text if text is not None else text_of(response)
