"""The checks of `hookrun doctor` on an agent's own settings: what switches its hooks off, and what it has to trust."""

from __future__ import annotations

import os
from glob import glob
from typing import TYPE_CHECKING

from hookrun.config.parse import ParseError
from hookrun.doctor.agent_state import NOTE, PROBLEM, AgentState, Finding
from hookrun.edit.file_change import FileError, existing
from hookrun.edit.json_edit import Json
from hookrun.edit.toml_edit import Toml
from hookrun.files import is_within
from hookrun.text import one_line, quote
from hookrun.wiring.hook_trust import HookTrust, required_trust, trust_format
from hookrun.wiring.targets import SettingsFile, agent_directory, resolve_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.agents.types import FolderTrust


def check_switched_off(agent: AgentState) -> Iterable[Finding]:
    """Do the agent's own settings switch its hooks off, in the file that takes precedence?"""
    for key, off in agent.spec.get("off", {}).items():
        path, value = _setting(agent, key)
        if off in value if isinstance(value, list) else value == off:
            cause = f"{agent.title} then runs none of hookrun's hooks"
            yield Finding("switched off", PROBLEM, f"{path}: {key} is {quote(value)}", cause, "remove that setting")


def _setting(agent: AgentState, key: str) -> tuple[str, object]:
    """Return the file that decides a setting, given by its path with dots, and its value; None where none has it."""
    for each in agent.spec.get("settings", ()):
        path = resolve_path(each, agent.spec, agent.spot)
        value = read_settings(path).at(tuple(key.split(".")))
        if value is not None:
            return path, value
    return "", None


def read_settings(path: str) -> Json | Toml:
    """Return a settings file, an empty one where it cannot be read."""
    try:
        text = existing(path).text()
        return Toml(text) if path.endswith(".toml") else Json(text, "jsonc")
    except (FileError, ParseError):
        return Json("", "jsonc")


def check_hook_trust(agent: AgentState) -> Iterable[Finding]:
    """Does the agent trust each of hookrun's hooks, where it asks for that?"""
    kept = trust_format(agent.agent)
    if kept is None or not agent.all_wired:
        return
    where = os.path.join(agent_directory(agent.spec, agent.spot), kept.CONFIG)
    try:
        config = Toml(existing(where).text())
    except (FileError, ParseError) as error:
        cause = f"whether {agent.title} trusts the hooks is unknown"
        yield Finding("trust", PROBLEM, f"{where}: {one_line(str(error))}", cause, "correct it")
        return
    skips = f"{agent.title} silently skips them"
    for scope, found in agent.wired.items():
        trusts = _required_trust(agent, scope)
        events = [each.event for each in trusts if not each.is_granted(config)]
        if events:
            missing = f"{agent.title} does not trust the hook{'s' if len(events) > 1 else ''} for {', '.join(events)}"
            remedy = f"run {agent.request(scope).command('install', '--trust')}, or {kept.REMEDY}"
            yield Finding("trust", PROBLEM, missing, skips, remedy)
        off = [each.event for each in trusts if each.is_disabled(config)]
        if off:
            disabled = f"{where}: the hook for {', '.join(off)} is disabled ({kept.ENABLED} = false)"
            yield Finding("trust", PROBLEM, disabled, skips, f"switch it on: {kept.REMEDY}")
        key, trusted = kept.project_trust(agent.spot.project)
        if scope == "project" and found and config.at(key) != trusted:
            folder = f"{agent.spot.project} is not trusted in {where}"
            yield Finding("trust", PROBLEM, folder, skips, f"trust the project in {agent.title}")


def _required_trust(agent: AgentState, scope: str) -> list[HookTrust]:
    (target,) = agent.request(scope).targets([])
    if not isinstance(target, SettingsFile):
        return []
    return required_trust(target.path, target.read(existing(target.path)), target.layout, agent.agent)


def check_folder_trust(agent: AgentState) -> Iterable[Finding]:
    """Does the agent trust the folder of the project, where it asks for that?"""
    spec = agent.spec.get("folder_trust")
    if spec is None or not agent.all_wired or (spec["project_hooks_only"] and not agent.wired.get("project")):
        return
    switch, default = spec.get("switch", ("", True))
    _, switched = _setting(agent, switch) if switch else ("", None)
    where = os.path.join(agent_directory(agent.spec, agent.spot), spec["file"])
    trusted, distrusted = _folders(spec, read_settings(where).data)
    project = agent.spot.project
    if not (default if switched is None else switched):
        return
    if project in distrusted or not any(is_within(project, folder.rstrip("/")) for folder in trusted):
        found = f"{project} is {'not trusted' if project in distrusted else 'not yet trusted'} in {where}"
        level = PROBLEM if agent.wired.get("project") or project in distrusted else NOTE
        yield Finding("trust", level, found, spec["cause"], spec["remedy"])


def _folders(spec: FolderTrust, data: object) -> tuple[list[str], list[str]]:
    """Return the folders that are trusted, with all below them, and those that are not."""
    known = data if isinstance(data, dict) else {}
    lists = [value for key in spec.get("lists", ()) if isinstance(value := known.get(key), list)]
    trusted = [folder for value in lists for folder in value if isinstance(folder, str)]
    distrusted = []
    for folder, level in known.items():
        meaning = spec.get("levels", {}).get(level) if isinstance(level, str) else None
        if meaning == "none":
            distrusted.append(folder)
        elif meaning is not None:
            trusted.append(os.path.dirname(folder) if meaning == "parent" else folder)
    return trusted, distrusted


def check_managed_only(agent: AgentState) -> Iterable[Finding]:
    """Does the administrator allow managed hooks only?"""
    for path in sorted(path for pattern in agent.spec.get("managed", ()) for path in glob(pattern)):
        for key, values in agent.spec.get("managed_only", {}).items():
            value = read_settings(path).at(tuple(key.split(".")))
            if any(each in values for each in (value if isinstance(value, list) else [value])):
                cause = (
                    f"{agent.title} then runs none of hookrun's hooks, which are in your own or a project's settings"
                )
                remedy = "ask your administrator: only their settings can have hooks"
                yield Finding("switched off", PROBLEM, f"{path}: {key} is {quote(value)}", cause, remedy)
