"""An MCP server on stdin and stdout with one tool, `make_it`, that makes the file it is given."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, None for one that this server does not know."""
    if method == "initialize":
        about = {"name": "scripted", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [{"name": "make_it", "description": "make a file", "inputSchema": SCHEMA}]}
    if method == "tools/call":
        Path(params["arguments"]["path"]).write_text("made\n")
        return {"content": [{"type": "text", "text": "it is made"}]}
    return None


def main() -> None:
    """Answer until the end of stdin."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request["method"], request.get("params", {}))
        said = {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}), flush=True)


if __name__ == "__main__":
    main()
