"""Possible answers of a hook for Claude Code, as the same lines of shell for every agent: one settings file for all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from hookrun_conformance.driver import groups, put
from hookrun_conformance.model import Json, Turn, say
from tests.live.run import Agent, Ran

RAN = "ran"
"""The file in the home where the hooks log that they ran."""

AT_ONCE = 3
"""How many calls the model asks for in one turn."""

LISTENING = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
"""Events at which an additional hook records the hooks' input."""


class Row(NamedTuple):
    """One kind of answer: the hook's command, its event, and further fields of its handler."""

    name: str
    answer: str
    event: str = "PreToolUse"
    more: Json = {}  # noqa: RUF012  # never changed

    @property
    def command(self) -> str:
        """The model's command: it writes a file of this name, with this name in it, which an answer may replace."""
        return f"echo {self.name} > {self.name}.txt"

    def group(self) -> Json:
        """Return the group of the settings: a hook logs that it ran, then answers; only at its own command, if any."""
        handler = {"type": "command", "command": f'echo {self.name} >> "$HOME/{RAN}"; {self.answer}', **self.more}
        if not self.event.endswith("ToolUse"):
            return {"hooks": [handler]}
        return {"matcher": "Bash", "hooks": [{**handler, "if": f"Bash(echo {self.name} *)"}]}


def _prints(answer: object) -> str:
    """Return the command that prints JSON, or a substitute for it."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return f"printf '%s\\n' '{text}'"


def _says(event: str = "PreToolUse", /, **fields: object) -> str:
    """Return the command that answers in the fields of its event."""
    return _prints({"hookSpecificOutput": {"hookEventName": event, **fields}})


def _denial(reason: str) -> Json:
    denied = {"permissionDecision": "deny", "permissionDecisionReason": f"told-{reason}."}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **denied}}


def _allowance() -> Json:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}


def _deny(reason: str) -> str:
    return _prints(_denial(reason))


def _replace(name: str, **fields: object) -> str:
    return _says(**fields, updatedInput={"command": f"echo replaced > {name}.txt"})


ROWS = {
    row.name: row
    for row in (
        Row("exit-two", "echo told''-exit-two. >&2; exit 2"),
        Row("exit-two-silent", "exit 2"),
        Row("exit-two-allow", f"{_says(permissionDecision='allow')}; echo told''-exit-two-allow. >&2; exit 2"),
        Row("exit-two-broken", "echo '{bad}'; echo told''-exit-two-broken. >&2; exit 2"),
        Row("exit-one", "echo told''-exit-one. >&2; exit 1"),
        Row("exit-one-blocks", "echo told''-exit-one-blocks. >&2; exit 1", more={"onFailure": "block"}),
        Row("not-there", "no-such-program"),
        Row("too-slow", f"sleep 20; {_deny('too-slow')}", more={"timeout": 1}),
        Row("too-slow-blocks", "sleep 20", more={"timeout": 1, "onFailure": "block"}),
        Row("in-the-background", _deny("in-the-background"), more={"async": True}),
        Row("deny-json", _deny("deny-json")),
        Row("deny-without-reason", _says(permissionDecision="deny")),
        Row("deny-over-lines", _prints(json.dumps(_denial("deny-over-lines"), indent=2))),
        Row("deny-exit-one", f"{_deny('deny-exit-one')}; exit 1"),
        Row("deny-unknown-key", _prints({**_denial("deny-unknown-key"), "colour": "red"})),
        Row("deny-wrong-type", _prints({**_denial("deny-wrong-type"), "continue": "yes"})),
        Row("deny-with-null", _prints({**_denial("deny-with-null"), "systemMessage": None})),
        Row("deny-after-mark", f"printf '\\357\\273\\277'; {_deny('deny-after-mark')}"),
        Row("deny-second-line", f"echo '{{}}'; {_deny('deny-second-line')}"),
        Row("noise-first", f"echo checking; {_deny('noise-first')}"),
        Row("noise-last", f"{_deny('noise-last')}; echo done"),
        Row("in-an-array", _prints([_denial("in-an-array")])),
        Row("broken-json", _prints("{bad}")),
        Row("wrong-word", _says(permissionDecision="block", permissionDecisionReason="told-wrong-word.")),
        Row("no-event-name", _prints({"hookSpecificOutput": {"permissionDecision": "deny"}})),
        Row("other-event-name", _says("PostToolUse", permissionDecision="deny")),
        Row("decision-block", _prints({"decision": "block", "reason": "told-decision-block."})),
        Row("block-beside-allow", _prints({**_allowance(), "decision": "block", "reason": "told-block-beside-allow."})),
        Row("async-on-stdout", _prints({"async": True})),
        Row("decision-deny", _prints({"decision": "deny", "reason": "told-decision-deny."})),
        Row("ask", _says(permissionDecision="ask", permissionDecisionReason="told-ask.")),
        Row("updated-input", _replace("updated-input", permissionDecision="allow")),
        Row("updated-input-alone", _replace("updated-input-alone")),
        Row("updated-input-exit-one", f"{_replace('updated-input-exit-one')}; exit 1"),
        Row("plain-before-tool", "echo told-plain-before-tool."),
        Row("context-before-tool", _says(additionalContext="told-context-before-tool.")),
        Row("block-after", _prints({"decision": "block", "reason": "told-block-after."}), "PostToolUse"),
        Row("exit-two-after", "echo told''-exit-two-after. >&2; exit 2", "PostToolUse"),
        Row("exit-one-after", "echo told''-exit-one-after. >&2; exit 1", "PostToolUse"),
        Row("plain-after", "echo told-plain-after.", "PostToolUse"),
        Row("context-after", _says("PostToolUse", additionalContext="told-context-after."), "PostToolUse"),
        Row("plain-context", "echo told-plain-context.", "UserPromptSubmit"),
        Row("json-context", _says("UserPromptSubmit", additionalContext="told-json-context."), "UserPromptSubmit"),
        Row("plain-at-start", "echo told-plain-at-start.", "SessionStart"),
        Row("json-at-start", _says("SessionStart", additionalContext="told-json-at-start."), "SessionStart"),
    )
}


class Outcome(NamedTuple):
    """The result of a row: how often its hook ran, what the command wrote, if it ran, and whether the model got it."""

    runs: int
    wrote: str | None
    told: bool


def settings(project: Path) -> None:
    """Write the settings with all rows."""
    hooks: dict[str, list[Json]] = groups(dict.fromkeys(LISTENING, '{ cat; echo; } >> "$HOME/seen.jsonl"'))
    for row in ROWS.values():
        hooks.setdefault(row.event, []).append(row.group())
    put(project / ".claude" / "settings.json", {"hooks": hooks})


def turns(agent: Agent) -> list[Turn]:
    """Return a turn that prints something, the rows, and the final message. After 30 turns Gemini suspects a loop."""
    asked = [call for row in ROWS.values() for call in agent.driver.shell(row.command).calls]
    several = [Turn("", tuple(asked[at : at + AT_ONCE])) for at in range(0, len(asked), AT_ONCE)]
    return [agent.driver.shell("echo printed"), *several, say("all-is-done")]


def outcome(ran: Ran, row: str) -> Outcome:
    """Read the result of a row."""
    log = ran.place.home / RAN
    runs = log.read_text().splitlines().count(row) if log.exists() else 0
    return Outcome(runs, ran.files.get(f"{row}.txt"), f"told-{row}." in ran.heard)
