"""The shape of message that several agents have taken over from Claude Code: `hook_event_name`, `tool_input`, ..."""

from __future__ import annotations

from hookrun.agents.message import (
    Call,
    Message,
    UnreadableError,
    blocks,
    fields_of,
    one,
    text_of,
    tool_fields,
    with_changes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun.agents.names import Names

TRANSLATED = frozenset({"hook_event_name", "tool_name", "tool_input", "tool_response", "error"})
"""The fields that are more than renamed."""

FIELDS = {
    "cwd": "working_dir",
    "prompt": "user_prompt",
    "last_assistant_message": "assistant_response",
    "agent_type": "agent_name",
}
"""The name of a field -> hookrun's. Every other field goes through under its own name."""


class Shape:
    """What is an agent's own about messages of this shape: its names, and how a tool's response becomes text."""

    __slots__ = ("agent", "events", "fields", "names", "output")

    def __init__(
        self,
        agent: str,
        *,
        events: Mapping[str, str],
        names: Names,
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
            raise UnreadableError(f"hook_event_name is {native!r}, expected the name of an event of {self.agent}")
        fields = fields_of(payload, self.fields, TRANSLATED, agent=self.agent, event=native)
        call = Call(self.events.get(native), fields)
        if payload.get("error") is not None:
            self._take_error(call, payload)
        tool, args, roots = payload.get("tool_name"), payload.get("tool_input"), [payload.get("cwd")]
        if not isinstance(tool, str):
            return Message(native, [call], roots=roots)
        fields.update(tool_fields(self.names, tool, args))
        if "tool_response" in payload:
            fields["tool_result_output"] = self.output(tool, payload["tool_response"])
        own = one(self.names, tool, args) if isinstance(args, dict) else None
        return Message(native, with_changes([call]), roots=roots, tool=tool, own=own)

    @staticmethod
    def _take_error(call: Call, payload: dict[str, object]) -> None:
        error = text_of(payload["error"])
        if call.event in ("post_tool_failure", "tool_call_aborted"):
            call.fields["tool_result_error"] = error
        else:
            call.fields["error_info"] = {"error_message": error, "details": payload.get("error_details")}


def content_text(_tool: str, response: object) -> str:
    """Return the text of a response as Gemini CLI and its relatives give it: its `llmContent`, else all of it."""
    text = blocks(response.get("llmContent")) if isinstance(response, dict) else None
    return text if text is not None else text_of(response)
