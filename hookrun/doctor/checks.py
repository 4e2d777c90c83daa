"""The table of checks of `hookrun doctor`, one small function each."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from glob import glob

from hookrun.agents.callers import CALLERS, UNKNOWN
from hookrun.agents.types import FolderTrust
from hookrun.config.document import key_text, line_and_column, problem_message
from hookrun.config.parse import ParseError
from hookrun.core import audit, state
from hookrun.core.audit_reader import local_time
from hookrun.core.files import is_within
from hookrun.core.model import as_object
from hookrun.core.text import one_line, quote, shell_quoted
from hookrun.doctor import agent_state
from hookrun.doctor.agent_state import NOTE, OK, PROBLEM, AgentState, Finding, Findings, read_settings
from hookrun.edit.file_change import BOM, FileError, existing
from hookrun.edit.json_edit import Json
from hookrun.edit.toml_edit import Toml
from hookrun.launch.running import describe
from hookrun.recipes.protect_hooks import enforcing_layers
from hookrun.wiring import plan
from hookrun.wiring.hook_trust import required_trust, trust_format
from hookrun.wiring.targets import agent_directory, resolve_path

Check = Callable[[AgentState], Findings]


def check_settings(agent: AgentState) -> Findings:
    """Are the files with the agent's hooks valid?"""
    for message in agent.unreadable.values():
        yield Finding("settings", PROBLEM, message, f"{agent.title} ignores files it cannot read", "correct the file")


def check_dropped_settings(agent: AgentState) -> Findings:
    """Do other settings make the agent drop the whole file, with hookrun's hooks?"""
    dropped_if = agent.spec.get("dropped_if")
    if dropped_if is None:
        return
    for path in dict.fromkeys(each.path for each in agent.all_wired):
        try:
            now = existing(path)
            text = Json(now.text(), "json")
        except (FileError, ParseError):  # check_settings reports it
            continue
        for where, expected in dropped_if(text.data, (now.data or b"").startswith(BOM)):
            line, column = line_and_column(text.text, text.offset(where))
            at = key_text(where) or "the file"
            found = f"{path}:{line}:{column}: {at} is {quote(text.at(where))}, expected {expected}"
            cause = f"{agent.title} ignores the whole file because of this, including hookrun's hooks"
            yield Finding("settings", PROBLEM, found, cause, "correct that entry")


def check_unsent_events(agent: AgentState) -> Findings:
    """Does the agent ever send the events that have hooks?"""
    for event in plan.unsent_events(agent.agent, agent.declared):
        found = f"there are hooks for {event}, which {agent.title} never sends"
        cause = f"in no run up to {plan.newest_measured(agent.agent)} it was sent, so these hooks do not run there"
        yield Finding("declared", NOTE, found, cause, "use another event")


def check_version(agent: AgentState) -> Findings:
    """Was this version of the agent measured, or a newer one?"""
    version, newest = agent.version, plan.newest_measured(agent.agent)
    if version is not None and plan.version_number(version) > plan.version_number(newest):
        found = f"version {version} is newer than {newest}, the newest tested version"
        cause = "its messages may have changed"
        yield Finding("version", NOTE, found, cause, f"run `hookrun doctor {agent.agent.NAME} --prove`")


def check_declarations(agent: AgentState) -> Findings:
    """Can all declaration files be read?"""
    kept, unknown = "what it held before counts", "its hooks are unknown"
    declared = agent.declarations
    problems = [(each, kept if each in declared.kept else unknown) for each in declared.problems]
    problems += [(hook.error, f"{hook.name} fails") for hook in agent.declarations.hooks if hook.error is not None]
    for problem, effect in problems:
        found, _, hint = problem_message(problem).partition("\nhint: ")
        yield Finding("declarations", PROBLEM, found, effect, hint or "run `hookrun validate`")
    if not agent.declarations.hooks and not agent.declarations.problems:
        remedy = "add some with `hookrun init`; `hookrun status` names a config file that is ignored here"
        yield Finding("declarations", NOTE, "no hooks are configured here", "nothing is checked or blocked", remedy)


def check_approval(agent: AgentState) -> Findings:
    """Has the user approved the project's hooks?"""
    if agent.undecided is not None:
        cause = "no hook counts as approved, so no hook of a project runs"
        found, _, hint = agent.undecided.partition("\nhint: ")
        yield Finding("approved", PROBLEM, found, cause, hint or "correct it")
    if agent.unapproved:
        names = ", ".join(f"{name} ({state})" for name, state in agent.unapproved.items())
        cause = "agents run a project's hooks only after you approve them; until then they fail as `untrusted`"
        yield Finding("approved", PROBLEM, f"not approved: {names}", cause, "run `hookrun trust`")


def check_protection(agent: AgentState) -> Findings:
    """Does a hook keep the agent from editing its guards?"""
    layers = enforcing_layers(agent.declarations.hooks)
    if agent.all_wired and layers.isdisjoint({"managed", "user"}):
        found = "no hook stops the agent from editing hooks"
        cause = "an agent that edits hooks, settings or approvals can disable its guards"
        if layers:
            found = "only this project's own hook stops the agent from editing hooks"
            cause = "other projects have none, and this one can remove it"
        yield Finding("protected", NOTE, found, cause, "run `hookrun add protect-hooks --user`")


def check_audit(agent: AgentState) -> Findings:
    """Can the audit be written?"""
    directory = agent.location.home + state.STATE_DIR
    while not os.path.exists(directory):
        directory = os.path.dirname(directory)
    if not os.access(directory, os.W_OK | os.X_OK):
        found = f"{directory} cannot be written"
        yield Finding("home", PROBLEM, found, "no run is recorded", "correct its permissions")
    gap = audit.path(agent.location.home) + audit.GAP
    if os.path.exists(gap):
        last = local_time(datetime.fromtimestamp(os.path.getmtime(gap), UTC).isoformat(), with_date=True)
        cause = "the disk was full, or the log could not be written"
        yield Finding("log", NOTE, f"the log has gaps, the last at {last}", cause, f"run `rm {shell_quoted(gap)}`")


def check_server(agent: AgentState) -> Findings:
    """Does the server that speeds up runs start?"""
    well, found = describe(agent.location.home)
    if not well:
        remedy = "correct that; a run tries it again after a minute"
        yield Finding("server", NOTE, found, "each run starts Python anew", remedy)
    elif found and agent.all_wired:
        yield Finding("server", OK, found)


def check_last_fired(agent: AgentState) -> Findings:
    """When did the agent last send each event?"""
    if agent.unread_log is not None:
        yield Finding("fired", PROBLEM, agent.unread_log, "the last runs are unknown", "correct its permissions")
        return
    if not agent.all_wired:
        return
    newest_first = sorted(agent.fired.items(), key=lambda item: item[1], reverse=True)
    last = [f"{event} {local_time(when, with_date=True)}" for event, when in newest_first]
    newest = max((os.path.getmtime(each.path) for each in agent.all_wired if os.path.exists(each.path)), default=0.0)
    changed = datetime.fromtimestamp(newest, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if not last:
        cause = "running sessions do not have the hooks yet"
        yield Finding("fired", NOTE, "no run in the log yet", cause, "start a new session")
    elif max(agent.fired.values()) < changed:
        cause = "running sessions may still have the old hooks"
        found = f"no run since the settings changed; before: {', '.join(last)}"
        yield Finding("fired", NOTE, found, cause, "start a new session")
    else:
        yield Finding("fired", OK, f"last: {', '.join(last)}")


def check_callers(agent: AgentState) -> Findings:
    """Do other agents run the hooks in its settings?"""
    for name, when in agent.callers.items():
        caller = CALLERS.get(name, UNKNOWN)
        found = f"{caller.DISPLAY_NAME}, last {local_time(when, with_date=True)}"
        if caller is not UNKNOWN:
            yield Finding("also fired by", OK, found)
            continue
        cause = "hookrun does not know its tools by name and identifies them by their arguments"
        yield Finding("also fired by", NOTE, found, cause, "see `hookrun log` for its tools")


# --- the agent's own settings


def check_switched_off(agent: AgentState) -> Findings:
    """Does the deciding file of the agent's settings switch its hooks off?"""
    for key, off in agent.spec.get("off", {}).items():
        path, value = _setting(agent, key)
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
    if spec is None or not agent.all_wired or (spec["project_hooks_only"] and not agent.wired.get("project")):
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


def check_managed_only(agent: AgentState) -> Findings:
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


# --- the table


# Every check, in report order.
CHECKS: tuple[Check, ...] = (
    check_settings,
    check_dropped_settings,
    agent_state.check_wired,
    agent_state.check_matchers,
    agent_state.check_missing_events,
    check_unsent_events,
    check_version,
    check_declarations,
    check_approval,
    check_protection,
    agent_state.check_program,
    agent_state.check_text,
    agent_state.check_place,
    agent_state.check_timeouts,
    check_switched_off,
    check_managed_only,
    check_hook_trust,
    check_folder_trust,
    agent_state.check_double_wiring,
    check_audit,
    check_server,
    check_last_fired,
    check_callers,
)


def run_checks(agent: AgentState) -> list[Finding]:
    """Return the findings of all checks about one agent."""
    return [finding for check in CHECKS for finding in check(agent)]
