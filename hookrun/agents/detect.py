"""Detect whether an agent that also runs another agent's hooks has hookrun installed for an event itself.

If so, the message that arrives through the other agent's hooks is ignored, so that no hook runs twice.
"""

from __future__ import annotations

import os

from hookrun.agents.base import native_event
from hookrun.fastjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.types import Agent


def has_own_hooks(agent: Agent, event: str, *, home: str, project: str) -> bool:
    """Return whether hookrun is installed for the event (the agent's name) in the agent's own directories.

    Unreadable files are ignored: a hook that runs twice is better than one that does not run.
    """
    directories = [each.format(home=home, project=project) for each in agent.INSTALL.get("own_hooks", ())]
    return any(_fires(path, agent, event) for directory in directories for path in _json_files(directory))


def _json_files(directory: str) -> list[str]:
    try:
        return [f"{directory}/{name}" for name in sorted(os.listdir(directory)) if name.endswith(".json")]
    except OSError:
        return []


def _fires(path: str, agent: Agent, event: str) -> bool:
    try:
        with open(path, encoding="utf-8") as file:
            data = loads(file.read())
    except (OSError, ValueError):
        return False
    hooks = data.get("hooks") if isinstance(data, dict) else None
    if not isinstance(hooks, dict) or (isinstance(data, dict) and data.get("disableAllHooks") is True):
        return False
    return any(native_event(agent, name) == event and _calls_hookrun(agent, each) for name, each in hooks.items())


def _calls_hookrun(agent: Agent, entries: object) -> bool:
    from hookrun.shell.fire_call import fire_calls

    key = next((key for key, value in agent.INSTALL.get("handler", {}).items() if value == "{command}"), "command")
    lines = [entry.get(key) for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return any(call.agent == agent.NAME for line in lines if isinstance(line, str) for call in fire_calls(line))
