"""Ten hooks as users write them for Claude Code, unchanged, under every agent: each has the right effect.

One session of each agent, with a turn for each hook. Claude Code runs them itself, and hookrun, which is installed for
all events, leaves them to it: a hook that ran twice would be seen here.
"""

from __future__ import annotations

import json

import pytest

from hookrun_conformance.model import Turn, say
from tests.conformance.claude_project import furnish, why_not
from tests.live.installed import path
from tests.live.run import Agent, Ran

WHY_NOT = why_not(path())
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

REWRITTEN, REFUSED, RED = "echo npm install > installed.txt", "mkdir -p build; rm -rf build", "echo 3 failed"
PROMPT = "go on with the shop"

OUTCOMES: dict[str, object] = {
    "the jq one-liner logged": [f"Bash: {command}" for command in (REWRITTEN, REFUSED, RED)],
    "the rewriter changed": "pnpm install",
    "the guard in bash let pass": False,
    "the model was told why": True,
    "the guard in Python let pass": False,
    "the model was told by whom": True,
    "the formatter left": "text",
    "the check of JSON told the model": True,
    "the node script told the model": True,
    "the prompt came with": "Current branch: trunk",
    "the session came with": "Notes of this project (at startup): Prices are in cents.",
    "the stop hook went on": 1,
    "the end was logged": [("SessionEnd", "other")],
}
"""What every agent comes to."""

CANNOT: dict[str, dict[str, object]] = {
    "qwen": {
        "the rewriter changed": "",
        "the end was logged": [("Notification", "Successfully authenticated with openai")],
    },
    "cline": {
        "the prompt came with": None,
        "the session came with": None,
        "the stop hook went on": 0,
        "the end was logged": [],
    },
    "opencode": {"the end was logged": []},
    "grok": {"the stop hook went on": 2},  # it makes one more request at the end of a turn
    "vibe": {"the prompt came with": None, "the session came with": None, "the end was logged": []},
}
"""The outcomes that differ because an agent does not support or report an event, or reports an additional one."""


def turns(agent: Agent) -> list[Turn]:
    """Return a turn for each hook that is about a tool, and two ends."""
    project = agent.place.project
    return [
        *(agent.driver.shell(command) for command in (REWRITTEN, REFUSED)),
        *agent.driver.write(project / ".env.local", "KEY=1\n"),
        *agent.driver.write(project / "page.md", "text  \n"),
        *agent.driver.write(project / "data.json", "{]\n"),
        agent.driver.shell(RED),
        say("first-end"),
        say("second-end"),
    ]


def outcomes(ran: Ran) -> dict[str, object]:
    """Read the outcome of each hook."""
    project = ran.place.project
    log, events = project / ".claude" / "bash-commands.log", project / ".claude" / "logs" / "events.jsonl"
    told = {key: str(OUTCOMES[key]) for key in ("the prompt came with", "the session came with")}
    logged = [json.loads(line) for line in events.read_text().splitlines()] if events.exists() else []
    return {
        "the jq one-liner logged": log.read_text().splitlines() if log.exists() else [],
        "the rewriter changed": ran.files.get("installed.txt", "").strip(),
        "the guard in bash let pass": (project / "build").exists(),
        "the model was told why": "BLOCKED: rm -rf is not allowed here" in ran.heard,
        "the guard in Python let pass": ".env.local" in ran.files,
        "the model was told by whom": ".env.local holds secrets: ask the user to change it" in ran.heard,
        "the formatter left": ran.files.get("page.md", "").removesuffix("\n"),
        "the check of JSON told the model": "data.json is not valid JSON" in ran.heard,
        "the node script told the model": "Tests are red (3 failed)" in ran.heard,
        **{key: text if text in ran.heard else None for key, text in told.items()},
        "the stop hook went on": len(ran.model.requests) - len(ran.model.results()) - 1,
        "the end was logged": [(each["event"], each["about"]) for each in logged],
    }


def test_ten_hooks_for_claude_code_do_what_they_are_for(agent: Agent) -> None:
    """On any agent; unsupported parts are named above."""
    project = agent.place.project
    furnish(project)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/trunk\n")
    (project / "NOTES.md").write_text("Prices are in cents.\n")
    (project / "TODO.md").write_text("- [ ] prices\n")
    agent.include_claude(*(("--all-events",) if agent.name == "claude" else ()))
    ran = agent.run(*turns(agent), prompt=PROMPT)
    assert outcomes(ran) == {**OUTCOMES, **CANNOT.get(agent.name, {})}, ran
