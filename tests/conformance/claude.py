"""A hook in Claude's dialect with the output that a test sets, and its result."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from hookrun import Engine
from hookrun.core.audit import hook_record
from hookrun.core.literals import EventName

if TYPE_CHECKING:
    from hookrun.library import Result
    from tests.conftest import Fired, Project

CONTEXTS: dict[str, dict[str, object]] = {
    "pre_tool_use": {"tool_name": "bash", "tool_args": {"command": "ls"}},
    "permission_request": {"tool_name": "bash", "tool_args": {"command": "ls"}},
    "post_tool_use": {"tool_name": "bash", "tool_args": {"command": "ls"}, "tool_result_output": "a.txt\n"},
    "post_tool_failure": {"tool_name": "bash", "tool_args": {"command": "ls"}, "tool_result_error": "Exit code 1"},
    "user_prompt_submit": {"user_prompt": "do it"},
}
"""What an event is about."""


def hook_line(stdout: object = "", *, stderr: str = "", code: int = 0) -> str:
    """Return a shell line that prints this (an object as JSON) and ends with that exit status."""
    text = stdout if isinstance(stdout, str) else json.dumps(stdout)
    return f"printf %s {shlex.quote(text)}; printf %s {shlex.quote(stderr)} >&2; exit {code}"


def own(event: str, **fields: object) -> dict[str, object]:
    """Return an answer with nothing but `hookSpecificOutput`."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


class Came:
    """The result of one fire in this process, in the form of one by the command."""

    def __init__(self, result: Result) -> None:
        self.verdict = result.to_dict()
        self.action = result.action
        self._runs = {run.name: run for run in result.runs}

    def hook(self, name: str) -> dict[str, object]:
        """Return the verdict's entry for one hook."""
        return self._runs[name].summary()

    def record(self, name: str) -> dict[str, object]:
        """Return the stored data of one hook's run."""
        return hook_record(self._runs[name], {})


def answers(
    project: Project,
    stdout: object = "",
    *,
    stderr: str = "",
    code: int = 0,
    event: EventName = "pre_tool_use",
    **fields: object,
) -> Came:
    """Fire an event in this process at a hook that answers so. `fields` are those of its declaration."""
    line = hook_line(stdout, stderr=stderr, code=code)
    project.hooks({"dialect": "claude", "event": event, "command": line, **fields})
    context = {"session_id": "s1", **CONTEXTS.get(event, {})}
    with Engine.load(project.root, home=project.home, trust_project=True) as engine:
        return Came(engine.fire_sync(event, context))


def failure(fired: Fired | Came) -> str | None:
    """Return the kind of the hook's failure, None for none."""
    found = fired.hook("hook")["failure"]
    return found if isinstance(found, str) else None


def notes(fired: Fired | Came) -> str:
    """Return the audit's notes on the hook's run, as one text."""
    found = fired.record("hook").get("notes", [])
    return "\n".join(map(str, found)) if isinstance(found, list) else ""


def check(fired: Came, action: str, others: dict[str, object]) -> None:
    """Check a verdict: all that is in it beside the action is in `others`; its `notes` are looked for in the audit."""
    found = {name: value for name, value in fired.verdict.items() if name not in {"request_id", "hooks"}}
    if kind := failure(fired):
        found["failure"] = kind
        del found["system_message"]  # the failure in words
    assert found == {"action": action, **{name: value for name, value in others.items() if name != "notes"}}
    assert ("notes" in others) == bool(notes(fired)), notes(fired)
    assert str(others.get("notes", "")) in notes(fired)
