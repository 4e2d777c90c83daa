"""Hooks that go on in the background: `{"async": true}` as the first line, `async`, and what they say later."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from tests.fire.agents import Agent, AgentOf
from tests.rows import rows
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

SHAKES = """echo '{"async": true}'; """
LATER = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "LATER"}})


def hook(project: Project, command: str, event: str = "PreToolUse", **fields: object) -> Path:
    """Declare one hook of Claude Code's; return the pipe on which it can wait for the test."""
    handler = {"type": "command", "command": command, **fields}
    (project.root / "coder.json").write_text(json.dumps({"hooks": {event: [{"hooks": [handler]}]}}))
    go = project.root / "go"
    os.mkfifo(go)
    return go


def ends(project: Project) -> list[dict[str, object]]:
    """Return the records of the ends of background hooks."""
    return [record for record in project.audit() if record["kind"] == "background"]


def end(project: Project) -> dict[str, object]:
    """Return the record of the one such end, once it is there."""
    return until(lambda: ends(project), "no record of its end")[0]


def tell(go: Path) -> None:
    """Let the hook go on."""
    go.write_text("go\n")


@rows("name", ["codex", "gemini", "claude", "qwen"])
def test_a_hook_that_asks_to_be_let_go_is_not_waited_for(name: str, agent_of: AgentOf) -> None:
    """The call continues while the hook still waits; the handshake reaches no model, the later text the next event."""
    agent = agent_of(name)
    project = agent.project
    go = hook(project, f"{SHAKES} read word < go; echo '{LATER}'")
    told = agent.fire(agent.shell("ls"))
    assert (told.reason, told.context, told.person) == (None, "", "")
    assert b"async" not in told.stdout
    assert ends(project) == []
    tell(go)
    record = end(project)
    assert (record["background"], record["action"], record.get("failure")) == (True, "continue", None)
    (project.root / "coder.json").write_text("{}")
    assert agent.fire(agent.ran("ls")).context == "LATER"
    assert agent.fire(agent.ran("ls")).context == ""


def test_a_start_of_a_session_goes_on_and_hears_of_it_at_the_prompt(project: Project) -> None:
    """Plain text is for the model at SessionStart, also after the handshake."""
    agent = Agent("codex", project)
    go = hook(project, f"{SHAKES} read word < go; echo indexed", "SessionStart")
    start = {**agent.prompt(), "hook_event_name": "SessionStart", "source": "startup"}
    assert agent.fire(start).stdout == b""
    tell(go)
    end(project)
    assert agent.fire(agent.prompt()).context == "indexed"


def test_a_decision_after_it_was_let_go_has_no_effect(project: Project) -> None:
    """As in Claude Code: the tool has run by then."""
    agent = Agent("codex", project)
    go = hook(project, f"{SHAKES} read word < go; echo no >&2; exit 2")
    assert agent.fire(agent.shell("ls")).reason is None
    tell(go)
    assert end(project)["action"] == "continue"
    (project.root / "coder.json").write_text("{}")
    assert agent.fire(agent.ran("ls")).stdout == b""


def test_the_time_that_it_asks_for_is_its_limit(project: Project) -> None:
    """`asyncTimeout` is in milliseconds; then it is ended, and its record says so."""
    agent = Agent("codex", project)
    hook(project, """echo '{"async": true, "asyncTimeout": 300}'; read word < go""")
    assert agent.fire(agent.shell("ls")).reason is None
    assert end(project)["failure"] == "timeout"


@rows("command, later", [("echo woken >&2; exit 2", "woken"), ("echo out; exit 2", "out"), ("echo no >&2; exit 1", "")])
def test_what_would_wake_claude_code_is_given_at_the_next_event(command: str, later: str, agent_of: AgentOf) -> None:
    """With `asyncRewake`, exit status 2 is for the model: its stderr, or else its stdout."""
    agent = agent_of("codex")
    project = agent.project
    hook(project, command, asyncRewake=True)
    assert agent.fire(agent.shell("ls")).reason is None
    end(project)
    (project.root / "coder.json").write_text("{}")
    assert agent.fire(agent.ran("ls")).context == later


def test_a_hook_that_writes_lines_is_waited_for(project: Project) -> None:
    """Only `{"async": true}` lets go: another first line is a part of its answer."""
    agent = Agent("codex", project)
    hook(project, 'echo \'{\'; sleep 0.2; echo \'"decision": "block", "reason": "R"}\'')
    assert agent.fire(agent.shell("ls")).reason == "R"


def test_a_refusal_on_the_first_line_counts(project: Project) -> None:
    """It is waited for: its answer is what follows."""
    agent = Agent("codex", project)
    hook(project, """echo '{"async": true, "decision": "block", "reason": "R"}'; sleep 0.2""")
    assert agent.fire(agent.shell("ls")).reason == "R"
