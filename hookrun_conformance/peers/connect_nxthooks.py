"""Connect nxthooks to Claude Code: a manifest of the hooks in its directory, then its own `install`."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

EVENTS = {
    "PreToolUse": "before_tool",
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt_submit",
}
"""Its names. `nxthooks verify` says what it has for Claude Code: `after_tool` is observed, `stop` not adapted."""

hooks = json.loads(Path(sys.argv[1]).read_bytes())["hooks"]
directory = Path.home() / ".config" / "nxt" / "hooks" / "hooks.d"
directory.mkdir(parents=True)
(Path.home() / ".claude").mkdir(exist_ok=True)  # by this it knows that Claude Code is installed

tables = []
for hook in hooks:
    if hook["event"] not in EVENTS:
        print(f"without {hook['name']}: Claude Code's {hook['event']} is observed, or not adapted")
        continue
    source = Path(hook["program"])
    if hook.get("decision") == "deny":  # its hooks block by their exit status; a source takes no arguments
        source = directory / hook["name"]
        source.write_text(f"#!/bin/sh\nexec {shlex.quote(hook['program'])} status\n")
        source.chmod(0o755)
    fields = {
        "name": hook["name"],
        "events": [EVENTS[hook["event"]]],
        "source": str(source),
        "matchers": hook["matcher"].split("|") if "matcher" in hook else [],
        "timeout_ms": int(hook["timeout"] * 1000),
        "fail": "closed" if hook["on_failure"] == "block" else "open",
    }
    tables.append("[[hook]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items()))
(directory / "conformance.toml").write_text("\n".join(tables))
subprocess.run(["nxthooks", "install", "--harnesses", "claude-code"], check=True, stdout=sys.stderr)
