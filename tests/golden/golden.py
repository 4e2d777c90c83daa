"""The context read from every recorded message, and the answer for every verdict at every event, as golden files.

    python -m tests.golden.golden --update

writes contexts/ and answers/ from the current code. Review the differences against the measured behaviour of the agents
before committing them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hookrun import agents
from hookrun.agents.base import Message, UnreadableMessageError, native_event
from hookrun.agents.formats import Reply
from hookrun.agents.reply import build_response
from hookrun.core import context as contexts
from hookrun.core.events import WITH_OUTPUT

HERE = Path(__file__).parent
Json = dict[str, Any]

RECORDED = {"copilot-pascal": "copilot"}
"""A directory of payloads -> the agent, where it is called otherwise."""

NEW: dict[str, object] = {"command": "echo new"}
VERDICTS: dict[str, Reply] = {
    "continue": Reply(),
    "continue, context": Reply(context="C"),
    "continue, system_message": Reply(user_message="P"),
    "allow": Reply("allow"),
    "allow, modified_args": Reply("allow", args=NEW),
    "ask": Reply("ask", "R"),
    "ask, modified_args": Reply("ask", "R", args=NEW),
    "modify": Reply("modify", context="C", args=NEW),
    "modify, modified_output": Reply("modify", context="C", output="O"),
    "block, modified_output": Reply("block", "R", output="O"),
    "modify, modified_prompt": Reply("modify", prompt="N"),
    "skip": Reply("skip", "skipped by guard: R"),
    "block": Reply("block", "R"),
    "block, context, system_message": Reply("block", "R", "C", "P"),
    "stop": Reply("stop", "R"),
}
"""Possible results of hooks. R is a reason, C text for the model, P text for the user, O an output, N a prompt."""

COMMON = {"session_id": "s1", "cwd": "/home/dev/shop", "transcript_path": "/home/dev/t.jsonl"}
BASH = {"tool_name": "Bash", "tool_input": {"command": "echo hi"}}
SHELL = {"tool_name": "run_shell_command", "tool_input": {"command": "echo hi"}}
CLINE = {"taskId": "s1", "workspaceRoots": ["/home/dev/shop"]}
ALSO: dict[str, dict[str, Json]] = {
    "claude": {},
    "codex": {
        "PermissionRequest": {"hook_event_name": "PermissionRequest", **COMMON, **BASH},
        "PreToolUse, apply_patch": {
            "hook_event_name": "PreToolUse",
            **COMMON,
            "tool_name": "apply_patch",
            "tool_input": {"command": "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch\n"},
        },
    },
    "gemini": {},
    "qwen": {
        "PermissionRequest": {"hook_event_name": "PermissionRequest", **COMMON, **SHELL},
        "PostToolUseFailure": {"hook_event_name": "PostToolUseFailure", **COMMON, **SHELL, "error": "E"},
    },
    "copilot": {"PreToolUse, camelCase": {"toolName": "bash", "toolArgs": {"command": "echo hi"}, "sessionId": "s1"}},
    "cline": {
        "PreToolUse, two commands": {
            **CLINE,
            "hookName": "tool_call",
            "tool_call": {"id": "1", "name": "run_commands", "input": {"commands": ["echo 1", "echo 2"]}},
        },
        "PreToolUse, two files": {
            **CLINE,
            "hookName": "tool_call",
            "tool_call": {"id": "1", "name": "read_files", "input": {"files": [{"path": "/a", "start_line": 1}, "/b"]}},
        },
        "PreToolUse, editor": {
            **CLINE,
            "hookName": "tool_call",
            "tool_call": {"id": "1", "name": "editor", "input": {"path": "/home/dev/shop/a", "new_text": "x"}},
        },
        "PreToolUse, a server's tool": {
            **CLINE,
            "hookName": "tool_call",
            "tool_call": {"id": "1", "name": "db__query", "input": {"sql": "x"}},
        },
    },
    "opencode": {
        "session.created": {
            "hook": "event",
            "event": {"type": "session.created", "properties": {"info": {"id": "s1"}}},
        },
        "session.idle, of a subagent": {
            "hook": "event",
            "event": {"type": "session.idle", "properties": {"sessionID": "s2"}},
            "parent": "s1",
        },
    },
    "kilo": {},
    "pi": {
        "tool_call, two replacements": {
            "hook_event_name": "tool_call",
            **COMMON,
            "tool_name": "edit",
            "tool_input": {
                "path": "a.txt",
                "edits": [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}],
            },
        },
    },
    "vibe": {},
    "grok": {},
}
"""Messages that are in no recording, made after the agents' schemas: how the case is called -> the message."""


def recorded(agent: str) -> dict[str, tuple[str, Json]]:
    """Return every recorded message of an agent: its path -> the event in the installed line, and the message."""
    found: dict[str, tuple[str, Json]] = {}
    for directory in sorted((HERE / "payloads").iterdir()):
        if RECORDED.get(directory.name, directory.name) != agent:
            continue
        for path in sorted(directory.glob("*.json")):
            data = json.loads(path.read_text())
            name = f"{directory.name}/{path.name}"
            if path.name == "documented_events.json":
                found |= {f"{name}#{event}": ("", each) for event, each in data.items()}
            else:
                found[name] = (_wired(path.name) if agent == "copilot" else "", _sent(agent, data))
    return found


def _wired(name: str) -> str:
    """Return the event that a recording is named after: the one the installed line would name."""
    return next(part for part in name.split(".")[1:] if not part.isdigit())


def _sent(agent: str, data: Json) -> Json:
    """Return the message that hookrun gets: for OpenCode the one that its plugin makes of the recorded input."""
    if agent != "opencode":
        return data
    registered = data["registered_event"].removesuffix(".write")
    return {"hook": registered, "directory": "/home/dev/oc/proj", **{k: data[k] for k in data if k in SENT}}


SENT = ("input", "output", "event")


def read(agent: str, event: str, data: Json) -> Message:
    """Return the context read from a message."""
    module = agents.load(agent)
    return module.read(data, native_event(module, event) if event else "")


def contexts_of(agent: str) -> Json:
    """Return hooks' input for each recorded message: only known fields, without those that are always new."""
    return {name: _contexts(agent, event, data) for name, (event, data) in recorded(agent).items()}


def _contexts(agent: str, event: str, data: Json) -> object:
    try:
        message = read(agent, event, data)
    except UnreadableMessageError as error:
        return str(error)
    return [_context(call.event or f"({message.native})", call.fields, data) for call in message.calls]


def _context(event: str, fields: dict[str, object], data: Json) -> Json:
    assert fields["payload"] == data
    whole = contexts.with_defaults(fields, event, "r1", None)
    always = ("payload", "request_id", "timestamp", "version")
    return {name: value for name, value in whole.items() if value not in (None, {}) and name not in always}


def answers_of(agent: str) -> Json:
    """Return the answer to an agent for each verdict at each of its events, and what falls back on the way."""
    module = agents.load(agent)
    cases: dict[str, Message] = {}
    for event, data in recorded(agent).values():
        try:
            message = read(agent, event, data)
        except UnreadableMessageError:
            continue
        if message.calls and not message.dialect:
            cases.setdefault(message.native, message)
    for name, data in ALSO[agent].items():
        cases[name] = read(agent, name.partition(",")[0], data)
    for native in module.EVENTS:
        cases.setdefault(native, read(agent, native, bare(agent, native)))
    return {name: _answers(agent, message) for name, message in sorted(cases.items())}


def bare(agent: str, native: str) -> Json:
    """Return a message of which only the event is known."""
    return {"hook": native} if agent in ("opencode", "kilo") else COMMON


def _answers(agent: str, message: Message) -> Json:
    found = {}
    for name, said in VERDICTS.items():
        if said.args is not None and message.event not in ("pre_tool_use", "permission_request"):
            continue
        if said.output is not None and message.event not in WITH_OUTPUT:
            continue
        if said.prompt is not None and message.event != "user_prompt_submit":
            continue
        last = [Reply() for call in message.calls if not call.synthesized]
        last[-1] = said.copy()
        told = build_response(agents.load(agent), message, last)
        stdout = told.stdout()
        found[name] = {"stdout": json.loads(stdout) if stdout else None}
        if told.degraded:
            found[name]["degraded"] = told.degraded
    return found


FILES = {"contexts": contexts_of, "answers": answers_of}
"""The golden files: directory -> the function that creates an agent's file."""


def text(directory: str, agent: str) -> str:
    """Return the content of a golden file."""
    return json.dumps(FILES[directory](agent), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all golden files, if that is asked for."""
    if sys.argv[1:] != ["--update"]:
        sys.exit("usage: python -m tests.golden.golden --update")
    for directory in FILES:
        for agent in agents.AGENTS:
            (HERE / directory / f"{agent}.json").write_text(text(directory, agent))


if __name__ == "__main__":
    main()
