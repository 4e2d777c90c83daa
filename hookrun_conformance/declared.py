"""The hooks of the scenarios for a runner other than hookrun: programs, and a file that says when each is to run.

README.md beside this file describes both.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from hookrun.agents import load, patch
from hookrun.core.events import CLAUDE_EVENTS
from hookrun_conformance.driver import put
from hookrun_conformance.model import Json

CLAUDE = {ours: native for native, ours in CLAUDE_EVENTS.items()}
VERDICT = re.compile(r"echo '(\{.*\})'")
"""How a hook of hooks.json gives its verdict."""
DECISIONS = {"block": "deny", "ask": "ask", "modify": "allow"}


def declare(directory: Path, agent: str, before_a_tool: str, hooks: Iterable[Mapping[str, object]]) -> Path:
    """Write hooks in hookrun's form as programs below a directory, and `hooks.json` beside them. Return its path.

    `before_a_tool` is the agent's own name of that event: it may have several. Hooks for an event that the agent does
    not have are left out.
    """
    entries = [_entry(directory, agent, before_a_tool, hook) for hook in hooks]
    declared = [entry for entry in entries if "event" in entry]
    put(directory / "hooks.json", {"agent": agent, "hooks": declared})
    return directory / "hooks.json"


def _entry(directory: Path, agent: str, before_a_tool: str, hook: Mapping[str, object]) -> Json:
    """Write the program of a hook and return its entry."""
    program = directory / "programs" / str(hook["name"])
    event, command = str(hook["event"]), str(hook["command"])
    contains = "".join(str(each).strip("*") for each in _when(hook).values())
    found = VERDICT.search(command)
    verdict: Json = json.loads(found[1]) if found else {}
    entry: Json = {
        "name": hook["name"],
        "event": before_a_tool if event == "pre_tool_use" else _event(agent, event),
        "matcher": _tools(agent, str(hook.get("matcher", ""))),
        "contains": contains,
        "program": str(program),
        "decision": DECISIONS.get(str(verdict.get("action")), ""),
        "reason": verdict.get("message", ""),
        "context": verdict.get("additional_context", ""),
        "input": verdict.get("args_patch", {}),
        "timeout": hook.get("timeout", 10),
        "on_failure": hook.get("on_failure", "continue"),
    }
    put(program, _program(entry, command, answer(event, verdict) if verdict else {}), 0o755)
    return {name: value for name, value in entry.items() if value not in ("", {})}


def _when(hook: Mapping[str, object]) -> Mapping[str, object]:
    when = hook.get("when", {})
    return when if isinstance(when, dict) else {}


def _event(agent: str, event: str) -> str:
    """Return the agent's own name of an event, "" if it has none."""
    return next((native for native, ours in load(agent).EVENTS.items() if ours == event), "")


def _tools(agent: str, matcher: str) -> str:
    """Return the agent's own names of the tools of a matcher; that of an MCP tool has no other."""
    wanted = matcher.split("|")
    found = [native for native, ours in load(agent).TOOLS.items() if ours in wanted]
    if "write" in wanted and not found:
        found = [patch.TOOL]  # the agent has no other tool for files
    return "|".join(found) or matcher


def answer(event: str, verdict: Mapping[str, object]) -> Json:
    """Return what a hook of Claude Code prints for a verdict of hookrun's."""
    action, message = verdict["action"], verdict.get("message")
    if event == "pre_tool_use" and action in DECISIONS:
        own: Json = {"permissionDecision": DECISIONS[str(action)]}
        own |= {"permissionDecisionReason": message} if message else {}
        own |= {"updatedInput": verdict["args_patch"]} if action == "modify" else {}
    elif action == "block":
        return {"decision": "block", "reason": message}
    else:
        own = {"additionalContext": verdict["additional_context"]}
    return {"hookSpecificOutput": {"hookEventName": CLAUDE[event], **own}}


def _program(entry: Json, command: str, answered: Json) -> str:
    """Return the text of a hook: it answers as one of Claude Code, or by its exit status if it is asked to."""
    lines = ["#!/bin/sh"]
    if entry["contains"]:
        lines += [f"case $(cat) in *{shlex.quote(entry['contains'])}*) ;; *) exit 0 ;; esac"]
    said = f"printf '%s\\n' {shlex.quote(json.dumps(answered))}"
    if entry["decision"] == "deny":
        by_status = f"{{ printf '%s\\n' {shlex.quote(entry['reason'])} >&2; exit 2; }}"
        said = f'if [ "$1" = status ]; then {by_status}; else {said}; fi'
    lines += [VERDICT.sub(lambda _: said, command)]
    return "\n".join(lines) + "\n"
