"""An agent with Claude Code's settings, messages and model, in a hundred lines. FAULT names what it does wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any

Json = dict[str, Any]
FAULT = os.environ.get("FAULT", "")
HOME = Path(os.environ["HOME"])
SESSION = str(uuid.uuid4())
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("Bash", "Write", "Edit", "Read", "Agent")]


def hooks(event: str) -> list[str]:
    settings = HOME / ".claude" / "settings.json"
    found = json.loads(settings.read_bytes()).get("hooks", {}) if settings.exists() else {}
    return [hook["command"] for group in found.get(event, []) for hook in group["hooks"]]


def fire(event: str, **fields: Any) -> tuple[str | None, Json]:
    """Return the reason of a block, if any, and what else was answered."""
    message = {"hook_event_name": event, "session_id": SESSION, "cwd": str(Path.cwd()), **fields}
    reason: str | None = None
    answer: Json = {}
    for command in hooks(event) * (2 if FAULT == "twice" else 1):
        ran = subprocess.run(
            ["/bin/sh", "-c", command], input=json.dumps(message), capture_output=True, text=True, check=False
        )
        if ran.returncode == 2:
            reason = ran.stderr
        elif ran.stdout.strip().startswith("{"):
            said = json.loads(ran.stdout)
            answer |= said.get("hookSpecificOutput", {})
            if said.get("decision") == "block" or answer.get("permissionDecision", "allow") in {"deny", "ask"}:
                reason = said.get("reason") or answer.get("permissionDecisionReason")
    return reason, answer


def do(name: str, given: Json) -> str:
    if name == "Bash":
        return subprocess.run(["/bin/sh", "-c", given["command"]], capture_output=True, text=True, check=False).stdout
    if name == "Agent":
        return str(ask([{"role": "user", "content": given["prompt"]}])["content"])
    path = Path(given.get("file_path") or given["path"])
    if name == "Write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(given["content"])
    elif name == "Edit":
        path.write_text(path.read_text().replace(given["old_string"], given["new_string"]))
    elif name == "Read":
        return path.read_text()
    else:
        path.write_text("made\n")
    return "ok"


def call(use: Json) -> Json:
    name, given = use["name"], use["input"]
    reason, answer = fire("PreToolUse", tool_name=name, tool_input=given, tool_use_id=use["id"])
    if reason and FAULT != "deaf":
        text = reason if FAULT != "mute" else "skipped"
    else:
        text = do(name, answer.get("updatedInput") or given) + (reason or "")
        _, after = fire("PostToolUse", tool_name=name, tool_input=given, tool_response=text, tool_use_id=use["id"])
        text += str(after.get("additionalContext", ""))
    return {"type": "tool_result", "tool_use_id": use["id"], "content": text}


def ask(messages: list[Json]) -> Json:
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    body = json.dumps({"model": "m", "tools": TOOLS, "messages": messages}).encode()
    asked = urllib.request.Request(url, body, method="POST")  # noqa: S310  # loopback
    with urllib.request.urlopen(asked) as answer:  # noqa: S310
        found: Json = json.load(answer)
    return found


def main(prompt: str) -> None:
    if FAULT == "hang":
        beside = subprocess.Popen(["sleep", "600"], start_new_session=True)
        Path(os.environ["BESIDE"]).write_text(str(beside.pid))
        time.sleep(600)
    _, started = fire("SessionStart", source="startup")
    refused, told = fire("UserPromptSubmit", prompt=prompt)
    if refused and FAULT != "deaf":
        print(refused)
        return
    texts = [started.get("additionalContext", ""), told.get("additionalContext", ""), prompt]
    messages: list[Json] = [{"role": "user", "content": "\n".join(texts)}]
    if FAULT == "english":
        messages[0]["content"] += "\nA system prompt may say elsewhere what to do with a hook error."
    active = False
    while True:
        said = ask(messages)
        messages.append({"role": "assistant", "content": said["content"]})
        if uses := [block for block in said["content"] if block["type"] == "tool_use"]:
            messages.append({"role": "user", "content": [call(use) for use in uses]})
            if FAULT == "gives up" and "reason-of-guarded-server" in str(messages[-1]):
                return
            continue
        reason, _ = fire("Stop", stop_hook_active=active)
        if not reason or FAULT == "deaf":
            print(said["content"][-1]["text"])
            return
        active = True
        messages.append({"role": "user", "content": reason})


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print("9.9.9")
    else:
        main(sys.argv[sys.argv.index("-p") + 1])
