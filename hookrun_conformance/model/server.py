"""The server of a scripted model: bound to loopback, to a port that the system picks, and to a number of requests."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from hookrun_conformance.model.api import Api
from hookrun_conformance.model.chat import ChatCompletions
from hookrun_conformance.model.gemini import Gemini
from hookrun_conformance.model.messages import Messages
from hookrun_conformance.model.responses import Responses
from hookrun_conformance.model.script import Json, Turn

APIS: tuple[Api, ...] = (Messages(), Responses(), ChatCompletions(), Gemini())
"""Every API that the model speaks; the first that serves a request's path answers it."""

REQUESTS = 200
"""How many requests are answered; an agent that asks more often than that is going round in circles."""

IDLE = 30.0
"""Seconds that a connection may be silent before it is given up."""


class ScriptedModel:
    """A loopback server that answers each request with one turn of its script, and repeats the last one at the end.

    Its address is known before its script (`begin`). `requests` are the agent's turns as it sent them, `arrived` their
    times (seconds of time.perf_counter), `others` its other requests (path and body). A context manager.
    """

    def __init__(self, turns: Sequence[Turn] = ()) -> None:
        self.begin(turns)
        self._api: Api = APIS[0]
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def begin(self, turns: Sequence[Turn]) -> None:
        """Begin another script: nothing has been asked yet."""
        self._turns = turns
        self.requests: list[Json] = []
        self.arrived: list[float] = []
        self.others: list[tuple[str, Json]] = []

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

    def answer(self, api: Api, path: str, request: Json) -> Turn | None:
        """Return the next turn, and record the request; None when there were too many."""
        with self._lock:
            if len(self.requests) + len(self.others) >= REQUESTS:
                return None
            if not api.is_turn(request):
                self.others.append((path, request))
                return Turn("a title")
            self._api = api
            self.requests.append(request)
            self.arrived.append(time.perf_counter())
            number = len(self.requests)
            return self._turns[min(number, len(self._turns)) - 1].numbered(number)

    def heard(self, index: int = -1) -> str:
        """Return everything that one request sends to the model, as text: system prompt, tools, every message."""
        return json.dumps(self.requests[index], ensure_ascii=False)

    def results(self) -> list[str]:
        """Return what the model got for each tool it asked for, in order, from the last request."""
        return self._api.results(self.requests[-1]) if self.requests else []


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE
    server: _Server

    def do_POST(self) -> None:
        model = self.server.model
        request: Json = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or b"{}")
        path = self.path.partition("?")[0]
        api = next((each for each in APIS if each.serves(path)), None)
        if api is None:
            model.others.append((path, request))
            self._send(404, {})
        elif (beside := api.beside(path)) is not None:
            model.others.append((path, request))
            self._send(200, beside)
        elif (turn := model.answer(api, path, request)) is None:
            self._send(400, {"error": {"message": "the scripted model has been asked enough"}})
        elif api.streams(path, request):
            self._send(200, b"".join(api.stream(request, turn)))
        else:
            self._send(200, api.whole(request, turn))

    def do_GET(self) -> None:
        self.server.model.others.append((self.path, {}))
        self._send(404, {})

    do_HEAD = do_GET  # noqa: N815  # the server's name for it

    def _send(self, status: int, answer: Json | bytes) -> None:
        """Send JSON, or the bytes of a stream."""
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "text/event-stream" if isinstance(answer, bytes) else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the server's name
        """Log nothing: the requests are recorded."""
