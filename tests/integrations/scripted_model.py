"""A model that says what a script tells it, on loopback: for agents that are run for real, without a model.

Each kind of API is one entry of APIS: what of a request is the agent's own turn, and how a turn is said. Now:
Anthropic's Messages API, streamed (server-sent events) or whole.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

Json = dict[str, Any]


class Call(NamedTuple):
    """A tool that the model asks for."""

    name: str
    arguments: Json
    id: str = "toolu_scripted"


class Turn(NamedTuple):
    """What the model says once: some text, and the tools it asks for."""

    text: str = ""
    calls: tuple[Call, ...] = ()


def say(text: str) -> Turn:
    """Return the turn that only speaks."""
    return Turn(text)


def use(name: str, **arguments: Any) -> Turn:
    """Return the turn that asks for one tool."""
    return Turn("", (Call(name, arguments, f"toolu_{name}_{abs(hash(json.dumps(arguments))) % 10**9}"),))


class Messages:
    """The Messages API: POST /v1/messages."""

    path = "/v1/messages"

    def is_turn(self, request: Json) -> bool:
        """Tell an agent's turn from what agents ask beside it (titles, summaries): only a turn offers tools."""
        return bool(request.get("tools"))

    def whole(self, request: Json, turn: Turn) -> Json:
        """Return the answer in one piece."""
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

    def events(self, request: Json, turn: Turn) -> Iterator[tuple[str, Json]]:
        """Yield the answer as the events of a stream: each one's name and data."""
        message = self.whole(request, turn)
        blocks: list[Json] = message["content"]
        yield "message_start", {"message": message | {"content": [], "stop_reason": None}}
        for index, block in enumerate(blocks):
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


APIS: tuple[Messages, ...] = (Messages(),)
"""Every API that the model speaks; the first whose path begins the request's answers it."""


class ScriptedModel:
    """A loopback server that gives one turn of its script per request, and the last one again when they are used up.

    `requests` are the agent's turns as it sent them, `others` what else it asked (path and body). A context manager.
    """

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.requests: list[Json] = []
        self.others: list[tuple[str, Json]] = []
        self._turns = list(turns)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """The base address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, api: Messages, path: str, request: Json) -> Turn:
        """Return the turn to say now, and write the request down."""
        with self._lock:
            if not api.is_turn(request) or "count_tokens" in path:
                self.others.append((path, request))
                return Turn("a title")
            self.requests.append(request)
            return self._turns[min(len(self.requests), len(self._turns)) - 1]

    def heard(self, index: int = -1) -> str:
        """Return all that one request told the model, as text: the system prompt, the tools, every message."""
        return json.dumps(self.requests[index], ensure_ascii=False)

    def results(self) -> list[str]:
        """Return what the model was told of each tool it asked for, in order, from the last request."""
        found = []
        for message in self.requests[-1]["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block.get("type") == "tool_result":
                    content = block["content"]
                    found.append(
                        content if isinstance(content, str) else "".join(each.get("text", "") for each in content)
                    )
        return found


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            request: Json = json.loads(body or b"{}")
            path = self.path.partition("?")[0]
            api = next((each for each in APIS if path.startswith(each.path)), None)
            if api is None:
                model.others.append((path, request))
                self._send(404, "application/json", b"{}")
            elif path.endswith("/count_tokens"):
                model.answer(api, path, request)
                self._send(200, "application/json", b'{"input_tokens": 10}')
            elif request.get("stream"):
                turn = model.answer(api, path, request)
                self._send(200, "text/event-stream", b"".join(map(_sse, api.events(request, turn))))
            else:
                whole = api.whole(request, model.answer(api, path, request))
                self._send(200, "application/json", json.dumps(whole).encode())

        def do_GET(self) -> None:
            model.others.append((self.path, {}))
            self._send(404, "application/json", b"{}")

        do_HEAD = do_GET  # noqa: N815  # the server's name for it

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the server's name
            """Say nothing: what was asked is written down."""

    return Handler


def _sse(event: tuple[str, Mapping[str, Any]]) -> bytes:
    name, data = event
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
