"""Connect agentseam to Claude Code: a handler that decides as the hooks do, then its own `install`."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

EVENTS = {
    "PreToolUse": "pre_tool",
    "PostToolUse": "post_tool",
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt_submit",
    "Stop": "stop",
}
"""Its names."""

WITHOUT = {
    "crashing-observer": "it refuses whatever a handler fails on",
    "hanging-observer": "it has no time limit for a handler",
    "hanging-guard": "it has no time limit for a handler",
    "told-after-tool": "for Claude Code it passes text to the model at the start and with a prompt only",
}

HANDLER = """\
import json, os, pathlib, re
from agentseam import Decision, run

HOOKS = json.loads(pathlib.Path(__file__).with_name("agentseam-hooks.json").read_text())


def handler(event):
    asked = json.dumps(event.raw)
    for hook in HOOKS:
        if hook["event"] != event.event or not re.fullmatch(hook.get("matcher", ".*"), event.tool or ""):
            continue
        if hook.get("contains", "") not in asked:
            continue
        if hook["name"] == "counted":
            with open(os.path.expanduser("~/judged.jsonl"), "a") as file:
                print(asked, file=file)
        elif hook["name"] == "crashing-guard":
            raise RuntimeError("crashing-guard")
        elif hook["name"] == "not-done-yet" and not pathlib.Path("unfinished").exists():
            continue
        elif hook["name"] == "not-done-yet":
            os.remove("unfinished")
            return Decision.deny(hook["reason"])
        elif "input" in hook:
            return Decision.transform(hook["input"])
        elif hook.get("decision") == "deny":
            return Decision.deny(hook["reason"])
        elif hook.get("decision") == "ask":
            return Decision.escalate(hook["reason"])
        elif "context" in hook:
            return Decision.allow(context=hook["context"])
    return Decision.allow()


run(handler)
"""

given = json.loads(Path(sys.argv[1]).read_bytes())["hooks"]
for hook in given:
    if hook["name"] in WITHOUT:
        print(f"without {hook['name']}: {WITHOUT[hook['name']]}")
used = [{**hook, "event": EVENTS[hook["event"]]} for hook in given if hook["name"] not in WITHOUT]
used.sort(key=lambda hook: hook["name"] != "counted")  # before one that ends the search
(Path.home() / "agentseam-hooks.json").write_text(json.dumps(used))
handler = Path.home() / "handler.py"
handler.write_text(HANDLER)
install = ["agentseam", "install", "claude_code", shlex.join([sys.executable, str(handler)])]
options = ["--events", *EVENTS.values(), "--repo", str(Path.home())]  # the user's settings are in the same place
subprocess.run([*install, *options], check=True, stdout=sys.stderr)
