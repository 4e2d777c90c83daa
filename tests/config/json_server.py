"""VS Code's JSON language server from npm, spoken to as an editor does."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Self

from tests.live.installed import PINS

if TYPE_CHECKING:
    from pathlib import Path

SERVER = PINS["json-language-server"]
PROGRAM = SERVER.program.with_name("vscode-json-language-server")


class JsonServer:
    """A running server with one open file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._process = subprocess.Popen([PROGRAM, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._last = 0
        self._problems: list[str] | None = None

    def __enter__(self) -> Self:
        options = {"handledSchemaProtocols": ["file"], "provideFormatter": False}
        completion = {"completionItem": {"snippetSupport": True, "documentationFormat": ["markdown"]}}
        capabilities = {"textDocument": {"completion": completion, "hover": {"contentFormat": ["markdown"]}}}
        self.ask(
            "initialize",
            {"processId": None, "rootUri": None, "capabilities": capabilities, "initializationOptions": options},
        )
        self._send("initialized", {})
        document = {"uri": self.path.as_uri(), "languageId": "json", "version": 1, "text": self.path.read_text()}
        self._send("textDocument/didOpen", {"textDocument": document})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def completion(self, marker: str) -> dict[str, str]:
        """Return the completions at the end of the marker in the file: labels and their documentation."""
        found = self.ask("textDocument/completion", self._place(marker))
        items = found["items"] if isinstance(found, dict) else found
        assert isinstance(items, list)
        return {item["label"]: _text(item.get("documentation", "")) for item in items}

    def hover(self, marker: str) -> str:
        """Return the hover text at the end of the marker in the file."""
        found = self.ask("textDocument/hover", self._place(marker))
        return "\n".join(map(_text, found["contents"])) if isinstance(found, dict) else ""

    def diagnostics(self) -> list[str]:
        """Return the messages of the problems in the file."""
        while self._problems is None:
            self._receive()
        return self._problems

    def ask(self, method: str, params: dict[str, object]) -> object:
        """Return the answer to a request."""
        self._last += 1
        self._send(method, params, self._last)
        while True:
            message = self._receive()
            if "method" in message and "id" in message:  # it asks the editor for settings
                self._write({"id": message["id"], "result": None})
            elif message.get("id") == self._last:
                assert "error" not in message, message
                return message.get("result")

    def _place(self, marker: str) -> dict[str, object]:
        text = self.path.read_text()
        before = text[: text.index(marker) + len(marker)]
        line, character = before.count("\n"), len(before) - before.rfind("\n") - 1
        return {"textDocument": {"uri": self.path.as_uri()}, "position": {"line": line, "character": character}}

    def _send(self, method: str, params: dict[str, object], number: int | None = None) -> None:
        self._write({"method": method, "params": params, **({} if number is None else {"id": number})})

    def _write(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _receive(self) -> dict[str, object]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        message = json.loads(self._process.stdout.read(length))
        assert isinstance(message, dict)
        if message.get("method") == "textDocument/publishDiagnostics":
            self._problems = [each["message"] for each in message["params"]["diagnostics"]]
        return message


def _text(content: object) -> str:
    return str(content["value"]) if isinstance(content, dict) else str(content)
