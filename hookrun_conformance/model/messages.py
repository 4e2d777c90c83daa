"""Anthropic's Messages API (https://docs.anthropic.com/en/api/messages-streaming): Claude Code."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hookrun_conformance.model.api import Api, event, text_of
from hookrun_conformance.model.script import Json, Turn


class Messages(Api):
    """POST /v1/messages."""

    def serves(self, path: str) -> bool:
        """Take the API's own path and the count of tokens below it."""
        return path.startswith("/v1/messages")

    def beside(self, path: str) -> Json | None:
        """Answer a count of tokens."""
        return {"input_tokens": 10} if path.endswith("/count_tokens") else None

    def whole(self, request: Json, turn: Turn) -> Json:
        """Return a message."""
        content: list[Json] = [{"type": "text", "text": turn.text}] if turn.text or not turn.calls else []
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in turn.calls
        ]
        return {
            "id": "msg_scripted",
            "type": "message",
            "role": "assistant",
            "model": request.get("model", "scripted"),
            "content": content,
            "stop_reason": "tool_use" if turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }

    def stream(self, request: Json, turn: Turn) -> Iterator[bytes]:
        """Yield a message block by block."""
        for name, data in self._events(self.whole(request, turn)):
            yield event({"type": name, **data}, name)

    def _events(self, message: Json) -> Iterator[tuple[str, Json]]:
        yield "message_start", {"message": message | {"content": [], "stop_reason": None}}
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = block | {"input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield "content_block_start", {"index": index, "content_block": empty}
            yield "content_block_delta", {"index": index, "delta": delta}
            yield "content_block_stop", {"index": index}
        ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield "message_delta", {"delta": ending, "usage": {"output_tokens": 5}}
        yield "message_stop", {}

    def results(self, request: Json) -> list[str]:
        """Read the `tool_result` blocks."""
        blocks = [
            block
            for message in request["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        return [text_of(block["content"]) for block in blocks if block.get("type") == "tool_result"]
