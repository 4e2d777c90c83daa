"""What a hook for Claude Code can answer, as the same few lines of shell for every agent: one settings file for all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from tests.live.driver import put
from tests.live.model import Json, Turn, say
from tests.live.run import Agent, Ran


class Row(NamedTuple):
    """One kind of answer: the hook, what it is an answer to, and how long it may take."""

    name: str
    answer: str
    event: str = "PreToolUse"
    timeout: float = 30

    @property
    def command(self) -> str:
        """What the model asks for: a file of this name, with a text that an answer may replace."""
        return f"echo original > {self.name}.txt"

    def group(self) -> Json:
        """Return the group of the settings: a hook that answers only for its own command."""
        answers = (
            f"if grep -q {self.name}.txt; then {self.answer}; fi" if self.event.endswith("ToolUse") else self.answer
        )
        handler = {"type": "command", "command": answers, "timeout": self.timeout}
        matched = {"matcher": "Bash"} if self.event.endswith("ToolUse") else {}
        return {**matched, "hooks": [handler]}


def _says(event: str, **fields: object) -> str:
    """Return the command that answers in JSON."""
    return f"echo '{json.dumps({'hookSpecificOutput': {'hookEventName': event, **fields}})}'"


def _deny(reason: str) -> str:
    return _says("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason)


ROWS = {
    row.name: row
    for row in (
        Row("exit-two", "echo told''-exit-two >&2; exit 2"),
        Row("deny-json", _deny("told-deny-json")),
        Row(
            "updated-input",
            _says(
                "PreToolUse", permissionDecision="allow", updatedInput={"command": "echo replaced > updated-input.txt"}
            ),
        ),
        Row("plain-context", "echo told-plain-context", "UserPromptSubmit"),
        Row("exit-one", "echo told''-exit-one >&2; exit 1"),
        Row("too-slow", f"sleep 20; {_deny('told-too-slow')}", timeout=1),
        Row("deny-exit-one", f"{_deny('told-deny-exit-one')}; exit 1"),
        Row("noise-first", f"echo checking; {_deny('told-noise-first')}"),
        Row("wrong-word", _says("PreToolUse", permissionDecision="block", permissionDecisionReason="told-wrong-word")),
        Row("no-event-name", """echo '{"hookSpecificOutput": {"permissionDecision": "deny"}}'"""),
        Row("plain-before-tool", "echo told-plain-before-tool"),
        Row("context-before-tool", _says("PreToolUse", additionalContext="told-context-before-tool")),
        Row("block-after", """echo '{"decision": "block", "reason": "told-block-after"}'""", "PostToolUse"),
        Row("exit-two-after", "echo told''-exit-two-after >&2; exit 2", "PostToolUse"),
        Row("context-after", _says("PostToolUse", additionalContext="told-context-after"), "PostToolUse"),
    )
}


class Outcome(NamedTuple):
    """What came of a row: what the command wrote, if it ran, and whether the model was told the hook's text."""

    wrote: str | None
    told: bool


def settings(project: Path) -> None:
    """Write the settings with all rows."""
    hooks: dict[str, list[Json]] = {}
    for row in ROWS.values():
        hooks.setdefault(row.event, []).append(row.group())
    put(project / ".claude" / "settings.json", {"hooks": hooks})


def turns(agent: Agent) -> list[Turn]:
    """Return a turn for each row, and the last word."""
    return [*(agent.driver.shell(row.command) for row in ROWS.values()), say("all-is-done")]


def outcome(ran: Ran, row: str) -> Outcome:
    """Read what came of a row."""
    return Outcome(ran.files.get(f"{row}.txt"), f"told-{row}" in ran.heard)
