"""OpenAI's chat completions (https://platform.openai.com/docs/api-reference/chat-streaming).

Qwen Code, Copilot, Cline and OpenCode ask by it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from hookrun_conformance.model.api import Api, event, text_of
from hookrun_conformance.model.script import Call, Json, Turn

_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


class ChatCompletions(Api):
    """POST .../chat/completions."""

    def serves(self, path: str) -> bool:
        """Accept the API's own path, below any prefix."""
        return path.endswith("/chat/completions")

    def whole(self, request: Json, turn: Turn) -> Json:
        """Return a completion."""
        message = {"role": "assistant", "content": turn.text or None, **_calls(turn)}
        choice = {"index": 0, "message": message, "finish_reason": _reason(turn)}
        return {**_head(request, "chat.completion"), "choices": [choice], "usage": _USAGE}

    def stream(self, request: Json, turn: Turn) -> Iterator[bytes]:
        """Yield a completion in three chunks: the content, the finish reason, the usage."""
        head = _head(request, "chat.completion.chunk")
        said = {"index": 0, "delta": {"role": "assistant", "content": turn.text, **_calls(turn)}, "finish_reason": None}
        yield event({**head, "choices": [said]})
        yield event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _reason(turn)}]})
        yield event({**head, "choices": [], "usage": _USAGE})
        yield b"data: [DONE]\n\n"

    def results(self, request: Json) -> list[str]:
        """Read the messages of tools."""
        return [text_of(message["content"]) for message in request["messages"] if message["role"] == "tool"]


def _head(request: Json, kind: str) -> Json:
    return {"id": "chatcmpl-scripted", "object": kind, "created": 1, "model": request.get("model", "scripted")}


def _reason(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"


def _calls(turn: Turn) -> Json:
    if not turn.calls:
        return {}
    return {"tool_calls": [{"index": index, "id": call.id, **_call(call)} for index, call in enumerate(turn.calls)]}


def _call(call: Call) -> Json:
    if isinstance(call.arguments, str):
        return {"type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    return {"type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
