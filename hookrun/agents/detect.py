"""Who really calls: agents that also run the hooks in Claude Code's settings are told by their messages from Claude.

A message of another agent is read and answered in that agent's words; where that agent has a wiring of its own for the
event, it is left to that one, so that no hook runs twice.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.types import Agent

READS_SETTINGS_OF = {"claude": ("copilot",)}
"""Whose settings other agents read -> those agents."""

WIRED_IN = {"copilot": ("{home}/.copilot/hooks", "{project}/.github/hooks")}
"""An agent -> the directories of its own wiring: files of JSON with `hooks`, an object of events and commands."""

MARK = "--agent {agent}"
"""What a command line of ours has in it."""


def detect_agent(wired_as: str, payload: dict[str, object]) -> str:
    """Return the name of the agent that sent a message through the wiring of another; mostly it is the same one.

    Copilot CLI gives every message a `timestamp` (Claude Code none), and a `transcript_path` (Claude Code always) only
    to some, where it lies in its own directory.
    """
    copilots = "timestamp" in payload and "/.copilot/" in str(payload.get("transcript_path", "/.copilot/"))
    return "copilot" if copilots and "copilot" in READS_SETTINGS_OF.get(wired_as, ()) else wired_as


def has_own_wiring(agent: Agent, event: str, *, home: str, project: str) -> bool:
    """Tell whether an agent would fire the event (its own name) through a wiring of its own, too.

    A file that cannot be read counts for nothing: better a hook that runs twice than one that does not.
    """
    mark = MARK.format(agent=agent.NAME)
    for template in WIRED_IN.get(agent.NAME, ()):
        for path in _files(template.format(home=home, project=project)):
            if _wires(path, agent, event, mark):
                return True
    return False


def _files(directory: str) -> list[str]:
    try:
        return [f"{directory}/{name}" for name in sorted(os.listdir(directory)) if name.endswith(".json")]
    except OSError:
        return []


def _wires(path: str, agent: Agent, event: str, mark: str) -> bool:
    from hookrun.agents.base import native_event
    from hookrun.fastjson import dumps, loads

    try:
        with open(path, encoding="utf-8") as file:
            data = loads(file.read())
    except (OSError, ValueError):
        return False
    hooks = data.get("hooks") if isinstance(data, dict) else None
    if not isinstance(hooks, dict) or (isinstance(data, dict) and data.get("disableAllHooks") is True):
        return False
    return any(native_event(agent, name) == event and mark in dumps(each) for name, each in hooks.items())
