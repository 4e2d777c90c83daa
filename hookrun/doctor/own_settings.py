"""Check what an agent's own settings say about hookrun's hooks: switched off, not trusted, managed ones only."""

from __future__ import annotations

import os
from glob import glob

from hookrun.agents.types import FolderTrust
from hookrun.config.parse import ParseError
from hookrun.core.files import is_within
from hookrun.core.model import as_object
from hookrun.core.text import one_line, quote
from hookrun.doctor.agent_state import NOTE, PROBLEM, AgentState, Finding, Findings, read_settings
from hookrun.edit.file_change import FileError, existing
from hookrun.edit.toml_edit import Toml
from hookrun.wiring.hook_trust import TrustConfig, required_trust, trust_format
from hookrun.wiring.targets import WiredEvent, agent_directory, resolve_path


def check_switched_off(agent: AgentState) -> Findings:
    """Does the deciding file of the agent's settings switch its hooks off?"""
    for key, off in agent.spec.get("off", {}).items():
        path, value = _setting(agent, key)
        if agent.wired.get("managed") and agent.spec.get("keeps_managed") and path != agent.spec.get("managed_hooks"):
            continue
        if off in value if isinstance(value, list) else value == off:
            cause = f"{agent.title} then runs none of hookrun's hooks"
            yield Finding("switched off", PROBLEM, f"{path}: {key} is {quote(value)}", cause, "remove that setting")


def _setting(agent: AgentState, key: str) -> tuple[str, object]:
    """Return the file that decides a setting (dotted path) and its value, or None."""
    for each in agent.spec.get("settings", ()):
        path = resolve_path(each, agent.spec, agent.location)
        value = read_settings(path).at(tuple(key.split(".")))
        if value is not None:
            return path, value
    return "", None


def check_hook_trust(agent: AgentState) -> Findings:
    """Does the agent trust each of hookrun's hooks, if it requires that?"""
    form = trust_format(agent.agent)
    if form is None or not agent.all_wired:
        return
    where = os.path.join(agent_directory(agent.spec, agent.location), form.CONFIG)
    try:
        config = Toml(existing(where).text())
    except (FileError, ParseError) as error:
        cause = f"whether {agent.title} trusts the hooks is unknown"
        yield Finding("trust", PROBLEM, f"{where}: {one_line(str(error))}", cause, "correct it")
        return
    skips = f"{agent.title} silently skips them"
    for scope, found in agent.wired.items():
        if scope == "managed":  # which needs no trust
            continue
        (target,) = agent.request(scope).targets([])
        trusts = required_trust(target, existing(target.path), agent.agent)
        events = [each.event for each in trusts if not each.is_granted(config)]
        if events:
            missing = f"{agent.title} does not trust the hook{'s' if len(events) > 1 else ''} for {', '.join(events)}"
            remedy = f"run {agent.request(scope).command('install', '--trust')}, or {form.REMEDY}"
            yield Finding("trust", PROBLEM, missing, skips, remedy)
        off = [each.event for each in trusts if each.is_disabled(config)]
        if off:
            disabled = f"{where}: the hook for {', '.join(off)} is disabled ({form.ENABLED} = false)"
            yield Finding("trust", PROBLEM, disabled, skips, f"switch it on: {form.REMEDY}")
        key, trusted = form.project_trust(agent.location.project)
        if scope == "project" and found and config.at(key) != trusted:
            folder = f"{agent.location.project} is not trusted in {where}"
            yield Finding("trust", PROBLEM, folder, skips, f"trust the project in {agent.title}")


def check_folder_trust(agent: AgentState) -> Findings:
    """Does the agent trust the project's folder, if it requires that?"""
    spec = agent.spec.get("folder_trust")
    if spec is None or not agent.all_wired or (spec.get("project_hooks_only", True) and not agent.wired.get("project")):
        return
    switch, default = spec.get("switch", ("", True))
    _, switched = _setting(agent, switch) if switch else ("", None)
    where = os.path.join(agent_directory(agent.spec, agent.location), spec["file"])
    trusted, distrusted = _folders(spec, read_settings(where).data)
    project = agent.location.project
    if not (default if switched is None else switched):
        return
    if project in distrusted or not any(is_within(project, folder.rstrip("/")) for folder in trusted):
        found = f"{project} is {'not trusted' if project in distrusted else 'not yet trusted'} in {where}"
        level = PROBLEM if agent.wired.get("project") or project in distrusted else NOTE
        yield Finding("trust", level, found, spec["cause"], spec["remedy"])


def _folders(spec: FolderTrust, data: object) -> tuple[list[str], list[str]]:
    """Return the trusted folders, with all below them, and the untrusted ones."""
    known = as_object(data)
    if under := spec.get("under"):
        known = {folder: as_object(about).get(under[1]) for folder, about in as_object(known.get(under[0])).items()}
    lists = [value for key in spec.get("lists", ()) if isinstance(value := known.get(key), list)]
    trusted = [folder for value in lists for folder in value if isinstance(folder, str)]
    distrusted = []
    for folder, level in known.items():
        meaning = spec.get("levels", {}).get(str(level))
        if meaning == "none":
            distrusted.append(folder)
        elif meaning is not None:
            trusted.append(os.path.dirname(folder) if meaning == "parent" else folder)
    return trusted, distrusted


def check_managed_wiring(agent: AgentState) -> Findings:
    """Do managed hooks hang on the user's or a project's settings?"""
    hooks = [each.name for each in agent.declarations.hooks if each.layer == "managed"]
    if hooks and agent.all_wired and not agent.wired.get("managed"):
        found = f"the managed hooks are not connected in managed settings: {', '.join(hooks)}"
        cause = f"whoever changes your settings of {agent.title}, or the project's, switches them off"
        remedy = f"{agent.title} reads no hooks of an administrator"
        if "managed_hooks" in agent.spec:
            remedy = agent.remedy("managed")
        yield Finding("managed", NOTE, found, cause, remedy)


def check_managed_only(agent: AgentState) -> Findings:
    """Does the administrator allow managed hooks only?"""
    for path in sorted(path for pattern in agent.spec.get("managed", ()) for path in glob(pattern)):
        for key, values in agent.spec.get("managed_only", {}).items() if not agent.wired.get("managed") else ():
            value = read_settings(path).at(tuple(key.split(".")))
            if any(each in values for each in (value if isinstance(value, list) else [value])):
                cause = (
                    f"{agent.title} then runs none of hookrun's hooks, which are in your own or a project's settings"
                )
                remedy = "ask your administrator: only their settings can have hooks"
                yield Finding("switched off", PROBLEM, f"{path}: {key} is {quote(value)}", cause, remedy)


def obstacles(agent: AgentState) -> list[str]:
    """Return what keeps the agent from running hookrun's hooks though they are in its settings."""
    checks = (check_switched_off, check_managed_only, check_hook_trust, check_folder_trust)
    found = [each for check in checks for each in check(agent)] if agent.all_wired else []
    return [each.found for each in found if each.level == PROBLEM]


def why_not_run(agent: AgentState, wired: WiredEvent) -> str | None:
    """Return why the agent does not run one of hookrun's hooks, or None."""
    for finding in (*check_switched_off(agent), *check_managed_only(agent)):
        return finding.found
    form = trust_format(agent.agent)
    if form is None:
        return None
    where = os.path.join(agent_directory(agent.spec, agent.location), form.CONFIG)
    try:
        config = TrustConfig(where, []).read(existing(where))
    except FileError as error:
        return one_line(str(error)).removesuffix("; nothing was changed")
    targets = [each for scope in ("user", "project") for each in agent.request(scope).targets([])]
    own = [each for each in targets if each.path == wired.path]  # none for managed hooks, which need no trust
    for trust in [trust for each in own for trust in required_trust(each, existing(each.path), agent.agent)]:
        if trust.event == wired.event and (trust.is_disabled(config) or not trust.is_granted(config)):
            return f"{where}: it is {'disabled' if trust.is_disabled(config) else 'not trusted'}"
    return None
