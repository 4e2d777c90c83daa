"""Channels of tests: one that keeps its notes, and a webhook on loopback."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookrun.recipes.notify_channels import Notice


class Kept:
    """A channel that records its messages."""

    def __init__(self, missing: str | None = None) -> None:
        self.notes: list[Notice] = []
        self.missing = missing

    def unavailable(self) -> str | None:
        """Return what the test wants it to."""
        return self.missing

    async def send(self, note: Notice) -> None:
        """Keep the note."""
        self.notes.append(note)


class WebhookServer(ThreadingHTTPServer):
    """Answers every POST with one status, and records its content."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 204
        self.location = ""
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """Keeps a request and answers it."""

    server: WebhookServer

    def do_POST(self) -> None:
        """Take one POST."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()

    def do_GET(self) -> None:
        """Take one GET, which no webhook is to send."""
        self.server.requests.append((f"GET {self.path}", {}, b""))
        self.send_error(405)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in http.server
        """Log nothing."""
