"""Grade how far an agent obeys hooks, by its tables: what each event can express, and what was measured."""

from __future__ import annotations

import json
import os
from typing import Any

from hookrun.agents.base import Message
from hookrun.agents.formats import Reply
from hookrun.agents.reply import degrade
from hookrun.agents.types import Agent
from hookrun.core.events import WITH_OUTPUT

# What a hook's decision is worth in an agent -> what that means.
ENFORCED, BEST_EFFORT, TOLD_ONLY, CANNOT = "enforced", "best effort", "told only", "cannot"
MEANINGS = {
    ENFORCED: "the agent was seen to obey it, in that version and on that day",
    BEST_EFFORT: "the agent's documentation says so, or the closest form is obeyed: see the fallbacks",
    TOLD_ONLY: "nothing is stopped; the model or the user reads the reason",
    CANNOT: "the agent has no such event, or takes no answer there",
}

# What is graded -> hookrun's event, and the part of a verdict.
GRADED = {
    "block a tool": ("pre_tool_use", Reply("block", "R")),
    "change its arguments": ("pre_tool_use", Reply("modify", args={})),
    "ask the user": ("pre_tool_use", Reply("ask", "R")),
    "block a prompt": ("user_prompt_submit", Reply("block", "R")),
    "reject a result": ("post_tool_use", Reply("block", "R")),
    "continue a turn": ("stop", Reply("block", "R")),
    "continue a subagent": ("subagent_stop", Reply("block", "R")),
    "text at the start": ("session_start", Reply(context="C")),
    "text with a prompt": ("user_prompt_submit", Reply(context="C")),
    "text after a tool": ("post_tool_use", Reply(context="C")),
}


# Agent -> the newest version that the conformance kit measured, when, and the grades that it saw. It writes the file.
MEASURED = os.path.join(os.path.dirname(__file__), "measured.json")


def measured(agent: Agent) -> dict[str, Any]:
    """Return the `version`, `date` (in UTC) and `grades` by scenario, as measured; empty if it never was."""
    with open(MEASURED, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file).get(agent.NAME, {"version": "", "date": "", "grades": {}})
    return found


def grades(agent: Agent) -> dict[str, str]:
    """Return the grade of everything in GRADED: as measured, else by the tables."""
    seen = measured(agent)["grades"]
    return {name: seen.get(name, grade) for name, grade in tabled(agent).items()}


def tabled(agent: Agent) -> dict[str, str]:
    """Return the grades that follow from the agent's tables."""
    seen = bool(measured(agent)["version"])
    return {name: _grade(agent, name, event, part, seen=seen) for name, (event, part) in GRADED.items()}


def _grade(agent: Agent, name: str, event: str, part: Reply, *, seen: bool) -> str:
    sent = [native for native, ours in agent.EVENTS.items() if ours == event] or agent.SYNTHESIZED_FROM.get(event, ())
    native = next((each for each in sent if each not in agent.INSTALL.get("unsent", ())), None)
    form = fallback(agent, native, part) if native is not None else "-"
    known = {name, native, event}.isdisjoint(getattr(agent, "UNMEASURED", ())) and seen
    worth = {"✓": ENFORCED if known else BEST_EFFORT, "-": CANNOT}
    return worth.get(form, TOLD_ONLY if form in ("message", "system_message") else BEST_EFFORT)


def fallback(agent: Agent, native: str, part: Reply) -> str:
    """Return "✓" if an agent's event can express a part of a verdict, "-" if it has no effect, else its last fallback.

    It returns "" of a change at an event that has nothing to change.
    """
    form, event = agent.RESPONSE_FORMATS.get(native), agent.EVENTS[native]
    if part.args is not None and event not in ("pre_tool_use", "permission_request"):
        return ""
    if (part.output is not None and event not in WITH_OUTPUT) or (part.prompt and event != "user_prompt_submit"):
        return ""
    able = form.capabilities if form is not None else frozenset[str]()
    reply, names = degrade(part, able, event)
    if form is not None:
        names += form.caveats(reply, Message(native, [], tool=next(iter(agent.TOOLS), None)))
    parts = (part.action, "block") if part.action != "continue" else ("output", "prompt", "context", "system_message")
    steps = [name.partition(" -> ")[2] for name in names if name.startswith(parts)]
    step = steps[-1] if steps else "✓" if part.action != "allow" or "allow" in able else "-"
    return "-" if step in ("continue", "nothing") else step
