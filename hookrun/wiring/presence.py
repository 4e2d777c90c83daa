"""Find out whether an installation other than the calling one answers an event.

Runs ask, and the answer is mostly no, so imports that read settings are local.
"""

from __future__ import annotations

import os

from hookrun.agents.base import native_event
from hookrun.core.files import read_or_none

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.types import Agent
    from hookrun.wiring.targets import HookFile, InstallLocation, WiredEvent


def has_own_hooks(agent: Agent, event: str, *, home: str, project: str | None) -> bool:
    """Return whether hookrun is installed for the event in directories that only this agent reads.

    If so, the message that arrives through another agent's settings is ignored, so that no hook runs twice. So are
    unreadable files: running a hook twice is better than not at all. Without a `project` the user's alone count:
    through the user's settings messages come from untrusted folders, too, where an agent skips a project's hooks.
    """
    if _are_off(agent, home):
        return False
    spec = agent.INSTALL
    users, projects = f"{home}/{spec['directory']}/{spec['user']}", f"{project}/{spec['project']}"
    files = [users, *([] if project is None else [projects])] if spec["user"] else []
    paths = [f"{each}/{name}" for each in map(os.path.dirname, files) for name in next(os.walk(each), ("", [], []))[2]]
    return any(_fires(agent, path, event) for path in paths if path.endswith(".json") and _names_hookrun(path))


def _fires(agent: Agent, path: str, event: str) -> bool:
    from hookrun.core.fastjson import loads
    from hookrun.edit.file_change import FileError, existing
    from hookrun.wiring.targets import SettingsFile

    file = SettingsFile(agent.NAME, path, agent.INSTALL)
    try:
        now = existing(path)
        settings = loads((now.data or b"").decode())  # with a byte-order mark it counts as unreadable
        found = file.find_all(file.read(now))
    except (FileError, ValueError):
        return False
    off = agent.INSTALL.get("off", {}).items()
    is_off = any(isinstance(settings, dict) and settings.get(key) is value for key, value in off)
    # A project's entries start one script, which has started this run, too; some agents refuse where none starts.
    shut = agent.INSTALL.get("exit_zero_only", False)
    able = [each for each in found if not each.only and (shut or each.command.form or each.command.answers)]
    return not is_off and any(native_event(agent, each.event) == event for each in able)


def _are_off(agent: Agent, home: str) -> bool:
    """Return whether the agent may skip the user's own hooks: it reads another directory, or a list names hookrun."""
    spec = agent.INSTALL
    moved = os.environ.get(spec.get("variable", ""), "").rstrip("/")
    return moved not in ("", f"{home}/{spec['directory']}") or _names_hookrun(f"{home}/{spec.get('hooks_off', '')}")


def user_wiring_answers(agent: Agent, event: str, home: str) -> bool:
    """Return whether hookrun in the user's settings answers the agent at this event (agent's name).

    The environment is not believed: if it moves the agent's directory, the project's answer. So do they if the user's
    command is gone, excludes part of the event, is for another home or not trusted by the agent: twice is better than
    not at all.
    """
    # From the settings each time, never from our records: the user may have removed hookrun.
    spec = agent.INSTALL
    file = f"{home}/{spec['directory']}/{spec['user'].replace('{event}', event)}"
    if _are_off(agent, home) or not _names_hookrun(file):
        return False
    return _wiring_answers(agent, event, home, "user")


def other_wiring(
    agent: Agent, owner: Agent, event: str, home: str, managed: str | None, *, scope: str | None
) -> str | None:
    """Return what answers the agent instead of this scope's entry, or None: `managed` settings, if any, or the user's.

    `owner` is the agent whose settings have the entry.
    """
    if managed is not None and _names_hookrun(managed) and _wiring_answers(agent, event, home, "managed"):
        return f"the managed settings of {agent.DISPLAY_NAME} already fire {event}"
    if scope == "project" and any(user_wiring_answers(each, event, home) for each in _read_by(agent, owner, home)):
        return f"the user's settings of {agent.DISPLAY_NAME} already fire {event}"
    return None


def _read_by(agent: Agent, owner: Agent, home: str) -> list[Agent]:
    """Return whose user's settings the agent surely reads: its own, and Claude Code's unless that can be off."""
    from hookrun.agents import claude

    own = [owner] if owner is agent else []
    if not agent.INSTALL.get("reads_user_settings"):
        return own
    variable, word, *files = agent.INSTALL.get("may_ignore", ("", ""))
    ignored = variable in os.environ or any(word in str(read_or_none(os.path.join(home, each))) for each in files)
    return own if ignored and own else [*own, claude]


def _wiring_answers(agent: Agent, event: str, home: str, scope: str) -> bool:
    from hookrun.edit.file_change import FileError, existing
    from hookrun.wiring.forms import install_targets
    from hookrun.wiring.targets import InstallLocation

    location = InstallLocation(home, "/", {})
    try:
        return any(
            each.event == event and _answers(each, home, scope) and _is_trusted(agent, location, target, event, scope)
            for target in install_targets(agent.NAME, agent.INSTALL, scope, location, [event])
            for each in target.wired(existing(target.path))
        )
    except FileError:
        return False


def project_names_hookrun(project: str) -> bool:
    """Return whether an agent's settings in a project name hookrun."""
    from pathlib import Path

    from hookrun.agents import AGENTS, load

    files = [load(name).INSTALL["project"].replace("{event}", "*") for name in AGENTS]
    return any(_names_hookrun(str(path)) for file in files for path in Path(project).glob(file))


def _names_hookrun(path: str) -> bool:
    """Look only for our name: most files lack it, and parsing one takes many imports."""
    return b"hookrun" in (read_or_none(path) or b"")


def _answers(wired: WiredEvent, home: str, scope: str) -> bool:
    flags = wired.command.flags
    return wired.command.answers and not wired.only and flags.scope == scope and flags.home in (None, home)


def _is_trusted(agent: Agent, location: InstallLocation, target: HookFile, event: str, scope: str) -> bool:
    from hookrun.edit.file_change import existing
    from hookrun.wiring.hook_trust import TrustConfig, required_trust, trust_format
    from hookrun.wiring.targets import agent_directory

    form = trust_format(agent)
    if form is None or scope == "managed":
        return True
    path = f"{agent_directory(agent.INSTALL, location)}/{form.CONFIG}"
    config = TrustConfig(path, []).read(existing(path))
    return all(
        trust.is_granted(config) and not trust.is_disabled(config)
        for trust in required_trust(target, existing(target.path), agent)
        if trust.event == event
    )
