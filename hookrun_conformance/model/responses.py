"""OpenAI's Responses API (https://platform.openai.com/docs/api-reference/responses-streaming): Codex."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hookrun_conformance.model.api import Api, event, text_of
from hookrun_conformance.model.script import Call, Json, Turn

_RESULTS = ("function_call_output", "custom_tool_call_output")


class Responses(Api):
    """POST .../responses."""

    def serves(self, path: str) -> bool:
        """Accept the API's own path, below any prefix."""
        return path.endswith("/responses")

    def whole(self, request: Json, turn: Turn) -> Json:
        """Return a response."""
        output: list[Json] = [_message(turn.text)] if turn.text or not turn.calls else []
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        return {
            "id": "resp_scripted",
            "object": "response",
            "status": "completed",
            "model": request.get("model", "scripted"),
            "output": output + [_call(call) for call in turn.calls],
            "usage": usage,
        }

    def stream(self, request: Json, turn: Turn) -> Iterator[bytes]:
        """Yield a response item by item."""
        response = self.whole(request, turn)
        events: list[Json] = [{"type": "response.created", "response": response | {"status": "in_progress"}}]
        for index, item in enumerate(response["output"]):
            events.append({"type": "response.output_item.added", "output_index": index, "item": item})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": response})
        for number, data in enumerate(events):
            yield event(data | {"sequence_number": number}, data["type"])

    def results(self, request: Json) -> list[str]:
        """Read the outputs of calls."""
        return [text_of(item["output"]) for item in request["input"] if item.get("type") in _RESULTS]


def _message(text: str) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_scripted", "role": "assistant", "status": "completed", "content": content}


def _call(call: Call) -> Json:
    space, _, name = call.name.rpartition(".")  # a tool of a namespace, as Codex offers those about agents
    said = {"id": f"fc_{call.id}", "call_id": call.id, "name": name, "status": "completed"}
    said |= {"namespace": space} if space else {}
    if isinstance(call.arguments, str):
        return {"type": "custom_tool_call", "input": call.arguments, **said}
    return {"type": "function_call", "arguments": json.dumps(call.arguments), **said}
