"""What the scripted model needs to know of one kind of API, and what all that stream have in common."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from hookrun_conformance.model.script import Json, Turn


class Api(Protocol):
    """One API: how to recognise an agent's turn among its other requests, and how to write the model's turn."""

    @abstractmethod
    def serves(self, path: str) -> bool:
        """Return whether a POST to this path, without its query, is for this API."""

    def beside(self, path: str) -> Json | None:
        """Return the answer to a request that needs no model, such as a count of tokens; None for others."""
        return None

    def is_turn(self, request: Json) -> bool:
        """Distinguish an agent's turn from its other requests (titles, summaries): only a turn offers tools."""
        return bool(request.get("tools"))

    def streams(self, path: str, request: Json) -> bool:
        """Return whether the answer is requested as a stream: by a field, of most APIs."""
        return bool(request.get("stream"))

    @abstractmethod
    def whole(self, request: Json, turn: Turn) -> Json:
        """Return the answer in one piece."""

    @abstractmethod
    def stream(self, request: Json, turn: Turn) -> Iterator[bytes]:
        """Yield the answer as server-sent events."""

    @abstractmethod
    def results(self, request: Json) -> list[str]:
        """Return the result of each tool that the model asked for, in order, from the request."""


def event(data: Mapping[str, Any], name: str | None = None) -> bytes:
    """Return one server-sent event (HTML standard, section 9.2) that carries `data` as JSON."""
    first = f"event: {name}\n" if name else ""
    return f"{first}data: {json.dumps(data)}\n\n".encode()


def text_of(content: object) -> str:
    """Return the text of a message's content: a text itself, or a list of parts of which some have a text."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content)
