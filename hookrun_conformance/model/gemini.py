"""Google's Gemini API (https://ai.google.dev/api/generate-content): Gemini CLI."""

from __future__ import annotations

from collections.abc import Iterator

from hookrun_conformance.model.api import Api, event
from hookrun_conformance.model.script import Json, Turn

_STREAM, _WHOLE, _COUNT = ":streamGenerateContent", ":generateContent", ":countTokens"


class Gemini(Api):
    """POST /v1beta/models/MODEL:streamGenerateContent and its neighbours."""

    def serves(self, path: str) -> bool:
        """Take the three verbs that are asked."""
        return path.endswith((_STREAM, _WHOLE, _COUNT))

    def beside(self, path: str) -> Json | None:
        """Answer a count of tokens."""
        return {"totalTokens": 10} if path.endswith(_COUNT) else None

    def streams(self, path: str, request: Json) -> bool:
        """Part of the path."""
        return path.endswith(_STREAM)

    def whole(self, request: Json, turn: Turn) -> Json:
        """Return a response with one candidate."""
        parts: list[Json] = [{"text": turn.text}] if turn.text or not turn.calls else []
        parts += [{"functionCall": {"name": call.name, "args": call.arguments, "id": call.id}} for call in turn.calls]
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}

    def stream(self, request: Json, turn: Turn) -> Iterator[bytes]:
        """Yield a response in one chunk."""
        yield event(self.whole(request, turn))

    def results(self, request: Json) -> list[str]:
        """Read the responses of functions: their `output`, or their `error`."""
        parts = [part for content in request["contents"] for part in content["parts"]]
        told = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
        return [str(response.get("output", response.get("error", response))) for response in told]
